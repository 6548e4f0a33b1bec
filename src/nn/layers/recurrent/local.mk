# Layers of recurrent networks.
libht_objects_la_SOURCES += \
	src/nn/layers/recurrent/cells.c \
	src/nn/layers/recurrent/forward.c \
	src/nn/layers/recurrent/recurrent.c
