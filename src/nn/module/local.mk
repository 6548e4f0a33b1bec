# Modules: their tree, forward, state.
libht_objects_la_SOURCES += \
	src/nn/module/address_set.c \
	src/nn/module/clone.c \
	src/nn/module/file.c \
	src/nn/module/file.h \
	src/nn/module/fit.c \
	src/nn/module/forward.c \
	src/nn/module/guard.c \
	src/nn/module/init.c \
	src/nn/module/init.h \
	src/nn/module/init_fans.c \
	src/nn/module/init_shapes.c \
	src/nn/module/inputs.c \
	src/nn/module/inputs.h \
	src/nn/module/load.c \
	src/nn/module/module.c \
	src/nn/module/module.h \
	src/nn/module/print.c \
	src/nn/module/random_state.c \
	src/nn/module/save.c \
	src/nn/module/settings.c \
	src/nn/module/slots.c \
	src/nn/module/state.c \
	src/nn/module/summary.c \
	src/nn/module/tree.c \
	src/nn/module/walk.c
