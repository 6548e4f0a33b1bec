#!/bin/sh
# usage: again.sh LOG...
# Runs each test that failed in `make check` once more, when all others have ended: a test that passes then is flaky.
# At most two flaky tests are let through, and none twice in a row: else they stay failures.
#   LOG         what a test printed; LOG's .trs has its results, which are changed to those of the second run
#   BASE.again  what the second run printed; the first log stays
#   flaky.list  the names of the flaky tests that are let through; flaky.seen has those of any, flaky.before of the run before
set -u
srcdir=${srcdir:-.}
most=2
[ $# -gt 0 ] || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$work/flaky"
rm -f flaky.list flaky.before
[ ! -f flaky.seen ] || mv flaky.seen flaky.before

# The names of the tests that failed in a log.
failed() {
    sed -n 's/^not ok [0-9]* - \(.*\[ranks [0-9]*\]\).*/\1/p; t
        s/^not ok [0-9]* - //p' "$1"
}

# one NAME: a test of runner $base alone, at the rank count at its name's end.
one() {
    ranks=${1##*'[ranks '}
    HT_TEST_RANKS=${ranks%']'} HT_TEST_ONLY=${1%' [ranks '*} "${SHELL:-sh}" "$srcdir/tests/mpi-run.sh" "$base" \
        >"$work/one" 2>"$work/messages"
    cat "$work/one" "$work/messages" >>"$base.again"
    grep -qF "ok - $1" <<END
$(sed -n 's/^ok [0-9]* - /ok - /p' "$work/one")
END
}

# Whether all that failed in $base passes now. A script may have a program with the same name in its folder.
passes() {
    : >"$base.again"
    if [ -f "$srcdir/$base.sh" ]; then
        "${SHELL:-sh}" "$srcdir/$base.sh" >"$base.again" 2>&1 || return 1
    elif ! grep -q '^# the tests after this one were not run' "$base.log"; then
        while read -r name; do
            one "$name" || return 1
        done <"$work/failed"
        return 0
    else
        "${SHELL:-sh}" "$srcdir/tests/mpi-run.sh" "$base" >"$base.again" 2>&1
    fi
    grep -q '^1\.\.[0-9]' "$base.again" && ! grep -q '^not ok' "$base.again"
}

for log; do
    base=${log%.log}
    rm -f "$base.again"
    grep -qE '^:global-test-result: (FAIL|ERROR)' "$base.trs" 2>/dev/null || continue
    failed "$log" >"$work/failed"
    [ -s "$work/failed" ] || echo "$base" >"$work/failed"
    echo "failed: $base, which runs again"
    passes </dev/null || continue
    echo "$base" >>"$work/bases"
    cat "$work/failed" >>"$work/flaky"
done

[ -s "$work/flaky" ] || exit 0
sed 's/^/flaky: /' "$work/flaky"
cp "$work/flaky" flaky.seen
if [ "$(wc -l <"$work/flaky")" -gt $most ]; then
    echo "more than $most tests are flaky: they count as failures"
    exit 0
fi
if [ -f flaky.before ] && grep -qxFf flaky.before "$work/flaky"; then
    echo "flaky in the run before, too: a failure"
    exit 0
fi
while read -r base; do
    sed 's/^:\(test-result\|global-test-result\): \(FAIL\|ERROR\)/:\1: PASS/; s/^:recheck: yes/:recheck: no/' \
        "$base.trs" >"$work/trs"
    cp "$work/trs" "$base.trs"
    echo "the logs: $base.log, $base.again"
done <"$work/bases"
mv "$work/flaky" flaky.list
