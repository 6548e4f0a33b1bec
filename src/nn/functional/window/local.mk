# Convolution and pooling over 1 to 3 axes, by composition.
libht_objects_la_SOURCES += \
	src/nn/functional/window/adaptive_pool.c \
	src/nn/functional/window/conv.c \
	src/nn/functional/window/conv.h \
	src/nn/functional/window/conv_prepare.c \
	src/nn/functional/window/conv_run.c \
	src/nn/functional/window/conv_run.h \
	src/nn/functional/window/conv_transpose.c \
	src/nn/functional/window/fold.c \
	src/nn/functional/window/fractional_pool.c \
	src/nn/functional/window/max_pool.c \
	src/nn/functional/window/max_unpool.c \
	src/nn/functional/window/places.c \
	src/nn/functional/window/places.h \
	src/nn/functional/window/pool.c \
	src/nn/functional/window/windows.c \
	src/nn/functional/window/windows.h
