# HDF5 files and checkpoints.
libht_objects_la_SOURCES += \
	src/core/io/checkpoint.h \
	src/core/io/checkpoint_crc.c \
	src/core/io/checkpoint_entries.c \
	src/core/io/checkpoint_load.c \
	src/core/io/checkpoint_place.c \
	src/core/io/checkpoint_save.c \
	src/core/io/checkpoint_seal.c \
	src/core/io/checkpoint_seal.h \
	src/core/io/checkpoint_walk.c \
	src/core/io/file.c \
	src/core/io/file.h \
	src/core/io/hdf5.c \
	src/core/io/hdf5.h \
	src/core/io/hdf5_abandon.c \
	src/core/io/hdf5_empty.c \
	src/core/io/hdf5_lock.c \
	src/core/io/hdf5_parallel.c \
	src/core/io/hdf5_parallel.h \
	src/core/io/load_hdf5.c \
	src/core/io/save_hdf5.c \
	src/core/io/slab.c \
	src/core/io/slab.h
