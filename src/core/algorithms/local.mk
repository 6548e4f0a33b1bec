# What is an algorithm, not a row of a driver.
libht_objects_la_SOURCES += \
	src/core/algorithms/histogram.c \
	src/core/algorithms/linalg.c \
	src/core/algorithms/partitioned.c \
	src/core/algorithms/tiling.c \
	src/core/algorithms/vmap.c
