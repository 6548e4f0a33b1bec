#!/bin/sh
# usage: count.sh BUILD-DIR...
# Sums the results of the test suites last run in these folders: "N passed, N failed, N skipped".
set -eu

find "$@" -name '*.trs' -exec cat {} + | awk '
    /^:test-result: (PASS|XFAIL)/ { passed++ }
    /^:test-result: (FAIL|XPASS|ERROR)/ { failed++ }
    /^:test-result: SKIP/ { skipped++ }
    END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped }'
