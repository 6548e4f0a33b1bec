/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* The geometry of windows over 1, 2 and 3 axes. */
#include "nn/functional/window.h"

#include "nn/nn_test.h"
#include "tensor_check.h"

static const int64_t shape[] = {2, 3, 7, 6, 5};
static const int64_t kernel[] = {3, 2, 1}, stride[] = {2, 1, 3}, padding[] = {1, 0, 0};
static const int64_t dilation[] = {2, 3, 4};

static bool make(ht_tensor *x, ht_window_use use, const int64_t pads[], ht_window *window)
{
    return ht__window_make("ht_name", x, use, kernel, stride, pads, dilation, window);
}

static void windows_of_one_to_three_axes(void **state)
{
    /* floor((in + 2 padding - dilation (kernel - 1) - 1) / stride) + 1 */
    static const int64_t out[] = {3, 3, 2};

    (void)state;
    for (int spatial = 1; spatial <= HT_SPATIAL; spatial++) {
        ht_tensor *x = ht_zeros(2 + spatial, shape, HT_FLOAT32, 0);
        ht_window window;
        ht_conv_call job = {.n = 2};

        assert_true(make(x, HT_WINDOW_POOLING, padding, &window));
        HT_SET_WINDOW(&job, &window);
        assert_int_equal(job.spatial, spatial);
        for (int i = 0; i < HT_SPATIAL; i++) {
            assert_int_equal(job.in[i], i < spatial ? shape[2 + i] : 0);
            assert_int_equal(job.out[i], i < spatial ? out[i] : 0);
            assert_int_equal(job.stride[i], i < spatial ? stride[i] : 0);
        }
        /* of a kernel of one element it means nothing */
        assert_int_equal(job.dilation[2], spatial == 3 ? 1 : 0);
    }
}

static void windows_that_do_not_fit_are_errors(void **state)
{
    static const int64_t wide[] = {3, 0, 0}, narrow[] = {0, 0, -1};
    ht_tensor *x = ht_zeros(5, shape, HT_FLOAT32, 0);
    ht_tensor *small = ht_zeros(HT_SHAPE(2, 3, 2), HT_FLOAT32, 0);
    ht_window window;

    (void)state;
    assert_true(make(x, HT_WINDOW_CONVOLUTION, wide, &window));
    HT_TEST_EXPECT_ERROR(
        make(x, HT_WINDOW_POOLING, wide, &window), HT_ERR_ARGUMENT,
        "ht_name: padding is (3, 0, 0), expected at most half the kernel (3, 2, 1)");
    HT_TEST_EXPECT_ERROR(make(x, HT_WINDOW_CONVOLUTION, narrow, &window), HT_ERR_ARGUMENT,
                         "ht_name: padding is (0, 0, -1), expected at least 0");
    HT_TEST_EXPECT_ERROR(make(small, HT_WINDOW_POOLING, padding, &window), HT_ERR_SHAPE,
                         "ht_name: x is (2, 3, 2): a window of (3,) does not fit");
}

HT_TEST_SUITE(test_window, cmocka_unit_test(windows_of_one_to_three_axes),
              cmocka_unit_test(windows_that_do_not_fit_are_errors));
