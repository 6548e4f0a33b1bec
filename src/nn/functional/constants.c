/* SPDX-License-Identifier: MIT
 *
 * Small replicated tensors on the device and communicator of an operand. */
#include "nn/functional/constants.h"

#include "core/tensor/tensor.h"
#include "ht/factories.h"

ht_tensor *ht__constant_indices(const ht_tensor *x, int ndim, const int64_t shape[],
                                const int64_t data[])
{
    return ht_array_ext(data, ndim, shape, HT_INT64, HT_NONE, x->body->storage->device,
                        x->body->comm);
}

ht_tensor *ht__constant_numbers(const ht_tensor *x, int ndim, const int64_t shape[],
                                const double data[])
{
    return ht_astype(ht_array_ext(data, ndim, shape, HT_FLOAT64, HT_NONE, x->body->storage->device,
                                  x->body->comm),
                     x->body->dtype);
}
