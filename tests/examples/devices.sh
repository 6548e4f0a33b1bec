#!/bin/sh
# The MNIST example on GPUs, emulated: ranks that share one and ranks that have one each, blocking or not, end with the
# same parameters.
set -u

program=examples/mnist/mnist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/data" "$work/tmp"
export TMPDIR="$work/tmp"

# shellcheck source=tests/core/launch.sh
. "${srcdir:-.}/tests/core/launch.sh"
# shellcheck source=tests/examples/images.sh
. "${srcdir:-.}/tests/examples/images.sh"
[ -f tests/backends/cuda/.libs/libht_cuda.so ] || skip_all 'there is no C++ compiler'
images 60 >"$work/data/train-images-idx3-ubyte"
labels 60 >"$work/data/train-labels-idx1-ubyte"
images 20 >"$work/data/t10k-images-idx3-ubyte"
labels 20 >"$work/data/t10k-labels-idx1-ubyte"

# trains "name" RANKS DEVICES ARGUMENT...: prints nothing but the test's result. The digest goes to $digest.
trains() {
    name=$1
    ranks=$2
    EMULATED_DEVICES=$3
    export EMULATED_DEVICES
    shift 3
    rm -f "$work/json"
    launch "$ranks" "$program" --data "$work/data" --batch-size 5 --epochs 1 --no-progress \
        --json "$work/json" "$@"
    digest=$(sed -n 's/.*"parameters_sha256": "\([0-9a-f]\{64\}\)".*/\1/p' "$work/json" 2>/dev/null)
    if [ $status -eq 0 ] && [ -n "$digest" ]; then
        result ok "$name"
    else
        result 'not ok' "$name: status $status"
        sed 's/^/# /' "$job_err"
    fi
}

# agrees RANKS ARGUMENT...
agrees() {
    ranks=$1
    shift
    trains "$ranks ranks share a GPU, blocking" "$ranks" 1 --device cuda "$@" --blocking
    expected=$digest
    trains "$ranks ranks share a GPU, non-blocking" "$ranks" 1 --device cuda "$@"
    check 'blocking and non-blocking agree' [ "$digest" = "$expected" ]
    trains "$ranks ranks with a GPU each" "$ranks" 4 --device cuda "$@"
    check 'one GPU and several agree' [ "$digest" = "$expected" ]
}

agrees 2 --net cnn --no-dropout --steps 1
agrees 3 --net mlp --steps 2
trains 'one rank' 1 8 --device cuda --net mlp --steps 1
trains 'one rank on a GPU by its number' 1 8 --device cuda:5 --net mlp --steps 1
finish
