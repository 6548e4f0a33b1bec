# Fourier transforms.
libht_objects_la_SOURCES += \
	src/core/algorithms/fft/fft.c \
	src/core/algorithms/fft/fft.h \
	src/core/algorithms/fft/fft_axis.c \
	src/core/algorithms/fft/fft_frequencies.c \
	src/core/algorithms/fft/fft_local.c \
	src/core/algorithms/fft/fft_vector.c
