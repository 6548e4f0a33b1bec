# Products of matrices and vectors, norms, covariances, distances.
libht_objects_la_SOURCES += \
	src/core/algorithms/product/covariance.c \
	src/core/algorithms/product/distance.c \
	src/core/algorithms/product/matmul.c \
	src/core/algorithms/product/norms.c \
	src/core/algorithms/product/product.c \
	src/core/algorithms/product/product.h \
	src/core/algorithms/product/product_local.c \
	src/core/algorithms/product/product_ring.c \
	src/core/algorithms/product/product_sum.c \
	src/core/algorithms/product/vector_products.c
