/* SPDX-License-Identifier: MIT
 *
 * Numbers on their way into tensors. */
#include <math.h>

#include "core/ops/ops.h"

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

ht_tensor *ht__number_beside(const char *what, const ht_tensor *x, ht_number value, ht_dtype dtype)
{
    ht_tensor *number;

    ht__compare_pause(
        1); /* the program knows of no such tensor: what is made with it is compared */
    number = ht__tensor_new(
        ht__body_new(what, x->body->comm, x->body->storage->device, dtype, 0, NULL, HT_NONE, NULL));
    ht__compare_pause(-1);
    if (number == NULL || ht__fill_local(what, number->body, value) != HT_SUCCESS)
        return NULL;
    return number;
}
