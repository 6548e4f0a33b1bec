# Losses.
libht_objects_la_SOURCES += \
	src/nn/functional/losses/binary.c \
	src/nn/functional/losses/class_margin.c \
	src/nn/functional/losses/classes.c \
	src/nn/functional/losses/cross_entropy.c \
	src/nn/functional/losses/likelihood.c \
	src/nn/functional/losses/losses.c \
	src/nn/functional/losses/losses.h \
	src/nn/functional/losses/nll.c \
	src/nn/functional/losses/nll.h \
	src/nn/functional/losses/pairs.c \
	src/nn/functional/losses/pointwise.c
