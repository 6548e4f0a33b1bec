# Layers of windows.
libht_objects_la_SOURCES += \
	src/nn/layers/window/conv.c \
	src/nn/layers/window/conv.h \
	src/nn/layers/window/fractional_pool.c \
	src/nn/layers/window/pool.c \
	src/nn/layers/window/sample.c \
	src/nn/layers/window/sample.h
