#!/bin/sh
# The runner and mpi-run.sh themselves: each way in which a test can end is reported as it should.
set -u
srcdir=${srcdir:-.}

expected='ok 1 - test_harness:passes [ranks 3]
not ok 2 - test_harness:fails_on_last_rank [ranks 3]
not ok 3 - test_harness:crashes [ranks 3]
not ok 4 - test_harness:leaves_by_exit [ranks 3]
not ok 5 - test_harness:aborts_job [ranks 3]
not ok 6 - test_harness:leaks [ranks 3]
ok 7 - test_harness:is_skipped [ranks 3] # SKIP on purpose
not ok 8 - test_harness:hangs [ranks 3]: no end after LIMIT s
1..8'

# The test that hangs lasts as long as any may take: more only where the others do not come to their end in it.
for limit in 15 60 240; do
    HT_TEST_RANKS=3 HT_TEST_TIMEOUT=$limit "$SHELL" "$srcdir/tests/mpi-run.sh" tests/run-harness \
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
rm -f harness.out harness.err
echo "1..2"
