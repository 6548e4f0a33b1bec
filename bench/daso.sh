#!/bin/bash
# Time of an epoch, bytes between nodes and accuracy by how training is averaged: DataParallel (blocking, non-blocking,
# with the bf16 hook), hierarchical averaging, DASO, and PyTorch DDP over gloo, over simulated hosts: `make bench-daso`.
# Needs the rights of tests/multinode/launch. All ways run in turns; bench/daso.awk makes the table.
#
#   HT_BENCH_NODES=4 HT_BENCH_RANKS=2     hosts, and ranks of each
#   HT_BENCH_RATE=1gbit                   of each host's link
#   HT_BENCH_DELAY=200us                  from host to host, half a round trip; 0: none
#                                         0us: only what it takes to delay, which without netem is time of the cores:
#                                         about 5 % of a non-blocking epoch with 8 ranks on two cores
#   HT_BENCH_RUNS=3 HT_BENCH_SEEDS="1"    seeds are taken in turns, one for each run of all ways
#   HT_BENCH_EPOCHS=3 HT_BENCH_STEPS=all  batches of an epoch (64 rows a rank)
#   HT_BENCH_WARMUP=1 HT_BENCH_COOLDOWN=1 epochs of DASO
#   HT_BENCH_WAYS="ddp blocking non-blocking bf16 hierarchical daso"
#   HT_BENCH_DATA=FOLDER                  MNIST's four files
#   HT_BENCH_PYTHON=/usr/bin/python3      with PyTorch and mpi4py
#   HT_BENCH_LINES=FILE                   also put the lines of all epochs there
#
# A run of all six ways with whole epochs (117 batches) takes about 4 minutes an epoch where 8 ranks share two cores;
# three runs of 8 epochs, one for each of three seeds, an hour and a half. HT_BENCH_STEPS=15 gives times after 2 minutes a
# run, and no accuracy worth the name. Interrupted, it shows the table of what has run.
set -euo pipefail

if [[ $# -gt 0 ]]; then
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
    [[ $1 == --help ]] && exit 0 || exit 2
fi

here=$(cd "$(dirname "$0")" && pwd)
launch=$here/../tests/multinode/launch
runs=${HT_BENCH_RUNS:-3} nodes=${HT_BENCH_NODES:-4} ranks=${HT_BENCH_RANKS:-2} rate=${HT_BENCH_RATE:-1gbit}
epochs=${HT_BENCH_EPOCHS:-3} warmup=${HT_BENCH_WARMUP:-1} cooldown=${HT_BENCH_COOLDOWN:-1} steps=${HT_BENCH_STEPS:-all}
delay=${HT_BENCH_DELAY:-200us}
data=${HT_BENCH_DATA:-/usr/share/datasets/fashion-mnist} python=${HT_BENCH_PYTHON:-/usr/bin/python3}
read -ra ways <<<"${HT_BENCH_WAYS:-ddp blocking non-blocking bf16 hierarchical daso}"
read -ra seeds <<<"${HT_BENCH_SEEDS:-1}"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
unset OPENBLAS_CORETYPE

# Missing tools are reported before hours are spent. The default delay is left out where none can be made.
network=(--rate "$rate")
"$launch" 1 1 "${network[@]}" -- true
if [[ $delay != 0 ]]; then
    status=0
    "$launch" 1 1 "${network[@]}" --delay "$delay" -- true || status=$?
    if [[ $status -eq 0 ]]; then
        network+=(--delay "$delay")
    elif [[ $status -ne 77 || -n ${HT_BENCH_DELAY-} ]]; then
        exit $status
    fi
fi
names=" ${ways[*]} "
if [[ $names == *' ddp '* ]] && ! "$python" -W ignore -c 'import torch, mpi4py' 2>/dev/null; then
    echo "daso.sh: without PyTorch DDP: $python has no PyTorch or no mpi4py (HT_BENCH_PYTHON)" >&2
    read -ra ways <<<"${names/ ddp / }"
fi

work=$(mktemp -d)
lines=$work/lines

table() {
    printf '\r%79s\r' '' >&2
    printf '%s nodes x %s ranks, %s, %s apart; epochs: %s, steps of each: %s, runs: %s, seeds: %s\n' "$nodes" "$ranks" \
        "$rate" "${network[3]:-nothing}" "$epochs" "$steps" "$runs" "${seeds[*]}"
    awk -v ways="${ways[*]}" -v epochs="$epochs" -f "$here/daso.awk" "$lines"
}

# However it ends, with a table of the runs until then.
job=''
trap '[[ ! -s $lines ]] || table; rm -rf "$work"' EXIT
trap '[[ -z $job ]] || kill $job; exit 143' TERM INT
tools/ht-idx2hdf5 "$data" "$work/images.h5" >/dev/null

run() { # run WAY SEED: a line for each epoch, in place of this process
    local options=(-e "$epochs" -i eth0 -r "$2")
    [[ $steps == all ]] || options+=(-s "$steps")
    if [[ $1 == ddp ]]; then
        exec "$launch" "$nodes" "$ranks" "${network[@]}" -- "$python" -W ignore "$here/peers/daso_ddp.py" "${options[@]}" "$data"
    else
        exec "$launch" "$nodes" "$ranks" "${network[@]}" -- bench/daso "${options[@]}" -w "$warmup" -c "$cooldown" "$1" \
            "$work/images.h5"
    fi
}

minutes() { # minutes SECONDS
    printf '%d:%02d' $(($1 / 60)) $(($1 % 60))
}

progress() { # progress DONE WAY
    local left=''
    [[ $1 -eq 0 ]] || left=", about $(minutes $((SECONDS * (runs * ${#ways[@]} - $1) / $1))) left"
    printf '\r%-79s' "$(minutes $SECONDS): $2, $(($1 + 1)) of $((runs * ${#ways[@]}))$left" >&2
}

SECONDS=0
for ((i = 0; i < runs; i++)); do
    for ((w = 0; w < ${#ways[@]}; w++)); do
        progress $((i * ${#ways[@]} + w)) "${ways[w]}"
        run "${ways[w]}" "${seeds[i % ${#seeds[@]}]}" </dev/null >"$work/out" 2>"$work/err" &
        job=$! status=0
        wait $job || status=$?
        job=''
        if [[ $status -ne 0 ]]; then
            printf '\n' >&2
            cat "$work/err" >&2
            exit $status
        fi
        sed "s/^/$((i + 1)) /" "$work/out" | tee -a ${HT_BENCH_LINES:+"$HT_BENCH_LINES"} >>"$lines"
    done
done
