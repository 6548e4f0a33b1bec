/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Functional layers against PyTorch's results and gradients (tests/golden/make_nn.py), on inputs
 * replicated, split and channels-last; and what they say to wrong arguments. */
#include "golden/nn.h"

#include "nn/nn_test.h"
#include "tensor_check.h"

#define TOLERANCE 1e-12

/* How a test hands its input over: x on one device and communicator, in one layout. */
struct way {
    int split;
    bool channels_last;
};

static const struct way ways[] = {{HT_NONE, false}, {0, false}, {HT_NONE, true}, {0, true}};

static ht_tensor *leaf(const double *data, int ndim, const int64_t shape[], int split)
{
    ht_tensor *x = ht_array(data, ndim, shape, HT_FLOAT64, split);

    ht_tensor_set_requires_grad(x, true);
    return x;
}

static void assert_close(ht_tensor *x, const double *expected)
{
    bool was = ht_set_grad_enabled(false);
    ht_tensor *all = ht_contiguous(ht_resplit(x, HT_NONE));
    const double *data = ht_test_data(all);

    assert_non_null(data);
    for (int64_t i = 0; i < ht_tensor_size(all); i++)
        if (!(fabs(data[i] - expected[i]) <= TOLERANCE * (1 + fabs(expected[i]))))
            fail_msg("element %d is %.17g, PyTorch has %.17g", (int)i, data[i], expected[i]);
    ht_set_grad_enabled(was);
}

/* The result, and the gradients of `count` inputs for the seed gradient dy. */
static void check(ht_tensor *y, const double *expected_y, const double *dy, int count,
                  ht_tensor *inputs[], const double *const expected[])
{
    ht_tensor *seed;

    assert_non_null(y);
    assert_close(y, expected_y);
    seed = ht_array(dy, ht_tensor_ndim(y), ht_tensor_shape(y), HT_FLOAT64, HT_NONE);
    assert_int_equal(ht_backward_ext(y, seed, false), HT_SUCCESS);
    for (int i = 0; i < count; i++)
        assert_close(ht_tensor_grad(inputs[i]), expected[i]);
    assert_close(seed, dy); /* gradients that others hold are not written over */
}

static void test_linear(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        ht_tensor *in[] = {leaf(linear_x, HT_SHAPE(3, 4), ways[i].split),
                           leaf(linear_w, HT_SHAPE(2, 4), HT_NONE),
                           leaf(linear_b, HT_SHAPE(2), HT_NONE)};
        ht_tensor *y = ht_linear(in[0], in[1], in[2]);

        assert_int_equal(ht_tensor_split(y), ways[i].split);
        check(y, linear_y, linear_dy, 3, in, (const double *[]){linear_dx, linear_dw, linear_db});
    }
}

/* A weight (in) gives the only column of a weight (1, in), without its axis. */
static void test_linear_of_one_output(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        ht_tensor *x = leaf(linear_x, HT_SHAPE(3, 4), ways[i].split);
        ht_tensor *w = leaf(linear_w, HT_SHAPE(4), HT_NONE), *b = leaf(linear_b, 0, NULL, HT_NONE);
        ht_tensor *y = ht_linear(x, w, b), *like;

        assert_int_equal(ht_tensor_ndim(y), 1);
        assert_int_equal(ht_tensor_split(y), ways[i].split);
        like = ht_linear(ht_detach(x), ht_expand_dims(ht_detach(w), 0),
                         ht_expand_dims(ht_detach(b), 0));
        assert_close(y, ht_test_data(ht_contiguous(ht_resplit(ht_squeeze(like, 1), HT_NONE))));
        assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
        assert_close(ht_tensor_grad(b), (double[]){3});
        assert_close(ht_tensor_grad(w), ht_test_data(ht_sum(ht_resplit(ht_detach(x), HT_NONE), 0)));
        HT_TEST_EXPECT_ERROR(ht_linear(x, w, w), HT_ERR_SHAPE, "ht_linear: bias is (1, 4)");
    }
}

static void test_leaky_relu(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        ht_tensor *in = leaf(leaky_relu_x, HT_SHAPE(2, 3, 2, 2), ways[i].split);
        ht_tensor *x = ways[i].channels_last ? ht_channels_last(in) : in;

        check(ht_leaky_relu(x, 0.2), leaky_relu_y, leaky_relu_dy, 1, &in,
              (const double *[]){leaky_relu_dx});
    }
}

static void test_conv2d(void **state)
{
    ht_conv2d_options options = ht_conv2d_options_default();

    (void)state;
    options.stride[0] = 2;
    options.padding[0] = 1;
    options.padding[1] = 2;
    options.dilation[1] = 2;
    options.groups = 2;
    for (int i = 0; i < 4; i++) {
        ht_tensor *in[] = {leaf(conv2d_x, HT_SHAPE(2, 2, 4, 5), ways[i].split),
                           leaf(conv2d_w, HT_SHAPE(4, 1, 3, 2), HT_NONE),
                           leaf(conv2d_b, HT_SHAPE(4), HT_NONE)};
        ht_tensor *x = ways[i].channels_last ? ht_channels_last(in[0]) : in[0];

        check(ht_conv2d(x, in[1], in[2], &options), conv2d_y, conv2d_dy, 3, in,
              (const double *[]){conv2d_dx, conv2d_dw, conv2d_db});
    }
}

static void test_max_pool2d(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        ht_tensor *in = leaf(max_pool2d_x, HT_SHAPE(2, 2, 5, 4), ways[i].split);
        ht_tensor *x = ways[i].channels_last ? ht_channels_last(in) : in;
        ht_tensor *y = ht_max_pool2d_ext(x, (int64_t[]){3, 2}, (int64_t[]){2, 1}, (int64_t[]){1, 1},
                                         (int64_t[]){1, 2});

        if (ht_tensor_lsize(y) > 0)
            assert_int_equal(ht_tensor_is_channels_last(y), ways[i].channels_last);
        check(y, max_pool2d_y, max_pool2d_dy, 1, &in, (const double *[]){max_pool2d_dx});
    }
}

static void test_max_pool2d_takes_the_first_of_equals(void **state)
{
    ht_tensor *x = ht_zeros(HT_SHAPE(1, 1, 2, 2), HT_FLOAT64, HT_NONE);

    (void)state;
    ht_tensor_set_requires_grad(x, true);
    ht_backward(ht_max_pool2d(x, 2));
    assert_close(ht_tensor_grad(x), (const double[]){1, 0, 0, 0});
}

/* The loss of y that gives every element of its gradient another value. */
static void backward_by_place(ht_tensor *y)
{
    ht_tensor *seed = nn_leaf(7, ht_tensor_ndim(y), ht_tensor_shape(y), HT_NONE);

    ht_tensor_set_requires_grad(seed, false);
    assert_int_equal(ht_backward_ext(y, seed, false), HT_SUCCESS);
}

/* x with axes a and b exchanged, a view, gives what a row-major copy of it gives. */
static void check_exchanged(const int64_t shape[4], int a, int b)
{
    int64_t before[4] = {shape[0], shape[1], shape[2], shape[3]};
    int64_t window[2] = {shape[2] > 1 ? 2 : 1, shape[3] > 1 ? 2 : 1};
    ht_tensor *x, *copy, *weight[2];

    before[a] = shape[b];
    before[b] = shape[a];
    x = nn_leaf(3, 4, before, HT_NONE);
    copy = ht_copy(ht_detach(ht_transpose(x, a, b)));
    ht_tensor_set_requires_grad(copy, true);
    backward_by_place(ht_max_pool2d_ext(ht_transpose(x, a, b), window, (int64_t[]){1, 1},
                                        (int64_t[]){0, 0}, (int64_t[]){1, 1}));
    backward_by_place(
        ht_max_pool2d_ext(copy, window, (int64_t[]){1, 1}, (int64_t[]){0, 0}, (int64_t[]){1, 1}));
    for (int i = 0; i < 2; i++)
        weight[i] = nn_leaf(5, HT_SHAPE(3, shape[1], window[0], window[1]), HT_NONE);
    backward_by_place(ht_conv2d(ht_transpose(x, a, b), weight[0], NULL, NULL));
    backward_by_place(ht_conv2d(copy, weight[1], NULL, NULL));
    ht_set_grad_enabled(false);
    ht_test_expect_same(ht_transpose(ht_tensor_grad(x), a, b), ht_tensor_grad(copy), TOLERANCE);
    ht_test_expect_same(ht_tensor_grad(weight[0]), ht_tensor_grad(weight[1]), TOLERANCE);
    ht_set_grad_enabled(true);
}

/* An axis of length 1 may have any stride: no kernel computes with it. */
static void test_axes_of_length_1_have_any_stride(void **state)
{
    static const int64_t shapes[][4] = {{1, 1, 8, 1}, {1, 1, 1, 8}, {1, 3, 5, 1}, {2, 1, 5, 1},
                                        {2, 3, 1, 5}, {2, 1, 1, 4}, {1, 4, 1, 1}, {2, 3, 4, 1}};

    (void)state;
    for (int i = 0; i < (int)(sizeof shapes / sizeof *shapes); i++)
        for (int a = 0; a < 4; a++)
            for (int b = a + 1; b < 4; b++)
                check_exchanged(shapes[i], a, b);
}

static void test_log_softmax(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        ht_tensor *x = leaf(log_softmax_x, HT_SHAPE(2, 3, 2), ways[i].split);

        check(ht_log_softmax(x, 1), log_softmax_y, log_softmax_dy, 1, &x,
              (const double *[]){log_softmax_dx});
    }
}

static ht_tensor *target(int split)
{
    return ht_array((const int64_t[]){2, 0, 1, 2}, HT_SHAPE(4), HT_INT64, split);
}

static void test_losses(void **state)
{
    static const int64_t shape[] = {4, 3};

    (void)state;
    for (int i = 0; i < 4; i++) {
        int split = ways[i].split, target_split = ways[3 - i].split;
        ht_tensor *x = leaf(nll_mean_x, 2, shape, split);

        check(ht_nll_loss(x, target(target_split), HT_MEAN), nll_mean_y, nll_mean_dy, 1, &x,
              (const double *[]){nll_mean_dx});
        x = leaf(nll_mean_x, 2, shape, split);
        check(ht_cross_entropy(x, target(split), HT_MEAN), cross_entropy_mean_y,
              cross_entropy_mean_dy, 1, &x, (const double *[]){cross_entropy_mean_dx});
        x = leaf(nll_mean_x, 2, shape, split);
        check(ht_cross_entropy(x, target(split), HT_SUM), cross_entropy_sum_y, cross_entropy_sum_dy,
              1, &x, (const double *[]){cross_entropy_sum_dx});
        x = leaf(nll_mean_x, 2, shape, split);
        check(ht_cross_entropy(x, target(split), HT_NO_REDUCTION), cross_entropy_none_y,
              cross_entropy_none_dy, 1, &x, (const double *[]){cross_entropy_none_dx});
    }
}

static void test_loss_of_no_samples_is_zero(void **state)
{
    ht_tensor *x = nn_leaf(1, HT_SHAPE(0, 3), HT_NONE);
    ht_tensor *none = ht_zeros(HT_SHAPE(0), HT_INT64, HT_NONE);
    ht_tensor *loss = ht_nll_loss(x, none, HT_MEAN);

    (void)state;
    assert_true(ht_item(loss) == 0.0);
    assert_int_equal(ht_backward(loss), HT_SUCCESS);
    assert_int_equal(ht_tensor_size(ht_tensor_grad(x)), 0);
}

/* A layer on no samples gives no rows, and its parameters gradients of zero. */
static void test_no_samples(void **state)
{
    ht_tensor *x = nn_leaf(1, HT_SHAPE(0, 2, 4, 4), HT_NONE);
    ht_tensor *w = nn_leaf(2, HT_SHAPE(3, 2, 3, 3), HT_NONE);
    ht_tensor *v = nn_leaf(3, HT_SHAPE(2, 3), HT_NONE), *b = nn_leaf(4, HT_SHAPE(2), HT_NONE);
    ht_tensor *y = ht_max_pool2d(ht_relu(ht_conv2d(x, w, NULL, NULL)), 2);
    const double zeros[54] = {0};

    (void)state;
    y = ht_linear(ht_flatten(y, 1), v, b);
    assert_int_equal(ht_tensor_shape(y)[0], 0);
    assert_int_equal(ht_tensor_shape(y)[1], 2);
    assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
    assert_close(ht_tensor_grad(w), zeros);
    assert_close(ht_tensor_grad(v), zeros);
    assert_close(ht_tensor_grad(b), zeros);
}

static void test_relu_keeps_nan(void **state)
{
    const double data[] = {-1, 0, 2, NAN};
    ht_tensor *x = ht_array(data, HT_SHAPE(4), HT_FLOAT64, HT_NONE), *y = ht_relu(x);
    const double *out = ht_test_data(y);

    (void)state;
    assert_true(out[0] == 0 && out[1] == 0 && out[2] == 2 && isnan(out[3]));
    assert_int_equal(ht_relu_(x), HT_SUCCESS);
    out = ht_test_data(x);
    assert_true(out[0] == 0 && out[1] == 0 && out[2] == 2 && isnan(out[3]));
}

/* ht_relu_ overwrites what log_softmax saved: backward names it. */
static void test_relu_in_place_is_seen(void **state)
{
    ht_tensor *x = nn_leaf(1, HT_SHAPE(2, 3), HT_NONE);
    ht_tensor *y = ht_log_softmax(x, 1);

    (void)state;
    assert_int_equal(ht_relu_(y), HT_SUCCESS);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_ERR_STATE);
    nn_assert_error(
        "ht_backward: a tensor of shape (2, 3) that ht_log_softmax saved has been changed "
        "in place since");
    assert_int_equal(ht_relu_(x), HT_ERR_STATE);
    nn_assert_error("ht_relu_: x is a leaf that needs a gradient; use ht_relu");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

/* Dropout drops the same elements of a tensor for every split. */
static void test_dropout_of_any_split(void **state)
{
    const int64_t shape[] = {5, 3, 4, 2};
    ht_tensor *x = ht_ones(4, shape, HT_FLOAT32, HT_NONE), *whole = ht_dropout(x, 0.5, 3, 9);
    ht_tensor *channels = ht_dropout2d(x, 0.5, 3, 9);

    (void)state;
    for (int split = 0; split < 4; split++) {
        ht_tensor *y = ht_resplit(x, split);

        ht_test_expect_same(ht_dropout(y, 0.5, 3, 9), whole, 0);
        ht_test_expect_same(
            ht_dropout(ht_transpose(ht_resplit(ht_transpose(x, 1, 2), split), 1, 2), 0.5, 3, 9),
            whole, 0);
    }
    ht_test_expect_same(ht_dropout(ht_channels_last(ht_resplit(x, 0)), 0.5, 3, 9), whole, 0);
    ht_test_expect_same(ht_dropout2d(ht_resplit(x, 0), 0.5, 3, 9), channels, 0);
    ht_test_expect(ht_dropout(ht_full(HT_SHAPE(2), INFINITY, HT_FLOAT64, 0), 1, 3, 9),
                   (const double[]){0, 0}, 0);
}

/* Products and sums that wrap would make such kernels fit. */
static void windows_beyond_64_bits(void)
{
    ht_tensor *x = ht_ones(HT_SHAPE(1, 1, 8, 1), HT_FLOAT64, HT_NONE);
    ht_tensor *w = ht_ones(HT_SHAPE(1, 1, 5, 1), HT_FLOAT64, HT_NONE);
    ht_tensor *one = ht_ones(HT_SHAPE(1, 1, 1, 1), HT_FLOAT64, HT_NONE);
    const int64_t ones[] = {1, 1}, none[] = {0, 0}, wide[] = {(int64_t)1 << 62, 1};
    ht_conv2d_options options = ht_conv2d_options_default();

    options.dilation[0] = (int64_t)1 << 62; /* times 4 is 0 */
    assert_null(ht_conv2d(x, w, NULL, &options));
    nn_assert_error("ht_conv2d: x is (1, 1, 8, 1): a window of (5, 1) does not fit");
    assert_true(ht_item(ht_sum(ht_conv2d(x, one, NULL, &options), HT_NONE)) == 8);
    options.dilation[0] = 1;
    options.padding[0] = INT64_MAX - 3; /* twice is -8: 1 place is left */
    options.stride[0] = INT64_MAX;
    assert_null(ht_conv2d(x, one, NULL, &options));
    nn_assert_error("ht_conv2d: x is (1, 1, 8, 1): a window of (1, 1) does not fit");
    options.padding[1] = -1;
    assert_null(ht_conv2d(x, one, NULL, &options));
    nn_assert_error("ht_conv2d: padding is (9223372036854775804, -1), expected at least 0");
    options.dilation[0] = 0;
    options.padding[1] = 0;
    assert_null(ht_conv2d(x, one, NULL, &options));
    nn_assert_error("ht_conv2d: dilation is (0, 1), expected at least 1");
    assert_null(ht_max_pool2d_ext(x, (int64_t[]){5, 1}, ones, none, wide));
    nn_assert_error("ht_max_pool2d_ext: x is (1, 1, 8, 1): a window of (5, 1) does not fit");
    assert_null(ht_max_pool2d_ext(x, ones, ones, wide, ones));
    nn_assert_error("ht_max_pool2d_ext: padding is (4611686018427387904, 1), expected at most half "
                    "the kernel (1, 1)");
    assert_null(ht_max_pool2d_ext(x, none, ones, none, ones));
    nn_assert_error("ht_max_pool2d_ext: kernel is (0, 0), expected at least 1");
    assert_null(ht_max_pool2d_ext(x, ones, none, none, ones));
    nn_assert_error("ht_max_pool2d_ext: stride is (0, 0), expected at least 1");
    assert_true(ht_item(ht_sum(ht_max_pool2d_ext(x, ones, ones, none, wide), HT_NONE)) == 8);
}

static void test_wrong_arguments(void **state)
{
    ht_tensor *x = ht_zeros(HT_SHAPE(64, 3, 28, 28), HT_FLOAT32, HT_NONE);
    ht_tensor *w = ht_zeros(HT_SHAPE(32, 1, 3, 3), HT_FLOAT32, HT_NONE);
    ht_tensor *a = ht_zeros(HT_SHAPE(4, 3), HT_FLOAT64, 1);
    ht_tensor *b = ht_zeros(HT_SHAPE(5, 2), HT_FLOAT64, HT_NONE);

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_null(ht_conv2d(x, w, NULL, NULL));
    nn_assert_error(
        "ht_conv2d: x is (64, 3, 28, 28), weight is (32, 1, 3, 3): channels 3 and 1 differ");
    assert_null(ht_conv2d(b, w, NULL, NULL));
    nn_assert_error("ht_conv2d: x is (5, 2), expected (N, C, H, W)");
    assert_null(ht_linear(b, a, NULL));
    nn_assert_error("ht_linear: weight is split along axis 1, expected a replicated tensor");
    assert_null(ht_linear(b, ht_zeros(HT_SHAPE(4, 3), HT_FLOAT64, HT_NONE), NULL));
    nn_assert_error("ht_linear: x is (5, 2), weight is (4, 3), expected (..., in) and (out, in)");
    assert_null(ht_linear(b, ht_zeros(HT_SHAPE(4, 2), HT_FLOAT32, HT_NONE), NULL));
    nn_assert_error("ht_linear: x is float64, weight is float32, expected the same dtype");
    assert_null(ht_max_pool2d(x, 29));
    nn_assert_error("ht_max_pool2d: x is (64, 3, 28, 28): a window of (29, 29) does not fit");
    windows_beyond_64_bits();
    assert_null(ht_nll_loss(b, ht_zeros(HT_SHAPE(4), HT_INT64, HT_NONE), HT_MEAN));
    nn_assert_error("ht_nll_loss: log_probs is (5, 2), target is (4,), expected (N, C) and (N)");
    assert_null(ht_dropout(b, 1.5, 0, 0));
    nn_assert_error("ht_dropout: p is 1.5, expected 0 to 1");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

static ht_tensor *ones_leaf(int ndim, const int64_t shape[], ht_dtype dtype)
{
    ht_tensor *x = ht_ones(ndim, shape, dtype, HT_NONE);

    ht_tensor_set_requires_grad(x, true);
    return x;
}

static void expect_all(ht_tensor *x, double value)
{
    assert_non_null(x);
    assert_true(ht_item(ht_min(x, HT_NONE)) == value);
    assert_true(ht_item(ht_max(x, HT_NONE)) == value);
}

/* Sums of ones, of which bfloat16 cannot represent the parts of two or three ranks. */
static void test_gradients_of_16_bits_are_rounded_once(void **state)
{
    static const struct {
        int64_t rows;
        double sum;
    } cases[] = {{515, 516}, {771, 772}};

    (void)state;
    for (int i = 0; i < 2; i++) {
        ht_scope *scope = ht_scope_open();
        const int64_t image[4] = {cases[i].rows, 1, 1, 1}, one[4] = {1, 1, 1, 1};
        ht_tensor *x = ht_ones(2, image, HT_BFLOAT16, 0),
                  *pixels = ht_ones(4, image, HT_BFLOAT16, 0);
        ht_tensor *weight = ones_leaf(2, one, HT_BFLOAT16), *bias = ones_leaf(1, one, HT_BFLOAT16);
        ht_tensor *kernel = ones_leaf(4, one, HT_BFLOAT16), *shift = ones_leaf(1, one, HT_BFLOAT16);
        ht_tensor *scaled = ones_leaf(1, one, HT_BFLOAT16), *added = ones_leaf(1, one, HT_BFLOAT16);
        ht_tensor *mean = ht_zeros(1, one, HT_BFLOAT16, HT_NONE);

        assert_int_equal(ht_backward_ext(ht_linear(x, weight, bias), x, false), HT_SUCCESS);
        assert_int_equal(ht_backward_ext(ht_conv2d(pixels, kernel, shift, NULL), pixels, false),
                         HT_SUCCESS);
        assert_int_equal(ht_backward_ext(ht_batch_norm(x, mean, ht_add_scalar(mean, 1), scaled,
                                                       added, false, 0.1, 0),
                                         x, false),
                         HT_SUCCESS);
        expect_all(ht_tensor_grad(weight), cases[i].sum);
        expect_all(ht_tensor_grad(bias), cases[i].sum);
        expect_all(ht_tensor_grad(kernel), cases[i].sum);
        expect_all(ht_tensor_grad(shift), cases[i].sum);
        expect_all(ht_tensor_grad(added), cases[i].sum);
        ht_scope_close(scope);
    }
}

/* The number of elements is above what float16 holds. */
static void test_losses_of_many_elements_in_16_bits(void **state)
{
    (void)state;
    for (int split = HT_NONE;; split = 0) {
        ht_scope *scope = ht_scope_open();
        const int64_t many[2] = {35000, 2};
        ht_tensor *x = ht_ones(2, many, HT_FLOAT16, split), *log_probs = ht_neg(x);
        ht_tensor *zeros = ht_zeros(2, many, HT_FLOAT16, split);
        ht_tensor *target = ht_zeros(1, many, HT_INT64, split);
        ht_tensor *share = ht_full(0, NULL, 1.0 / 70000, HT_FLOAT16, HT_NONE);

        ht_tensor_set_requires_grad(x, true);
        assert_true(ht_item(ht_mse_loss(x, zeros, HT_MEAN)) == 1);
        assert_true(ht_item(ht_nll_loss(log_probs, target, HT_MEAN)) == 1);
        assert_int_equal(ht_backward(ht_mse_loss(x, zeros, HT_MEAN)), HT_SUCCESS);
        expect_all(ht_tensor_grad(x), 2 * ht_item(share));
        ht_scope_close(scope);
        if (split == 0)
            break;
    }
}

HT_TEST_SUITE(test_functional, cmocka_unit_test(test_gradients_of_16_bits_are_rounded_once),
              cmocka_unit_test(test_losses_of_many_elements_in_16_bits),
              cmocka_unit_test(test_linear), cmocka_unit_test(test_linear_of_one_output),
              cmocka_unit_test(test_leaky_relu), cmocka_unit_test(test_conv2d),
              cmocka_unit_test(test_max_pool2d),
              cmocka_unit_test(test_max_pool2d_takes_the_first_of_equals),
              cmocka_unit_test(test_dropout_of_any_split),
              cmocka_unit_test(test_axes_of_length_1_have_any_stride),
              cmocka_unit_test(test_log_softmax), cmocka_unit_test(test_losses),
              cmocka_unit_test(test_loss_of_no_samples_is_zero), cmocka_unit_test(test_no_samples),
              cmocka_unit_test(test_relu_keeps_nan), cmocka_unit_test(test_relu_in_place_is_seen),
              cmocka_unit_test(test_wrong_arguments));
