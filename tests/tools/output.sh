#!/bin/sh
# A failure to print, such as a full device, is a failure of the program.
set -u

# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"

# MPI's modules are unloaded before a sanitizer looks for leaks, and this test is not about leaks.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

# full COMMAND...: it ends with status 1 and says why.
full() {
    said=$("$@" 2>&1 >/dev/full </dev/null)
    [ $? -eq 1 ] && [ "$said" = "${1##*/}: cannot write to the output" ]
}

if [ -w /dev/full ]; then
    check 'ht-run --help to a full device' full tools/ht-run --help
    check 'ht-idx2hdf5 --help to a full device' full tools/ht-idx2hdf5 --help
    check 'ht-info --version to a full device' full tools/ht-info --version
    check 'ht-info to a full device' full tools/ht-info
    check 'mnist --help to a full device' full examples/mnist/mnist --help
else
    result ok 'output to a full device # SKIP there is no /dev/full'
fi
plan
