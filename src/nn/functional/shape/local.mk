# Padding, shuffles, upsampling.
libht_objects_la_SOURCES += \
	src/nn/functional/shape/pad.c \
	src/nn/functional/shape/shuffle.c \
	src/nn/functional/shape/upsample.c
