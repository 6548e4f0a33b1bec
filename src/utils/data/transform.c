/* SPDX-License-Identifier: MIT
 *
 * Transforms of raw rows. Normalising bytes is one pass: there are 256 possible results. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/tensor/tensor.h"
#include "ht/arithmetics.h"
#include "ht/data.h"
#include "ht/factories.h"
#include "ht/manipulations.h"

ht_tensor *ht_transform_fail(const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ht__error_set(HT_ERR_ARGUMENT, "%s", text);
    return NULL;
}

static double normalised(const ht_normalize *how, double x)
{
    return (x / how->scale - how->mean) / how->std;
}

static void map_to_float(const uint8_t *x, float *y, int64_t n, const ht_normalize *how)
{
    float table[256];

    for (int i = 0; i < 256; i++)
        table[i] = (float)normalised(how, i);
    for (int64_t i = 0; i < n; i++)
        y[i] = table[x[i]];
}

static void map_to_double(const uint8_t *x, double *y, int64_t n, const ht_normalize *how)
{
    double table[256];

    for (int i = 0; i < 256; i++)
        table[i] = normalised(how, i);
    for (int64_t i = 0; i < n; i++)
        y[i] = table[x[i]];
}

static ht_tensor *normalise_bytes(ht_tensor *x, const ht_normalize *how)
{
    ht_tensor *y = ht_empty_ext(ht_tensor_ndim(x), ht_tensor_shape(x), how->dtype, HT_NONE,
                                ht_tensor_device(x), ht_tensor_comm(x));

    if (y == NULL || ht_tensor_size(x) == 0)
        return y;
    if (how->dtype == HT_FLOAT32)
        map_to_float(ht_tensor_data(x), ht_tensor_mutable_data(y), ht_tensor_size(x), how);
    else
        map_to_double(ht_tensor_data(x), ht_tensor_mutable_data(y), ht_tensor_size(x), how);
    return y;
}

static ht_tensor *normalise_numbers(ht_tensor *x, const ht_normalize *how)
{
    x = ht_astype(x, HT_FLOAT64);
    x = ht_div_scalar(x, how->scale);
    x = ht_div_scalar(ht_sub_scalar(x, how->mean), how->std);
    return ht_astype(x, how->dtype);
}

/* Raw rows are in host memory. */
static ht_tensor *normalise(ht_tensor *rows, const ht_normalize *how)
{
    ht_dtype dtype = ht_tensor_dtype(rows);

    if (ht_tensor_ndim(rows) == 1 && (ht_dtype_is_integer(dtype) || dtype == HT_BOOL))
        return ht_astype(rows, HT_INT64);
    if (how == NULL || (how->dtype != HT_FLOAT32 && how->dtype != HT_FLOAT64))
        return ht_transform_fail("ht_transform_normalize: dtype is %s, expected float32 or float64",
                                 how != NULL ? ht_dtype_name(how->dtype) : "not given");
    if (ht_dtype_is_complex(dtype))
        return ht_transform_fail("ht_transform_normalize: rows is %s, expected a real dtype",
                                 ht_dtype_name(dtype));
    if (how->scale == 0 || how->std == 0)
        return ht_transform_fail("ht_transform_normalize: scale is %g and std is %g, expected "
                                 "neither to be 0",
                                 how->scale, how->std);
    if (how->add_channel)
        rows = ht_expand_dims(rows, 1);
    if (dtype == HT_UINT8 && ht_tensor_is_contiguous(rows))
        return normalise_bytes(rows, how);
    return normalise_numbers(rows, how);
}

ht_tensor *ht_transform_normalize(ht_tensor *rows, int array, void *normalize)
{
    ht_tensor *made;

    (void)array;
    if (HT_IS_NULL(rows, "ht_transform_normalize", "rows"))
        return NULL;
    made = normalise(ht_to_device(rows, ht__device_cpu()), normalize);
    return made != NULL ? ht_to_device(made, ht_tensor_device(rows)) : NULL;
}
