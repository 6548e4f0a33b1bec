#!/bin/sh
# usage: count.sh BUILD-DIR...
# Sums the results of the test suites last run in these folders: "N passed, N failed, N skipped"; then, if there are
# any, ", N flaky: NAME; NAME": tests that passed when they ran again (again.sh).
set -eu

flaky=$(find "$@" -name flaky.list -exec cat {} + | sort -u)
find "$@" -name '*.trs' -exec cat {} + | awk -v flaky="$flaky" '
    /^:test-result: (PASS|XFAIL)/ { passed++ }
    /^:test-result: (FAIL|XPASS|ERROR)/ { failed++ }
    /^:test-result: SKIP/ { skipped++ }
    END {
        printf "%d passed, %d failed, %d skipped", passed, failed, skipped
        count = split(flaky, names, "\n")
        if (count > 0)
            printf ", %d flaky: ", count
        for (i = 1; i <= count; i++)
            printf "%s%s", names[i], i < count ? "; " : ""
        print ""
    }'
