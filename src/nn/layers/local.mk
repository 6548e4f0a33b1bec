# Layers, and how parameters are initialised.
libht_objects_la_SOURCES += \
	src/nn/layers/activation.c \
	src/nn/layers/adaptive_log_softmax.c \
	src/nn/layers/batch_norm.c \
	src/nn/layers/batch_norm.h \
	src/nn/layers/conv2d.c \
	src/nn/layers/dropout.c \
	src/nn/layers/flatten.c \
	src/nn/layers/linear.c \
	src/nn/layers/max_pool2d.c \
	src/nn/layers/prelu.c \
	src/nn/layers/softmax2d.c \
	src/nn/layers/sync_batch_norm.c
