# What is an algorithm, not a row of a driver.
libht_objects_la_SOURCES += \
	src/core/algorithms/distance.c \
	src/core/algorithms/fft.c \
	src/core/algorithms/fft.h \
	src/core/algorithms/fft_axis.c \
	src/core/algorithms/fft_places.c \
	src/core/algorithms/fft_vector.c \
	src/core/algorithms/halo.c \
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
	src/core/algorithms/cholesky.c \
	src/core/algorithms/condest.c \
	src/core/algorithms/conjugate_gradients.c \
	src/core/algorithms/decompositions.h \
	src/core/algorithms/determinant.c \
	src/core/algorithms/eigh.c \
	src/core/algorithms/histogram.c \
	src/core/algorithms/hsvd.c \
	src/core/algorithms/isvd.c \
	src/core/algorithms/jacobi.c \
	src/core/algorithms/jacobi.h \
	src/core/algorithms/lanczos.c \
	src/core/algorithms/least_squares.c \
	src/core/algorithms/linalg.c \
	src/core/algorithms/local_factors.c \
	src/core/algorithms/lu_columns.c \
	src/core/algorithms/matrix_exp.c \
	src/core/algorithms/matrix_operand.c \
	src/core/algorithms/qr.c \
	src/core/algorithms/qr_columns.c \
	src/core/algorithms/qr_tree.c \
	src/core/algorithms/randomized.c \
	src/core/algorithms/solve.c \
	src/core/algorithms/svd.c \
	src/core/algorithms/triangular.c
	src/core/algorithms/bins.c \
	src/core/algorithms/histogram.c \
	src/core/algorithms/linalg.c \
	src/core/algorithms/order.h \
	src/core/algorithms/quantile.c \
	src/core/algorithms/scatter.c \
	src/core/algorithms/sort.c \
	src/core/algorithms/sort_samples.c \
	src/core/algorithms/unique.c
