# shellcheck shell=sh
# Sourced by the tests of resnet, chars and series: their data, and the losses that they print.
# shellcheck source=tests/core/launch.sh
. "${srcdir:-.}/tests/core/launch.sh"
# shellcheck source=tests/examples/images.sh
. "${srcdir:-.}/tests/examples/images.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# striped N: as images of images.sh, with stripes that tell the label: rows or columns, of four widths, and some noise.
striped() {
    images "$1" | head -c 16
    awk "BEGIN {
        for (n = 0; n < $1; n++) {
            for (i = 0; i < 784; i++) {
                place = n % 8 < 4 ? int(i / 28) : i % 28
                stripe = int((place + n) / (1 + n % 4)) % 2
                printf \"%c\", 30 + 60 * stripe + (i * i + 31 * n * i) % 23
            }
        }
    }"
}

# $work/idx and $work/images.h5: 120 images to learn from, and 50 to test with.
make_images() {
    mkdir "$work/idx"
    striped 120 >"$work/idx/train-images-idx3-ubyte"
    labels 120 >"$work/idx/train-labels-idx1-ubyte"
    striped 50 >"$work/idx/t10k-images-idx3-ubyte"
    labels 50 >"$work/idx/t10k-labels-idx1-ubyte"
    tools/ht-idx2hdf5 "$work/idx" "$work/images.h5" >/dev/null 2>&1
}

# losses FILE: those of its lines.
losses() {
    sed -n 's/^[a-z]* [0-9]*: loss \([0-9.]*\),.*/\1/p' "$1"
}

# agree FILE FILE: the losses do, to 1e-3.
agree() {
    losses "$1" >"$work/first"
    losses "$2" | paste "$work/first" - >"$work/both"
    awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > 1e-3 || NF != 2) wrong = 1 } END { exit !(NR > 0 && !wrong) }' \
        "$work/both" && return
    sed 's/^/# /' "$work/both"
    return 1
}
