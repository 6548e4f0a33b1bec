# Optimizers.
libht_objects_la_SOURCES += \
	src/optim/broadcast.c \
	src/optim/clip_grad.c \
	src/optim/flat_tensors.c \
	src/optim/flat_tensors.h \
	src/optim/group.c \
	src/optim/hooks.c \
	src/optim/optim.h \
	src/optim/optimizer.c \
	src/optim/parameters.c \
	src/optim/print.c \
	src/optim/settings.c \
	src/optim/state.c \
	src/optim/states.c \
	src/optim/update.c \
	src/optim/vector.c
