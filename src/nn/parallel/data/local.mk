# Data parallelism: one process a rank.
libht_objects_la_SOURCES += \
	src/nn/parallel/data/accumulate.c \
	src/nn/parallel/data/armed.c \
	src/nn/parallel/data/buffers.c \
	src/nn/parallel/data/data_parallel.c \
	src/nn/parallel/data/data_parallel.h \
	src/nn/parallel/data/dropped.c \
	src/nn/parallel/data/failed.c \
	src/nn/parallel/data/join.c \
	src/nn/parallel/data/known.c \
	src/nn/parallel/data/layers.c \
	src/nn/parallel/data/lost.c \
	src/nn/parallel/data/options.c \
	src/nn/parallel/data/separate.c \
	src/nn/parallel/data/start.c \
	src/nn/parallel/data/stop.c \
	src/nn/parallel/data/wrapper.c
