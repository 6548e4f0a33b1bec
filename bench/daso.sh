#!/bin/bash
# Time of an epoch, bytes between nodes and accuracy by how training is averaged: DataParallel, hierarchical averaging,
# DASO, and PyTorch DDP over gloo, over simulated hosts: `make bench-daso`. Needs the rights of tests/multinode/launch.
# Runs alternate; medians (least ... most) of the time are printed.
#   HT_BENCH_RUNS=3  HT_BENCH_NODES=4  HT_BENCH_RANKS=2 (of a node)  HT_BENCH_RATE=1gbit  HT_BENCH_DELAY=MS
#   HT_BENCH_EPOCHS=3  HT_BENCH_WARMUP=1  HT_BENCH_COOLDOWN=1 (epochs of DASO)  HT_BENCH_STEPS=N of an epoch (all)
#   HT_BENCH_WAYS="ddp blocking non-blocking bf16 hierarchical daso"  HT_BENCH_SEEDS=1 (one for each run, in turns)
#   HT_BENCH_DATA=FOLDER  HT_BENCH_PYTHON=/usr/bin/python3   with PyTorch and mpi4py
# The delay needs netem in the kernel; without it the launcher says so and ends with status 77.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
launch=$here/../tests/multinode/launch
runs=${HT_BENCH_RUNS:-3} nodes=${HT_BENCH_NODES:-4} ranks=${HT_BENCH_RANKS:-2}
epochs=${HT_BENCH_EPOCHS:-3} warmup=${HT_BENCH_WARMUP:-1} cooldown=${HT_BENCH_COOLDOWN:-1}
ways=${HT_BENCH_WAYS:-ddp blocking non-blocking bf16 hierarchical daso}
data=${HT_BENCH_DATA:-/usr/share/datasets/fashion-mnist} python=${HT_BENCH_PYTHON:-/usr/bin/python3}
read -ra seeds <<<"${HT_BENCH_SEEDS:-1}"
network=(--rate "${HT_BENCH_RATE:-1gbit}" ${HT_BENCH_DELAY:+--delay "$HT_BENCH_DELAY"})
options=(-e "$epochs" ${HT_BENCH_STEPS:+-s "$HT_BENCH_STEPS"} -i eth0)
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
unset OPENBLAS_CORETYPE

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tools/ht-idx2hdf5 "$data" "$work/images.h5" >/dev/null

run() { # run WAY SEED: a line for each epoch
    case $1 in
    ddp) "$launch" "$nodes" "$ranks" "${network[@]}" -- "$python" -W ignore "$here/peers/daso_ddp.py" \
        "${options[@]}" -r "$2" "$data" ;;
    *) "$launch" "$nodes" "$ranks" "${network[@]}" -- bench/daso "${options[@]}" -w "$warmup" -c "$cooldown" \
        -r "$2" "$1" "$work/images.h5" ;;
    esac
}

for ((i = 0; i < runs; i++)); do
    for way in $ways; do
        printf '\r%-60s' "run $((i + 1)) of $runs: $way" >&2
        status=0
        run "$way" "${seeds[i % ${#seeds[@]}]}" >"$work/out" 2>"$work/err" || status=$?
        if [[ $status -ne 0 ]]; then
            printf '\n' >&2
            cat "$work/err" >&2
            exit $status
        fi
        cat "$work/out" >>"$work/epochs"
    done
done

printf '\r%s nodes x %s ranks at %s, %s epochs, %s steps of each, %s runs\n' "$nodes" "$ranks" "${network[*]}" "$epochs" \
    "${HT_BENCH_STEPS:-all}" "$runs"
printf '%-13s %-10s %-30s %12s %10s\n' way phase 's an epoch' 'MB a rank' accuracy
for way in $ways; do
    for phase in - warm-up cycling cool-down all; do
        awk -v way="$way" -v phase="$phase" -v last="$epochs" '
            $1 != way || (phase != "all" && $3 != phase) || (phase == "all" && $3 == "-") { next }
            phase == "all" && $2 == 1 { runs++ }
            phase == "all" { seconds[runs] += $4 / last }
            phase != "all" { seconds[++count] = $4 }
            { megabytes += $5; lines++ }
            $2 == last { right += $7; ends++ }
            END {
                if (lines == 0)
                    exit
                n = phase == "all" ? runs : count
                for (i = 2; i <= n; i++)
                    for (j = i; j > 1 && seconds[j] < seconds[j - 1]; j--) {
                        swap = seconds[j]; seconds[j] = seconds[j - 1]; seconds[j - 1] = swap
                    }
                median = (seconds[int((n + 1) / 2)] + seconds[int((n + 2) / 2)]) / 2
                time = sprintf("%.2f (%.2f ... %.2f)", median, seconds[1], seconds[n])
                printf "%-13s %-10s %-30s %12.1f %10s\n", way, phase, time, megabytes / lines,
                    (ends ? sprintf("%.4f", right / ends) : "")
            }' "$work/epochs"
    done
done
