/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* Layers that pad, shuffle and resize: shapes, splits, empty batches, bad settings and inputs. */
#include <math.h>

#include "nn/nn_test.h"
#include "tensor_check.h"

static ht_tensor *ones(int spatial, int split)
{
    return ht_ones(spatial + 2, (int64_t[]){3, 4, 5, 6, 7}, HT_FLOAT32, split);
}

/* Takes the module over. */
static void expect_shape(ht_module *module, ht_tensor *x, int ndim, const int64_t shape[])
{
    ht_tensor *y;

    assert_non_null(module);
    y = ht_forward(module, x);
    assert_int_equal(ht_tensor_ndim(y), ndim);
    for (int i = 0; i < ndim; i++)
        assert_int_equal(ht_tensor_shape(y)[i], shape[i]);
    assert_int_equal(ht_tensor_split(y), ht_tensor_split(x));
    ht_release(module);
}

static void pads_of_each_mode_and_dimension(void **state)
{
    typedef ht_module *pad_fn(int count, const int64_t widths[]);
    static pad_fn *const pads[4][3] = {
        {ht_nn_reflection_pad1d, ht_nn_reflection_pad2d, ht_nn_reflection_pad3d},
        {ht_nn_replication_pad1d, ht_nn_replication_pad2d, ht_nn_replication_pad3d},
        {ht_nn_circular_pad1d, ht_nn_circular_pad2d, ht_nn_circular_pad3d},
        {ht_nn_zero_pad1d, ht_nn_zero_pad2d, ht_nn_zero_pad3d}};
    const int64_t same[] = {3, 4, 7, 8, 9};

    (void)state;
    for (int mode = 0; mode < 4; mode++) {
        for (int split = 0; split < 2; split++) {
            expect_shape(pads[mode][0](HT_SHAPE(2, 1)), ones(1, split ? 0 : HT_NONE),
                         HT_SHAPE(3, 4, 8));
            expect_shape(pads[mode][1](HT_SHAPE(2, 1, 0, -1)), ones(2, split ? 0 : HT_NONE),
                         HT_SHAPE(3, 4, 8, 5));
            expect_shape(pads[mode][2](HT_SHAPE(1)), ones(3, split ? 0 : HT_NONE), 5, same);
        }
    }
}

static void constant_pads_have_their_value(void **state)
{
    ht_tensor *x = ht_zeros(HT_SHAPE(1, 1), HT_FLOAT64, HT_LOCAL);
    ht_module *pad = ht_nn_constant_pad1d(HT_SHAPE(1, 2), 2.5);

    (void)state;
    ht_test_expect(ht_forward(pad, x), (double[]){2.5, 0, 2.5, 2.5}, 0);
    ht_release(pad);
    expect_shape(ht_nn_constant_pad2d(HT_SHAPE(1), 1), ones(2, HT_NONE), HT_SHAPE(3, 4, 7, 8));
    expect_shape(ht_nn_constant_pad3d(HT_SHAPE(0), 1), ones(3, HT_NONE), HT_SHAPE(3, 4, 5, 6, 7));
}

static void split_axes_may_be_padded(void **state)
{
    ht_tensor *x = ht_astype(ht_arange(0, 4, 1, HT_INT32, 0), HT_FLOAT64);
    const double expected[3][7] = {
        {2, 1, 0, 1, 2, 3, 2}, {0, 0, 0, 1, 2, 3, 3}, {2, 3, 0, 1, 2, 3, 0}};

    (void)state;
    for (int mode = HT_PAD_REFLECT; mode <= HT_PAD_CIRCULAR; mode++)
        ht_test_expect(ht_pad_ext(x, HT_SHAPE(2, 1), (ht_pad_mode)mode, HT_NUM(0)),
                       expected[mode - HT_PAD_REFLECT], 0);
}

/* In each mode, also without a width and where elements are only cut off. */
static void padding_is_always_a_copy(void **state)
{
    (void)state;
    for (int mode = HT_PAD_CONSTANT; mode <= HT_PAD_CIRCULAR; mode++) {
        for (int cut = 0; cut < 2; cut++) {
            ht_tensor *x = ht_astype(ht_arange(0, 4, 1, HT_INT32, 0), HT_FLOAT64), *y;

            y = ht_pad_ext(x, HT_SHAPE(-cut, 0), (ht_pad_mode)mode, HT_NUM(0));
            assert_int_equal(ht_fill_(x, 9), HT_SUCCESS);
            ht_test_expect(y, (double[]){0, 1, 2, 3} + cut, 0);
        }
    }
}

static void shuffles_and_upsampling(void **state)
{
    ht_upsample_options options = ht_upsample_options_default();

    (void)state;
    options.length[0] = options.length[1] = 4;
    expect_shape(ht_nn_pixel_shuffle(2), ones(2, 0), HT_SHAPE(3, 1, 10, 12));
    expect_shape(ht_nn_pixel_unshuffle(1), ones(2, 0), HT_SHAPE(3, 4, 5, 6));
    expect_shape(ht_nn_channel_shuffle(2), ones(2, 0), HT_SHAPE(3, 4, 5, 6));
    expect_shape(ht_nn_upsample(&options), ones(2, 0), HT_SHAPE(3, 4, 4, 4));
}

static void empty_batches_give_empty_results(void **state)
{
    ht_upsample_options options = ht_upsample_options_default();
    ht_tensor *x = ht_zeros(HT_SHAPE(0, 4, 2, 2), HT_FLOAT32, 0);

    (void)state;
    options.scale[0] = options.scale[1] = 2;
    expect_shape(ht_nn_reflection_pad2d(HT_SHAPE(1)), x, HT_SHAPE(0, 4, 4, 4));
    expect_shape(ht_nn_zero_pad2d(HT_SHAPE(1)), x, HT_SHAPE(0, 4, 4, 4));
    expect_shape(ht_nn_pixel_shuffle(2), x, HT_SHAPE(0, 1, 4, 4));
    expect_shape(ht_nn_pixel_unshuffle(2), x, HT_SHAPE(0, 16, 1, 1));
    expect_shape(ht_nn_channel_shuffle(2), x, HT_SHAPE(0, 4, 2, 2));
    expect_shape(ht_nn_upsample(&options), x, HT_SHAPE(0, 4, 4, 4));
}

static void bad_pads_are_errors(void **state)
{
    ht_tensor *x = ones(1, HT_NONE);
    ht_module *pad = ht_nn_reflection_pad2d(HT_SHAPE(1)), *zeros = ht_nn_zero_pad2d(HT_SHAPE(1));

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_pad_ext(x, HT_SHAPE(5, 0), HT_PAD_REFLECT, HT_NUM(0)), HT_ERR_ARGUMENT,
                         "ht_pad_ext: widths of axis 2 are (5, 0), expected at most 4");
    HT_TEST_EXPECT_ERROR(ht_pad_ext(x, HT_SHAPE(0, 6), HT_PAD_CIRCULAR, HT_NUM(0)), HT_ERR_ARGUMENT,
                         "ht_pad_ext: widths of axis 2 are (0, 6), expected at most 5");
    HT_TEST_EXPECT_ERROR(
        ht_pad_ext(x, HT_SHAPE(INT64_MAX / 4, INT64_MAX / 4), HT_PAD_REPLICATE, HT_NUM(0)),
        HT_ERR_SHAPE, "ht_pad_ext: a result of shape (");
    HT_TEST_EXPECT_ERROR(ht_pad_ext(x, HT_SHAPE(-3, -3), HT_PAD_CONSTANT, HT_NUM(0)),
                         HT_ERR_ARGUMENT,
                         "ht_pad_ext: widths of axis 2 are (-3, -3), expected to remove at most "
                         "its length, 5");
    HT_TEST_EXPECT_ERROR(ht_pad_ext(x, HT_SHAPE(1, 1, 1), HT_PAD_CONSTANT, HT_NUM(0)),
                         HT_ERR_ARGUMENT,
                         "ht_pad_ext: count is 3, expected an even number of at most 6");
    HT_TEST_EXPECT_ERROR(
        ht_pad_ext(ht_astype(x, HT_UINT8), HT_SHAPE(1, 1), HT_PAD_CONSTANT, HT_NUM(300)),
        HT_ERR_ARGUMENT, "ht_pad_ext: value");
    HT_TEST_EXPECT_ERROR(ht_nn_zero_pad2d(HT_SHAPE(1, 2)), HT_ERR_ARGUMENT,
                         "ht_nn_zero_pad2d: count is 2, expected 1 or 4");
    HT_TEST_EXPECT_ERROR(ht_forward(zeros, ht_flatten(x, 0)), HT_ERR_SHAPE,
                         "ZeroPad2d: x is (60,), expected at least 2 axes");
    ht_release(zeros);
    HT_TEST_EXPECT_ERROR(ht_forward(pad, ht_flatten(x, 1)), HT_ERR_SHAPE,
                         "ReflectionPad2d: x is (3, 20), expected 3 or 4 axes");
    ht_release(pad);
}

static void bad_shuffles_and_sizes_are_errors(void **state)
{
    ht_upsample_options options = ht_upsample_options_default();
    ht_tensor *x = ones(1, HT_NONE);

    (void)state;
    HT_TEST_EXPECT_ERROR(
        ht_channel_shuffle(x, 3), HT_ERR_SHAPE,
        "ht_channel_shuffle: length of axis 1 of x (3, 4, 5) is invalid, expected a multiple of 3");
    HT_TEST_EXPECT_ERROR(ht_pixel_shuffle(x, 0), HT_ERR_ARGUMENT,
                         "ht_pixel_shuffle: factor is 0, expected at least 1");
    HT_TEST_EXPECT_ERROR(ht_nn_pixel_shuffle(0), HT_ERR_ARGUMENT,
                         "ht_nn_pixel_shuffle: factor is 0, expected at least 1");
    HT_TEST_EXPECT_ERROR(ht_upsample(x, NULL), HT_ERR_ARGUMENT, "ht_upsample: options is NULL");
    HT_TEST_EXPECT_ERROR(
        ht_upsample(x, &options), HT_ERR_ARGUMENT,
        "ht_upsample: length and scale of an axis are both set or both 0, expected one of them");
    options.scale[0] = 0.1;
    HT_TEST_EXPECT_ERROR(ht_upsample(x, &options), HT_ERR_SHAPE,
                         "ht_upsample: x is (3, 4, 5), and axis 2 would get length 0, expected "
                         "1 to 2^31 - 1");
    options.scale[0] = 2;
    options.align_corners = true;
    HT_TEST_EXPECT_ERROR(
        ht_upsample(x, &options), HT_ERR_ARGUMENT,
        "ht_upsample: align_corners is set, expected only with linear and cubic modes");
    HT_TEST_EXPECT_ERROR(ht_nn_upsample(NULL), HT_ERR_ARGUMENT, "ht_nn_upsample: options is NULL");
}

HT_TEST_SUITE(test_shape_layers, cmocka_unit_test(pads_of_each_mode_and_dimension),
              cmocka_unit_test(constant_pads_have_their_value),
              cmocka_unit_test(split_axes_may_be_padded),
              cmocka_unit_test(padding_is_always_a_copy), cmocka_unit_test(shuffles_and_upsampling),
              cmocka_unit_test(empty_batches_give_empty_results),
              cmocka_unit_test(bad_pads_are_errors),
              cmocka_unit_test(bad_shuffles_and_sizes_are_errors));
