# DASO, and averaging of parameters.
libht_objects_la_SOURCES += \
	src/nn/parallel/daso/average_parameters.c \
	src/nn/parallel/daso/average_parameters.h \
	src/nn/parallel/daso/buffers.c \
	src/nn/parallel/daso/daso.c \
	src/nn/parallel/daso/daso.h \
	src/nn/parallel/daso/exchange.c \
	src/nn/parallel/daso/failure.c \
	src/nn/parallel/daso/groups.c \
	src/nn/parallel/daso/hierarchical_averager.c \
	src/nn/parallel/daso/layout.c \
	src/nn/parallel/daso/model.c \
	src/nn/parallel/daso/multi_gpu.c \
	src/nn/parallel/daso/options.c \
	src/nn/parallel/daso/plateau_detector.c \
	src/nn/parallel/daso/schedule.c \
	src/nn/parallel/daso/schedule.h \
	src/nn/parallel/daso/state.c \
	src/nn/parallel/daso/state.h \
	src/nn/parallel/daso/state_counts.c \
	src/nn/parallel/daso/state_load.c \
	src/nn/parallel/daso/state_optimizer.c \
	src/nn/parallel/daso/state_rows.c
