#!/bin/sh
# The MNIST example as its users meet it: bad input, the two modes, rank counts, files.
set -u

program=examples/mnist/mnist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR="$work/tmp"
mkdir "$TMPDIR" "$work/good" "$work/empty" "$work/bad"

# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"

launch() {
    ranks=$1
    shift
    timeout --kill-after=2 300 "${MPIRUN:-mpirun}" -n "$ranks" "$program" "$@" \
        </dev/null >"$work/out" 2>"$work/err"
    status=$?
}

# refuses "name" STATUS "text" ARGUMENT...: one line with the text, that status, nothing left behind.
refuses() {
    name=$1
    expected=$2
    text=$3
    shift 3
    launch 3 "$@"
    lines=$(grep -c -e '^mnist: ' -e '^ht: ' "$work/err")
    # The process that tidies up after an aborted rank may be a moment late.
    for _ in $(seq 100); do
        [ -n "$(ls "$TMPDIR")" ] || break
        sleep 0.2
    done
    if [ $status -eq "$expected" ] && [ "$lines" -eq 1 ] && grep -q -e "$text" "$work/err" &&
        [ -z "$(ls "$TMPDIR")" ] && [ ! -e "$work/j.json" ]; then
        result ok "$name"
    else
        result 'not ok' "$name: status $status, $lines lines"
        sed 's/^/# /' "$work/err"
        ls "$TMPDIR" | sed 's/^/# left: /'
    fi
}

# trains "name" RANKS ARGUMENT...
trains() {
    name=$1
    ranks=$2
    shift 2
    launch "$ranks" --data "$work/good" --no-progress --json "$work/j.json" "$@"
    digest=$(sed -n 's/.*"parameters_sha256": "\([0-9a-f]\{64\}\)".*/\1/p' "$work/j.json" 2>/dev/null)
    if [ $status -eq 0 ] && [ -n "$digest" ] && [ -z "$(ls "$TMPDIR")" ]; then
        result ok "$name"
    else
        result 'not ok' "$name: status $status"
        sed 's/^/# /' "$work/err"
    fi
    mv -f "$work/j.json" "$work/last.json" 2>/dev/null
}

same() {
    if [ -n "$2" ] && [ "$2" = "$3" ]; then
        result ok "$1"
    else
        result 'not ok' "$1: '$2' and '$3'"
    fi
}

# shellcheck source=tests/examples/images.sh
. "${srcdir:-.}/tests/examples/images.sh"
images 200 >"$work/good/train-images-idx3-ubyte"
labels 200 | gzip >"$work/good/train-labels-idx1-ubyte.gz"
images 50 >"$work/good/t10k-images-idx3-ubyte"
labels 50 >"$work/good/t10k-labels-idx1-ubyte"

refuses 'unknown option' 2 'unknown option --what' --what
refuses 'missing value' 2 '--json needs a value' --json
refuses 'number that is not finite' 2 '--lr is "nan"' --lr nan
refuses 'number out of range' 2 '--epochs is "0"' --epochs 0
refuses 'unknown net' 2 'expected one of cnn|mlp' --net vgg
refuses 'fewer rows than ranks' 2 'train-limit' --train-limit 2
refuses 'batch larger than the shard' 2 'a rank has only 66' --data "$work/good" --batch-size 67
refuses 'missing folder' 1 'No such file' --data "$work/nowhere"
refuses 'missing file' 1 'No such file' --data "$work/nowhere.h5"
refuses 'folder without images' 1 'holds no IDX files' --data "$work/empty"
cp "$work/good/"* "$work/bad"
head -c 1000 "$work/good/train-images-idx3-ubyte" >"$work/bad/train-images-idx3-ubyte"
refuses 'truncated images' 1 'expected 156816 bytes, found 1000' --data "$work/bad"
images 199 >"$work/bad/train-images-idx3-ubyte"
refuses 'unequal lengths' 1 '199 images.*200 labels' --data "$work/bad"
labels 200 >"$work/bad/train-images-idx3-ubyte"
refuses 'wrong magic number' 1 'expected 0x00000803, found 0x00000801' --data "$work/bad"
cp "$work/good/"* "$work/bad"
rm "$work/bad/train-labels-idx1-ubyte.gz"
labels 200 | gzip | head -c -6 >"$work/bad/train-labels-idx1-ubyte.gz"
refuses 'compressed file without its checksum' 1 'truncated' --data "$work/bad"
cp "$work/good/train-labels-idx1-ubyte.gz" "$work/bad"
{
    printf '\000\000\010\003\000\000\000\062\000\000\000\016\000\000\000\070'
    images 50 | tail -c +17
} >"$work/bad/t10k-images-idx3-ubyte"
refuses 'images of another size' 2 'test/images has 3 axes, the last ones 14 x 56' --data "$work/bad"
refuses 'learning rate that overflows' 2 'not finite' --gamma 1e308 --epochs 3
refuses 'one file for two' 2 'the same file' --json "$work/x" --save "$work/x"
refuses 'steps between checkpoints without a file' 2 'save-every needs --save' --save-every 5
refuses 'missing checkpoint' 1 'cannot open .*/nowhere.h5' --data "$work/good" --batch-size 16 --resume "$work/nowhere.h5"
refuses 'JSON over a folder' 1 'not an ordinary file' --data "$work/good" --json "$work"
refuses 'state from a folder' 1 'it is a folder, not a file' --data "$work/good" --net mlp --load "$work" --steps 1
refuses 'rows into a missing folder' 1 'cannot write .*/nowhere/rows.0: No such file' \
    --data "$work/good" --log-rows "$work/nowhere/rows"
mkfifo "$work/fifo"
refuses 'images from a FIFO' 1 'it is a FIFO, not a file' --data "$work/fifo"
refuses 'a checkpoint from a FIFO' 1 'it is a FIFO, not a file' --data "$work/good" --batch-size 16 --resume "$work/fifo"
refuses 'unwritable JSON' 1 'cannot write' --data "$work/good" --json "$work/nowhere/j.json"
refuses 'unknown device' 1 'foo' --data "$work/good" --device foo

launch 2 --help
if [ $status -eq 0 ] && [ "$(wc -l <"$work/out")" -le 40 ] && grep -q -- --non-blocking "$work/out"; then
    result ok 'help fits a screen'
else
    result 'not ok' "help fits a screen: status $status"
fi

for ranks in 1 2 3 4; do
    trains "mlp, blocking, $ranks ranks" $ranks --net mlp --batch-size 16 --epochs 2 --blocking
    blocking=$digest
    trains "mlp, non-blocking, $ranks ranks" $ranks --net mlp --batch-size 16 --epochs 2
    same "blocking and non-blocking agree on $ranks ranks" "$blocking" "$digest"
done
trains 'cnn, 7 ranks' 7 --batch-size 4 --epochs 1 --steps 2 --save "$work/net.h5"

# The digest is that of the saved parameters: elements little-endian, parameters in order.
if command -v h5dump >/dev/null; then
    for name in conv1.weight conv1.bias conv2.weight conv2.bias fc1.weight fc1.bias fc2.weight fc2.bias; do
        h5dump -d "$(h5dump -n "$work/net.h5" | sed -n "s/^ *dataset *\(.*$name\)\$/\1/p")" -b LE \
            -o "$work/part" "$work/net.h5" >/dev/null 2>&1 && cat "$work/part"
    done >"$work/all"
    same 'the digest is that of the saved parameters' "$(sha256sum <"$work/all" | cut -c 1-64)" "$digest"
else
    result ok 'the digest is that of the saved parameters # SKIP no h5dump'
fi

trains 'trains on from saved parameters' 2 --batch-size 4 --epochs 1 --steps 1 --lr 0 --load "$work/net.h5"

# Interrupted after 7 of 10 steps, in the second epoch: the resumed run ends as a run without interruption.
once="--net cnn --batch-size 16 --epochs 2"
trains 'uninterrupted' 3 $once
whole=$digest
trains 'checkpoints change nothing' 3 $once --save "$work/run.h5" --save-every 7
same 'with checkpoints and without' "$whole" "$digest"
cp "$work/run.h5.1" "$work/middle.h5"
trains 'goes on' 3 $once --resume "$work/middle.h5"
same 'resumed and uninterrupted agree' "$whole" "$digest"
trains 'goes on after the end' 3 $once --resume "$work/run.h5"
same 'the end is the end' "$whole" "$digest"
trains 'goes on on other ranks' 2 $once --resume "$work/middle.h5"
trains 'a perceptron' 2 --net mlp --batch-size 16 --epochs 1 --save "$work/mlp.h5"
refuses 'a checkpoint of another model' 1 'unexpected 1.weight.*missing conv1.weight' \
    --data "$work/good" --batch-size 16 --resume "$work/mlp.h5"
head -c 100000 "$work/run.h5" >"$work/cut.h5"
refuses 'a damaged checkpoint' 1 'is damaged: it has [0-9]* bytes, but had [0-9]* when it was written' --data "$work/good" --batch-size 16 --resume "$work/cut.h5"
cp "$work/middle.h5" "$work/cut.h5.1"
trains 'the one before a damaged checkpoint' 3 $once --resume "$work/cut.h5" --or-earlier
same 'and ends as it should' "$whole" "$digest"

trains 'writes curves' 2 --batch-size 4 --epochs 2 --steps 1 --curves "$work/run"
if [ "$(head -n 1 "$work/run.csv")" = epoch,train_loss,test_loss,accuracy,samples_per_s ] &&
    [ "$(cut -d, -f 1 "$work/run.csv" | tr '\n' ' ')" = 'epoch 1 2 ' ] &&
    [ "$(wc -l <"$work/run.jsonl")" -eq 2 ] && [ "$(grep -c '<path fill="none"' "$work/run.svg")" -eq 4 ]; then
    result ok 'a row for each epoch, and four curves'
else
    result 'not ok' 'a row for each epoch, and four curves'
    sed 's/^/# /' "$work/run.csv"
fi
plan
