#!/bin/sh
# The n-th allocation fails, on each of two ranks in turn, in a program of the core and in one that trains, until n is beyond
# the last one: for some n, or under `make check-long` for each. Whatever it was for, the job ends with a message that says so.
set -u
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
err=starved.$$.err
data=starved.$$.h5

# starve PROGRAM HANDLER OF RANK: OF is "" for every allocation, ":tensors" for those of tensors.
starve() {
    n=1
    failed=0
    while :; do
        HT_DEBUG_FAIL_ALLOC=$4:$n$3 timeout --kill-after=2 120 "${MPIRUN:-mpirun}" -n 2 tests/nn/starved "$1" "$2" $data \
            </dev/null >/dev/null 2>$err
        status=$?
        [ $status -ne 0 ] || break
        if [ $status -ne 1 ] || ! grep -q '^\(ht: \)\?rank.*memory' $err; then
            result 'not ok' "$1, $2: allocation $n$3 fails on rank $4: status $status"
            sed 's/^/# /' $err
            return
        fi
        failed=$((failed + 1))
        [ -n "${HT_TEST_LONG:-}" ] && n=$((n + 1)) || n=$((4 * n + 1))
    done
    if [ $failed -ge 4 ]; then
        result ok "$1, $2: allocations${3:+ of tensors} fail on rank $4"
    else
        result 'not ok' "$1, $2: only $failed allocations$3 were seen to fail on rank $4"
    fi
}

# Small memory that runs out ends the job under either handler.
for rank in 0 1; do
    for program in core training; do
        case $rank$program in
        0core | 1training) starve $program abort '' $rank ;;
        *) starve $program return '' $rank ;;
        esac
        starve $program return :tensors $rank
    done
done
rm -f $err $data*
plan
