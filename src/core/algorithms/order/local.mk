# Sorting, unique values, quantiles and bins.
libht_objects_la_SOURCES += \
	src/core/algorithms/order/bins.c \
	src/core/algorithms/order/histogram.c \
	src/core/algorithms/order/lines.c \
	src/core/algorithms/order/order.h \
	src/core/algorithms/order/quantile.c \
	src/core/algorithms/order/quantile.h \
	src/core/algorithms/order/quantile_count.c \
	src/core/algorithms/order/scatter.c \
	src/core/algorithms/order/sort.c \
	src/core/algorithms/order/sort_local.c \
	src/core/algorithms/order/sort_samples.c \
	src/core/algorithms/order/unique.c
