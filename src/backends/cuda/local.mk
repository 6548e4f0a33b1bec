# The module for NVIDIA GPUs, loaded at run time: libht itself is linked to nothing of it. nvcc compiles
# the kernels, as libtool's CC.
SUFFIXES = .cu

cuda_c_sources = \
	src/backends/cuda/add.c \
	src/backends/cuda/between.c \
	src/backends/cuda/device.c \
	src/backends/cuda/device.h \
	src/backends/cuda/events.c \
	src/backends/cuda/fault/fault.c \
	src/backends/cuda/fault/fault.h \
	src/backends/cuda/kernels.c \
	src/backends/cuda/kernels.h \
	src/backends/cuda/library/handle.c \
	src/backends/cuda/library/handle.h \
	src/backends/cuda/library/library.h \
	src/backends/cuda/library/nccl.h \
	src/backends/cuda/link/average.c \
	src/backends/cuda/link/link.c \
	src/backends/cuda/link/link.h \
	src/backends/cuda/memory.c \
	src/backends/cuda/nn/conv/dnn.h \
	src/backends/cuda/nn/conv/dnn_plans.c \
	src/backends/cuda/report.c \
	src/backends/cuda/retry.c \
	src/backends/cuda/retry.h \
	src/backends/cuda/runtime.h \
	src/backends/cuda/staging.c \
	src/backends/cuda/staging.h

cuda_kernel_sources = \
	src/backends/cuda/elementwise/activations.cu \
	src/backends/cuda/elementwise/arithmetics.cu \
	src/backends/cuda/elementwise/bitwise.cu \
	src/backends/cuda/elementwise/complex_math.cu \
	src/backends/cuda/elementwise/convert.cu \
	src/backends/cuda/elementwise/copy.cu \
	src/backends/cuda/elementwise/exponential.cu \
	src/backends/cuda/elementwise/extremes.cu \
	src/backends/cuda/elementwise/logical.cu \
	src/backends/cuda/elementwise/loop.cu \
	src/backends/cuda/elementwise/relational.cu \
	src/backends/cuda/elementwise/rounding.cu \
	src/backends/cuda/elementwise/tile.cu \
	src/backends/cuda/elementwise/trigonometrics.cu \
	src/backends/cuda/fault/fault.cu \
	src/backends/cuda/index/nonzero.cu \
	src/backends/cuda/index/resample.cu \
	src/backends/cuda/index/rows.cu \
	src/backends/cuda/link/sum.cu \
	src/backends/cuda/nn/attention.cu \
	src/backends/cuda/nn/cell.cu \
	src/backends/cuda/nn/conv/conv.cu \
	src/backends/cuda/nn/conv/conv_dnn.cu \
	src/backends/cuda/nn/ctc.cu \
	src/backends/cuda/nn/dropout.cu \
	src/backends/cuda/nn/gemm.cu \
	src/backends/cuda/nn/max_pool.cu \
	src/backends/cuda/nn/norm.cu \
	src/backends/cuda/nn/row_norm.cu \
	src/backends/cuda/nn/rows.cu \
	src/backends/cuda/optim/update.cu \
	src/backends/cuda/random/random.cu \
	src/backends/cuda/reduce/cumulative.cu \
	src/backends/cuda/reduce/plan.cu \
	src/backends/cuda/reduce/reduce.cu \
	src/backends/cuda/reduce/scan.cu

# Kernels with barriers, which tests have a stand-in for.
cuda_cub_sources = src/backends/cuda/index/sort.cu

cuda_headers = \
	src/backends/cuda/axes.h \
	src/backends/cuda/complex.h \
	src/backends/cuda/complex_functions.h \
	src/backends/cuda/dtypes.h \
	src/backends/cuda/elementwise/convert.inc.cu \
	src/backends/cuda/elementwise/convert_from.inc.cu \
	src/backends/cuda/elementwise/loop.h \
	src/backends/cuda/elementwise/rows.h \
	src/backends/cuda/elementwise/rows.inc.cu \
	src/backends/cuda/elementwise/tile.h \
	src/backends/cuda/elementwise/walk.h \
	src/backends/cuda/fault/targets.h \
	src/backends/cuda/foreach_floating.h \
	src/backends/cuda/index/resample.inc.cu \
	src/backends/cuda/index/rows.inc.cu \
	src/backends/cuda/index/sort.h \
	src/backends/cuda/index/sorted.h \
	src/backends/cuda/index/words.h \
	src/backends/cuda/launch.h \
	src/backends/cuda/nn/attention.inc.cu \
	src/backends/cuda/nn/cell.inc.cu \
	src/backends/cuda/nn/conv/channels.h \
	src/backends/cuda/nn/conv/conv.inc.cu \
	src/backends/cuda/nn/conv/conv_bias.inc.cu \
	src/backends/cuda/nn/conv/conv_calls.inc.cu \
	src/backends/cuda/nn/conv/conv_dnn.h \
	src/backends/cuda/nn/conv/conv_half.inc.cu \
	src/backends/cuda/nn/ctc.inc.cu \
	src/backends/cuda/nn/dropout.inc.cu \
	src/backends/cuda/nn/gemm.inc.cu \
	src/backends/cuda/nn/max_pool.inc.cu \
	src/backends/cuda/nn/norm.inc.cu \
	src/backends/cuda/nn/product.h \
	src/backends/cuda/nn/row_norm.inc.cu \
	src/backends/cuda/nn/rows.inc.cu \
	src/backends/cuda/nn/softmax.h \
	src/backends/cuda/nn/softmax.inc.cu \
	src/backends/cuda/optim/adagrad.h \
	src/backends/cuda/optim/adam.h \
	src/backends/cuda/optim/sgd.h \
	src/backends/cuda/optim/step.h \
	src/backends/cuda/random/philox.h \
	src/backends/cuda/random/random.inc.cu \
	src/backends/cuda/reduce/cumulative.inc.cu \
	src/backends/cuda/reduce/fold.h \
	src/backends/cuda/reduce/moments.h \
	src/backends/cuda/reduce/reduce.inc.cu \
	src/backends/cuda/reduce/scan.h \
	src/backends/cuda/scratch.h

# What calls the toolkit's libraries, for which tests have stand-ins, too.
cuda_library_sources = \
	src/backends/cuda/library/blas.c \
	src/backends/cuda/library/library.c \
	src/backends/cuda/library/nccl.c \
	src/backends/cuda/nn/conv/dnn.c \
	src/backends/cuda/runtime.c

EXTRA_DIST += $(cuda_c_sources) $(cuda_kernel_sources) $(cuda_cub_sources) $(cuda_headers) \
	$(cuda_library_sources) src/backends/cuda/nvcc.sh src/backends/cuda/registers.sh

# No fused operations: results have the CPU's bits wherever its source is shared. No exceptions: the module is linked to no
# library of C++.
NVCCFLAGS = -O3 -std=c++17 --fmad=false -ccbin $(NVCC_HOST) $(CUDA_ARCH) -Xfatbin -compress-all $(NVCC_WERROR) \
	--compiler-options=-fvisibility=hidden,-Wall,-fno-threadsafe-statics,-fno-exceptions

AM_V_NVCC = $(am__v_NVCC_@AM_V@)
am__v_NVCC_ = $(am__v_NVCC_@AM_DEFAULT_V@)
am__v_NVCC_0 = @echo "  NVCC    " $@;

.cu.lo:
	$(AM_V_NVCC)$(LIBTOOL) $(AM_V_lt) --tag=CC --mode=compile $(SHELL) $(top_srcdir)/src/backends/cuda/nvcc.sh \
	    "$(NVCC)" $(NVCCFLAGS) -I$(top_srcdir)/include -I$(top_srcdir)/src -MD -MP -MT $@ -MF $*.d -c -o $@ $<

if HT_HAVE_CUDA
pkglib_LTLIBRARIES = src/backends/cuda/libht_cuda.la
src_backends_cuda_libht_cuda_la_SOURCES = $(cuda_c_sources) $(cuda_kernel_sources) $(cuda_cub_sources) \
	$(cuda_library_sources)
src_backends_cuda_libht_cuda_la_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
src_backends_cuda_libht_cuda_la_LIBADD = $(CUDA_LIBS)
src_backends_cuda_libht_cuda_la_LDFLAGS = -module -avoid-version -shared -no-undefined
# The C++ compiler itself: mpicc would add MPI.
src_backends_cuda_libht_cuda_la_LINK = $(LIBTOOL) $(AM_V_lt) --tag=CC --mode=link $(NVCC_HOST) \
	$(src_backends_cuda_libht_cuda_la_LDFLAGS) $(LDFLAGS) -o $@
bench_reports = cuda-report # of `make bench`
MOSTLYCLEANFILES += $(cuda_kernel_sources:.cu=.d) $(cuda_cub_sources:.cu=.d)
CLEANFILES += cuda-registers.txt
-include $(cuda_kernel_sources:.cu=.d) $(cuda_cub_sources:.cu=.d)
endif
