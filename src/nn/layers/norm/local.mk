# Layers that normalise.
libht_objects_la_SOURCES += \
	src/nn/layers/norm/fuse.c \
	src/nn/layers/norm/group_norm.c \
	src/nn/layers/norm/instance_norm.c \
	src/nn/layers/norm/layer_norm.c \
	src/nn/layers/norm/local_response_norm.c \
	src/nn/layers/norm/update_bn.c
