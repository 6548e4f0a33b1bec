# What is an algorithm, not a row of a driver.
libht_objects_la_SOURCES += \
	src/core/algorithms/fft.c \
	src/core/algorithms/fft.h \
	src/core/algorithms/fft_axis.c \
	src/core/algorithms/fft_places.c \
	src/core/algorithms/fft_vector.c \
	src/core/algorithms/halo.c \
	src/core/algorithms/histogram.c \
	src/core/algorithms/linalg.c
