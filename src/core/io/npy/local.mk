# .npy files.
libht_objects_la_SOURCES += \
	src/core/io/npy/load_npy.c \
	src/core/io/npy/npy.c \
	src/core/io/npy/npy.h \
	src/core/io/npy/save_npy.c
