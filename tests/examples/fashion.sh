#!/bin/sh
# The short example: on one rank and on several, stopped and resumed, and a batch that cannot be shared.
set -u

# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
program=examples/fashion/fashion
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C TMPDIR="$work"

# launch RANKS CHECKPOINT EPOCHS
launch() {
    timeout --kill-after=2 300 "${MPIRUN:-mpirun}" -n "$1" "$program" "$work/images.h5" \
        "$work/$2" "$3" </dev/null >"$work/out" 2>"$work/err"
    status=$?
}

# Images of 28 x 28 and labels 0 to 9, N of them (below 256).
images() {
    printf "\\000\\000\\010\\003\\000\\000\\000\\$(printf %o "$1")\\000\\000\\000\\034\\000\\000\\000\\034"
    awk "BEGIN { for (i = 0; i < $1 * 784; i++) printf \"%c\", 33 + (i * i + int(i / 784) * 7) % 90 }"
}
labels() {
    printf "\\000\\000\\010\\001\\000\\000\\000\\$(printf %o "$1")"
    i=0
    while [ $i -lt "$1" ]; do
        printf "\\00$((i % 8))"
        i=$((i + 1))
    done
}
mkdir "$work/idx"
images 250 >"$work/idx/train-images-idx3-ubyte"
labels 250 >"$work/idx/train-labels-idx1-ubyte"
images 50 >"$work/idx/t10k-images-idx3-ubyte"
labels 50 >"$work/idx/t10k-labels-idx1-ubyte"
tools/ht-idx2hdf5 "$work/idx" "$work/images.h5" >/dev/null 2>&1

# 250 rows are one step of 240 and one of 10, of which some ranks have none.
for ranks in 1 3; do
    launch $ranks whole.h5 4
    whole=$status$(tail -n 2 "$work/out")
    launch $ranks parts.h5 2
    launch $ranks parts.h5 4
    parts=$status$(cat "$work/out")
    rm -f "$work"/whole.h5* "$work"/parts.h5*
    verdict='not ok'
    case $whole in
    0loss*) [ "$whole" != "$parts" ] || verdict=ok ;;
    esac
    result "$verdict" "resumed on $ranks ranks: the same losses to the bit"
    [ "$verdict" = ok ] || printf '%s\n%s\n' "$whole" "$parts" | sed 's/^/# /'
done

launch 3 run.h5 1
launch 2 run.h5 2
[ $status -eq 0 ] && [ "$(wc -l <"$work/out")" -eq 1 ] && verdict=ok || verdict='not ok'
result "$verdict" 'resumed on another number of ranks'

launch 7 none.h5 1
if [ $status -eq 1 ] && [ ! -e "$work/none.h5" ] &&
    grep -q '7 ranks cannot share a batch of 240 rows: .* a remainder of 2' "$work/err"; then
    result ok 'batch that the ranks cannot share'
else
    result 'not ok' "batch that the ranks cannot share: status $status"
    sed 's/^/# /' "$work/err"
fi
if "${MPIRUN:-mpirun}" -n 2 examples/fashion/fashion --help >"$work/out" 2>"$work/err" </dev/null &&
    [ "$(grep -c '^usage: ' "$work/out")" -eq 1 ]; then
    result ok '--help says how it is called, once'
else
    result 'not ok' '--help says how it is called, once'
    sed 's/^/# /' "$work/out" "$work/err"
fi

# A failure to print is a failure of the program, but does not lose the trained model.
if [ -w /dev/full ]; then
    "${MPIRUN:-mpirun}" -n 1 sh -c 'exec "$@" >/dev/full' - examples/fashion/fashion \
        "$work/images.h5" "$work/full.h5" 1 </dev/null 2>"$work/err"
    if [ $? -eq 1 ] && [ -e "$work/full.h5" ] &&
        grep -q '^fashion: cannot write to the output$' "$work/err"; then
        result ok 'the output is a full device'
    else
        result 'not ok' 'the output is a full device'
        sed 's/^/# /' "$work/err"
    fi
    if examples/fashion/fashion --help >/dev/full 2>"$work/err" ||
        ! grep -q 'cannot write to the output' "$work/err"; then
        result 'not ok' '--help to a full device'
    else
        result ok '--help to a full device'
    fi
fi
plan
