/* SPDX-License-Identifier: MIT
 *
 * Scales operands to near 1, so that squares of their elements stay inside of the range of their
 * dtype. The factor is a power of two, which is exact. One reduction. */
#include "core/algorithms/factor/decompositions.h"

#include <math.h>

#include "ht/arithmetics.h"
#include "ht/rounding.h"
#include "ht/statistics.h"

ht_tensor *ht__times_power(ht_tensor *x, int exponent)
{
    const int half = exponent / 2; /* 2^exponent alone may be out of range */

    if (x == NULL || exponent == 0)
        return x;
    x = ht_mul_scalar_ext(x, HT_NUM(ldexp(1, half)));
    return x != NULL ? ht_mul_scalar_ext(x, HT_NUM(ldexp(1, exponent - half))) : NULL;
}

ht_tensor *ht__near_one(ht_tensor *x, int *exponent)
{
    ht_tensor *largest;
    double size;

    *exponent = 0;
    if (x == NULL || ht_tensor_size(x) == 0)
        return x;
    largest = ht_abs(x);
    largest = largest != NULL ? ht_max(largest, HT_NONE) : NULL;
    if (largest == NULL || ht_tensor_item(largest, &size) != HT_SUCCESS)
        return NULL;
    if (!(size > 0) || isinf(size))
        return x;
    frexp(size, exponent);
    return ht__times_power(x, -*exponent);
}
