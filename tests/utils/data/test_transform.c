/* ranks 1 3 */
/* SPDX-License-Identifier: MIT */
/* Normalising and labels. */
#include "ht_test.h"
#include "tensor_check.h"

#include <math.h>
#include <string.h>

#include "ht/data.h"
#include "ht/error.h"
#include "ht/factories.h"
#include "ht/manipulations.h"

static void bytes_are_normalised(void **state)
{
    uint8_t bytes[256];
    ht_normalize how = {.scale = 255, .mean = 0.1307, .std = 0.3081, .dtype = HT_FLOAT32};

    (void)state;
    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    ht_tensor *x = ht_array(bytes, HT_SHAPE(4, 8, 8), HT_UINT8, HT_LOCAL);
    ht_tensor *y = ht_transform_normalize(x, 0, &how);

    assert_int_equal(ht_tensor_ndim(y), 3);
    for (int i = 0; i < 256; i++)
        assert_true(((const float *)ht_test_data(y))[i] == (float)((i / 255. - 0.1307) / 0.3081));

    how.dtype = HT_FLOAT64;
    how.add_channel = true;
    y = ht_transform_normalize(x, 0, &how);
    assert_int_equal(ht_tensor_ndim(y), 4);
    assert_int_equal(ht_tensor_shape(y)[1], 1);
    assert_int_equal(ht_tensor_shape(y)[3], 8);
    for (int i = 0; i < 256; i++)
        assert_true(((const double *)ht_test_data(y))[i] == (i / 255. - 0.1307) / 0.3081);
}

/* The way of other dtypes agrees with that of bytes. */
static void numbers_are_normalised(void **state)
{
    static const int16_t values[] = {0, 1, 100, 255};
    static const uint8_t bytes[] = {0, 1, 100, 255};
    ht_normalize how = {.scale = 255, .mean = 0.5, .std = 0.25, .dtype = HT_FLOAT64};
    ht_tensor *a = ht_array(values, HT_SHAPE(2, 2), HT_INT16, HT_LOCAL);
    ht_tensor *b = ht_array(bytes, HT_SHAPE(2, 2), HT_UINT8, HT_LOCAL);

    (void)state;
    a = ht_transform_normalize(a, 0, &how);
    b = ht_transform_normalize(b, 0, &how);
    for (int i = 0; i < 4; i++)
        assert_true(fabs(((const double *)ht_test_data(a))[i] -
                         ((const double *)ht_test_data(b))[i]) < 1e-15);
}

static void labels_become_int64(void **state)
{
    static const uint8_t bytes[] = {0, 9, 255};
    ht_tensor *y = ht_transform_normalize(ht_array(bytes, HT_SHAPE(3), HT_UINT8, HT_LOCAL), 1,
                                          NULL);

    (void)state;
    assert_int_equal(ht_tensor_dtype(y), HT_INT64);
    for (int i = 0; i < 3; i++)
        assert_int_equal(((const int64_t *)ht_test_data(y))[i], bytes[i]);
}

static void other_dtypes_are_refused(void **state)
{
    static const uint8_t bytes[4];
    ht_normalize how = {.scale = 1, .std = 1, .dtype = HT_INT32};
    const char *message;

    (void)state;
    assert_null(
        ht_transform_normalize(ht_array(bytes, HT_SHAPE(2, 2), HT_UINT8, HT_LOCAL), 0, &how));
    ht_error_get(&message);
    assert_string_equal(message,
                        "ht_transform_normalize: dtype is int32, expected float32 or float64");
    ht_error_clear();
    how.dtype = HT_FLOAT32;
    assert_null(ht_transform_normalize(ht_ones(HT_SHAPE(2, 2), HT_COMPLEX64, HT_LOCAL), 0, &how));
    ht_error_get(&message);
    assert_string_equal(message,
                        "ht_transform_normalize: rows is complex64, expected a real dtype");
    ht_error_clear();
}

static void rows_of_a_device(void **state)
{
    static const uint8_t bytes[] = {0, 1, 100, 255};
    ht_normalize how = {.scale = 255, .mean = 0.5, .std = 0.25, .dtype = HT_FLOAT32};
    ht_device *dummy = ht_device_get("dummy:0");
    ht_tensor *x = ht_array(bytes, HT_SHAPE(2, 2), HT_UINT8, HT_LOCAL);
    ht_tensor *there = ht_transform_normalize(ht_to_device(x, dummy), 0, &how);

    (void)state;
    assert_ptr_equal(ht_tensor_device(there), dummy);
    assert_memory_equal(ht_test_data(ht_to_device(there, ht_device_get("cpu"))),
                        ht_test_data(ht_transform_normalize(x, 0, &how)), 4 * sizeof(float));
}

HT_TEST_SUITE(test_transform, cmocka_unit_test(rows_of_a_device),
              cmocka_unit_test(bytes_are_normalised), cmocka_unit_test(numbers_are_normalised),
              cmocka_unit_test(labels_become_int64), cmocka_unit_test(other_dtypes_are_refused));
