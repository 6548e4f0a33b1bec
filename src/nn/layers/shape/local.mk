# Layers that pad, shuffle and resize.
libht_objects_la_SOURCES += \
	src/nn/layers/shape/pad.c \
	src/nn/layers/shape/shuffle.c \
	src/nn/layers/shape/upsample.c
