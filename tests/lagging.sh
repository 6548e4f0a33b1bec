#!/bin/sh
# The suite on the lagging device (tests/backends/lagging): its work is done when a thread waits for it, and the host
# cannot reach its memory. On 2 ranks, copies to the host come only with a wait. Copies that are there at once, which wait
# for the work before them, are for what overlaps them: wrappers and loaders. On 1 rank the device has no kernels: all run on
# the host, and see only the memory that a call lists as the kernel's. Tests that do not run on 2 ranks run on 1 with the
# device's kernels, too.
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

# only_on_1_rank RUNNER: the test files below its folder that do not run on 2 ranks.
only_on_1_rank() {
    find "${srcdir:-.}/${1%/*}" -name 'test_*.c' -exec grep -lE '^/\* ranks 1( 3)? \*/' {} + | sed 's,.*/,,; s,\.c$,,' |
        tr '\n' ' '
}

LAG_COPIES=late
export LAG_COPIES
for runner in $runners; do
    for HT_TEST_RANKS in 1 2; do
        case " ${wanted:-$HT_TEST_RANKS} " in
        *" $HT_TEST_RANKS "*) export HT_TEST_RANKS ;;
        *) continue ;;
        esac
        case $HT_TEST_RANKS$runner in
        1*)
            export LAG_REFUSE=all
            run "$runner" 'lagging, kernels on the host'
            unset LAG_REFUSE
            if [ -z "${HT_TEST_ONLY:-}" ]; then
                HT_TEST_ONLY=$(only_on_1_rank "$runner")
                export HT_TEST_ONLY
                run "$runner" 'lagging, late copies'
                unset HT_TEST_ONLY
            fi
            ;;
        2*)
            run "$runner" 'lagging, late copies'
            ;;
        esac
        case $HT_TEST_RANKS$runner in
        2*parallel | 2*data)
            LAG_COPIES=now
            run "$runner" 'lagging, copies at once'
            LAG_COPIES=late
            ;;
        esac
    done
done
end_of_runs
