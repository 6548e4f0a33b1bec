#!/bin/sh
# Blocking and non-blocking training give the same parameters: every network and optimizer on 1, 2, 3
# and 4 ranks, with bucket sizes drawn at random. Needs the images of Debian's dataset-fashion-mnist.
set -u

program=examples/mnist/mnist
images=/usr/share/datasets/fashion-mnist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0

# digest RANKS MODE BUCKET_MB NET OPTIMIZER
digest() {
    HT_BUCKET_CAP_MB=$3 timeout --kill-after=2 200 "${MPIRUN:-mpirun}" -n "$1" "$program" "--$2" --net "$4" \
        --optimizer "$5" --epochs 2 --steps 6 --batch-size 33 --train-limit 1000 --no-progress \
        --json "$work/out" </dev/null >/dev/null 2>"$work/err" || return 1
    sed -n 's/.*"parameters_sha256": "\([0-9a-f]\{64\}\)".*/\1/p' "$work/out"
}

if [ ! -e "$images" ]; then
    echo '1..0 # SKIP no Fashion-MNIST images'
    exit 0
fi
for net in cnn mlp; do
    for optimizer in sgd adam adamw adadelta rmsprop; do
        for ranks in 1 2 3 4; do
            bucket=$(od -An -N1 -tu1 /dev/urandom | awk '{printf "%.3f", ($1 + 1) / 100}')
            first=$(digest "$ranks" blocking 25 "$net" "$optimizer")
            second=$(digest "$ranks" non-blocking "$bucket" "$net" "$optimizer")
            count=$((count + 1))
            verdict='not ok'
            [ -z "$first" ] || [ "$first" != "$second" ] || verdict=ok
            echo "$verdict $count - $net, $optimizer, $ranks ranks, buckets of 25 and $bucket MB"
        done
    done
done
echo "1..$count"
