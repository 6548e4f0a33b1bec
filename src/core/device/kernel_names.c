/* SPDX-License-Identifier: MIT
 *
 * Kernels by name, and the table of a backend to which they are added. */
#include <string.h>

#include "core/device/device.h"
#include "ht/kernels/decompositions.h"
#include "ht/kernels/elementwise.h"
#include "ht/kernels/fft.h"
#include "ht/kernels/index.h"
#include "ht/kernels/nn.h"
#include "ht/kernels/optim.h"
#include "ht/kernels/order.h"
#include "ht/kernels/random.h"
#include "ht/kernels/reduce.h"
#include "ht/kernels/spatial.h"

_Static_assert((int)HT_KERNELS_ELEMENTWISE_END <= (int)HT_KERNELS_REDUCE &&
                   (int)HT_KERNELS_REDUCE_END <= (int)HT_KERNELS_RANDOM &&
                   (int)HT_KERNELS_RANDOM_END <= (int)HT_KERNELS_INDEX &&
                   (int)HT_KERNELS_INDEX_END <= (int)HT_KERNELS_NN &&
                   (int)HT_KERNELS_NN_END <= (int)HT_KERNELS_DECOMPOSITIONS &&
                   (int)HT_KERNELS_DECOMPOSITIONS_END <= (int)HT_KERNELS_ORDER &&
                   (int)HT_KERNELS_ORDER_END <= (int)HT_KERNELS_SPATIAL &&
                   (int)HT_KERNELS_SPATIAL_END <= (int)HT_KERNELS_FFT &&
                   (int)HT_KERNELS_FFT_END <= (int)HT_KERNELS_OPTIM &&
                   (int)HT_KERNELS_OPTIM_END <= (int)HT_KERNEL_LIMIT,
               "a list of kernels runs into the next");
_Static_assert((int)HT_KERNEL_CONVERT_COMPLEX128 - (int)HT_KERNEL_CONVERT_BOOL ==
                   (int)HT_COMPLEX128,
               "conversions stand in the order of dtypes");

#define ROW(name, what) [HT_KERNEL_##name] = #name,
#define NAME(name)      [HT_KERNEL_##name] = #name,
static const char *const names[HT_KERNEL_LIMIT] = {
    HT_ELEMENTWISE_KERNELS(ROW) HT_REDUCE_KERNELS(ROW) HT_CUMULATIVE_KERNELS(ROW)
        HT_RANDOM_KERNELS(NAME) HT_INDEX_KERNELS(ROW) HT_NN_KERNELS(ROW)
            HT_DECOMPOSITION_KERNELS(ROW) HT_ORDER_KERNELS(ROW) HT_SPATIAL_KERNELS(NAME)
                HT_FFT_KERNELS(ROW) HT_OPTIM_KERNELS(NAME)};
#undef ROW
#undef NAME

const char *ht__kernel_name(ht_kernel kernel)
{
    return names[kernel];
}

ht_kernel ht__kernel_find(const char *name)
{
    for (ht_kernel kernel = 0; kernel < HT_KERNEL_LIMIT; kernel++) {
        if (names[kernel] != NULL && strcmp(names[kernel], name) == 0)
            return kernel;
    }
    return -1;
}

int ht__kernel_add(ht_driver *driver, ht_kernel kernel, ht_dtype dtype, ht_kernel_fn *run)
{
    if (kernel < 0 || kernel >= HT_KERNEL_LIMIT || names[kernel] == NULL || dtype < 0 ||
        dtype >= HT_DTYPE_COUNT)
        return (int)ht__error_set(
            HT_ERR_ARGUMENT,
            "backend %s: kernel is %d and dtype is %d, expected a kernel that services->kernel "
            "returned, and an ht_dtype",
            driver->backend.name, kernel, (int)dtype);
    if (driver->closed)
        return (int)ht__error_set(HT_ERR_STATE,
                                  "backend %s: kernel %s was added after a device was opened",
                                  driver->backend.name, names[kernel]);
    driver->kernels.at[kernel][dtype] = run;
    return 0;
}
