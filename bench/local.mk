# One program for each hot path. `make bench` builds them and runs bench/run.sh; `make` does not.
bench_programs = \
	bench/nn_kernels

EXTRA_PROGRAMS += $(bench_programs)

bench_nn_kernels_SOURCES = bench/nn_kernels.c
bench_nn_kernels_LDADD = libht_objects.la
EXTRA_DIST += bench/run.sh bench/peers/mnist.py
