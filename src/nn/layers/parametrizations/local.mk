# Parametrizations of weights.
libht_objects_la_SOURCES += \
	src/nn/layers/parametrizations/orthogonal.c \
	src/nn/layers/parametrizations/spectral_norm.c \
	src/nn/layers/parametrizations/weight_norm.c
