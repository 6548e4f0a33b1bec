# The reducer: averages of gradients over ranks, and updates in their turn.
libht_objects_la_SOURCES += \
	src/nn/parallel/data/reducer/comm_hook.c \
	src/nn/parallel/data/reducer/comm_hook.h \
	src/nn/parallel/data/reducer/comm_hook_bucket.c \
	src/nn/parallel/data/reducer/reducer.c \
	src/nn/parallel/data/reducer/reducer.h \
	src/nn/parallel/data/reducer/reducer_bucket.c \
	src/nn/parallel/data/reducer/reducer_disjoint.c \
	src/nn/parallel/data/reducer/reducer_disjoint.h \
	src/nn/parallel/data/reducer/reducer_failure.c \
	src/nn/parallel/data/reducer/reducer_guard.c \
	src/nn/parallel/data/reducer/reducer_head.c \
	src/nn/parallel/data/reducer/reducer_join.c \
	src/nn/parallel/data/reducer/reducer_order.c \
	src/nn/parallel/data/reducer/reducer_pass.c \
	src/nn/parallel/data/reducer/reducer_post.c \
	src/nn/parallel/data/reducer/reducer_ready.c \
	src/nn/parallel/data/reducer/reducer_rebuild.c \
	src/nn/parallel/data/reducer/reducer_report.c \
	src/nn/parallel/data/reducer/reducer_staging.c \
	src/nn/parallel/data/reducer/reducer_unit.c \
	src/nn/parallel/data/reducer/reducer_unused.c \
	src/nn/parallel/data/reducer/reducer_update.c \
	src/nn/parallel/data/reducer/reducer_wait.c
