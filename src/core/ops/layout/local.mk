# Copies and views: other shapes, places and splits of the same elements.
libht_objects_la_SOURCES += \
	src/core/ops/layout/concatenate.c \
	src/core/ops/layout/diagonal.c \
	src/core/ops/layout/flip.c \
	src/core/ops/layout/grad_zeros.c \
	src/core/ops/layout/move.c \
	src/core/ops/layout/move_in_place.c \
	src/core/ops/layout/narrow.c \
	src/core/ops/layout/permute.c \
	src/core/ops/layout/rearrange.c \
	src/core/ops/layout/record_view.c \
	src/core/ops/layout/redistribute.c \
	src/core/ops/layout/reshape.c \
	src/core/ops/layout/resplit.c \
	src/core/ops/layout/stack.c \
	src/core/ops/layout/to_array.c \
	src/core/ops/layout/views.c
