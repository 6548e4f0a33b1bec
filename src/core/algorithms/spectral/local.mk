# Singular values, eigenvalues, and iterations that multiply by a matrix.
libht_objects_la_SOURCES += \
	src/core/algorithms/spectral/conjugate_gradients.c \
	src/core/algorithms/spectral/eigh.c \
	src/core/algorithms/spectral/hsvd.c \
	src/core/algorithms/spectral/isvd.c \
	src/core/algorithms/spectral/jacobi.c \
	src/core/algorithms/spectral/jacobi.h \
	src/core/algorithms/spectral/lanczos.c \
	src/core/algorithms/spectral/least_squares.c \
	src/core/algorithms/spectral/matrix_exp.c \
	src/core/algorithms/spectral/randomized.c \
	src/core/algorithms/spectral/spectra.h \
	src/core/algorithms/spectral/svd.c
