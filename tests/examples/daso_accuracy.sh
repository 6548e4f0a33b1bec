#!/bin/sh
# DASO on 4 nodes of 4 ranks against data parallelism, for the same number of epochs: within half a point of accuracy,
# mean of 3 seeds. Needs the images of Debian's dataset-fashion-mnist.
set -u

program=examples/mnist/mnist
images=/usr/share/datasets/fashion-mnist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# accuracy OPTION...: of the last epoch, with each seed in a line
accuracy() {
    for seed in 1 2 3; do
        HT_RANKS_PER_NODE=4 timeout --kill-after=2 900 "${MPIRUN:-mpirun}" -n 16 "$program" --net mlp \
            --epochs 12 --seed $seed --no-progress --json "$work/out" "$@" </dev/null >/dev/null \
            2>"$work/err" || sed 's/^/# /' "$work/err"
        sed -n 's/.*"accuracy": \([0-9.]*\).*/\1/p' "$work/out" | tail -n 1
    done
}

if [ ! -e "$images" ]; then
    echo '1..0 # SKIP no Fashion-MNIST images'
    exit 0
fi
accuracy --parallel dp >"$work/dp"
accuracy --parallel daso >"$work/daso"
verdict=$(paste "$work/dp" "$work/daso" | awk '
    { dp += $1 / 3; daso += $2 / 3; seeds += NF == 2 }
    END {
        verdict = (seeds == 3 && daso >= dp - 0.005) ? "ok" : "not ok"
        printf "%s 1 - DASO %.4f, data parallelism %.4f\n", verdict, daso, dp
    }')
echo "$verdict"
echo 1..1
