/* SPDX-License-Identifier: MIT
 *
 * Checks of arguments that many operations share. Each makes its message. */
#include <inttypes.h>

#include "core/tensor/tensor.h"

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

/* A number is on HT_COMM_SELF, which is not a communicator that the program has chosen for it. */
static bool fail_number(const char *what, const char *name, const char *other_name,
                        const ht_tensor *other)
{
    HT_FAIL(other->body->comm, HT_ERR_COMM,
            "%s: %s is a number (ht_scalar), expected a tensor like %s on %d ranks", what, name,
            other_name, other->body->comm->size);
    return false;
}

bool ht__check_together_as(const char *what, const char *a_name, const ht_tensor *a,
                           const char *b_name, const ht_tensor *b)
{
    const ht_body *x = a->body, *y = b->body;

    if (!ht__comm_compatible(x->comm, y->comm)) {
        ht_comm *larger = x->comm->size >= y->comm->size ? x->comm : y->comm;

        if (x->number != NULL)
            return fail_number(what, a_name, b_name, b);
        if (y->number != NULL)
            return fail_number(what, b_name, a_name, a);
        HT_FAIL(larger, HT_ERR_COMM,
                "%s: %s is on a communicator of %d ranks, %s on another one of %d ranks", what,
                a_name, x->comm->size, b_name, y->comm->size);
        return false;
    }
    if (x->storage->device != y->storage->device) {
        HT_FAIL(x->comm, HT_ERR_DEVICE, "%s: %s is on %s, %s is on %s, expected one device", what,
                a_name, ht_device_name(x->storage->device), b_name,
                ht_device_name(y->storage->device));
        return false;
    }
    return true;
}

bool ht__check_together(const char *what, const ht_tensor *a, const ht_tensor *b)
{
    return ht__check_together_as(what, "a", a, "b", b);
}

bool ht__check_axis_of(const char *what, const char *axis_name, const char *name,
                       const ht_tensor *x, int *axis)
{
    int ndim = x->body->ndim, given = *axis;

    if (given < 0)
        *axis += ndim;
    if (*axis >= 0 && *axis < ndim)
        return true;
    HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: %s %s is outside %s of shape %s", what, axis_name,
            ht__int_str(given), name, ht__shape_str(ndim, x->body->shape));
    return false;
}

bool ht__check_axis(const char *what, const ht_tensor *x, int *axis)
{
    return ht__check_axis_of(what, "axis", "x", x, axis);
}

bool ht__check_length(const char *what, ht_comm *comm, const char *name, int64_t length)
{
    if (length >= 0 && ht__shape_counts(1, &length))
        return true;
    HT_FAIL(comm, HT_ERR_SHAPE, "%s: %s is %" PRId64 ", expected %s", what, name, length,
            length < 0 ? "at least 0" : "less than 2^59");
    return false;
}

bool ht__check_list(const char *what, ht_comm *comm, const char *count_name, int count,
                    const char *name, const void *list)
{
    if (count < 0)
        HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: %s is %d, expected at least 0", what, count_name,
                count);
    else if (list == NULL && count > 0)
        HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: %s is NULL and %s is %d, expected a list or 0", what,
                name, count_name, count);
    return count == 0 || (count > 0 && list != NULL);
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
        HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: ndim is %d, expected 0 to %d and a shape", what, ndim,
                HT_MAX_NDIM);
        return false;
    }
    for (int i = 0; i < ndim; i++) {
        if (shape[i] < 0) {
            HT_FAIL(comm, HT_ERR_SHAPE, "%s: shape is %s, expected lengths of at least 0", what,
                    ht__shape_str(ndim, shape));
            return false;
        }
    }
    if (!ht__shape_counts(ndim, shape)) {
        bool none = false;

        for (int i = 0; i < ndim; i++)
            none = none || shape[i] == 0;
        HT_FAIL(comm, HT_ERR_SHAPE, "%s: shape %s has 2^59 elements or more%s", what,
                ht__shape_str(ndim, shape), none ? " along the axes that are not empty" : "");
        return false;
    }
    if (*split == HT_NONE)
        return true;
    if (*split >= -ndim && *split < ndim) {
        *split += *split < 0 ? ndim : 0;
        return true;
    }
    HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: split is %d, expected an axis of shape %s", what, *split,
            ht__shape_str(ndim, shape));
    return false;
}

bool ht__has_kernel(const char *what, const ht_tensor *x, ht_kernel kernel)
{
    ht_device *device = x->body->storage->device;

    return ht__kernel_is_there(device, kernel, x->body->dtype) ||
           ht__kernel_missing(x->body->comm, device, kernel, x->body->dtype, what) == HT_SUCCESS;
}

bool ht__check_kind(const char *what, ht_comm *comm, const char *name, ht_number value)
{
    if ((unsigned)value.kind <= HT_NUMBER_COMPLEX)
        return true;
    HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: %s is of kind %d, expected an ht_number_kind", what, name,
            (int)value.kind);
    return false;
}

bool ht__check_number(const char *what, ht_comm *comm, const char *name, ht_dtype dtype,
                      ht_number value)
{
    if (!ht__check_kind(what, comm, name, value))
        return false;
    if (ht__dtype_takes(dtype, value))
        return true;
    HT_FAIL(comm, HT_ERR_ARGUMENT,
            "%s: %s is %" PRId64 ", expected %" PRId64 " to %" PRId64 " for %s", what, name,
            value.integer, ht__dtype_end(dtype, false).integer, ht__dtype_end(dtype, true).integer,
            ht_dtype_name(dtype));
    return false;
}
