# Data parallelism over the devices of one process.
libht_objects_la_SOURCES += \
	src/nn/parallel/device/apply.c \
	src/nn/parallel/device/device_parallel.c \
	src/nn/parallel/device/device_parallel.h \
	src/nn/parallel/device/gather.c \
	src/nn/parallel/device/replicate.c \
	src/nn/parallel/device/scatter.c
