#!/bin/sh
# A test that fails runs again, alone (tests/again.sh). It is flaky if it passes then. It is a failure if it fails
# again, if it was flaky in the run before, or if more than two tests are flaky.
set -u
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
top=$PWD
sources=$(cd "${srcdir:-.}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tests"
printf '#!/bin/sh\nexec "%s/tests/run-harness" "$@"\n' "$top" >"$work/tests/run-harness"
chmod +x "$work/tests/run-harness"
cd "$work" || exit
srcdir=$sources
HT_TEST_RANKS=3
HT_TEST_SEEN=$work/seen
export srcdir HT_TEST_RANKS HT_TEST_SEEN

# run COUNT TEST: as `make check` does, where only this test is run; its result counts COUNT times.
run() {
    HT_TEST_ONLY=$2 sh "$srcdir/tests/mpi-run.sh" tests/run-harness >tests/run-harness.log 2>messages
    {
        echo ':global-test-result: FAIL'
        echo ':recheck: yes'
        i=0
        while [ $i -lt "$1" ]; do
            echo ':test-result: FAIL'
            i=$((i + 1))
        done
    } >tests/run-harness.trs
    line=$(grep '^not ok' tests/run-harness.log)
    i=1
    while [ $i -lt "$1" ]; do
        echo "$line" >>tests/run-harness.log
        i=$((i + 1))
    done
    sh "$srcdir/tests/again.sh" tests/run-harness.log >said 2>&1
    counted=$(sh "$srcdir/tests/count.sh" .)
}

flaky='test_harness:fails_at_first [ranks 3]'
run 1 fails_at_first
check 'a test that passes when it runs again is flaky' grep -qxF "flaky: $flaky" said
check 'the count names it' [ "$counted" = "1 passed, 0 failed, 0 skipped, 1 flaky: $flaky" ]
check 'both logs are there' [ "$(grep -c '^not ok' tests/run-harness.log)$(grep -c '^ok' tests/run-harness.again)" = 11 ]
rm "$work/seen"
run 1 fails_at_first
check 'twice in a row is a failure' [ "$counted" = '0 passed, 1 failed, 0 skipped' ]
run 1 aborts_job
check 'a test that fails again is a failure' [ "$(grep -c flaky said)$counted" = '00 passed, 1 failed, 0 skipped' ]
rm "$work/seen"
run 3 fails_at_first
check 'more than two flaky tests are failures' [ "$counted" = '0 passed, 3 failed, 0 skipped' ]

# A script with the program that it launches, both of one name.
mkdir -p sources/tests
cp "$srcdir/tests/again.sh" "$srcdir/tests/count.sh" sources/tests
echo 'echo "ok 1 - a script"; echo 1..1' >sources/tests/both.sh
printf '#!/bin/sh\nexit 1\n' >tests/both
chmod +x tests/both
printf 'not ok 1 - a script\n1..1\n' >tests/both.log
printf ':test-result: FAIL\n:global-test-result: FAIL\n' >tests/both.trs
rm -f tests/run-harness.* flaky.*
counted=$(srcdir=sources sh sources/tests/again.sh tests/both.log >said && sh sources/tests/count.sh .)
check 'a script runs again, and not its program' [ "$counted" = '1 passed, 0 failed, 0 skipped, 1 flaky: a script' ]
plan
