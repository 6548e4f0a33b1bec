# Attention.
libht_objects_la_SOURCES += \
	src/nn/functional/attention/attention.h \
	src/nn/functional/attention/operands.c \
	src/nn/functional/attention/scaled_dot_product.c
