# What a training program keeps track of: metrics and callbacks.
libht_objects_la_SOURCES += \
	src/utils/training/classes.c \
	src/utils/training/metric.c \
	src/utils/training/metric.h \
	src/utils/training/moments.c
