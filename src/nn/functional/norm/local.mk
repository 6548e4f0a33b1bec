# Normalisation of layers, groups, instances and neighbouring channels.
libht_objects_la_SOURCES += \
	src/nn/functional/norm/batch_norm.c \
	src/nn/functional/norm/batch_norm.h \
	src/nn/functional/norm/group_norm.c \
	src/nn/functional/norm/instance_norm.c \
	src/nn/functional/norm/last_axes.c \
	src/nn/functional/norm/layer_norm.c \
	src/nn/functional/norm/local_response_norm.c \
	src/nn/functional/norm/norm_call.c \
	src/nn/functional/norm/norm_call.h \
	src/nn/functional/norm/ranks.c \
	src/nn/functional/norm/ranks.h \
	src/nn/functional/norm/rms_norm.c \
	src/nn/functional/norm/row_norm.c \
	src/nn/functional/norm/row_norm.h
