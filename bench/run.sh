#!/bin/sh
# Training throughput of the MNIST example against PyTorch DDP and Heat, in the build folder: `make bench`.
# Runs alternate, so that a machine whose speed drifts drifts for all; medians and spreads are printed.
#   HT_BENCH_RUNS=7  HT_BENCH_RANKS=2  HT_BENCH_STEPS=60  HT_BENCH_DATA=FOLDER
#   HT_BENCH_PYTHON="/usr/bin/python3 venv/bin/python"   each with its own PyTorch and mpi4py; a Python that
#                                                       has Heat too is also measured with Heat's two modes
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

peer() { # peer NET PYTHON KIND: a result counts even where the peer crashes after it, as Heat's non-blocking mode may
    mpirun -n "$ranks" "$2" -W ignore "$here/peers/mnist.py" "$3" --data "$data" --net "$1" --steps "$steps" \
        >"$work/all" 2>"$work/err" || printf '\n%s ended with an error: %s\n' "$3" "$(head -n 1 "$work/err")" >&2
    grep '^{' "$work/all" >"$work/out" || cat "$work/err" >&2 # Gloo prints to stdout too
    field "$work/out" "['samples_per_s']"
}

name_of() { # name_of PYTHON KIND: with its version
    case $2 in
    ddp) "$1" -c 'import torch; print("PyTorch", torch.__version__.split("+")[0], "DDP")' ;;
    *) "$1" -W ignore -c 'import sys, heat; print("Heat", heat.__version__, sys.argv[1][5:])' "$2" ;;
    esac
}

# One line for each peer: PYTHON KIND.
for python in $pythons; do
    echo "$python ddp"
    if "$python" -W ignore -c 'import heat' 2>/dev/null; then
        echo "$python heat-blocking"
        echo "$python heat-nonblocking"
    fi
done >"$work/peers"

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
        while read -r python kind; do
            n=$((n + 1))
            peer "$net" "$python" "$kind" </dev/null >>"$work/rates.peer$n"
        done <"$work/peers"
    done
    printf '\r%s, %s ranks, batch 64 per rank: samples/s, median (min ... max) of %s\n' "$net" "$ranks" "$runs"
    n=0
    while read -r python kind; do
        n=$((n + 1))
        printf '  %-24s %s\n' "$(name_of "$python" "$kind")" "$(summary "$work/rates.peer$n")"
        for mode in blocking non-blocking; do
            printf '  libht %-18s %s   ratio %s\n' "$mode" "$(summary "$work/rates.$mode")" \
                "$(ratio "$work/rates.$mode" "$work/rates.peer$n")"
        done
    done <"$work/peers"
done
