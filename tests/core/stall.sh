#!/bin/sh
# A rank that stops in the middle of a call on a file (tests/core/stall.c), before one of its calls of MPI:
# the others end in time, and name it. A few moments; each with HT_TEST_LONG=1.
set -u

# shellcheck source=tests/core/launch.sh
. "${srcdir:-.}/tests/core/launch.sh"
program=tests/core/stall
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# moments WHAT TOTAL: those that are tried. At the ends waits are the library's own; HDF5's are in between.
moments() {
    if [ -n "${HT_TEST_LONG:-}" ]; then
        seq "$2"
    elif [ "$1" = save ]; then
        echo $(($2 / 3)) $(($2 / 2)) $((2 * $2 / 3))
    else
        echo $(($2 / 2))
    fi
}

# stalls WHAT FILE
stalls() {
    launch 3 "$program" 0 "$1" "$2"
    total=$(cat "$job_out")
    if [ $status -ne 0 ] || [ "${total:-0}" -lt 3 ]; then
        result 'not ok' "$1: status $status, ${total:-no} calls"
        return
    fi
    for moment in $(moments "$1" "$total"); do
        launch 3 env HT_TIMEOUT=2 "$program" "$moment" "$1" "$2"
        if [ $status -eq 1 ] && [ $timed_out = no ] &&
            grep -q '^ht: rank.*: the other ranks did not arrive within 2 s (HT_TIMEOUT).*rank 1 does not answer' "$job_err"; then
            result ok "$1: a rank that stops at $moment of $total"
        else
            result 'not ok' "$1: a rank that stops at $moment of $total: status $status"
            sed 's/^/# /' "$job_err"
        fi
    done
}

# A FILE.part that a killed job left is waited for, but for less time than other ranks wait for this one.
takes_over() {
    cp "$1" "$1.part"
    succeeds 'save: a whole FILE.part is left behind' 3 env HT_TIMEOUT=2 "$program" 0 save "$1"
}

stalls save "$work/run.h5"
takes_over "$work/run.h5"
stalls load "$work/run.h5"
stalls write "$work/x.h5"
stalls read "$work/x.h5"
finish
