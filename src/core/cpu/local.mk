# The cpu backend.
libht_objects_la_SOURCES += \
	src/core/cpu/conv.c \
	src/core/cpu/conv_plain.c \
	src/core/cpu/conv_plain.h \
	src/core/cpu/cpu.c \
	src/core/cpu/cpu.h \
	src/core/cpu/dtypes.h \
	src/core/cpu/float_math.h \
	src/core/cpu/foreach_dtype.h \
	src/core/cpu/foreach_source.h \
	src/core/cpu/gemm.c \
	src/core/cpu/kernel_errors.c \
	src/core/cpu/kernels.h \
	src/core/cpu/level.h \
	src/core/cpu/nn_kernels.c \
	src/core/cpu/nn_kernels.h \
	src/core/cpu/normal.h \
	src/core/cpu/philox.h \
	src/core/cpu/random_walk.h \
	src/core/cpu/reduce_plan.h \
	src/core/cpu/row_walk.h \
	src/core/cpu/scratch.c \
	src/core/cpu/scratch.h

if HT_HAVE_ONEDNN
libht_objects_la_SOURCES += \
	src/core/cpu/onednn.c \
	src/core/cpu/onednn.h \
	src/core/cpu/onednn_version.h
endif

# Templates: included by the kernels, never compiled by themselves.
EXTRA_DIST += \
	src/core/cpu/axpby.inc.c \
	src/core/cpu/binary.inc.c \
	src/core/cpu/binary_walk.inc.c \
	src/core/cpu/conv_plain.inc.c \
	src/core/cpu/convert.inc.c \
	src/core/cpu/convert_from.inc.c \
	src/core/cpu/cumulative.inc.c \
	src/core/cpu/dropout.inc.c \
	src/core/cpu/extreme.inc.c \
	src/core/cpu/max_pool.inc.c \
	src/core/cpu/norm.inc.c \
	src/core/cpu/random.inc.c \
	src/core/cpu/reduce.inc.c \
	src/core/cpu/reduce_arg.inc.c \
	src/core/cpu/reduce_deviations.inc.c \
	src/core/cpu/reduce_extreme.inc.c \
	src/core/cpu/reduce_fold.inc.c \
	src/core/cpu/rows.inc.c \
	src/core/cpu/unary.inc.c \
	src/core/cpu/update.inc.c

# The kernels are compiled once for each SIMD level, in a library of its own because flags belong to a
# library. The functions that a file exports carry the level in their names (level.h).
kernel_sources = \
	src/core/cpu/axpby.c \
	src/core/cpu/binary.c \
	src/core/cpu/convert.c \
	src/core/cpu/cumulative.c \
	src/core/cpu/dropout.c \
	src/core/cpu/kernels.c \
	src/core/cpu/max_pool.c \
	src/core/cpu/norm.c \
	src/core/cpu/random.c \
	src/core/cpu/reduce.c \
	src/core/cpu/rows.c \
	src/core/cpu/unary.c \
	src/core/cpu/update.c

noinst_LTLIBRARIES += libht_kernels_baseline.la
libht_objects_la_LIBADD += libht_kernels_baseline.la
libht_kernels_baseline_la_SOURCES = $(kernel_sources)
libht_kernels_baseline_la_CPPFLAGS = $(AM_CPPFLAGS) -DHT_LEVEL=baseline
libht_kernels_baseline_la_CFLAGS = $(AM_CFLAGS) $(HT_KERNEL_OPT)

if HT_HAVE_AVX2
noinst_LTLIBRARIES += libht_kernels_avx2.la
libht_objects_la_LIBADD += libht_kernels_avx2.la
endif
libht_kernels_avx2_la_SOURCES = $(kernel_sources)
libht_kernels_avx2_la_CPPFLAGS = $(AM_CPPFLAGS) -DHT_LEVEL=avx2
libht_kernels_avx2_la_CFLAGS = $(AM_CFLAGS) $(HT_KERNEL_OPT) $(AVX2_CFLAGS)

if HT_HAVE_AVX512
noinst_LTLIBRARIES += libht_kernels_avx512.la
libht_objects_la_LIBADD += libht_kernels_avx512.la
endif
libht_kernels_avx512_la_SOURCES = $(kernel_sources)
libht_kernels_avx512_la_CPPFLAGS = $(AM_CPPFLAGS) -DHT_LEVEL=avx512
libht_kernels_avx512_la_CFLAGS = $(AM_CFLAGS) $(HT_KERNEL_OPT) $(AVX512_CFLAGS)
