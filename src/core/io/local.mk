# Files of any format, by their names.
libht_objects_la_SOURCES += \
	src/core/io/graph_dot.c \
	src/core/io/load.c
