/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* Layers of convolution and pooling: shapes, parameters, empty batches, bad settings and inputs. */
#include <math.h>

#include "nn/nn_test.h"
#include "tensor_check.h"

static ht_tensor *ones(int spatial, int64_t batch)
{
    return ht_ones(spatial + 2, (int64_t[]){batch, 4, 5, 6, 7}, HT_FLOAT32, HT_LOCAL);
}

/* Owns the module; checks its output for a batch of 2, and of 0. */
static void expect_shape(ht_module *module, int spatial, int ndim, const int64_t shape[])
{
    assert_non_null(module);
    for (int64_t batch = 2; batch >= 0; batch -= 2) {
        ht_tensor *y = ht_forward(module, ones(spatial, batch));

        assert_int_equal(ht_tensor_ndim(y), ndim);
        assert_int_equal(ht_tensor_shape(y)[0], batch);
        for (int i = 1; i < ndim; i++)
            assert_int_equal(ht_tensor_shape(y)[i], shape[i]);
    }
    ht_release(module);
}

static void convolutions(void **state)
{
    ht_conv_options options = ht_conv_options_default();
    ht_conv2d_options image = ht_conv2d_options_default();

    (void)state;
    expect_shape(ht_nn_conv1d(4, 2, 3, NULL, true), 1, HT_SHAPE(2, 2, 3));
    expect_shape(ht_nn_conv3d(4, 2, 3, NULL, false), 3, HT_SHAPE(2, 2, 3, 4, 5));
    for (int i = 0; i < 3; i++)
        options.stride[i] = 2;
    expect_shape(ht_nn_conv_transpose1d(4, 2, 3, &options, true), 1, HT_SHAPE(2, 2, 11));
    expect_shape(ht_nn_conv_transpose2d(4, 2, 3, &options, false), 2, HT_SHAPE(2, 2, 11, 13));
    expect_shape(ht_nn_conv_transpose3d(4, 2, 3, &options, true), 3, HT_SHAPE(2, 2, 11, 13, 15));
    options = ht_conv_options_default();
    options.same = true;
    expect_shape(ht_nn_conv1d(4, 2, 4, &options, true), 1, HT_SHAPE(2, 2, 5));
    image.same = true;
    expect_shape(ht_nn_conv2d_ext(4, 2, 4, &image, true), 2, HT_SHAPE(2, 2, 5, 6));
}

/* An odd number of zeros has one more behind than in front; `padding` is not read. */
static void padding_that_keeps_lengths(void **state)
{
    ht_tensor *x = ht_array((double[]){1, 2, 3, 4}, HT_SHAPE(1, 1, 1, 4), HT_FLOAT64, HT_LOCAL);
    ht_tensor *w = ht_array((double[]){1, 10}, HT_SHAPE(1, 1, 1, 2), HT_FLOAT64, HT_LOCAL);
    ht_conv2d_options o = ht_conv2d_options_default();

    (void)state;
    o.same = true;
    o.padding[0] = 7;
    ht_test_expect(ht_conv2d(x, w, NULL, &o), (double[]){21, 32, 43, 4}, 0);
    o.dilation[1] = 2;
    ht_test_expect(ht_conv2d(x, w, NULL, &o), (double[]){20, 31, 42, 3}, 0);
    o.stride[1] = 2;
    HT_TEST_EXPECT_ERROR(ht_conv2d(x, w, NULL, &o), HT_ERR_ARGUMENT,
                         "ht_conv2d: stride is not 1, expected 1 with options.same");
}

static void pooling(void **state)
{
    const int64_t length[] = {2, 3, 4};
    ht_pool_options o = ht_pool_options_default();
    ht_fractional_options random = ht_fractional_options_default();

    (void)state;
    for (int i = 0; i < 3; i++) {
        o.kernel[i] = random.kernel[i] = 2;
        random.ratio[i] = 0.5;
    }
    expect_shape(ht_nn_avg_pool1d(&o), 1, HT_SHAPE(2, 4, 2));
    expect_shape(ht_nn_avg_pool2d(&o), 2, HT_SHAPE(2, 4, 2, 3));
    expect_shape(ht_nn_avg_pool3d(&o), 3, HT_SHAPE(2, 4, 2, 3, 3));
    expect_shape(ht_nn_max_pool1d(&o), 1, HT_SHAPE(2, 4, 2));
    expect_shape(ht_nn_max_pool2d_ext(&o), 2, HT_SHAPE(2, 4, 2, 3));
    expect_shape(ht_nn_max_pool3d(&o), 3, HT_SHAPE(2, 4, 2, 3, 3));
    expect_shape(ht_nn_fractional_max_pool2d(&random), 2, HT_SHAPE(2, 4, 2, 3));
    expect_shape(ht_nn_fractional_max_pool3d(&random), 3, HT_SHAPE(2, 4, 2, 3, 3));
    expect_shape(ht_nn_lp_pool1d(2, &o), 1, HT_SHAPE(2, 4, 2));
    expect_shape(ht_nn_lp_pool2d(2, &o), 2, HT_SHAPE(2, 4, 2, 3));
    expect_shape(ht_nn_lp_pool3d(2, &o), 3, HT_SHAPE(2, 4, 2, 3, 3));
    expect_shape(ht_nn_adaptive_avg_pool1d(length), 1, HT_SHAPE(2, 4, 2));
    expect_shape(ht_nn_adaptive_avg_pool2d(length), 2, HT_SHAPE(2, 4, 2, 3));
    expect_shape(ht_nn_adaptive_avg_pool3d(length), 3, HT_SHAPE(2, 4, 2, 3, 4));
    expect_shape(ht_nn_adaptive_max_pool1d(length), 1, HT_SHAPE(2, 4, 2));
    expect_shape(ht_nn_adaptive_max_pool2d(length), 2, HT_SHAPE(2, 4, 2, 3));
    expect_shape(ht_nn_adaptive_max_pool3d(length), 3, HT_SHAPE(2, 4, 2, 3, 4));
}

/* The divisor of means has a sign. */
static void divisors(void **state)
{
    ht_tensor *x = ht_array((double[]){1, 2, 3, 6}, HT_SHAPE(1, 1, 4), HT_FLOAT64, HT_LOCAL);
    ht_pool_options o = ht_pool_options_default();

    (void)state;
    o.kernel[0] = 2;
    o.divisor_override = -3;
    ht_test_expect(ht_avg_pool(x, &o), (double[]){-1, -3}, 0);
}

typedef ht_module *pool_fn(const ht_pool_options *options);
typedef ht_module *unpool_fn(const ht_pool_options *options, const int64_t length[]);

/* Maxima with their indices, and back, of a batch and of one sample. */
static void pool_and_back(int spatial, pool_fn *pool_of, unpool_fn *unpool_of)
{
    static const int64_t shape[] = {2, 4, 5, 6, 7};
    ht_pool_options o = ht_pool_options_default();
    ht_module *pool, *unpool;

    o.kernel[0] = o.kernel[1] = o.kernel[2] = 2;
    o.return_indices = true;
    pool = pool_of(&o);
    unpool = unpool_of(&o, shape + 2);
    for (int alone = 0; alone < 2; alone++) {
        ht_tensor *x = ht_exp(
            ht_test_randn(2 + spatial - alone, shape + alone, HT_FLOAT32, HT_LOCAL, 6));
        ht_value *found = ht_forward_value(pool, ht_value_tensor(x));
        ht_tensor *y = ht_value_as_tensor(ht_value_at(found, 0));
        ht_tensor *back = ht_value_as_tensor(ht_forward_value(unpool, found));

        assert_int_equal(ht_value_count(found), 2);
        assert_int_equal(ht_tensor_ndim(y), ht_tensor_ndim(x));
        ht_test_expect_same(back, ht_where(ht_gt(back, ht_scalar(0)), x, ht_scalar(0)), 0);
        found = ht_forward_value(pool, ht_value_tensor(back));
        ht_test_expect_same(ht_value_as_tensor(ht_value_at(found, 0)), y, 0);
    }
    ht_release(unpool);
    ht_release(pool);
}

static void maxima_come_with_indices(void **state)
{
    ht_pool_options o = ht_pool_options_default();
    ht_module *unpool = ht_nn_max_unpool1d(&o, NULL);
    ht_tensor *x = ones(1, 2);

    (void)state;
    pool_and_back(1, ht_nn_max_pool1d, ht_nn_max_unpool1d);
    pool_and_back(2, ht_nn_max_pool2d_ext, ht_nn_max_unpool2d);
    pool_and_back(3, ht_nn_max_pool3d, ht_nn_max_unpool3d);
    HT_TEST_EXPECT_ERROR(ht_forward(unpool, x), HT_ERR_ARGUMENT, "ht_nn_max_unpool1d");
    ht_release(unpool);
    o.kernel[0] = 0;
    HT_TEST_EXPECT_ERROR(ht_nn_max_unpool1d(&o, NULL), HT_ERR_ARGUMENT,
                         "ht_nn_max_unpool1d: kernel is 0, expected at least 1");
}

/* Each forward draws other windows, and the same seed the same ones again. */
static void fractional_layers_draw(void **state)
{
    ht_fractional_options o = ht_fractional_options_default();
    ht_tensor *x = ht_test_randn(HT_SHAPE(2, 3, 16, 16), HT_FLOAT32, HT_LOCAL, 6);
    ht_tensor *samples = ht_full(HT_SHAPE(2, 3, 2), 0.25, HT_FLOAT32, HT_LOCAL), *indices[2][2], *y;
    ht_module *layer;
    ht_value *out;

    (void)state;
    o.kernel[0] = o.kernel[1] = 2;
    o.length[0] = o.length[1] = 9;
    o.return_indices = true;
    for (int run = 0; run < 2; run++) {
        ht_nn_seed(7);
        layer = ht_nn_fractional_max_pool2d(&o);
        for (int i = 0; i < 2; i++) {
            out = ht_forward_value(layer, ht_value_tensor(x));
            assert_int_equal(ht_value_count(out), 2);
            indices[run][i] = ht_value_as_tensor(ht_value_at(out, 1));
        }
        ht_test_expect_same(indices[run][0], indices[0][0], 0);
        ht_test_expect_same(indices[run][1], indices[0][1], 0);
        out = ht_forward_value(layer, ht_value_tensors(2, (ht_tensor *[]){x, samples}));
        ht_release(layer);
    }
    assert_true(ht_item(ht_sum(ht_ne(indices[0][0], indices[0][1]), HT_NONE)) > 0);
    y = ht_fractional_max_pool(x, samples, &o, NULL);
    ht_test_expect_same(ht_value_as_tensor(ht_value_at(out, 0)), y, 0);
    o.length[0] = 0;
    HT_TEST_EXPECT_ERROR(ht_nn_fractional_max_pool2d(&o), HT_ERR_ARGUMENT,
                         "ht_nn_fractional_max_pool2d: kernel is 2, length is 0, ratio is 0, "
                         "expected a kernel of at least 1, and a length of at least 1 or a ratio "
                         "between 0 and 1");
}

enum { LAYERS = 7 };

/* One sample gives what a batch of it gives. */
static void one_sample(void **state)
{
    ht_pool_options o = ht_pool_options_default();
    ht_module *layers[LAYERS];
    ht_tensor *x = ht_test_randn(HT_SHAPE(4, 5, 6), HT_FLOAT32, HT_LOCAL, 6);

    (void)state;
    o.kernel[0] = o.kernel[1] = 2;
    layers[0] = ht_nn_avg_pool2d(&o);
    layers[1] = ht_nn_max_pool2d_ext(&o);
    layers[2] = ht_nn_adaptive_avg_pool2d((int64_t[]){2, 3});
    layers[3] = ht_nn_unfold(&o);
    layers[4] = ht_nn_conv2d(4, 2, 3);
    layers[5] = ht_nn_conv_transpose2d(4, 2, 3, NULL, true);
    layers[6] = ht_nn_conv2d_ext(4, 2, 3, NULL, false);
    for (int i = 0; i < LAYERS; i++) {
        ht_test_expect_same(ht_forward(layers[i], x),
                            ht_squeeze(ht_forward(layers[i], ht_expand_dims(x, 0)), 0), 0);
        ht_release(layers[i]);
    }
}

/* Columns and back: each element as often as a window has it. */
static void folds(void **state)
{
    ht_pool_options o = ht_pool_options_default();
    ht_module *unfold, *fold;
    ht_tensor *x = ht_ones(HT_SHAPE(1, 1, 3, 3), HT_FLOAT64, HT_LOCAL);

    (void)state;
    o.kernel[0] = o.kernel[1] = 2;
    unfold = ht_nn_unfold(&o);
    fold = ht_nn_fold((int64_t[]){3, 3}, &o);
    ht_test_expect(ht_forward(fold, ht_forward(unfold, x)), (double[]){1, 2, 1, 2, 4, 2, 1, 2, 1},
                   0);
    ht_release(fold);
    ht_release(unfold);
}

/* The first of equal elements, as PyTorch chooses. */
static void first_of_equal_maxima_gets_the_gradient(void **state)
{
    ht_tensor *x = ht_zeros(HT_SHAPE(1, 1, 4), HT_FLOAT64, HT_LOCAL);
    ht_pool_options o = ht_pool_options_default();

    (void)state;
    o.kernel[0] = 2;
    for (int adaptive = 0; adaptive < 2; adaptive++) {
        ht_tensor *leaf = ht_copy(x), *y;

        ht_tensor_set_requires_grad(leaf, true);
        y = adaptive ? ht_adaptive_max_pool(leaf, (int64_t[]){2}) : ht_max_pool(leaf, &o);
        assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
        ht_test_expect(ht_tensor_grad(leaf), (double[]){1, 0, 1, 0}, 0);
    }
}

static void bad_convolutions_are_errors(void **state)
{
    ht_conv_options o = ht_conv_options_default();
    ht_tensor *x = ones(1, 2), *w = ht_ones(HT_SHAPE(4, 2, 3), HT_FLOAT32, HT_LOCAL);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_conv1d(x, w, NULL, NULL), HT_ERR_SHAPE,
                         "ht_conv1d: x is (2, 4, 5), weight is (4, 2, 3): channels 4 and 2 differ");
    o.groups = 3;
    HT_TEST_EXPECT_ERROR(ht_conv1d(x, w, NULL, &o), HT_ERR_SHAPE,
                         "3 groups do not divide the channels");
    HT_TEST_EXPECT_ERROR(ht_nn_conv1d(4, 6, 3, &o, true), HT_ERR_ARGUMENT,
                         "ht_nn_conv1d: groups is 3, expected a divisor of in_channels 4 and "
                         "out_channels 6");
    o.groups = 2;
    o.same = true;
    o.stride[0] = 2;
    HT_TEST_EXPECT_ERROR(ht_conv1d(x, w, NULL, &o), HT_ERR_ARGUMENT,
                         "ht_conv1d: stride is not 1, expected 1 with options.same");
    o = ht_conv_options_default();
    o.output_padding[0] = 1;
    HT_TEST_EXPECT_ERROR(ht_conv_transpose1d(x, w, NULL, &o), HT_ERR_ARGUMENT,
                         "output_padding is too large, expected less than stride or dilation");
    o = ht_conv_options_default();
    o.padding[0] = 4;
    HT_TEST_EXPECT_ERROR(ht_conv_transpose1d(x, w, NULL, &o), HT_ERR_SHAPE,
                         "axis 2 would have no elements");
    for (int i = 0; i < 3; i++) { /* lengths that 64 bits do not hold */
        o = ht_conv_options_default();
        *(i == 0 ? &o.padding[0] : i == 1 ? &o.stride[0] : &o.dilation[0]) = INT64_MAX / 2;
        HT_TEST_EXPECT_ERROR(ht_conv_transpose1d(x, w, NULL, &o), HT_ERR_SHAPE,
                             "axis 2 would have no elements");
    }
    o = ht_conv_options_default();
    o.groups = 2;
    o.dilation[0] = 3;
    HT_TEST_EXPECT_ERROR(ht_conv1d(x, w, NULL, &o), HT_ERR_SHAPE,
                         "ht_conv1d: x is (2, 4, 5): a window of (3,) does not fit");
}

/* More of the result than x has elements is cut off before output_padding follows. */
static void transposed_volumes_may_be_padding_alone(void **state)
{
    ht_conv_options o = ht_conv_options_default();
    ht_tensor *x = ht_ones(HT_SHAPE(1, 1, 1, 1, 1), HT_FLOAT32, HT_LOCAL);

    (void)state;
    for (int i = 0; i < 3; i++) {
        o.stride[i] = 5;
        o.padding[i] = 2;
        o.output_padding[i] = 4;
    }
    ht_test_expect_same(ht_conv_transpose3d(x, x, NULL, &o), ht_zeros_like(x), 0);
}

static void bad_pooling_is_an_error(void **state)
{
    ht_pool_options o = ht_pool_options_default();
    ht_tensor *x = ones(1, 2), *none = ht_narrow(x, 1, 0, 0);
    ht_module *pool = ht_nn_avg_pool3d(NULL);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_forward(pool, x), HT_ERR_SHAPE,
                         "ht_nn_avg_pool3d: x is (2, 4, 5), expected 4 or 5 axes");
    ht_release(pool);
    HT_TEST_EXPECT_ERROR(ht_adaptive_avg_pool(x, (int64_t[]){-1}), HT_ERR_ARGUMENT,
                         "ht_adaptive_avg_pool: length is (-1,), expected at least 0");
    HT_TEST_EXPECT_ERROR(ht_lp_pool(x, 0, NULL), HT_ERR_ARGUMENT, "ht_lp_pool: p is 0");
    for (int i = 0; i < 3; i++)
        HT_TEST_EXPECT_ERROR(i == 0   ? ht_avg_pool(none, NULL)
                             : i == 1 ? ht_max_pool(none, NULL)
                                      : ht_adaptive_max_pool(none, (int64_t[]){1}),
                             HT_ERR_SHAPE, "x is (2, 0, 5), expected at least one channel");
    assert_int_equal(ht_tensor_size(ht_adaptive_avg_pool(none, (int64_t[]){1})), 0);
    o.dilation[0] = 2;
    HT_TEST_EXPECT_ERROR(ht_avg_pool(x, &o), HT_ERR_ARGUMENT,
                         "ht_avg_pool: dilation is (2,), expected 1");
    o.dilation[0] = 1;
    o.padding[0] = 1;
    HT_TEST_EXPECT_ERROR(ht_avg_pool(x, &o), HT_ERR_ARGUMENT,
                         "ht_avg_pool: padding is (1,), expected at most half the kernel (1,)");
    o.padding[0] = 0;
    o.kernel[0] = 6;
    HT_TEST_EXPECT_ERROR(ht_max_pool(x, &o), HT_ERR_SHAPE,
                         "ht_max_pool: x is (2, 4, 5): a window of (6,) does not fit");
    o.kernel[0] = 2;
    HT_TEST_EXPECT_ERROR(
        ht_fold(x, (int64_t[]){3, 3}, &o), HT_ERR_SHAPE,
        "ht_fold: x is (2, 4, 5), expected a multiple of 2 channels and 6 windows");
    o.kernel[0] = 0;
    HT_TEST_EXPECT_ERROR(ht_nn_max_pool1d(&o), HT_ERR_ARGUMENT,
                         "ht_nn_max_pool1d: kernel is 0, expected at least 1");
    HT_TEST_EXPECT_ERROR(ht_nn_adaptive_avg_pool1d((int64_t[]){-1}), HT_ERR_ARGUMENT,
                         "ht_nn_adaptive_avg_pool1d: length is -1, expected at least 0");
}

/* Columns have neither rounding up nor divisors; PyTorch's fold and unfold take neither. */
static void columns_refuse_options_of_pooling(void **state)
{
    static const char *const parts[] = {"ceil_mode is 1, expected the default, 0",
                                        "count_include_pad is 0, expected the default, 1",
                                        "divisor_override is 3, expected the default, 0",
                                        "return_indices is 1, expected the default, 0"};
    ht_tensor *image = ht_ones(HT_SHAPE(1, 1, 4, 4), HT_FLOAT64, HT_LOCAL);
    ht_tensor *columns = ht_ones(HT_SHAPE(1, 9, 4), HT_FLOAT64, HT_LOCAL);
    ht_pool_options none = ht_pool_options_default();

    (void)state;
    for (int i = 0; i < 4; i++) {
        ht_pool_options o = ht_pool_options_default();
        char expected[96];

        o.kernel[0] = o.kernel[1] = 3;
        assert_non_null(ht_fold(ht_unfold(image, &o), (int64_t[]){4, 4}, &o));
        o.ceil_mode = i == 0;
        o.count_include_pad = i != 1;
        o.divisor_override = i == 2 ? 3 : 0;
        o.return_indices = i == 3;
        snprintf(expected, sizeof expected, "ht_unfold: %s", parts[i]);
        HT_TEST_EXPECT_ERROR(ht_unfold(image, &o), HT_ERR_ARGUMENT, expected);
        snprintf(expected, sizeof expected, "ht_fold: %s", parts[i]);
        HT_TEST_EXPECT_ERROR(ht_fold(columns, (int64_t[]){4, 4}, &o), HT_ERR_ARGUMENT, expected);
    }
    HT_TEST_EXPECT_ERROR(ht_fold(columns, (int64_t[]){-1, 4}, NULL), HT_ERR_SHAPE,
                         "ht_fold: shape is (0, 1, -1, 4), expected lengths of at least 0");
    none.kernel[0] = 0;
    HT_TEST_EXPECT_ERROR(ht_unfold(image, &none), HT_ERR_ARGUMENT,
                         "ht_unfold: kernel is (0, 1), expected at least 1");
    HT_TEST_EXPECT_ERROR(ht_fold(columns, (int64_t[]){4, 4}, &none), HT_ERR_ARGUMENT,
                         "ht_fold: kernel is (0, 1), expected at least 1");
    HT_TEST_EXPECT_ERROR(ht_max_pool(image, &none), HT_ERR_ARGUMENT,
                         "ht_max_pool: kernel is (0, 1), expected at least 1");
}

/* An image that repeats one element has more windows than a number counts. */
static void too_many_windows_are_an_error(void **state)
{
    const int64_t length = INT64_C(1) << 33, half = INT64_C(1) << 32;
    ht_tensor *image = ht_broadcast_to(ht_ones(HT_SHAPE(1, 1, 1, 1), HT_FLOAT32, HT_LOCAL),
                                       HT_SHAPE(1, 1, 1, length));
    ht_pool_options o = ht_pool_options_default();

    (void)state;
    o.kernel[1] = half;
    o.stride[0] = o.stride[1] = 1;
    HT_TEST_EXPECT_ERROR(ht_unfold(image, &o), HT_ERR_SHAPE, "(4294967297, 4294967296)");
}

/* More windows than there is memory for, of an image of one rank that repeats one element. */
static void windows_without_memory_are_an_error(void **state)
{
    const int64_t length = INT64_C(1) << 50;
    ht_tensor *image = ht_broadcast_to(
        ht_ones_ext(HT_SHAPE(1, 1, 1, 1), HT_FLOAT32, HT_NONE, ht_get_device(), HT_COMM_SELF),
        HT_SHAPE(1, 1, 1, length));
    ht_pool_options o = ht_pool_options_default();

    (void)state;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    HT_TEST_SKIP("the sanitizer ends the process when so much memory is asked for");
#endif
    o.kernel[1] = INT64_C(1) << 22;
    o.stride[0] = 1;
    o.stride[1] = INT64_C(1) << 30;
    HT_TEST_EXPECT_ERROR(ht_unfold(image, &o), HT_ERR_MEMORY, "out of memory");
}

HT_TEST_SUITE(test_window_layers, cmocka_unit_test(transposed_volumes_may_be_padding_alone),
              cmocka_unit_test(convolutions), cmocka_unit_test(padding_that_keeps_lengths),
              cmocka_unit_test(pooling), cmocka_unit_test(divisors), cmocka_unit_test(folds),
              cmocka_unit_test(columns_refuse_options_of_pooling),
              cmocka_unit_test(maxima_come_with_indices), cmocka_unit_test(fractional_layers_draw),
              cmocka_unit_test(one_sample),
              cmocka_unit_test(first_of_equal_maxima_gets_the_gradient),
              cmocka_unit_test(bad_convolutions_are_errors),
              cmocka_unit_test(bad_pooling_is_an_error),
              cmocka_unit_test(too_many_windows_are_an_error),
              cmocka_unit_test(windows_without_memory_are_an_error));
