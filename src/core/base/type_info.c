/* SPDX-License-Identifier: MIT
 *
 * The ranges of element types, and the conversions that keep all values. */
#include "core/base/base.h"
#include "ht/types.h"

#include <float.h>

/* For floating numbers: binary digits, and the ends of their range. */
typedef struct ht_float_format {
    int digits;
    double max, tiny;
} ht_float_format;

static const ht_float_format formats[HT_DTYPE_COUNT] = {
    [HT_FLOAT16] = {11, 65504, 0x1p-14},
    [HT_BFLOAT16] = {8, 0x1.fep127, 0x1p-126},
    [HT_FLOAT32] = {FLT_MANT_DIG, FLT_MAX, FLT_MIN},
    [HT_FLOAT64] = {DBL_MANT_DIG, DBL_MAX, DBL_MIN},
};

static bool is_dtype(ht_dtype dtype)
{
    return (unsigned)dtype < HT_DTYPE_COUNT;
}

bool ht_isdtype(ht_dtype dtype, ht_dtype_kind kind)
{
    const bool whole = ht_dtype_is_integer(dtype), is_unsigned = dtype == HT_UINT8;

    switch (kind) {
    case HT_DTYPE_KIND_BOOL:
        return dtype == HT_BOOL;
    case HT_DTYPE_KIND_SIGNED_INTEGER:
        return whole && !is_unsigned;
    case HT_DTYPE_KIND_UNSIGNED_INTEGER:
        return is_unsigned;
    case HT_DTYPE_KIND_INTEGRAL:
        return whole;
    case HT_DTYPE_KIND_REAL_FLOATING:
        return ht_dtype_is_floating(dtype);
    case HT_DTYPE_KIND_COMPLEX_FLOATING:
        return ht_dtype_is_complex(dtype);
    case HT_DTYPE_KIND_NUMERIC:
        return is_dtype(dtype) && dtype != HT_BOOL;
    }
    return false;
}

ht_iinfo ht_dtype_iinfo(ht_dtype dtype)
{
    if (!ht_dtype_is_integer(dtype))
        return (ht_iinfo){0};
    return (ht_iinfo){.bits = 8 * (int)ht_dtype_size(dtype),
                      .min = ht__dtype_end(dtype, false).integer,
                      .max = ht__dtype_end(dtype, true).integer};
}

ht_finfo ht_dtype_finfo(ht_dtype dtype)
{
    const ht_dtype real = ht__dtype_real(dtype);
    double eps = 1;

    if (!ht_dtype_is_floating(real))
        return (ht_finfo){0};
    for (int i = 1; i < formats[real].digits; i++)
        eps /= 2;
    return (ht_finfo){.bits = 8 * (int)ht_dtype_size(real),
                      .eps = eps,
                      .min = -formats[real].max,
                      .max = formats[real].max,
                      .tiny = formats[real].tiny};
}

static bool integer_fits(ht_dtype from, ht_dtype to)
{
    const int bits = 8 * (int)ht_dtype_size(from) - (from != HT_UINT8);

    if (ht_dtype_is_integer(to))
        return ht__dtype_takes(to, ht__dtype_end(from, false)) &&
               ht__dtype_takes(to, ht__dtype_end(from, true));
    return bits <= formats[ht__dtype_real(to)].digits || ht__dtype_real(to) == HT_FLOAT64;
}

static bool floating_fits(ht_dtype from, ht_dtype to)
{
    const ht_float_format *a = &formats[ht__dtype_real(from)], *b = &formats[ht__dtype_real(to)];

    return a->digits <= b->digits && a->max <= b->max && a->tiny >= b->tiny;
}

static bool is_safe(ht_dtype from, ht_dtype to)
{
    if (from == HT_BOOL || from == to)
        return true;
    if (ht__dtype_kind(from) > ht__dtype_kind(to))
        return false;
    return ht_dtype_is_integer(from) ? integer_fits(from, to) : floating_fits(from, to);
}

bool ht_can_cast(ht_dtype from, ht_dtype to, ht_casting casting)
{
    if (!is_dtype(from) || !is_dtype(to))
        return false;
    switch (casting) {
    case HT_CAST_NO:
        return from == to;
    case HT_CAST_SAFE:
        return is_safe(from, to);
    case HT_CAST_SAME_KIND:
        return ht__dtype_kind(from) <= ht__dtype_kind(to) &&
               !(to == HT_UINT8 && ht_isdtype(from, HT_DTYPE_KIND_SIGNED_INTEGER));
    case HT_CAST_UNSAFE:
        return true;
    case HT_CAST_INTUITIVE:
        return is_safe(from, to) || (from == HT_INT32 && ht__dtype_real(to) == HT_FLOAT32);
    }
    return false;
}
