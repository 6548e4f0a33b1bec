#!/bin/sh
# HT_DEBUG_COLLECTIVE=1 names what ranks do differently (tests/core/compare.c).
set -u

# shellcheck source=tests/core/launch.sh
. "${srcdir:-.}/tests/core/launch.sh"
[ "${CHECKED:-yes}" = yes ] || skip_all 'no library with checks (--disable-debug-library)'
program=tests/core/compare
alike='expected the same on all ranks'
same_calls='all ranks of a communicator make the same collective calls in the same order'

# names "name" "text" "call" HOW
names() {
    says "$1" "ht: ranks 0-2: $2 (call $3)" 3 env HT_DEBUG_COLLECTIVE=1 "$program" "$4"
}

names 'one rank calls something else' \
    "rank 0 calls ht_allreduce where rank 1 calls ht_bcast: $same_calls" 'N on world' operation
names 'one rank alone makes a call' \
    "rank 0 calls ht_barrier where rank 1 calls ht_allreduce: $same_calls" 'N on world' skipped
names 'one rank leaves early' \
    "rank 0 calls ht_allreduce where rank 1 calls ht_finalize: $same_calls" 'N on world' left
names 'another root' "ht_bcast: root is 0 on rank 0 and 1 on rank 1, $alike" 'N on world' root
names 'another dtype' \
    "ht_allreduce: the dtype is float32 on rank 0 and float64 on rank 1, $alike" 'N on world' dtype
names 'another reduction' \
    "ht_allreduce: op is sum on rank 0 and maximum on rank 1, $alike" 'N on world' reduction
names 'another local shape' \
    "ht_allreduce: the number of elements is 12, shape (4, 3) on rank 0 and 15, shape (5, 3) on rank 1, $alike" \
    'N on world' shape
names 'another local shape in a call that does not wait' \
    "ht_iallreduce: the number of elements is 12, shape (4, 3) on rank 0 and 15, shape (5, 3) on rank 1, $alike" \
    'N on world' later
names 'another list of counts' \
    "ht_iallgatherv: the list of counts is 1, 1, 2 on rank 0 and 2, 1, 1 on rank 1, $alike" \
    'N on world' counts
names 'of two calls that do not wait, the first' \
    "ht_iallreduce: the dtype is float32 on rank 0 and int32 on rank 1, $alike" 'N on world' swapped
says 'ranks by their place in the world' \
    "ht: ranks 1-2: ht_allreduce: the number of elements is 12, shape (4, 3) on rank 1 and 15, shape (5, 3) on rank 2, $alike (call N on comm of 2)" \
    3 env HT_DEBUG_COLLECTIVE=1 "$program" part
names 'a file opened by some ranks only' \
    "rank 0 calls ht_load_hdf5 where rank 1 calls ht_allreduce: $same_calls" 'N on world' file
names 'what begins by agreeing' \
    "rank 0 calls ht_metric_compute where rank 1 calls ht_allreduce: $same_calls" 'N on world' metric

for way in shared messages; do
    says "another length in an operation of the exchange, $way" \
        "ht: ranks 0-2: the exchange of gradients: the number of elements is 1000 on rank 0 and 900 on rank 1, $alike (call N on world)" \
        3 env HT_DEBUG_COLLECTIVE=1 HT_EXCHANGE=$way HT_RANKS_PER_NODE=3 tests/core/job exchange
done

# A call that does not communicate is compared at the next one that does.
same_tensors='all ranks make the same tensors in the same order on a communicator'
# logically "name" "text" HOW
logically() {
    launch 3 env HT_DEBUG_COLLECTIVE=1 "$program" "logically $3"
    if [ $status -eq 1 ] && grep -q "^ht: ranks 0-2: $2" "$job_err"; then
        result ok "$1"
    else
        result 'not ok' "$1: status $status"
        sed 's/^/# /' "$job_err"
    fi
}
logically 'another shape of a factory' \
    "rank 0 makes (4, 3) of float32, split along 0 where rank 1 makes (5, 3) of float32, split along 0: $same_tensors; rank 0 in ht_ones at .*; rank 1 in ht_ones at " ones
logically 'another split' 'rank 0 makes (8,) of float32, split along 0 where rank 1 ' split
logically 'another dtype of a tensor' \
    "rank 0 makes () of float64, not split where rank 1 makes (4, 3) of float64, split along 0: $same_tensors; rank 0 in ht_mean at .*; rank 1 in ht_astype at " astype
logically 'one operation more' \
    "rank 0 makes () of float64, not split where rank 1 makes (4, 3) of float32, split along 0: $same_tensors; rank 0 in ht_mean at .*; rank 1 in ht_exp at " more
logically 'a write on one rank' \
    "rank 0 makes () of float64, not split where rank 1 writes (4, 3) of float32, split along 0: $same_tensors; rank 0 in ht_mean at .*; rank 1 in ht_fill_ at " written
logically 'an operation with a number on one rank' \
    "rank 0 makes () of float64, not split where rank 1 makes (4, 3) of float32, split along 0: $same_tensors; rank 0 in ht_mean at .*; rank 1 in ht_mul_scalar at " number
logically 'more operations than are kept' \
    "rank 0 makes () of float64, not split where rank 1 makes (4, 3) of float32, split along 0: $same_tensors; rank 0 in ht_mean at .*; rank 1 in ht_neg at " endless

# At once, not at the deadline.
for how in steps 'steps unseen'; do
    says "one step less: $how" \
        "ht: ranks 0-2: rank 0 calls ht_finalize where rank 1 calls ht_backward (a pass of ht_nn_data_parallel): $same_calls (call N on world)" \
        3 env HT_DEBUG_COLLECTIVE=1 "$program" "$how"
done

# The place is one that addr2line finds: the line of the call.
launch 2 env HT_DEBUG_COLLECTIVE=1 "$program" root
place=$(sed -n 's/.*; rank 0 at \([^ ]*\), rank 1 at .*/\1/p' "$job_err")
line=$(grep -n 'ht_bcast(world, x, odd' "${srcdir:-.}/tests/core/compare.c" | cut -d : -f 1)
if ! command -v addr2line >/dev/null; then
    result ok 'the place of a call # SKIP no addr2line'
elif echo "$place" | grep -q "compare.c:$line\$"; then
    result ok 'the place of a call'
else
    result 'not ok' "the place of a call: $place"
    sed 's/^/# /' "$job_err"
fi

# Correct calls pass; it is enough that one rank has the variable.
succeeds 'equal calls' 3 env HT_DEBUG_COLLECTIVE=1 "$program" equal
succeeds 'training' 3 env HT_DEBUG_COLLECTIVE=1 "$program" train
succeeds 'training by messages' 3 env HT_DEBUG_COLLECTIVE=1 HT_EXCHANGE=messages "$program" train
succeeds 'gradients of a rank without rows' 3 env HT_DEBUG_COLLECTIVE=1 "$program" rowless
succeeds 'a variable that one rank has' 1 env HT_DEBUG_COLLECTIVE=1 "$program" equal : -n 2 "$program" equal

# An error that MPI finds is reported by libht, not by MPI.
launch 2 "$program" cut
if [ $status -eq 1 ] && grep -q '^ht: rank 1: ht_recv: MPI failed: ' "$job_err"; then
    result ok 'an error of MPI is reported as one of the call'
else
    result 'not ok' "an error of MPI is reported as one of the call: status $status"
    sed 's/^/# /' "$job_err"
fi
says 'without the variable a blocking call says that the ranks differ' \
    "ht: ranks 0-2: ht_allreduce: op is sum on one rank and maximum on another, $alike (HT_DEBUG_COLLECTIVE=1 names them)" \
    3 "$program" reduction
says 'without the variable a call that does not wait says so in its wait' \
    "ht: ranks 0-2: ht_iallreduce: the number of elements is 12 on one rank and 15 on another, $alike (HT_DEBUG_COLLECTIVE=1 names them)" \
    3 "$program" later
says 'two calls of one family' \
    "ht: ranks 0-2: collective calls: the call is ht_bcast on one rank and ht_allreduce on another, $alike (HT_DEBUG_COLLECTIVE=1 names them)" \
    3 "$program" operation

# One rank that makes the calls of many.
succeeds 'one rank mixes communicators' 1 "$program" mixed
succeeds 'one as many trains' 1 env HT_DEBUG_ONE_AS_MANY=1 "$program" train
launch 1 env HT_DEBUG_ONE_AS_MANY=1 "$program" mixed
if [ $status -eq 1 ] && grep -q '^ht: ht_add: .*communicator' "$job_err"; then
    result ok 'one as many does not mix them'
else
    result 'not ok' "one as many does not mix them: status $status"
    sed 's/^/# /' "$job_err"
fi
finish
