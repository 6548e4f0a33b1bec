#!/bin/sh
# The suite on the lagging device (tests/backends/lagging): its work is done when a thread waits for it, and the host
# cannot reach its memory. On 1 rank and on 2, copies to the host come only with a wait. Copies that are there at once,
# which wait for the work before them, are for what overlaps them: wrappers and loaders on 2 ranks. In a third run on 1
# rank the device has no kernels: all run on the host, and see only the memory that a call lists as the kernel's.
set -u
HT_TEST_DEVICE=lag:0
export HT_TEST_DEVICE
# shellcheck source=tests/on_device.sh
. "${srcdir:-.}/tests/on_device.sh"
wanted=${HT_TEST_RANKS:-}

runners='tests/core/run-core tests/nn/run-nn tests/nn/parallel/run-parallel tests/optim/run-optim
    tests/utils/data/run-data tests/utils/training/run-training'
# The device's memory finds all errors within an operation; only memory that outlives a call is left for a sanitizer.
[ -z "${SANITIZE:-}" ] || runners='tests/nn/parallel/run-parallel tests/utils/data/run-data'

for runner in $runners; do
    for ranks in 1 2; do
        case " ${wanted:-$ranks} " in
        *" $ranks "*) HT_TEST_RANKS=$ranks ;;
        *) continue ;;
        esac
        LAG_COPIES=late
        export HT_TEST_RANKS LAG_COPIES
        run "$runner" 'lagging, late copies'
        case $ranks$runner in
        1*)
            export LAG_REFUSE=all
            run "$runner" 'lagging, kernels on the host'
            unset LAG_REFUSE
            ;;
        *parallel | *data)
            LAG_COPIES=now
            run "$runner" 'lagging, copies at once'
            ;;
        esac
    done
done
end_of_runs
