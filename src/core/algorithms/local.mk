# What is an algorithm, not a row of a driver.
libht_objects_la_SOURCES += \
	src/core/algorithms/covariance.c \
	src/core/algorithms/histogram.c \
	src/core/algorithms/linalg.c \
	src/core/algorithms/permutation.c \
	src/core/algorithms/permutation.h \
	src/core/algorithms/permutation_map.c
