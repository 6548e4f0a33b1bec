# shellcheck shell=sh
# Sourced: files in MNIST's format with few rows (below 256), from no data.
export LC_ALL=C

# images N: of 28 x 28 pixels.
images() {
    printf "\\000\\000\\010\\003\\000\\000\\000\\$(printf %o "$1")\\000\\000\\000\\034\\000\\000\\000\\034"
    awk "BEGIN { for (i = 0; i < $1 * 784; i++) printf \"%c\", 33 + (i * i + int(i / 784) * 7) % 90 }"
}

# labels N: 0 to 7 in turn.
labels() {
    printf "\\000\\000\\010\\001\\000\\000\\000\\$(printf %o "$1")"
    i=0
    while [ $i -lt "$1" ]; do
        printf "\\00$((i % 8))"
        i=$((i + 1))
    done
}
