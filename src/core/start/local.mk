# ht_init and ht_finalize.
libht_objects_la_SOURCES += \
	src/core/start/core.c \
	src/core/start/init.c \
	src/core/start/show_config.c \
	src/core/start/start.h \
	src/core/start/timeline.c \
	src/core/start/timeline_summary.c
