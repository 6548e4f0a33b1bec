#!/bin/sh
# The n-th allocation fails, on each of two ranks in turn, in a program of the core and in one that trains. The number n
# grows beyond the last allocation: some n, or each under `make check-long`. For any purpose of that memory, the job
# ends with a message that says so.
set -u
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# starve PROGRAM HANDLER OF RANK: OF is "" for every allocation, ":tensors" for those of tensors. A failure is described
# in .found.
starve() {
    files="$work/$1-$2-$4"
    n=1
    seen=0
    while :; do
        HT_DEBUG_FAIL_ALLOC=$4:$n$3 timeout --kill-after=2 120 "${MPIRUN:-mpirun}" -n 2 tests/nn/starved "$1" "$2" "$files.h5" \
            </dev/null >/dev/null 2>"$files.err"
        status=$?
        [ $status -ne 0 ] || break
        if [ $status -ne 1 ] || ! grep -q '^\(ht: \)\?rank.*memory' "$files.err"; then
            echo "allocation $n$3: status $status"
            cat "$files.err"
        fi
        seen=$((seen + 1))
        [ -n "${HT_TEST_LONG:-}" ] && n=$((n + 1)) || n=$((4 * n + 1))
    done >"$files.found"
    echo "$seen" >"$files.seen"
}

# starved "name" FILES: at least four allocations were seen to fail, and nothing wrong.
starved() {
    seen=$(cat "$2.seen")
    if [ "$seen" -ge 4 ] && [ ! -s "$2.found" ]; then
        result ok "$1"
    else
        result 'not ok' "$1: $seen allocations failed"
        sed 's/^/# /' "$2.found"
    fi
}

for rank in 0 1; do
    for program in core training; do
        starve $program abort '' $rank &
        starve $program return :tensors $rank &
    done
done
wait
for rank in 0 1; do
    for program in core training; do
        starved "$program: allocations fail on rank $rank" "$work/$program-abort-$rank"
        starved "$program: allocations of tensors fail on rank $rank" "$work/$program-return-$rank"
    done
done
plan
