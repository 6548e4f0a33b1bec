/* SPDX-License-Identifier: MIT
 *
 * Conversion of numbers to tensors. */
#include <math.h>

#include "core/ops/ops.h"
#include "ht/factories.h"

bool ht__is_whole(double value, int64_t *whole)
{
    if (!(value >= -0x1p63 && value < 0x1p63) || value != trunc(value))
        return false;
    *whole = (int64_t)value;
    return true;
}

ht_number ht__number_of_double(ht_dtype dtype, double value)
{
    int64_t whole;

    return ht__dtype_is_exact(dtype) && ht__is_whole(value, &whole) ? ht_number_integer(whole)
                                                                    : ht_number_real(value);
}

ht_dtype ht__number_dtype(ht_number value)
{
    return value.kind == HT_NUMBER_INTEGER ? HT_INT64
           : value.kind == HT_NUMBER_REAL  ? HT_FLOAT64
                                           : HT_COMPLEX128;
}

/* Process-local, in host memory, so that functions can also read it as any other tensor. */
ht_tensor *ht__number(ht_number value)
{
    ht_tensor *x;

    ht__compare_pause(1); /* ranks may make different ones */
    x = ht__tensor_new(ht__body_new("ht_scalar", HT_COMM_SELF, ht__device_cpu(),
                                    ht__number_dtype(value), 0, NULL, HT_NONE, NULL));
    ht__compare_pause(-1);
    if (x == NULL || ht__fill_local("ht_scalar", x->body, value) != HT_SUCCESS)
        return NULL;
    x->body->read_only = HT_SCALAR_NUMBER;
    x->body->number = ht__alloc(sizeof value);
    *x->body->number = value;
    return x;
}

ht_tensor *ht_scalar(double value)
{
    int64_t whole;

    return ht__number(ht__is_whole(value, &whole) && !(value == 0 && signbit(value))
                          ? ht_number_integer(whole)
                          : ht_number_real(value));
}

ht_tensor *ht_scalar_ext(ht_number value)
{
    return ht__check_kind("ht_scalar_ext", NULL, "value", value) ? ht__number(value) : NULL;
}

ht_tensor *ht__as_tensor_like(const char *what, ht_tensor *y, const ht_tensor *x)
{
    if (y == NULL || y->body->number == NULL || x->body->number != NULL)
        return y;
    return ht__number_like(what, x, *y->body->number, y->body->dtype);
}

ht_tensor *ht__number_like(const char *what, const ht_tensor *x, ht_number value, ht_dtype dtype)
{
    ht_tensor *number;

    ht__compare_pause(
        1); /* the program knows of no such tensor: tensors made with it are compared */
    number = ht__tensor_new(
        ht__body_new(what, x->body->comm, x->body->storage->device, dtype, 0, NULL, HT_NONE, NULL));
    ht__compare_pause(-1);
    if (number == NULL || ht__fill_local(what, number->body, value) != HT_SUCCESS)
        return NULL;
    return number;
}
