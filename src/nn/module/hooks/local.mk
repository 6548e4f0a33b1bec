# Hooks of modules: around forward and backward, and around states.
libht_objects_la_SOURCES += \
	src/nn/module/hooks/backward.c \
	src/nn/module/hooks/hooks.c \
	src/nn/module/hooks/hooks.h \
	src/nn/module/hooks/joint.c \
	src/nn/module/hooks/joint.h \
	src/nn/module/hooks/state.c
