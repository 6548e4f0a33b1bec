#!/bin/sh
# How programs start MPI and libht, and how failing jobs end: tests/core/job.c.
set -u

# shellcheck source=tests/core/launch.sh
. "${srcdir:-.}/tests/core/launch.sh"
job=tests/core/job

succeeds 'ht_init starts and ends MPI' 2 "$job" itself
for level in 0 1 2 3; do
    succeeds "MPI started by the program, thread level $level" 2 "$job" level $level
done
succeeds 'half of the ranks' 4 "$job" half
succeeds 'half of an odd number' 3 "$job" half

says 'the same error is printed once' 'ht: ranks 0-3: ht_job: the same everywhere' 4 "$job" alike
says 'an error of one rank' 'ht: rank 1: ht_job: out of memory' 3 "$job" alone
says 'an error of one rank under HT_ERRORS_RETURN' 'ht: rank 1: ht_job: out of memory' 3 "$job" returning
says 'a rank that fails later says nothing' 'ht: ranks 1-2: ht_job: the same everywhere' 3 "$job" late
says 'different errors' 'ht: ranks 0-1: ht_job: half 0
ht: ranks 2-3: ht_job: half 1' 4 "$job" differently
says 'an error found by agreement' 'ht: rank 1: ht_job: no such file' 3 "$job" agreed
says 'elements whose memory is away' \
    'ht: ranks 0-1: fc1.weight: its elements are accessed while its memory is released temporarily' 2 "$job" away
says 'one rank has no number' 'ht: ht_job: the same everywhere' 1 "$job" alike
says 'a deadline names the operation and the absent' \
    'ht: ranks 0, 2: ht_barrier: the other ranks did not arrive within 3 s (HT_TIMEOUT); not heard from: rank 1; rank 1 computes' \
    3 env HT_TIMEOUT=3 "$job" absent
came='the other ranks did not arrive within 3 s (HT_TIMEOUT)'
says 'a stopped rank is named' \
    "ht: ranks 0, 2: ht_barrier: $came; not heard from: rank 1; rank 1 does not answer" \
    3 env HT_TIMEOUT=3 "$job" stopped
says 'a rank in an endless computation is named' \
    "ht: ranks 0, 2: ht_barrier: $came; not heard from: rank 1; rank 1 computes" \
    3 env HT_TIMEOUT=3 "$job" endless
says 'a rank that leaves early is found in ht_finalize' \
    "ht: rank 1: ht_finalize: $came; rank 0 is in ht_barrier; rank 2 is in ht_barrier
ht: ranks 0, 2: ht_barrier: $came; rank 1 is in ht_finalize" 3 env HT_TIMEOUT=3 "$job" early
says 'what was sent and nobody receives' \
    "ht: rank 0: ht_finalize: $came; rank 1 is in ht_finalize, for messages of ht_bsend
ht: rank 1: ht_finalize, for messages of ht_bsend: $came; rank 0 is in ht_finalize" \
    2 env HT_TIMEOUT=3 "$job" unread
says 'ranks in different collectives say both' \
    "ht: rank 1: ht_job: $came; rank 0 is in ht_barrier; rank 2 is in ht_barrier
ht: ranks 0, 2: ht_barrier: $came; rank 1 is in ht_job" 3 env HT_TIMEOUT=3 "$job" different
says 'a call that cannot be polled has a deadline too' \
    "ht: ranks 0, 2: ht_comm_split: $came; not heard from: rank 1; rank 1 computes" \
    3 env HT_TIMEOUT=3 "$job" setup
says 'so has memory of an exchange' \
    "ht: ranks 0, 2: memory of the exchange: $came; not heard from: rank 1; rank 1 computes" \
    3 env HT_TIMEOUT=3 "$job" memory
# Nothing of the library's connects the ranks yet.
says 'a rank that never calls ht_init is named' \
    "ht: rank 0: ht_init: $came; rank 1 does not answer" 2 env HT_TIMEOUT=3 "$job" uninvited
# There is no MPI either; only the launcher has given the ranks their numbers. The first to speak ends the job.
launch 3 env HT_TIMEOUT=3 "$job" unborn
if [ $status -eq 1 ] && [ $timed_out = no ] &&
    grep -q "^ht: rank [02]: MPI_Init_thread, in ht_init: the other ranks did not arrive within 15 s (HT_TIMEOUT)\$" "$job_err"; then
    result ok 'a rank that is stopped before MPI has started'
else
    result 'not ok' "a rank that is stopped before MPI has started: status $status"
    sed 's/^/# /' "$job_err"
fi
# Which need longer than the others to start, on few cores.
says 'one of 16 is named' \
    "ht: ranks 0, 2-15: ht_barrier: the other ranks did not arrive within 10 s (HT_TIMEOUT); not heard from: rank 1; rank 1 does not answer" \
    16 env HT_TIMEOUT=10 "$job" stopped

# A job that is suspended for longer than its deadline, while rank 0 waits for rank 1, continues.
background 2 env HT_TIMEOUT=5 "$job" suspended
within_limit printed 2 . "$job_out"
pids=$(cat "$job_out")
kill -STOP $pids
stopped=$?
sleep 8
kill -CONT $pids
kill -TERM $pids
wait $!
status=$?
if [ $status -eq 0 ] && [ $stopped -eq 0 ]; then
    result ok 'a suspended job goes on'
else
    result 'not ok' "a suspended job goes on: status $status, stopped: $stopped"
    sed 's/^/# /' "$job_err"
fi

# Long before the deadline, one rank logs the rank that it waits for; the job continues. A second rank that said so too
# would do it at about the same time.
background 3 env HT_TIMEOUT=60 HT_LOG=warn "$job" slow
within_limit printed 1 'has waited for other ranks' "$job_err"
sleep 2
kill -TERM "$(cat "$job_out")"
wait $!
status=$?
said=$(grep -c 'has waited for other ranks' "$job_err")
if [ $status -eq 0 ] && [ "$said" -eq 1 ] &&
    grep -q '^ht\[0\] warn: ht_barrier: has waited for other ranks for 10 s; the job ends after 60 s; rank 1 computes, last in ht_job, after [0-9]* operations of [0-9]*$' "$job_err"; then
    result ok 'a long wait is noticed once'
else
    result 'not ok' "a long wait is noticed once: status $status"
    sed 's/^/# /' "$job_err"
fi

# The message says how far each rank has come.
launch 2 env HT_TIMEOUT=3 "$job" behind
apart=$(sed -n 's/.*; rank 1 is in ht_bcast (its operation \([0-9]*\), here \([0-9]*\))$/\2 - \1/p' "$job_err")
# shellcheck disable=SC2004 # an expression
if [ -n "$apart" ] && [ $(($apart)) -eq 2 ]; then
    result ok 'a rank that is behind is named with its operation'
else
    result 'not ok' 'a rank that is behind is named with its operation'
    sed 's/^/# /' "$job_err"
fi

launch 1 env HT_LEAK_CHECK= HT_LOG=warn "ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0" "$job" leak
if [ $status -eq 255 ] && [ "$(grep -Ec '^ht\[0\] (warn|error): ht_finalize: leaked objects: .*256 tensor' "$job_err")" -eq 1 ]; then
    result ok 'what leaks is always said, and no success'
else
    result 'not ok' "what leaks is always said: status $status"
    sed 's/^/# /' "$job_err"
fi

launch 2 env HT_LEAK_CHECK= HT_LOG=warn "ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0" "$job" outlives
if [ $status -eq 0 ] && [ "$(grep -c 'warn: ht_release: called after ht_finalize' "$job_err")" -eq 2 ]; then
    result ok 'what outlives the library is let go of with a warning'
else
    result 'not ok' "what outlives the library is let go of with a warning: status $status"
    sed 's/^/# /' "$job_err"
fi

# threads RANKS EXPECTED COMMAND...: how many each rank computes with.
threads() {
    ranks=$1
    expected=$2
    shift 2
    launch "$ranks" "$@" "$job" threads
    if [ $status -eq 0 ] && [ "$(sort -u "$job_out")" = "$expected" ]; then
        result ok "$ranks ranks, $*: $expected threads"
    else
        result 'not ok' "$ranks ranks, $*: $expected threads, not $(sort -u "$job_out")"
    fi
}
cores=$(env -u OMP_NUM_THREADS nproc)
threads 1 3 env OMP_NUM_THREADS=3
threads 2 4 env OMP_NUM_THREADS=4,2
threads 1 "$cores" env -u OMP_NUM_THREADS
threads 1 "$cores" env OMP_NUM_THREADS=many
threads 1 "$cores" env OMP_NUM_THREADS=-2
threads 2 $((cores > 3 ? cores / 2 : 1)) env -u OMP_NUM_THREADS
threads $((2 * cores)) 1 env -u OMP_NUM_THREADS
threads 1 1 env -u OMP_NUM_THREADS taskset -c 0

# OpenBLAS would ask for memory again and again. Sanitizers need more address space than there is.
if tools/ht-info | grep -q '^BLAS *OpenBLAS' && ! grep -q '__[at]san_init' "$job"; then
    says 'too little address space' \
        'ht: ht_init: the address space is limited to 488 MiB (ulimit -v), too little for BLAS, which takes 128 MiB for each thread' \
        1 env OMP_NUM_THREADS=4 sh -c "ulimit -v 500000 && exec $job threads"
fi

says 'a tensor before ht_init' \
    'ht: ht_zeros: the library is not initialised, call ht_init first' 1 "$job" unmade
says 'a call before ht_init' \
    'ht: ht_comm_world: the library is not initialised, call ht_init first' 1 "$job" uninitialised

launch 4 env HT_RANKS_PER_NODE=3 "$job" topology
if [ "$(sort "$job_out")" = '0: node 0 of 2, 0 of 3
1: node 0 of 2, 1 of 3
2: node 0 of 2, 2 of 3
3: node 1 of 2, 0 of 1' ]; then
    result ok 'HT_RANKS_PER_NODE makes nodes'
else
    result 'not ok' 'HT_RANKS_PER_NODE makes nodes'
fi

finish
