# Attention and Transformers.
libht_objects_la_SOURCES += \
	src/nn/layers/attention/blocks.c \
	src/nn/layers/attention/masks.c \
	src/nn/layers/attention/multihead.h \
	src/nn/layers/attention/multihead_attention.c \
	src/nn/layers/attention/multihead_forward.c \
	src/nn/layers/attention/transformer.c \
	src/nn/layers/attention/transformer.h \
	src/nn/layers/attention/transformer_layer.c \
	src/nn/layers/attention/transformer_stack.c
