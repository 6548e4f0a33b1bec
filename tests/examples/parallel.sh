#!/bin/sh
# The example's three ways to train on several ranks, with nodes of two ranks: the lines of DASO's decisions, unequal
# nodes, checkpoints in each phase, and options that exclude each other.
set -u

program=examples/mnist/mnist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/data" "$work/tmp"
export TMPDIR="$work/tmp" HT_RANKS_PER_NODE=2

# shellcheck source=tests/core/launch.sh
. "${srcdir:-.}/tests/core/launch.sh"
# shellcheck source=tests/examples/images.sh
. "${srcdir:-.}/tests/examples/images.sh"
images 200 >"$work/data/train-images-idx3-ubyte"
labels 200 >"$work/data/train-labels-idx1-ubyte"
images 50 >"$work/data/t10k-images-idx3-ubyte"
labels 50 >"$work/data/t10k-labels-idx1-ubyte"

# job RANKS ARGUMENT...: four steps an epoch on four ranks. The digest goes to $digest.
job() {
    ranks=$1
    shift
    rm -f "$work/json"
    launch "$ranks" "$program" --data "$work/data" --net mlp --batch-size 16 --no-progress --json "$work/json" "$@"
    digest=$(sed -n 's/.*"parameters_sha256": "\([0-9a-f]\{64\}\)".*/\1/p' "$work/json" 2>/dev/null)
}

# check "name" CONDITION...
check() {
    name=$1
    shift
    if [ $status -eq 0 ] && "$@"; then
        result ok "$name"
    else
        result 'not ok' "$name: status $status, $*"
        sed 's/^/# /' "$job_out" "$job_err"
    fi
}

# refuses "name" RANKS STATUS "text" ARGUMENT...
refuses() {
    name=$1
    ranks=$2
    expected=$3
    text=$4
    shift 4
    job "$ranks" "$@"
    if [ $status -eq "$expected" ] && grep -q -e "$text" "$job_err"; then
        result ok "$name"
    else
        result 'not ok' "$name: status $status"
        sed 's/^/# /' "$job_err"
    fi
}

# A line for each change of phase, skips or wait, and no other.
job 4 --parallel daso --epochs 6
daso_lines='epoch 1/6  DASO, warm-up: all ranks average after each batch
epoch 3/6  DASO, cycling: global skip 4, local skip 1, wait 1
epoch 5/6  DASO, cool-down: all ranks average after each batch'
check 'phases of DASO are told' [ "$(grep DASO "$job_out")" = "$daso_lines" ]
job 4 --parallel daso --epochs 3 --daso-warmup 0 --daso-cooldown 1 --daso-max-skips 2 --daso-wire fp16
check 'options of DASO' [ "$(sed -n 's/.*DASO, //p' "$job_out" | head -n 1)" = 'cycling: global skip 2, local skip 1, wait 1' ]

job 4 --parallel daso --epochs 3 --profile
check 'the profile of DASO is that of an epoch before the cool-down' grep -q '^the training of epoch 2:' "$job_out"

for way in daso hierarchical; do
    job 3 --parallel $way --epochs 3
    check "$way on unequal nodes ends with one model" [ -n "$digest" ]
    job 1 --parallel $way --epochs 3
    check "$way on one rank" [ -n "$digest" ]
    # The second step of an epoch finds no row on the second node.
    job 4 --parallel $way --epochs 3 --train-limit 65
    check "$way where a node has run out of rows" [ -n "$digest" ]
done
job 4 --parallel hierarchical --epochs 3 --average-every 1
every_step=$digest
job 4 --parallel hierarchical --epochs 3 --average-every 100
check 'the period of averages matters' [ "$digest" != "$every_step" ]

# Saved after steps 3, 6, ..., 21 of 24: in each phase, in the middle of an epoch and at its end.
job 4 --parallel daso --epochs 6 --save "$work/run" --save-every 3 --keep 8
whole=$digest
check 'checkpoints of all phases are there' [ -e "$work/run.7" ]
for age in 7 6 5 4 3 2 1; do
    job 4 --parallel daso --epochs 6 --resume "$work/run.$age" --save "$work/again" --save-every 3
    check "DASO goes on $(sed -n 's/resumed from .* \(after .*\)/\1/p' "$job_out")" [ "$digest" = "$whole" ]
done
job 3 --parallel daso --epochs 7 --resume "$work/run"
check 'DASO goes on with another number of ranks between epochs' [ -n "$digest" ]
refuses 'but not within one' 3 1 'can resume only between two epochs' \
    --parallel daso --epochs 6 --resume "$work/run.7"
job 4 --parallel hierarchical --epochs 3
whole=$digest
job 4 --parallel hierarchical --epochs 2 --save "$work/half"
job 4 --parallel hierarchical --epochs 3 --resume "$work/half"
check 'hierarchical averaging goes on' [ "$digest" = "$whole" ]

refuses 'a checkpoint of DASO without it' 4 1 'it is of a run with --parallel daso' --resume "$work/run" --epochs 8
refuses 'a checkpoint of other averaging' 4 1 'it is of a run with --parallel hierarchical' \
    --parallel daso --resume "$work/half"
refuses 'options of DASO without it' 4 2 'need --parallel daso' --daso-warmup 2
refuses 'a period without averages' 4 2 'needs --parallel hierarchical' --average-every 2
refuses 'checkpoints between averages' 4 2 'needs --parallel dp or daso' \
    --parallel hierarchical --save "$work/x" --save-every 2
refuses 'a mode without its gradients' 4 2 'blocking needs --parallel dp' --parallel daso --blocking
refuses 'the other mode without its gradients' 4 2 'non-blocking needs --parallel dp' --parallel daso --non-blocking
refuses 'more phases than epochs' 4 2 'daso-warmup 4 and --daso-cooldown 1 are more than --epochs 3' \
    --parallel daso --epochs 3 --daso-warmup 4
refuses 'an unknown way' 4 2 'expected one of dp|daso|hierarchical' --parallel apart

# The processes that $1 has started.
children() {
    cat "/proc/$1/task/$1/children"
}

# stops "name" WAY: one rank gets a signal in the middle of an endless run.
stops() {
    background 4 "$program" --data "$work/data" --net mlp --batch-size 16 \
        --no-progress --epochs 100000 --parallel "$2" --save "$work/stopped"
    running=$!
    within_limit printed 1 '^epoch 2/' "$job_out"
    launcher=$(children $running)
    rank=$(children "${launcher%% *}")
    kill -TERM "${rank%% *}"
    wait $running
    status=$?
    check "$1" grep -q '^stopped by a signal after' "$job_out"
}
stops 'DASO stops on all ranks at the same step' daso
stops 'hierarchical averaging stops between epochs' hierarchical
finish
