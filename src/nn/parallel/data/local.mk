# Data parallelism: one process a rank.
libht_objects_la_SOURCES += \
	src/nn/parallel/data/accumulate.c \
	src/nn/parallel/data/armed.c \
	src/nn/parallel/data/comm_hook.c \
	src/nn/parallel/data/comm_hook.h \
	src/nn/parallel/data/comm_hook_bucket.c \
	src/nn/parallel/data/comm_hook_compress.c \
	src/nn/parallel/data/comm_hook_orthonormal.c \
	src/nn/parallel/data/comm_hook_power_sgd.c \
	src/nn/parallel/data/data_parallel.c \
	src/nn/parallel/data/data_parallel.h \
	src/nn/parallel/data/join.c \
	src/nn/parallel/data/layers.c \
	src/nn/parallel/data/options.c \
	src/nn/parallel/data/reducer.c \
	src/nn/parallel/data/reducer.h \
	src/nn/parallel/data/reducer_apart.c \
	src/nn/parallel/data/reducer_bucket.c \
	src/nn/parallel/data/reducer_join.c \
	src/nn/parallel/data/reducer_order.c \
	src/nn/parallel/data/reducer_pass.c \
	src/nn/parallel/data/reducer_post.c \
	src/nn/parallel/data/reducer_report.c \
	src/nn/parallel/data/reducer_staging.c \
	src/nn/parallel/data/reducer_unused.c \
	src/nn/parallel/data/reducer_update.c \
	src/nn/parallel/data/separate.c \
	src/nn/parallel/data/start.c \
	src/nn/parallel/data/stop.c
