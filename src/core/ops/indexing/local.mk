# Keys, and rows that indices name.
libht_objects_la_SOURCES += \
	src/core/ops/indexing/getitem.c \
	src/core/ops/indexing/getitem_plain.c \
	src/core/ops/indexing/item.c \
	src/core/ops/indexing/key.c \
	src/core/ops/indexing/key.h \
	src/core/ops/indexing/key_rows.c \
	src/core/ops/indexing/nonzero.c \
	src/core/ops/indexing/row_moves.c \
	src/core/ops/indexing/row_route.c \
	src/core/ops/indexing/rows.c \
	src/core/ops/indexing/rows.h
