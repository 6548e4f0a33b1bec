# The drivers, and a file for each topic of the API.
libht_objects_la_SOURCES += \
	src/core/ops/arithmetics.c \
	src/core/ops/bitwise.c \
	src/core/ops/broadcast_plan.c \
	src/core/ops/broadcast_plan.h \
	src/core/ops/complex_math.c \
	src/core/ops/concatenate.c \
	src/core/ops/driver_broadcast.c \
	src/core/ops/driver_cumulative.c \
	src/core/ops/driver_local.c \
	src/core/ops/driver_reduce.c \
	src/core/ops/drivers.h \
	src/core/ops/exponential.c \
	src/core/ops/factories.c \
	src/core/ops/flip.c \
	src/core/ops/gemm.c \
	src/core/ops/getitem.c \
	src/core/ops/indexing.c \
	src/core/ops/item.c \
	src/core/ops/key.c \
	src/core/ops/key.h \
	src/core/ops/logical.c \
	src/core/ops/move.c \
	src/core/ops/ops.h \
	src/core/ops/printing.c \
	src/core/ops/random.c \
	src/core/ops/reduce_options.c \
	src/core/ops/relational.c \
	src/core/ops/reshape.c \
	src/core/ops/resplit.c \
	src/core/ops/rounding.c \
	src/core/ops/scalar.c \
	src/core/ops/sequences.c \
	src/core/ops/statistics.c \
	src/core/ops/sums.c \
	src/core/ops/trigonometrics.c \
	src/core/ops/views.c
