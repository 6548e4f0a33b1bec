# Files of any format: names, parts of a tensor in them, agreement on what is asked.
libht_objects_la_SOURCES += \
	src/core/io/files/file.c \
	src/core/io/files/file.h \
	src/core/io/files/folder.c \
	src/core/io/files/joint.c \
	src/core/io/files/joint.h \
	src/core/io/files/parts.c \
	src/core/io/files/parts.h \
	src/core/io/files/request.c \
	src/core/io/files/request.h \
	src/core/io/files/runs.c \
	src/core/io/files/runs.h \
	src/core/io/files/slab.c \
	src/core/io/files/slab.h \
	src/core/io/files/stored.h \
	src/core/io/files/stored_read.c \
	src/core/io/files/stored_write.c
