#!/bin/sh
# The suite on cuda:0 of the emulated module: every kernel that it has, in what the library does with it. On 1 rank with threads
# in order, and on 2 ranks backwards.
set -u
HT_TEST_DEVICE=cuda:0
export HT_TEST_DEVICE
# shellcheck source=tests/on_device.sh
. "${srcdir:-.}/tests/on_device.sh"

if [ ! -f tests/backends/cuda/.libs/libht_cuda.so ]; then
    echo 'ok 1 - the suite on an emulated device # SKIP there is no C++ compiler'
    echo 1..1
    exit
fi

wanted=${HT_TEST_RANKS:-}
for ranks in 1 2; do
    case " ${wanted:-$ranks} " in
    *" $ranks "*) HT_TEST_RANKS=$ranks ;;
    *) continue ;;
    esac
    [ "$ranks" = 1 ] && EMULATED_ORDER=forward || EMULATED_ORDER=backward
    export HT_TEST_RANKS EMULATED_ORDER
    for runner in tests/core/run-core tests/nn/run-nn tests/optim/run-optim; do
        run "$runner" "emulated, $EMULATED_ORDER"
    done
done
end_of_runs
