#!/bin/sh
# Each fault of GPUs gives one message for all ranks (tests/core/device_job.c): a device that does not exist, no device,
# a driver that is too old, no module, tensors on two devices, no memory.
set -u

# shellcheck source=tests/core/launch.sh
. "${srcdir:-.}/tests/core/launch.sh"
job=tests/core/device_job
[ -f tests/backends/cuda/.libs/libht_cuda.so ] || skip_all 'there is no C++ compiler'

says 'a device that there is not' 'ht: ranks 0-1: ht_device_get: no device cuda:8: backend cuda has 8' 2 "$job" no-device
says 'a driver that is too old' \
    'ht: ranks 0-1: ht_device_get: no CUDA device: CUDA driver version is insufficient for CUDA runtime version (the driver knows CUDA 11.8, libht_cuda.so is built for 13.0)' \
    2 env EMULATED_DEVICES=0 EMULATED_DRIVER=11080 "$job" no-device
says 'no driver' \
    'ht: ranks 0-1: ht_device_get: no CUDA device: this machine has no NVIDIA driver (libht_cuda.so is built for CUDA 13.0)' \
    2 env EMULATED_DEVICES=0 EMULATED_DRIVER=0 "$job" no-device
says 'tensors on two devices' 'ht: ranks 0-1: ht_add: a is on cuda:0, b is on cuda:1, expected one device' 2 "$job" two-devices
says 'no memory' 'ht: ranks 0-1: ht_full_ext: out of memory: 16777216 bytes on cuda:0 for float32 of shape (4194304,)' \
    2 env EMULATED_MEMORY=1000000 "$job" no-memory

# The rank's own error, or that of the pass on all ranks: whichever is first, because the others do not wait for the GPU's work.
launch 3 env HT_TIMEOUT=60 "$job" bad-linked-step
if [ $status -eq 1 ] && [ $timed_out = no ] && grep -q '^ht: .*rank.*ht_nll_loss: target 7 of row 1 is outside the 3 classes' "$job_err"; then
    result ok 'a bad target of one rank, on linked devices'
else
    result 'not ok' "a bad target of one rank, on linked devices: status $status"
    sed 's/^/# /' "$job_err"
fi

# Its folders are those of this build.
launch 2 env HT_BACKEND_PATH=/nowhere "$job" no-device
if [ $status -eq 1 ] && [ "$(grep -c '^ht: ' "$job_err")" -eq 1 ] &&
    grep -q "^ht: ranks 0-1: ht_device_get: no backend 'cuda': libht_cuda.so is neither in HT_BACKEND_PATH nor in /" "$job_err"; then
    result ok 'no module'
else
    result 'not ok' "no module: status $status"
    sed 's/^/# /' "$job_err"
fi
finish
