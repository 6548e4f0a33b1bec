# Checkpoints.
libht_objects_la_SOURCES += \
	src/core/io/checkpoint/checkpoint.h \
	src/core/io/checkpoint/checkpoint_crc.c \
	src/core/io/checkpoint/checkpoint_entries.c \
	src/core/io/checkpoint/checkpoint_load.c \
	src/core/io/checkpoint/checkpoint_place.c \
	src/core/io/checkpoint/checkpoint_save.c \
	src/core/io/checkpoint/checkpoint_seal.c \
	src/core/io/checkpoint/checkpoint_seal.h \
	src/core/io/checkpoint/checkpoint_walk.c
