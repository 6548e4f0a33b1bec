# Tensors, communication, autograd, devices. Files of the folder, headers included, in order.
libht_objects_la_SOURCES += \
	src/core/communication.c \
	src/core/communication_abort.c \
	src/core/communication_agree.c \
	src/core/communication_alltoall.c \
	src/core/communication_buffer.c \
	src/core/communication_check.c \
	src/core/communication_collective.c \
	src/core/communication_count.c \
	src/core/communication_exchange.c \
	src/core/communication_exchange_message.c \
	src/core/communication_exchange_shared.c \
	src/core/communication_exchange_sum.c \
	src/core/communication_gather.c \
	src/core/communication_init.c \
	src/core/communication_meta.c \
	src/core/communication_p2p.c \
	src/core/communication_request.c \
	src/core/communication_topology.c \
	src/core/communication_type.c \
	src/core/communication_wait.c \
	src/core/core.h \
	src/core/exchange.h \
	src/core/exchange_path.h \
	src/core/exchange_sum.inc.c \
	src/core/half.h \
	src/core/message.h \
	src/core/version.c
