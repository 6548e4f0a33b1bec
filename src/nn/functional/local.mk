# Operations of networks, forward and backward side by side.
libht_objects_la_SOURCES += \
	src/nn/functional/activation.c \
	src/nn/functional/activations.h \
	src/nn/functional/composed_activation.c \
	src/nn/functional/constants.c \
	src/nn/functional/constants.h \
	src/nn/functional/conv2d.c \
	src/nn/functional/dropout.c \
	src/nn/functional/dropout.h \
	src/nn/functional/dropout_masks.c \
	src/nn/functional/first_max.c \
	src/nn/functional/first_max.h \
	src/nn/functional/functional.c \
	src/nn/functional/functional.h \
	src/nn/functional/linear.c \
	src/nn/functional/max_pool2d.c \
	src/nn/functional/max_pool2d.h \
	src/nn/functional/operands.c \
	src/nn/functional/operands.h \
	src/nn/functional/rectifiers.c \
	src/nn/functional/softmax.c \
	src/nn/functional/window.c \
	src/nn/functional/window.h
