# Datasets, samplers, loaders and HDF5 readers.
libht_objects_la_SOURCES += \
	src/utils/data/auto_dataloader.c \
	src/utils/data/batch.c \
	src/utils/data/batch_value.c \
	src/utils/data/daso_loader.c \
	src/utils/data/data.h \
	src/utils/data/dataloader.c \
	src/utils/data/dataloader_state.c \
	src/utils/data/dataset.c \
	src/utils/data/deal.c \
	src/utils/data/idx.c \
	src/utils/data/idx.h \
	src/utils/data/idx_to_hdf5.c \
	src/utils/data/order.c \
	src/utils/data/plan.c \
	src/utils/data/reader.c \
	src/utils/data/ring.c \
	src/utils/data/source.c \
	src/utils/data/transform.c \
	src/utils/data/window.c
