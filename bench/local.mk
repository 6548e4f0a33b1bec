# One program for each hot path. `make bench` builds them and runs bench/run.sh; `make` does not.
bench_programs =

EXTRA_PROGRAMS += $(bench_programs)
