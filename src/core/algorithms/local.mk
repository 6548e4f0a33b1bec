# What is an algorithm, not a row of a driver.
libht_objects_la_SOURCES += \
	src/core/algorithms/distance.c \
	src/core/algorithms/histogram.c \
	src/core/algorithms/linalg.c \
	src/core/algorithms/partitioned.c \
	src/core/algorithms/tiling.c \
	src/core/algorithms/vmap.c
	src/core/algorithms/matmul.c \
	src/core/algorithms/norms.c \
	src/core/algorithms/product.c \
	src/core/algorithms/product.h \
	src/core/algorithms/product_local.c \
	src/core/algorithms/product_ring.c \
	src/core/algorithms/product_sum.c \
	src/core/algorithms/ring.c \
	src/core/algorithms/ring.h \
	src/core/algorithms/vector_products.c
	src/core/algorithms/covariance.c \
	src/core/algorithms/histogram.c \
	src/core/algorithms/linalg.c \
	src/core/algorithms/permutation.c \
	src/core/algorithms/permutation.h \
	src/core/algorithms/permutation_map.c
