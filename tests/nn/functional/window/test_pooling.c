/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Places of maxima, the inverse of pooling, and windows at random steps. */
#include <math.h>
#include <string.h>

#include "golden/pooling.h"
#include "nn/nn_test.h"
#include "tensor_check.h"

enum { CASES = sizeof pooling_cases / sizeof *pooling_cases };

static ht_pool_options pool_options(const struct pooling_case *c)
{
    ht_pool_options o = ht_pool_options_default();

    memcpy(o.kernel, c->kernel, sizeof o.kernel);
    memcpy(o.stride, c->stride, sizeof o.stride);
    memcpy(o.padding, c->padding, sizeof o.padding);
    memcpy(o.dilation, c->dilation, sizeof o.dilation);
    o.ceil_mode = c->ceil_mode;
    return o;
}

static ht_tensor *pool(const struct pooling_case *c, ht_tensor *x, ht_tensor **indices)
{
    const int64_t of_samples[3] = {c->shape[0], c->shape[1], c->ndim - 2};
    const ht_pool_options o = pool_options(c);
    ht_fractional_options random = ht_fractional_options_default();
    ht_tensor *samples;

    if (c->samples == NULL)
        return ht_max_pool_ext(x, &o, indices);
    memcpy(random.kernel, c->kernel, sizeof random.kernel);
    memcpy(random.length, c->length, sizeof random.length);
    samples = ht_astype(ht_array(c->samples, 3, of_samples, HT_FLOAT64, HT_NONE), HT_FLOAT32);
    return ht_fractional_max_pool(x, samples, &random, indices);
}

/* 2 for a split in slabs of the caller. */
static ht_tensor *input(const struct pooling_case *c, ht_dtype dtype, int way)
{
    ht_tensor *x = ht_astype(ht_array(c->x, c->ndim, c->shape, HT_FLOAT64, way == 0 ? HT_NONE : 0),
                             dtype);
    int64_t counts[8] = {0};

    counts[ht_test_size - 1] = c->shape[0];
    return way == 2 ? ht_redistribute(x, counts) : x;
}

static void places_are_those_of_pytorch(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        for (int way = 0; way < 3; way++) {
            for (int dtype = HT_FLOAT16; dtype <= HT_FLOAT64; dtype++) {
                ht_scope *scope = ht_scope_open();
                ht_tensor *x = input(&pooling_cases[i], (ht_dtype)dtype, way);
                ht_tensor *indices, *y;

                y = pool(&pooling_cases[i], x, &indices);
                assert_int_equal(ht_tensor_dtype(y), dtype);
                assert_int_equal(ht_tensor_dtype(indices), HT_INT64);
                assert_int_equal(ht_tensor_split(indices), ht_tensor_split(x));
                ht_test_expect(ht_astype(y, HT_FLOAT64), pooling_cases[i].y, 0);
                ht_test_expect(indices, pooling_cases[i].indices, 0);
                ht_scope_close(scope);
            }
        }
    }
}

static void maxima_without_indices_are_the_same(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++)
        ht_test_expect(pool(&pooling_cases[i], input(&pooling_cases[i], HT_FLOAT64, 0), NULL),
                       pooling_cases[i].y, 0);
}

/* Images that are stored channels-last have the same places. */
static void places_of_channels_last(void **state)
{
    const struct pooling_case *c = &pooling_cases[2];
    ht_tensor *indices;

    (void)state;
    ht_test_expect(pool(c, ht_channels_last(input(c, HT_FLOAT32, 1)), &indices), c->y, 0);
    ht_test_expect(indices, c->indices, 0);
}

/* Positive maxima, put back and pooled again, of lengths that windows divide or not. */
/* A window that ends behind the volume, with all samples on the last rank. */
static void places_in_slabs_of_the_caller(void **state)
{
    ht_pool_options options = ht_pool_options_default();
    ht_tensor *x = ht_array((double[]){1, 2, 4, 3}, HT_SHAPE(2, 1, 2, 1, 1), HT_FLOAT64, 0);
    ht_tensor *indices, *y;
    int64_t counts[8] = {0};

    (void)state;
    counts[ht_test_size - 1] = 2;
    x = ht_redistribute(x, counts);
    options.kernel[0] = options.stride[0] = options.dilation[0] = 2;
    options.padding[0] = 1;
    options.ceil_mode = true;
    y = ht_max_pool_ext(x, &options, &indices);
    assert_int_equal(ht_tensor_lshape(y)[0], ht_tensor_lshape(x)[0]);
    assert_int_equal(ht_tensor_lshape(indices)[0], ht_tensor_lshape(x)[0]);
    ht_test_expect(y, (double[]){2, 2, 3, 3}, 0);
    ht_test_expect(indices, (double[]){1, 1, 1, 1}, 0);
}

static void unpooling_undoes_pooling(void **state)
{
    static const int64_t shape[] = {3, 2, 5, 4, 7};

    (void)state;
    for (int ndim = 3; ndim <= 5; ndim++) {
        for (int way = 0; way < 2; way++) {
            const int split = way == 0 ? HT_NONE : 0;
            ht_tensor *x = ht_exp(ht_test_randn(ndim, shape, HT_FLOAT64, split, 5));
            ht_pool_options o = ht_pool_options_default();
            ht_tensor *indices, *y, *back;

            o.kernel[0] = o.kernel[1] = o.kernel[2] = 2;
            y = ht_max_pool_ext(x, &o, &indices);
            back = ht_max_unpool(y, ht_astype(indices, HT_INT32), &o, shape + 2);
            assert_int_equal(ht_tensor_split(back), split);
            ht_test_expect_same(back, ht_where(ht_gt(back, ht_scalar(0)), x, ht_scalar(0)), 0);
            ht_test_expect_same(ht_max_pool(back, &o), y, 0);
        }
    }
}

/* The indices may be split in another way than x. */
static void unpooling_takes_indices_of_any_split(void **state)
{
    ht_tensor *x = ht_array((double[]){1, 2, 3, 4}, HT_SHAPE(2, 1, 2), HT_FLOAT64, 0);
    ht_tensor *indices = ht_array((int64_t[]){3, 0, 1, 1}, HT_SHAPE(2, 1, 2), HT_INT64, 2);
    ht_pool_options o = ht_pool_options_default();

    (void)state;
    o.kernel[0] = 2;
    ht_tensor_set_requires_grad(x, true);
    ht_test_expect(ht_max_unpool(x, indices, &o, NULL), (double[]){2, 0, 0, 1, 0, 4, 0, 0}, 0);
    assert_int_equal(ht_backward(ht_sum(ht_max_unpool(x, indices, &o, NULL), HT_NONE)), HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(x), (double[]){1, 1, 0, 1}, 0); /* 4 took the place of 3 */
}

static void empty_batches(void **state)
{
    ht_tensor *x = ht_zeros(HT_SHAPE(0, 2, 4, 6), HT_FLOAT32, 0), *indices, *y;
    ht_fractional_options random = ht_fractional_options_default();
    ht_pool_options o = ht_pool_options_default();
    const int64_t shape[] = {0, 2, 2, 3};

    (void)state;
    o.kernel[0] = o.kernel[1] = random.kernel[0] = random.kernel[1] = 2;
    y = ht_max_pool_ext(x, &o, &indices);
    ht_test_expect_same(indices, ht_zeros(4, shape, HT_INT64, 0), 0);
    ht_test_expect_same(ht_max_unpool(y, indices, &o, NULL), x, 0);
    random.ratio[0] = random.ratio[1] = 0.5;
    y = ht_fractional_max_pool(x, NULL, &random, &indices);
    ht_test_expect_same(y, ht_zeros(4, shape, HT_FLOAT32, 0), 0);
    ht_test_expect_same(indices, ht_zeros(4, shape, HT_INT64, 0), 0);
}

/* A draw has the same windows for any split, and another draw has others. */
static void random_windows_do_not_depend_on_the_split(void **state)
{
    const int64_t shape[] = {3, 2, 16, 16};
    ht_fractional_options o = ht_fractional_options_default();
    ht_tensor *x = ht_test_randn(4, shape, HT_FLOAT32, HT_NONE, 3), *first, *second;

    (void)state;
    o.kernel[0] = o.kernel[1] = 2;
    o.ratio[0] = 0.7;
    o.length[1] = 9;
    o.seed = 4;
    ht_fractional_max_pool(x, NULL, &o, &first);
    assert_int_equal(ht_tensor_shape(first)[2], 11);
    assert_int_equal(ht_tensor_shape(first)[3], 9);
    ht_fractional_max_pool(ht_resplit(x, 0), NULL, &o, &second);
    ht_test_expect_same(first, second, 0);
    o.draw = 1;
    ht_fractional_max_pool(x, NULL, &o, &second);
    assert_true(ht_item(ht_sum(ht_ne(first, second), HT_NONE)) > 0);
}

/* Windows stay within x for any samples. */
static void samples_out_of_range(void **state)
{
    const double odd[] = {-3, 1e30, -1e30, NAN, INFINITY, 0.5};
    ht_fractional_options o = ht_fractional_options_default();
    ht_tensor *x = ht_test_randn(HT_SHAPE(3, 1, 5, 5), HT_FLOAT32, 0, 3), *indices;

    (void)state;
    o.kernel[0] = o.kernel[1] = 2;
    o.length[0] = o.length[1] = 3;
    assert_non_null(ht_fractional_max_pool(x, ht_array(odd, HT_SHAPE(3, 1, 2), HT_FLOAT64, HT_NONE),
                                           &o, &indices));
    assert_true(ht_item(ht_min(indices, HT_NONE)) >= 0);
    assert_true(ht_item(ht_max(indices, HT_NONE)) < 25);
}

static void bad_unpooling_is_an_error(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(3, 1, 2), HT_FLOAT32, 0);
    ht_tensor *indices = ht_array((int64_t[]){0, 3, 1, 3, 2, 4}, HT_SHAPE(3, 1, 2), HT_INT64, 0);
    ht_tensor *below = ht_sub_scalar(indices, 1), *zeros = ht_zeros_like(indices);
    ht_pool_options o = ht_pool_options_default();

    (void)state;
    o.kernel[0] = 2;
    HT_TEST_EXPECT_ERROR(ht_max_unpool(x, indices, &o, NULL), HT_ERR_ARGUMENT,
                         "ht_max_unpool: indices are 0 to 4, expected 0 to 3");
    HT_TEST_EXPECT_ERROR(ht_max_unpool(x, below, &o, NULL), HT_ERR_ARGUMENT,
                         "ht_max_unpool: indices are -1 to 3, expected 0 to 3");
    HT_TEST_EXPECT_ERROR(ht_max_unpool(x, zeros, &o, (int64_t[]){6}), HT_ERR_SHAPE,
                         "ht_max_unpool: x is (3, 1, 2): length 6 of axis 2 is not less than the "
                         "stride 2 away from 4");
    assert_non_null(ht_max_unpool(x, indices, &o, (int64_t[]){5}));
    o.stride[0] = INT64_MAX;
    HT_TEST_EXPECT_ERROR(ht_max_unpool(x, zeros, &o, NULL), HT_ERR_SHAPE, "length 0 of axis 2");
    o.stride[0] = -1;
    HT_TEST_EXPECT_ERROR(ht_max_unpool(x, zeros, &o, NULL), HT_ERR_ARGUMENT,
                         "ht_max_unpool: kernel is (2,), stride is (-1,), padding is (0,), "
                         "expected at least 1, 0 and 0");
}

static void bad_windows_are_errors(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(3, 1, 2), HT_FLOAT32, 0), *indices;
    ht_fractional_options random = ht_fractional_options_default();
    ht_pool_options o = ht_pool_options_default();

    (void)state;
    o.kernel[0] = 2;
    o.padding[0] = 1;
    o.dilation[0] = 3;
    assert_non_null(ht_max_pool_ext(x, &o, NULL));
    HT_TEST_EXPECT_ERROR(ht_max_pool_ext(x, &o, &indices), HT_ERR_SHAPE,
                         "ht_max_pool_ext: x is (3, 1, 2): window 0 of axis 2 is padding only");
    HT_TEST_EXPECT_ERROR(ht_fractional_max_pool(x, NULL, NULL, NULL), HT_ERR_SHAPE,
                         "ht_fractional_max_pool: x is (3, 1, 2): 0 windows of 1 do not begin at "
                         "different elements of axis 2");
    random.length[0] = 2;
    HT_TEST_EXPECT_ERROR(
        ht_fractional_max_pool(x, ht_zeros(HT_SHAPE(3, 1, 2), HT_FLOAT32, 0), &random, NULL),
        HT_ERR_SHAPE,
        "ht_fractional_max_pool: samples is (3, 1, 2), expected 1 number for each plane");
}

HT_TEST_SUITE(test_pooling, cmocka_unit_test(places_are_those_of_pytorch),
              cmocka_unit_test(maxima_without_indices_are_the_same),
              cmocka_unit_test(places_of_channels_last),
              cmocka_unit_test(places_in_slabs_of_the_caller),
              cmocka_unit_test(unpooling_undoes_pooling),
              cmocka_unit_test(unpooling_takes_indices_of_any_split),
              cmocka_unit_test(empty_batches),
              cmocka_unit_test(random_windows_do_not_depend_on_the_split),
              cmocka_unit_test(samples_out_of_range), cmocka_unit_test(bad_unpooling_is_an_error),
              cmocka_unit_test(bad_windows_are_errors));
