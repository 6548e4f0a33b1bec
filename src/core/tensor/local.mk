# Bodies, views, factories; what a graph knows of tensors.
libht_objects_la_SOURCES += \
	src/core/tensor/body.c \
	src/core/tensor/check.c \
	src/core/tensor/dlpack.c \
	src/core/tensor/grad.c \
	src/core/tensor/graph.h \
	src/core/tensor/history.c \
	src/core/tensor/loop.c \
	src/core/tensor/node.c \
	src/core/tensor/node.h \
	src/core/tensor/notes.c \
	src/core/tensor/origin.c \
	src/core/tensor/record.c \
	src/core/tensor/segment.c \
	src/core/tensor/shape.c \
	src/core/tensor/storage.c \
	src/core/tensor/tensor.c \
	src/core/tensor/tensor.h \
	src/core/tensor/value.c \
	src/core/tensor/waits.c
