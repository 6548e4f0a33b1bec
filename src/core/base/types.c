/* SPDX-License-Identifier: MIT
 *
 * Names, sizes and promotion of element types. */
#include "core/base/base.h"
#include "ht/types.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} rows[HT_DTYPE_COUNT] = {
#define ROW(id, name, bytes) {name, bytes},
    HT_DTYPE_LIST(ROW)
#undef ROW
};

static bool is_dtype(ht_dtype dtype)
{
    return (unsigned)dtype < HT_DTYPE_COUNT;
}

const char *ht_dtype_name(ht_dtype dtype)
{
    return is_dtype(dtype) ? rows[dtype].name : "invalid";
}

size_t ht_dtype_size(ht_dtype dtype)
{
    return is_dtype(dtype) ? rows[dtype].bytes : 0;
}

ht_dtype ht_dtype_from_name(const char *name)
{
    for (int i = 0; name != NULL && i < HT_DTYPE_COUNT; i++) {
        if (strcmp(rows[i].name, name) == 0)
            return (ht_dtype)i;
    }
    return HT_DTYPE_COUNT;
}

bool ht_dtype_is_integer(ht_dtype dtype)
{
    return dtype >= HT_UINT8 && dtype <= HT_INT64;
}

bool ht_dtype_is_floating(ht_dtype dtype)
{
    return dtype >= HT_FLOAT16 && dtype <= HT_FLOAT64;
}

bool ht_dtype_is_complex(ht_dtype dtype)
{
    return dtype == HT_COMPLEX64 || dtype == HT_COMPLEX128;
}

int ht__dtype_kind(ht_dtype dtype)
{
    if (dtype == HT_BOOL)
        return 0;
    return ht_dtype_is_integer(dtype) ? 1 : ht_dtype_is_floating(dtype) ? 2 : 3;
}

ht_dtype ht__dtype_real(ht_dtype dtype)
{
    return dtype == HT_COMPLEX64 ? HT_FLOAT32 : dtype == HT_COMPLEX128 ? HT_FLOAT64 : dtype;
}

ht_dtype ht_promote_types(ht_dtype a, ht_dtype b)
{
    ht_dtype low = a < b ? a : b, high = a < b ? b : a;

    if (!is_dtype(a) || !is_dtype(b))
        return HT_DTYPE_COUNT;
    if (low == HT_UINT8 && high == HT_INT8)
        return HT_INT16;
    if (low == HT_FLOAT16 && high == HT_BFLOAT16)
        return HT_FLOAT32;
    if (low == HT_FLOAT64 && high == HT_COMPLEX64)
        return HT_COMPLEX128;
    return high; /* the list is in order of promotion */
}

ht_number ht__dtype_end(ht_dtype dtype, bool greatest)
{
    int64_t most;

    if (!ht__dtype_is_exact(dtype))
        return ht_number_real(greatest ? INFINITY : -INFINITY);
    if (dtype == HT_BOOL || dtype == HT_UINT8)
        return ht_number_integer(!greatest ? 0 : dtype == HT_BOOL ? 1 : UINT8_MAX);
    most = INT64_MAX >> (64 - 8 * ht_dtype_size(dtype));
    return ht_number_integer(greatest ? most : -most - 1);
}

bool ht__dtype_takes(ht_dtype dtype, ht_number value)
{
    if (value.kind != HT_NUMBER_INTEGER || !ht__dtype_is_exact(dtype) || dtype == HT_BOOL)
        return true;
    return value.integer >= ht__dtype_end(dtype, false).integer &&
           value.integer <= ht__dtype_end(dtype, true).integer;
}
