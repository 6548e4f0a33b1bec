# Factorisations of matrices, and the systems that they solve.
libht_objects_la_SOURCES += \
	src/core/algorithms/factor/cholesky.c \
	src/core/algorithms/factor/condest.c \
	src/core/algorithms/factor/decompositions.h \
	src/core/algorithms/factor/determinant.c \
	src/core/algorithms/factor/local_factors.c \
	src/core/algorithms/factor/lu_columns.c \
	src/core/algorithms/factor/matrix_operand.c \
	src/core/algorithms/factor/qr.c \
	src/core/algorithms/factor/qr_columns.c \
	src/core/algorithms/factor/qr_tree.c \
	src/core/algorithms/factor/scale.c \
	src/core/algorithms/factor/solve.c \
	src/core/algorithms/factor/triangular.c
