# What is an algorithm, not a row of a driver.
libht_objects_la_SOURCES += \
	src/core/algorithms/bins.c \
	src/core/algorithms/histogram.c \
	src/core/algorithms/linalg.c \
	src/core/algorithms/order.h \
	src/core/algorithms/quantile.c \
	src/core/algorithms/scatter.c \
	src/core/algorithms/sort.c \
	src/core/algorithms/sort_samples.c \
	src/core/algorithms/unique.c
