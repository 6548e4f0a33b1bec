#!/bin/sh
# Damaged checkpoints, each loaded in a process of its own (tests/core/damage.c): every one is refused with the name of
# the file, and none ends the process. Files of format 1, which lack a checksum over the complete file, are still
# loaded. 600 cases; 10,000 with HT_TEST_LONG=1.
set -u

# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
cases=${HT_TEST_LONG:+10000}
cases=${cases:-600}
program=tests/core/damage
old=${srcdir:-.}/tests/golden/checkpoint_1.h5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# damaged "name" SEED FILE [1]
damaged() {
    name=$1
    shift
    if "$program" "$cases" "$@" >"$work/out" 2>"$work/err"; then
        result ok "$name"
    else
        result 'not ok' "$name"
        tail -n 20 "$work/out" "$work/err" | sed 's/^/# /'
    fi
}

check 'a checkpoint is saved' "$program" save "$work/new.h5"
check 'and loaded' "$program" check "$work/new.h5"
check 'one of format 1 is loaded' "$program" check "$old"
damaged 'damage is refused' "${HT_TEST_SEED:-1}" "$work/new.h5"
cp "$old" "$work/old.h5"
damaged 'damage to one of format 1 is refused, or does not change what is loaded' "${HT_TEST_SEED:-1}" "$work/old.h5" 1
plan
