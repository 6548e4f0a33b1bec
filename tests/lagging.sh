#!/bin/sh
# The suite on a device that lags (tests/backends/lagging): its work is done when somebody waits, and its memory is out of the
# host's reach. On 1 rank and on 2, each with copies to the host that are there at once, and with copies that
# come only with a wait (HT_TEST_LAG_COPIES=late: these alone); and on 1 rank with no kernel of its own: all run on the host, which
# sees of the device's memory what a call says that its kernel reaches.
set -u
HT_TEST_DEVICE=lag:0
export HT_TEST_DEVICE
# shellcheck source=tests/on_device.sh
. "${srcdir:-.}/tests/on_device.sh"
wanted=${HT_TEST_RANKS:-}

runners='tests/core/run-core tests/nn/run-nn tests/nn/parallel/run-parallel tests/optim/run-optim
    tests/utils/data/run-data tests/utils/training/run-training'
# A sanitizer finds nothing in one operation that the device's memory does not: what is left is memory that outlives a call.
[ -z "${SANITIZE:-}" ] || runners='tests/nn/parallel/run-parallel tests/utils/data/run-data'

for runner in $runners; do
    for ranks in 1 2; do
        case " ${wanted:-$ranks} " in
        *" $ranks "*) HT_TEST_RANKS=$ranks ;;
        *) continue ;;
        esac
        for LAG_COPIES in ${HT_TEST_LAG_COPIES:-now late}; do
            export HT_TEST_RANKS LAG_COPIES
            run "$runner" "lagging, copies $LAG_COPIES"
        done
        [ "$ranks" = 1 ] || continue
        export LAG_REFUSE=all
        run "$runner" "lagging, kernels on the host"
        unset LAG_REFUSE
    done
done
end_of_runs
