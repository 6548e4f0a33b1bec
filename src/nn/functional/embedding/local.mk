# Rows by index, similarities, bilinear products.
libht_objects_la_SOURCES += \
	src/nn/functional/embedding/bilinear.c \
	src/nn/functional/embedding/checks.h \
	src/nn/functional/embedding/distance.c \
	src/nn/functional/embedding/embedding.c \
	src/nn/functional/embedding/embedding_bag.c \
	src/nn/functional/embedding/lookup.c \
	src/nn/functional/embedding/lookup.h
