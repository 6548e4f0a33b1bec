# Layers of indices, and of two inputs.
libht_objects_la_SOURCES += \
	src/nn/layers/embedding/bilinear.c \
	src/nn/layers/embedding/embedding.c \
	src/nn/layers/embedding/embedding.h \
	src/nn/layers/embedding/embedding_bag.c \
	src/nn/layers/embedding/pairs.c
