#!/bin/sh
# Training throughput of the MNIST example against PyTorch DDP, in the build folder: `make bench`.
# Runs alternate, so that a machine whose speed drifts drifts for all; medians and spreads are printed.
#   HT_BENCH_RUNS=7  HT_BENCH_RANKS=2  HT_BENCH_STEPS=60  HT_BENCH_DATA=FOLDER
#   HT_BENCH_PYTHON="/usr/bin/python3 venv/bin/python"   each with its own PyTorch and mpi4py
set -eu

here=$(cd "$(dirname "$0")" && pwd)
runs=${HT_BENCH_RUNS:-7}
ranks=${HT_BENCH_RANKS:-2}
steps=${HT_BENCH_STEPS:-60}
data=${HT_BENCH_DATA:-/usr/share/datasets/fashion-mnist}
pythons=${HT_BENCH_PYTHON:-/usr/bin/python3}
# shellcheck source=tests/mpi-env.sh
. "$here/../tests/mpi-env.sh"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
unset OPENBLAS_CORETYPE

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

field() { # field FILE EXPRESSION: a number of a JSON file
    "${pythons%% *}" -c "import json, sys; print(json.load(open(sys.argv[1]))$2)" "$1"
}

ours() { # ours NET MODE
    # The second epoch: like the peer's steps, after the warm-up.
    mpirun -n "$ranks" examples/mnist/mnist --data "$data" --net "$1" "--$2" --epochs 2 --steps "$steps" \
        --no-progress --json "$work/out" >/dev/null
    field "$work/out" "['epochs'][1]['samples_per_s']"
}

peer() { # peer NET PYTHON
    mpirun -n "$ranks" "$2" "$here/peers/mnist.py" ddp --data "$data" --net "$1" --steps "$steps" >"$work/out"
    field "$work/out" "['samples_per_s']"
}

summary() { # summary FILE: median (min ... max)
    sort -g "$1" | awk '{v[NR] = $1} END {printf "%.0f (%.0f ... %.0f)", v[int((NR + 1) / 2)], v[1], v[NR]}'
}

ratio() { # ratio OURS PEER: median of the ratios run by run
    paste "$1" "$2" | awk '{print $1 / $2}' | sort -g |
        awk '{v[NR] = $1} END {printf "%.2f (%.2f ... %.2f)", v[int((NR + 1) / 2)], v[1], v[NR]}'
}

for net in cnn mlp; do
    rm -f "$work"/rates.*
    for run in $(seq "$runs"); do
        printf '\r%s: run %s of %s ' "$net" "$run" "$runs" >&2
        for mode in blocking non-blocking; do
            ours "$net" "$mode" >>"$work/rates.$mode"
        done
        n=0
        for python in $pythons; do
            n=$((n + 1))
            peer "$net" "$python" >>"$work/rates.peer$n"
        done
    done
    printf '\r%s, %s ranks, batch 64 per rank: samples/s, median (min ... max) of %s\n' "$net" "$ranks" "$runs"
    n=0
    for python in $pythons; do
        n=$((n + 1))
        version=$("$python" -c 'import torch; print(torch.__version__)')
        printf '  PyTorch %-12s DDP   %s\n' "$version" "$(summary "$work/rates.peer$n")"
        for mode in blocking non-blocking; do
            printf '  libht %-14s      %s   ratio %s\n' "$mode" "$(summary "$work/rates.$mode")" \
                "$(ratio "$work/rates.$mode" "$work/rates.peer$n")"
        done
    done
done
