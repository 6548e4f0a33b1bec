# The engine that walks graphs backwards.
libht_objects_la_SOURCES += \
	src/core/autograd/abandon.c \
	src/core/autograd/anomaly.c \
	src/core/autograd/autograd.h \
	src/core/autograd/engine.c \
	src/core/autograd/engine.h \
	src/core/autograd/fit.c \
	src/core/autograd/gradcheck.c \
	src/core/autograd/graph_dot.c \
	src/core/autograd/leaves.c \
	src/core/autograd/node_queue.c \
	src/core/autograd/node_walk.c \
	src/core/autograd/observer.c \
	src/core/autograd/recompute.c \
	src/core/autograd/view_backward.c
