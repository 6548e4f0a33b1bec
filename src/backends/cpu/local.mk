# The cpu backend.
libht_objects_la_SOURCES += \
	src/backends/cpu/cpu.c \
	src/backends/cpu/cpu.h \
	src/backends/cpu/dtype_names.h \
	src/backends/cpu/dtypes.h \
	src/backends/cpu/elementwise/rows.h \
	src/backends/cpu/fft/fft.c \
	src/backends/cpu/fft/fft.h \
	src/backends/cpu/fft/plain.c \
	src/backends/cpu/fft/plans.c \
	src/backends/cpu/fft/twiddle.c \
	src/backends/cpu/float_math.h \
	src/backends/cpu/foreach_dtype.h \
	src/backends/cpu/foreach_source.h \
	src/backends/cpu/index/place.h \
	src/backends/cpu/kernel_errors.c \
	src/backends/cpu/kernels.h \
	src/backends/cpu/level.h \
	src/backends/cpu/linalg/blas_core.c \
	src/backends/cpu/linalg/blas_core.h \
	src/backends/cpu/linalg/gemm.c \
	src/backends/cpu/linalg/lapack.c \
	src/backends/cpu/linalg/lapack.h \
	src/backends/cpu/nn/attention.h \
	src/backends/cpu/nn/conv/conv.c \
	src/backends/cpu/nn/conv/plain.c \
	src/backends/cpu/nn/conv/plain.h \
	src/backends/cpu/nn/ctc.h \
	src/backends/cpu/nn/kernels.c \
	src/backends/cpu/nn/kernels.h \
	src/backends/cpu/order/key.h \
	src/backends/cpu/random/normal.h \
	src/backends/cpu/random/philox.h \
	src/backends/cpu/random/walk.h \
	src/backends/cpu/reduce/plan.h \
	src/backends/cpu/row_walk.h \
	src/backends/cpu/scratch.c \
	src/backends/cpu/scratch.h \
	src/backends/cpu/simd.c

if HT_HAVE_FFTW
libht_objects_la_SOURCES += \
	src/backends/cpu/fft/fftw.c
endif

if HT_HAVE_ONEDNN
libht_objects_la_SOURCES += \
	src/backends/cpu/nn/conv/onednn.c \
	src/backends/cpu/nn/conv/onednn.h \
	src/backends/cpu/nn/conv/onednn_plan.c \
	src/backends/cpu/nn/conv/onednn_plan.h \
	src/backends/cpu/nn/conv/onednn_version.h
endif

# Templates: included by the kernels, never compiled by themselves.
EXTRA_DIST += \
	src/backends/cpu/convert/convert.inc.c \
	src/backends/cpu/convert/convert_from.inc.c \
	src/backends/cpu/convert/convert_one.inc.c \
	src/backends/cpu/elementwise/activations.inc.c \
	src/backends/cpu/elementwise/arithmetics.inc.c \
	src/backends/cpu/elementwise/bitwise.inc.c \
	src/backends/cpu/elementwise/complex_math.inc.c \
	src/backends/cpu/elementwise/exponential.inc.c \
	src/backends/cpu/elementwise/extremes.inc.c \
	src/backends/cpu/elementwise/logical.inc.c \
	src/backends/cpu/elementwise/relational.inc.c \
	src/backends/cpu/elementwise/rounding.inc.c \
	src/backends/cpu/elementwise/rows.inc.c \
	src/backends/cpu/elementwise/trigonometrics.inc.c \
	src/backends/cpu/elementwise/walks.inc.c \
	src/backends/cpu/elementwise/where.inc.c \
	src/backends/cpu/index/add.inc.c \
	src/backends/cpu/index/move.inc.c \
	src/backends/cpu/index/resample.inc.c \
	src/backends/cpu/linalg/lapack.inc.c \
	src/backends/cpu/linalg/lapack_plain.inc.c \
	src/backends/cpu/linalg/lapack_qr.inc.c \
	src/backends/cpu/linalg/products.inc.c \
	src/backends/cpu/nn/attention.inc.c \
	src/backends/cpu/nn/attention_grad.inc.c \
	src/backends/cpu/nn/cell.inc.c \
	src/backends/cpu/nn/cell_unit.inc.c \
	src/backends/cpu/nn/conv/plain.inc.c \
	src/backends/cpu/nn/ctc.inc.c \
	src/backends/cpu/nn/dropout.inc.c \
	src/backends/cpu/nn/max_pool.inc.c \
	src/backends/cpu/nn/norm.inc.c \
	src/backends/cpu/nn/norm_channel.inc.c \
	src/backends/cpu/nn/row_norm.inc.c \
	src/backends/cpu/nn/rows.inc.c \
	src/backends/cpu/nn/slopes.inc.c \
	src/backends/cpu/optim/update.inc.c \
	src/backends/cpu/order/digits.inc.c \
	src/backends/cpu/order/key.inc.c \
	src/backends/cpu/order/merge.inc.c \
	src/backends/cpu/order/radix.inc.c \
	src/backends/cpu/order/sort.inc.c \
	src/backends/cpu/random/element.inc.c \
	src/backends/cpu/random/random.inc.c \
	src/backends/cpu/reduce/arg.inc.c \
	src/backends/cpu/reduce/better.inc.c \
	src/backends/cpu/reduce/cumulative.inc.c \
	src/backends/cpu/reduce/extreme.inc.c \
	src/backends/cpu/reduce/fold.inc.c \
	src/backends/cpu/reduce/key.inc.c \
	src/backends/cpu/reduce/moments.inc.c \
	src/backends/cpu/reduce/prod.inc.c \
	src/backends/cpu/reduce/sum.inc.c \
	src/backends/cpu/reduce/sum_abs.inc.c \
	src/backends/cpu/spatial/distance.inc.c

# The kernels are compiled once for each SIMD level, in a library of its own because flags belong to a
# library. The functions that a file exports carry the level in their names (level.h).
kernel_sources = \
	src/backends/cpu/convert/convert.c \
	src/backends/cpu/elementwise/activations.c \
	src/backends/cpu/elementwise/arithmetics.c \
	src/backends/cpu/elementwise/bitwise.c \
	src/backends/cpu/elementwise/complex_math.c \
	src/backends/cpu/elementwise/exponential.c \
	src/backends/cpu/elementwise/extremes.c \
	src/backends/cpu/elementwise/logical.c \
	src/backends/cpu/elementwise/relational.c \
	src/backends/cpu/elementwise/rounding.c \
	src/backends/cpu/elementwise/trigonometrics.c \
	src/backends/cpu/elementwise/where.c \
	src/backends/cpu/index/nonzero.c \
	src/backends/cpu/index/rows.c \
	src/backends/cpu/kernels.c \
	src/backends/cpu/linalg/products.c \
	src/backends/cpu/nn/attention.c \
	src/backends/cpu/nn/cell.c \
	src/backends/cpu/nn/ctc.c \
	src/backends/cpu/nn/dropout.c \
	src/backends/cpu/nn/max_pool.c \
	src/backends/cpu/nn/norm.c \
	src/backends/cpu/nn/rows.c \
	src/backends/cpu/nn/slopes.c \
	src/backends/cpu/optim/update.c \
	src/backends/cpu/order/digits.c \
	src/backends/cpu/order/merge.c \
	src/backends/cpu/order/sort.c \
	src/backends/cpu/random/random.c \
	src/backends/cpu/reduce/arg.c \
	src/backends/cpu/reduce/cumulative.c \
	src/backends/cpu/reduce/extreme.c \
	src/backends/cpu/reduce/moments.c \
	src/backends/cpu/reduce/prod.c \
	src/backends/cpu/reduce/sum.c \
	src/backends/cpu/reduce/sum_abs.c \
	src/backends/cpu/spatial/distance.c

noinst_LTLIBRARIES += libht_kernels_baseline.la
libht_objects_la_LIBADD += libht_kernels_baseline.la
libht_kernels_baseline_la_SOURCES = $(kernel_sources)
libht_kernels_baseline_la_CPPFLAGS = $(AM_CPPFLAGS) -DHT_LEVEL=baseline
libht_kernels_baseline_la_CFLAGS = $(AM_CFLAGS) $(HT_BASELINE_OPT)

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
