# Communication hooks that are there.
libht_objects_la_SOURCES += \
	src/nn/parallel/data/hooks/comm_hook_compress.c \
	src/nn/parallel/data/hooks/comm_hook_power_sgd.c \
	src/nn/parallel/data/hooks/orthonormal.c \
	src/nn/parallel/data/hooks/orthonormal.h
