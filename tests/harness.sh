#!/bin/sh
# The runner and mpi-run.sh themselves: each way in which a test can end is reported as it should.
set -u
srcdir=${srcdir:-.}

expected='ok 1 - test_harness:passes [ranks 3]
ok 2 - test_harness:fails_at_first [ranks 3]
not ok 3 - test_harness:fails_on_last_rank [ranks 3]
not ok 4 - test_harness:crashes [ranks 3]
not ok 5 - test_harness:leaves_by_exit [ranks 3]
not ok 6 - test_harness:aborts_job [ranks 3]
not ok 7 - test_harness:leaks [ranks 3]
ok 8 - test_harness:is_skipped [ranks 3] # SKIP on purpose
not ok 9 - test_harness:hangs [ranks 3]: no end after LIMIT s
1..9'

# The test that hangs lasts as long as any may take: more only where the others do not come to their end in it.
for limit in 15 60 240; do
    HT_TEST_RANKS=3 HT_TEST_TIMEOUT=$limit "${SHELL:-sh}" "$srcdir/tests/mpi-run.sh" tests/run-harness \
        >harness.out 2>harness.err
    grep 'no end after' harness.out | grep -qv ':hangs ' || break
done
found=$(grep -v '^#' harness.out | sed "s/: the job ended with.*//; s/no end after $limit s/no end after LIMIT s/")

if [ "$found" = "$expected" ]; then
    echo "ok 1 - every end of a test is reported"
else
    echo "not ok 1 - every end of a test is reported"
    echo "$found" | sed 's/^/# /'
fi

if grep -q '^rank 2 failed in test_harness:fails_on_last_rank' harness.err; then
    echo "ok 2 - the rank that failed is named"
else
    echo "not ok 2 - the rank that failed is named"
fi
cat harness.err >&2

# none RANKS PATTERN TEXT: a job that ran none of the tests that were asked for fails, and says why.
count=2
none() {
    count=$((count + 1))
    "${MPIRUN:-mpirun}" -n "$1" tests/run-harness --only "$2" </dev/null >harness.out 2>harness.err
    status=$?
    if [ $status -ne 0 ] && [ "$(grep -c "$3" harness.err)" -eq 1 ]; then
        echo "ok $count - $2 on $1 ranks is no test"
    else
        echo "not ok $count - $2 on $1 ranks is no test: status $status"
        sed 's/^/# /' harness.out harness.err
    fi
}
none 1 tset_harness '^--only tset_harness: there is no such test'
none 2 test_harness:passes '^test_harness runs on 1, 3 ranks, without HT_TEST_LONG=1; this job has 2, without it'
export HT_TEST_LONG=1
none 3 passes 'this job has 3, with it'

rm -f harness.out harness.err
echo "1..$count"
