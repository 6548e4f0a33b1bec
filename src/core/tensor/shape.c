/* SPDX-License-Identifier: MIT
 *
 * Shapes. */
#include "core/tensor/tensor.h"

bool ht__same_shape(int ndim, const int64_t shape[], int other_ndim, const int64_t other[])
{
    if (ndim != other_ndim)
        return false;
    for (int i = 0; i < ndim; i++) {
        if (shape[i] != other[i])
            return false;
    }
    return true;
}
