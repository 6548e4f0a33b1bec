# The drivers: each takes a row that says which kernel, and how to differentiate.
libht_objects_la_SOURCES += \
	src/core/ops/drivers/broadcast_plan.c \
	src/core/ops/drivers/broadcast_plan.h \
	src/core/ops/drivers/driver_broadcast.c \
	src/core/ops/drivers/driver_cumulative.c \
	src/core/ops/drivers/driver_local.c \
	src/core/ops/drivers/driver_reduce.c \
	src/core/ops/drivers/drivers.h \
	src/core/ops/drivers/reduce_local.c \
	src/core/ops/drivers/reduce_plan.h
