# Tensors, communication, autograd, devices. Files of the folder, headers included, in order.
libht_objects_la_SOURCES += \
	src/core/core.h \
	src/core/version.c
