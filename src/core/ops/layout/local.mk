# Copies and views: other shapes, places and splits of the same elements.
libht_objects_la_SOURCES += \
	src/core/ops/layout/concatenate.c \
	src/core/ops/layout/diagonal.c \
	src/core/ops/layout/flip.c \
	src/core/ops/layout/move.c \
	src/core/ops/layout/rearrange.c \
	src/core/ops/layout/redistribute.c \
	src/core/ops/layout/reshape.c \
	src/core/ops/layout/resplit.c \
	src/core/ops/layout/stack.c \
	src/core/ops/layout/views.c
