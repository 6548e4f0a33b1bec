# Parameters that are computed from others.
libht_objects_la_SOURCES += \
	src/nn/module/parametrize/compute.c \
	src/nn/module/parametrize/compute.h \
	src/nn/module/parametrize/parametrize.c
