# HDF5.
libht_objects_la_SOURCES += \
	src/core/io/hdf5/chunks.c \
	src/core/io/hdf5/chunks.h \
	src/core/io/hdf5/hdf5.c \
	src/core/io/hdf5/hdf5.h \
	src/core/io/hdf5/hdf5_abandon.c \
	src/core/io/hdf5/hdf5_empty.c \
	src/core/io/hdf5/hdf5_format.h \
	src/core/io/hdf5/hdf5_lock.c \
	src/core/io/hdf5/hdf5_parallel.c \
	src/core/io/hdf5/hdf5_parallel.h \
	src/core/io/hdf5/hdf5_reader.c \
	src/core/io/hdf5/load_hdf5.c \
	src/core/io/hdf5/load_multiple_hdf5.c \
	src/core/io/hdf5/save_hdf5.c \
	src/core/io/hdf5/slab_write.c \
	src/core/io/hdf5/slab_write.h
