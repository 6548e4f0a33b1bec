# What a training program keeps track of: metrics and callbacks.
libht_objects_la_SOURCES += \
	src/utils/training/classes.c \
	src/utils/training/early_stopping.c \
	src/utils/training/keep_best.c \
	src/utils/training/metric.c \
	src/utils/training/metric.h \
	src/utils/training/metric_state.c \
	src/utils/training/moments.c \
	src/utils/training/run_log.c \
	src/utils/training/run_log.h \
	src/utils/training/run_log_go_on.c \
	src/utils/training/run_log_rows.c \
	src/utils/training/run_log_svg.c \
	src/utils/training/run_log_text.c
