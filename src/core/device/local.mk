# Storages and their allocator, devices and their threads.
libht_objects_la_SOURCES += \
	src/core/device/allocator.c \
	src/core/device/backend.c \
	src/core/device/device.c \
	src/core/device/worker.c
