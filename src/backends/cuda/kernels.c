/* SPDX-License-Identifier: MIT
 *
 * All kernels of the module. */
#include "backends/cuda/kernels.h"

void ht_cuda_add_kernels(ht_backend *backend)
{
#define ADD(file) ht_cuda_add_##file(backend);
    HT_CUDA_FILES(ADD)
#undef ADD
}
