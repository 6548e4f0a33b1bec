/* SPDX-License-Identifier: MIT
 *
 * A kernel enters the table by its name: an older or a newer libht may know others. */
#include <stdio.h>

#include "backends/cuda/device.h"
#include "backends/cuda/kernels.h"

void ht_cuda_add(ht_backend *backend, const char *name, ht_dtype dtype, ht_kernel_fn *run)
{
    const ht_kernel kernel = ht_cuda_core->kernel(name);

    if (kernel >= 0)
        ht_cuda_core->add(backend, kernel, dtype, run);
}

/* HT_BOOL's kernel is CONVERT_BOOL. */
void ht_cuda_add_conversion(ht_backend *backend, ht_dtype to, ht_dtype from, ht_kernel_fn *run)
{
    static const char *const dtypes[] = {
#define ROW(dtype, name, bytes) #dtype,
        HT_DTYPE_LIST(ROW)
#undef ROW
    };
    char name[32];

    snprintf(name, sizeof name, "CONVERT_%s", dtypes[to] + 3);
    ht_cuda_add(backend, name, from, run);
}
