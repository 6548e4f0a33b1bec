# Products of single matrices, and text of tensors; the families have folders of their own.
libht_objects_la_SOURCES += \
	src/core/ops/gemm.c \
	src/core/ops/ops.h \
	src/core/ops/printing.c
