/* SPDX-License-Identifier: MIT
 *
 * Checks of arguments that many operations share. Each makes its message. */
#include <inttypes.h>

#include "core/core.h"

ht_status ht__check_options(ht_comm *comm, const char *what, const char *filler, size_t size,
                            size_t expected)
{
    if (size == expected)
        return HT_SUCCESS;
    return HT_FAIL(comm, HT_ERR_ARGUMENT,
                   "%s: the options are not initialised (size is %zu, expected %zu); start from "
                   "%s()",
                   what, size, expected, filler);
}

bool ht__comm_compatible(const ht_comm *a, const ht_comm *b)
{
    return a == b || (!a->shared && !b->shared);
}

bool ht__check_together(const char *what, const ht_tensor *a, const ht_tensor *b)
{
    const ht_body *x = a->body, *y = b->body;

    if (!ht__comm_compatible(x->comm, y->comm)) {
        ht_comm *larger = x->comm->size >= y->comm->size ? x->comm : y->comm;

        HT_FAIL(larger, HT_ERR_COMM,
                "%s: a lives on a communicator of %d ranks, b on another one of %d ranks", what,
                x->comm->size, y->comm->size);
        return false;
    }
    if (x->storage->device != y->storage->device) {
        HT_FAIL(x->comm, HT_ERR_DEVICE, "%s: a is on %s, b on %s", what,
                ht_device_name(x->storage->device), ht_device_name(y->storage->device));
        return false;
    }
    return true;
}

bool ht__check_axis(const char *what, const ht_tensor *x, int *axis)
{
    int ndim = x->body->ndim, given = *axis;

    if (given < 0)
        *axis += ndim;
    if (*axis >= 0 && *axis < ndim)
        return true;
    HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: axis %s is outside x of shape %s", what,
            ht__int_str(given), ht__shape_str(ndim, x->body->shape));
    return false;
}

bool ht__shape_counts(int ndim, const int64_t shape[])
{
    int64_t size = 1;

    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0 || __builtin_mul_overflow(size, shape[i] > 0 ? shape[i] : 1, &size) ||
            size > INT64_MAX / 16)
            return false;
    }
    return true;
}

bool ht__check_shape(const char *what, ht_comm *comm, int ndim, const int64_t shape[], int *split)
{
    if (ndim < 0 || ndim > HT_MAX_NDIM || (ndim > 0 && shape == NULL)) {
        HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: expected 0 to %d dimensions and a shape, got %d", what,
                HT_MAX_NDIM, ndim);
        return false;
    }
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0) {
            HT_FAIL(comm, HT_ERR_SHAPE, "%s: shape %s has a negative length", what,
                    ht__shape_str(ndim, shape));
            return false;
        }
    }
    if (!ht__shape_counts(ndim, shape)) {
        HT_FAIL(comm, HT_ERR_SHAPE, "%s: shape %s has more than 2^59 elements", what,
                ht__shape_str(ndim, shape));
        return false;
    }
    if (*split == HT_NONE)
        return true;
    if (*split >= -ndim && *split < ndim) {
        *split += *split < 0 ? ndim : 0;
        return true;
    }
    HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: split %d is no axis of shape %s", what, *split,
            ht__shape_str(ndim, shape));
    return false;
}

ht_status ht__kernel_missing(const char *what, const ht_tensor *x)
{
    return HT_FAIL(x->body->comm, HT_ERR_UNSUPPORTED, "%s: device %s has no such operation for %s",
                   what, ht_device_name(x->body->storage->device), ht_dtype_name(x->body->dtype));
}
