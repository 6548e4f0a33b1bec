# One program for each hot path. `make bench` builds them and runs bench/run.sh; `make` does not.
bench_programs = \
	bench/cnn_step \
	bench/core \
	bench/daso \
	bench/exchange \
	bench/gpu \
	bench/kernels \
	bench/nn \
	bench/nn_kernels \
	bench/overlap

EXTRA_PROGRAMS += $(bench_programs)

# What `make gpu-bundle` packs.
gpu_bundle_programs = \
	bench/cnn_step \
	bench/gpu \
	bench/nn \
	tests/backends/lagging/libht_lag.la \
	tests/core/libht_dummy.la \
	tests/core/libht_near.la \
	tests/core/run-core \
	tests/nn/parallel/run-parallel \
	tests/nn/run-nn \
	tests/optim/run-optim \
	tests/utils/data/run-data \
	tests/utils/training/run-training

bench_cnn_step_SOURCES = bench/cnn_step.c
bench_cnn_step_LDADD = libht.la

bench_core_SOURCES = bench/core.c
bench_core_LDADD = libht.la

bench_daso_SOURCES = bench/daso.c
bench_daso_LDADD = libht_objects.la

bench_exchange_SOURCES = bench/exchange.c
bench_exchange_LDADD = libht_objects.la

bench_gpu_SOURCES = bench/cublas.c bench/gpu.c bench/gpu.h src/backends/cuda/library/library.c \
	src/backends/cuda/library/library.h
bench_gpu_CPPFLAGS = $(AM_CPPFLAGS) $(CUDA_CPPFLAGS)
bench_gpu_LDADD = libht_objects.la

bench_kernels_SOURCES = bench/kernels.c
bench_kernels_LDADD = libht_objects.la

bench_nn_SOURCES = bench/nn.c bench/nn_models.c bench/nn_models.h
bench_nn_LDADD = libht.la

bench_nn_kernels_SOURCES = bench/nn_kernels.c
bench_nn_kernels_LDADD = libht_objects.la

bench_overlap_SOURCES = bench/overlap.c
bench_overlap_LDADD = libht_objects.la

EXTRA_DIST += \
	bench/daso.awk \
	bench/daso.sh \
	bench/nn.sh \
	bench/overlap.sh \
	bench/peers/chars.py \
	bench/peers/daso_ddp.py \
	bench/peers/files.py \
	bench/peers/mnist.py \
	bench/peers/nn.py \
	bench/peers/recipe.py \
	bench/peers/resnet.py \
	bench/peers/series.py \
	bench/run.sh
