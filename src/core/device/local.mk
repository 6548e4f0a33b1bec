# Storages and their allocator, devices and their threads.
libht_objects_la_SOURCES += \
	src/core/device/allocator.c \
	src/core/device/backend.c \
	src/core/device/device.c \
	src/core/device/device.h \
	src/core/device/fallback.c \
	src/core/device/kernel_names.c \
	src/core/device/kernels.c \
	src/core/device/operands.c \
	src/core/device/side_copy.c \
	src/core/device/waits.c \
	src/core/device/worker.c \
	src/core/device/worker.h \
	src/core/device/worker_end.c
