#!/bin/sh
# Data parallelism with a separate emulated device for each rank, which are linked: on 2 and 3 ranks, and on 2 nodes of 2.
set -u
HT_TEST_DEVICE=cuda EMULATED_ORDER=mixed
export HT_TEST_DEVICE EMULATED_ORDER
# shellcheck source=tests/on_device.sh
. "${srcdir:-.}/tests/on_device.sh"

if [ ! -f tests/backends/cuda/.libs/libht_cuda.so ]; then
    echo 'ok 1 - data parallelism on linked devices # SKIP there is no C++ compiler'
    echo 1..1
    exit
fi

wanted=${HT_TEST_RANKS:-2 3 4}

# suite RANKS "tests" HOW
suite() {
    case " $wanted " in
    *" $1 "*) ;;
    *) return ;;
    esac
    HT_TEST_RANKS=$1 HT_TEST_ONLY=$2
    export HT_TEST_RANKS HT_TEST_ONLY
    run tests/nn/parallel/run-parallel "$3"
}
averages='test_data_parallel: test_data_parallel_oracle test_data_parallel_accumulate test_data_parallel_join:'
others='test_data_parallel_unused test_data_parallel_errors test_data_parallel_order: test_data_parallel_several: test_comm_hook'
suite 2 "$averages $others" 'linked devices'
suite 3 "$averages" 'linked devices'
HT_RANKS_PER_NODE=2 EMULATED_HOST=own
export HT_RANKS_PER_NODE EMULATED_HOST
suite 4 "$averages" 'linked devices of 2 nodes'
end_of_runs
