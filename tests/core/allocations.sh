#!/bin/sh
# The n-th allocation fails on rank 1, for n = 1, 2, 3, 5, 8, … or under `make check-long` for each n. The job ends with
# the message and does not hang. It succeeds once n is beyond the last allocation.
set -u

n=1
previous=1
while :; do
    HT_DEBUG_FAIL_ALLOC=1:$n timeout --kill-after=2 120 "${MPIRUN:-mpirun}" -n 3 tests/core/job allocate \
        </dev/null >/dev/null 2>allocations.err
    status=$?
    [ $status -ne 0 ] || break
    if [ $status -ne 1 ] || ! grep -q '^ht: rank 1: .*memory' allocations.err; then
        echo "not ok 1 - allocation $n fails: status $status"
        sed 's/^/# /' allocations.err
        echo '1..1'
        exit 0
    fi
    if [ -n "${HT_TEST_LONG:-}" ]; then
        n=$((n + 1))
    else
        next=$((n + previous))
        previous=$n
        n=$next
    fi
done
rm -f allocations.err
if [ $n -gt 20 ]; then
    echo "ok 1 - a failing allocation ends the job, up to allocation $n"
else
    echo "not ok 1 - only $n allocations were seen to fail"
fi
echo '1..1'
