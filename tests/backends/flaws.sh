#!/bin/sh
# Faults made on purpose, each found by a test that needs no GPU: the test passes without the fault, and fails with it.
set -u
# shellcheck source=tests/core/launch.sh
. "${srcdir:-.}/tests/core/launch.sh"

# finds "fault" VARIABLE=VALUE RANKS RUNNER TEST
finds() {
    launch "$3" env -u "${2%%=*}" "$4" --only "$5"
    if [ $status -ne 0 ]; then
        result 'not ok' "$1: $5 fails without it, too"
        sed 's/^/# /' "$job_err"
        return
    fi
    launch "$3" env "$2" "$4" --only "$5"
    if [ $status -ne 0 ] && grep -q "^rank [0-9]* failed in $5\$" "$job_err"; then
        result ok "$1 is found by $5"
    else
        result 'not ok' "$1 is not found by $5: status $status"
        sed 's/^/# /' "$job_err"
    fi
}

# Threads of a block never wait for one another: what one of them reads of another, a launch before has written. So there is
# no barrier to forget; the order of launches is what a flaw can break.
needs_no_barrier() {
    ! grep -rnE '__shared__|__sync|__shfl|__barrier|cooperative_groups' "$srcdir/src/backends/cuda"
}

LAG_COPIES=late
export LAG_COPIES
finds 'a wait before an exchange that is missing' LAG_FLAW=wait 2 tests/nn/parallel/run-parallel \
    test_data_parallel_device:test_averages
if [ -f tests/backends/cuda/.libs/libht_cuda.so ]; then
    finds 'a wrong stride in a copy' EMULATED_FLAW=stride 1 tests/core/run-core \
        test_cuda_elementwise:conversions_have_the_bits_of_the_cpu
    finds 'a launch that does not wait for the one before' EMULATED_FLAW=order 1 tests/core/run-core \
        test_cuda_reduce:reductions_equal_those_of_the_cpu
    finds 'an average of devices that begins before the gradients are there' EMULATED_FLAW=link 2 tests/core/run-core \
        test_link:averages_run_between_the_work_before_and_after_them
else
    result ok 'faults on the emulated device # SKIP there is no C++ compiler'
fi
check 'no kernel has a barrier that could be missing' needs_no_barrier
finish
