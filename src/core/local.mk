# Tensors, communication, autograd, devices. Files of the folder, headers included, in order.
libht_objects_la_SOURCES += \
	src/core/communication.c \
	src/core/communication_abort.c \
	src/core/communication_agree.c \
	src/core/communication_init.c \
	src/core/communication_meta.c \
	src/core/communication_topology.c \
	src/core/communication_wait.c \
	src/core/core.h \
	src/core/message.h \
	src/core/version.c
