#!/bin/sh
# A machine without an NVIDIA driver: the module for CUDA loads, needs no library that it is not linked to, and says why there
# is no device. libht itself is linked to nothing of CUDA.
set -u
# shellcheck source=tests/core/launch.sh
. "${srcdir:-.}/tests/core/launch.sh"

links_no_cuda() {
    ! ldd .libs/libht.so | grep -E 'cuda|cublas|cudnn|nccl'
}
check 'libht is linked to nothing of CUDA' links_no_cuda

module=src/backends/cuda/.libs/libht_cuda.so
is_complete() {
    ! ldd -r "$module" 2>&1 | grep 'undefined symbol'
}
if [ -f "$module" ]; then
    check 'the module is linked to all that it needs' is_complete
else
    result ok 'the module is linked to all that it needs # SKIP configure found no nvcc'
fi

if [ ! -f "$module" ]; then
    result ok 'the module says why there is no device # SKIP configure found no nvcc'
elif [ -e /dev/nvidiactl ]; then
    result ok 'the module says why there is no device # SKIP this machine has a driver'
else
    launch 1 env HT_BACKEND_PATH=src/backends/cuda/.libs tools/ht-info
    if [ $status -eq 0 ] &&
        grep -q '^  cuda     none: .*no CUDA device: .*NVIDIA driver (libht_cuda.so is built for CUDA [0-9]' "$job_out"; then
        result ok 'the module says why there is no device'
    else
        result 'not ok' "the module says why there is no device: status $status"
        sed 's/^/# /' "$job_out" "$job_err"
    fi
fi
finish
