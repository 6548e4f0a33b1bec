# Tensors from nothing, from numbers and from draws.
libht_objects_la_SOURCES += \
	src/core/ops/creation/arrays.c \
	src/core/ops/creation/factories.c \
	src/core/ops/creation/place.c \
	src/core/ops/creation/random.c \
	src/core/ops/creation/random_state.c \
	src/core/ops/creation/random_stream.h \
	src/core/ops/creation/scalar.c \
	src/core/ops/creation/sequences.c
