#!/bin/sh
# The suite on cuda:0 of the emulated module: every kernel that it has, in what the library does with it. The core on
# 1 rank with threads in order, the layers on 2 ranks with threads backwards.
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

wanted=${HT_TEST_RANKS:-1 2}

# suite RANKS ORDER RUNNER...
suite() {
    case " $wanted " in
    *" $1 "*) ;;
    *) return ;;
    esac
    HT_TEST_RANKS=$1
    EMULATED_ORDER=$2
    export HT_TEST_RANKS EMULATED_ORDER
    shift 2
    for runner; do
        run "$runner" "emulated, $EMULATED_ORDER"
    done
}
suite 1 forward tests/core/run-core tests/optim/run-optim
suite 2 backward tests/nn/run-nn
end_of_runs
