# Halos, tiles, random orders, and slabs that come by.
libht_objects_la_SOURCES += \
	src/core/algorithms/parts/halo.c \
	src/core/algorithms/parts/partitioned.c \
	src/core/algorithms/parts/permutation.c \
	src/core/algorithms/parts/permutation.h \
	src/core/algorithms/parts/permutation_map.c \
	src/core/algorithms/parts/ring.c \
	src/core/algorithms/parts/ring.h \
	src/core/algorithms/parts/tiling.c \
	src/core/algorithms/parts/vmap.c
