#!/bin/sh
# How much of the exchange a training step hides over two simulated hosts joined at 1 Gbit/s, without
# and with the progress thread, and the exchange against MPI_Allreduce on 2 x 2: `make bench-overlap`.
# Needs the rights of tests/multinode/launch.   HT_BENCH_RUNS=7   HT_BENCH_RATE=1gbit
#   HT_BENCH_DELAY=200us   from host to host, half a round trip; by default none
set -eu

launch=$(cd "$(dirname "$0")/../tests/multinode" && pwd)/launch
runs=${HT_BENCH_RUNS:-7}
rate=${HT_BENCH_RATE:-1gbit}
delay=${HT_BENCH_DELAY:-}
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
unset OPENBLAS_CORETYPE

for thread in 0 1; do
    echo "2 hosts x 1 rank at $rate${delay:+, $delay apart}, HT_PROGRESS_THREAD=$thread"
    HT_PROGRESS_THREAD=$thread "$launch" 2 1 --rate "$rate" ${delay:+--delay "$delay"} -- bench/overlap "$runs"
done
echo "2 hosts x 2 ranks at $rate${delay:+, $delay apart}"
"$launch" 2 2 --rate "$rate" ${delay:+--delay "$delay"} -- bench/exchange "$runs"
