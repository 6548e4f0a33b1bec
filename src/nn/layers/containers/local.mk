# Modules that hold others, and layers that leave the elements as they are.
libht_objects_la_SOURCES += \
	src/nn/layers/containers/averaged_model.c \
	src/nn/layers/containers/children.c \
	src/nn/layers/containers/children.h \
	src/nn/layers/containers/identity.c \
	src/nn/layers/containers/lists.c \
	src/nn/layers/containers/recomputed.c \
	src/nn/layers/containers/recomputed_sequential.c \
	src/nn/layers/containers/sequential.c \
	src/nn/layers/containers/unflatten.c
