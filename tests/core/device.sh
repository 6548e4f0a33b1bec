#!/bin/sh
# Effects of devices on complete jobs (tests/core/device_job.c): an error in data that one rank's device finds late, a
# call of the device that fails, and missing kernels.
set -u

# shellcheck source=tests/core/launch.sh
. "${srcdir:-.}/tests/core/launch.sh"
job=tests/core/device_job
target='ht_nll_loss: target 7 of row 1 is outside the 3 classes'
useless='the wrapper can no longer be used; end it, and wrap again'

for run in lazy eager; do
    LAG_RUN=$run
    export LAG_RUN
    says "a bad target of one rank ends the job, $run" "ht: rank 1: ht_item: $target" 3 "$job" bad-target
    says "whoever waits for the device, $run" "ht: rank 1: ht_device_synchronize: $target" 3 "$job" bad-wait
    says "also within data parallelism, $run" \
        "ht: ranks 0-2: ht_nn_data_parallel: pass 2: gradients cannot be used on rank 1: averaging the gradients of bias ... weight: $target; $useless" \
        3 "$job" bad-step
done
unset LAG_RUN
says 'a call of one device that fails' 'ht: rank 1: ht_add: lag: a kernel fails, as asked for' 2 "$job" bad-call

# Whichever rank finds it first ends the job.
launch 2 env HT_TIMEOUT=3 "$job" stuck
if [ $status -ne 0 ] && [ $timed_out = no ] && grep -q '^ht: rank.*within 3 s (HT_TIMEOUT)' "$job_err"; then
    result ok 'a device whose copies never end'
else
    result 'not ok' "a device whose copies never end: status $status"
    sed 's/^/# /' "$job_err"
fi

says 'the device of the only rank' \
    'ht: copying gradients from a device: the device did not answer within 3 s (HT_TIMEOUT)' \
    1 env HT_TIMEOUT=3 LAG_FLAW=stuck "$job" stuck

says 'a device by its backend alone, before ht_init' \
    "ht: ht_device_get: name is 'lag' before ht_init, expected an explicit index such as 'lag:0': ranks are unknown before ht_init" 1 "$job" early

# expects NAME TEXT RANKS COMMAND...: the job succeeds, and prints this.
expects() {
    name=$1
    text=$2
    shift 2
    launch "$@"
    if [ $status -eq 0 ] && [ "$(cat "$job_out")" = "$text" ]; then
        result ok "$name"
    else
        result 'not ok' "$name: status $status"
        sed 's/^/# /' "$job_out" "$job_err"
    fi
}

expects 'training with events' "the host's bits" 2 "$job" train
expects 'training on a backend that has none, nor poll nor memory of the host' "the host's bits" 2 env LAG_LESS=1 "$job" train
expects 'kernels that a device has not run on the host, whatever others than rank 0 have set' 'on the host' 2 "$job" foreign
says 'rank 0 has them refused, on all ranks' \
    'ht: ranks 0-1: ht_exp: dummy:0 has no kernel EXP for float32 (HT_FALLBACK=error forbids running it on the host)' \
    2 env HT_FALLBACK=error "$job" foreign
succeeds 'a kernel that one device refuses runs on the host' 2 "$job" refused
says 'or ends the job, as the others do not know' \
    'ht: rank 1: ht_exp: kernel EXP of lag:0 refuses this float32 call (HT_FALLBACK=error forbids running it on the host)' \
    2 env HT_FALLBACK=error "$job" refused
finish
