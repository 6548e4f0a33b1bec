# What happened when.
libht_objects_la_SOURCES += \
	src/core/timeline/file.c \
	src/core/timeline/impl.h \
	src/core/timeline/names.c \
	src/core/timeline/record.c \
	src/core/timeline/timeline.h
