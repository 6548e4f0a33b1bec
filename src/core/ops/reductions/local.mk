# Rows of reductions, and their options.
libht_objects_la_SOURCES += \
	src/core/ops/reductions/moments.c \
	src/core/ops/reductions/reduce_options.c \
	src/core/ops/reductions/statistics.c \
	src/core/ops/reductions/sums.c \
	src/core/ops/reductions/truth.c
