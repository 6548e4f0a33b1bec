/* ranks 1 own device */
/* SPDX-License-Identifier: MIT */
/* Convolutions of the CUDA module, by cuDNN and without it, compared with those of the same numbers
 * in float64. Results and gradients of 16 bits are rounded once. */
#include <math.h>
#include <stdlib.h>

#include "cuda_device.h"
#include "ht/windows.h"
#include "tensor_check.h"

enum { OPERANDS = 3, RESULTS = 1 + OPERANDS }; /* x, weight, bias */

typedef struct shape {
    const char *name;
    int axes; /* of a window */
    int64_t n, c, o, in[2], kernel[2], stride[2], padding[2], dilation[2], groups;
    bool bias, channels_last;
} shape;

static const shape shapes[] = {
    {"plain", 2, 3, 4, 5, {9, 8}, {3, 2}, {1, 1}, {0, 0}, {1, 1}, 1, true, false},
    {"groups, steps and padding",
     2,
     2,
     6,
     4,
     {11, 7},
     {3, 3},
     {2, 3},
     {1, 2},
     {2, 1},
     2,
     true,
     false},
    {"channels last", 2, 2, 4, 6, {8, 8}, {3, 3}, {1, 2}, {1, 1}, {1, 1}, 1, true, true},
    {"one axis, no bias", 1, 4, 3, 2, {20}, {5}, {2}, {4}, {1}, 1, false, false},
    {"a pixel", 2, 2, 8, 3, {5, 5}, {1, 1}, {1, 1}, {0, 0}, {1, 1}, 1, true, false},
};

enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Sums of 16 bits are those of float32. The numbers of float64 tensors are of float32. */
static const struct precision {
    ht_dtype dtype, numbers;
    double rounding; /* of a result: half a unit in the last place of 1 */
    double of_sums;
} precisions[] = {{HT_FLOAT16, HT_FLOAT16, 0x1p-11, 0x1p-18},
                  {HT_BFLOAT16, HT_BFLOAT16, 0x1p-8, 0x1p-18},
                  {HT_FLOAT32, HT_FLOAT32, 0x1p-24, 0x1p-14},
                  {HT_FLOAT64, HT_FLOAT32, 0x1p-53, 0x1p-43}};

enum { PRECISIONS = sizeof precisions / sizeof *precisions };

/* With cuDNN, if there is one, and without it: HT_CUDA_CUDNN. */
static const char *const ways[] = {"1", "0"};

/* The numbers of a tensor of another dtype as `dtype`, on a device. */
static ht_tensor *leaf(ht_device *device, ht_dtype dtype, ht_dtype half, uint64_t seed,
                       const shape *c, int64_t first, int64_t second, const int64_t rest[])
{
    const int64_t dims[] = {first, second, rest[0], rest[1]};
    ht_tensor *x = ht_test_randn(2 + c->axes, dims, HT_FLOAT64, HT_NONE, seed);

    x = ht_to_device(ht_astype(ht_astype(x, half), dtype), device);
    if (seed == 1 && c->channels_last)
        x = ht_channels_last(x);
    assert_non_null(x);
    ht_tensor_set_requires_grad(x, true);
    return x;
}

/* y, then the gradients of all operands. */
static void convolve(const shape *c, ht_device *device, ht_dtype dtype, ht_dtype half,
                     ht_tensor *out[RESULTS])
{
    ht_conv_options options = ht_conv_options_default();
    ht_tensor *in[OPERANDS] = {NULL}, *y, *dy;

    memcpy(options.stride, c->stride, sizeof c->stride);
    memcpy(options.padding, c->padding, sizeof c->padding);
    memcpy(options.dilation, c->dilation, sizeof c->dilation);
    options.groups = c->groups;
    in[0] = leaf(device, dtype, half, 1, c, c->n, c->c, c->in);
    in[1] = leaf(device, dtype, half, 2, c, c->o, c->c / c->groups, c->kernel);
    if (c->bias) {
        in[2] = ht_to_device(ht_test_randn(1, &c->o, half, HT_NONE, 3), device);
        in[2] = ht_astype(in[2], dtype);
        ht_tensor_set_requires_grad(in[2], true);
    }
    y = c->axes == 1 ? ht_conv1d(in[0], in[1], in[2], &options)
                     : ht_conv2d_ext(in[0], in[1], in[2], &options);
    assert_non_null(y);
    dy = ht_test_randn(ht_tensor_ndim(y), ht_tensor_shape(y), half, HT_NONE, 4);
    dy = ht_to_device(ht_astype(dy, dtype), device);
    assert_int_equal(ht_backward_ext(y, dy, false), HT_SUCCESS);
    out[0] = ht_to_device(y, ht_device_get("cpu"));
    for (int i = 0; i < OPERANDS; i++)
        out[1 + i] = in[i] == NULL ? NULL
                                   : ht_to_device(ht_tensor_grad(in[i]), ht_device_get("cpu"));
}

static void expect_close(ht_tensor *got, ht_tensor *right, const struct precision *p)
{
    const double *found = ht_test_values(got), *expected = ht_test_values(right);

    assert_int_equal(ht_tensor_size(got), ht_tensor_size(right));
    for (int64_t i = 0; i < ht_tensor_size(got); i++)
        if (!(fabs(found[i] - expected[i]) <= p->rounding * fabs(expected[i]) + p->of_sums))
            fail_msg("element %lld is %.17g, expected %.17g", (long long)i, found[i], expected[i]);
}

static void check(const shape *c, const struct precision *p, ht_device *device)
{
    const int64_t before = ht_device_fallbacks(device);
    ht_scope *scope = ht_scope_open();
    ht_tensor *expected[RESULTS], *got[RESULTS];

    convolve(c, ht_device_get("cpu"), HT_FLOAT64, p->numbers, expected);
    convolve(c, device, p->dtype, p->numbers, got);
    for (int k = 0; k < RESULTS; k++)
        if (expected[k] != NULL) {
            assert_int_equal(ht_tensor_dtype(got[k]), p->dtype);
            expect_close(got[k], expected[k], p);
        }
    assert_int_equal(ht_device_fallbacks(device), before);
    ht_scope_close(scope);
}

static void results_of_both_ways_are_right(void **state)
{
    ht_device *device = cuda_device();

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    for (size_t i = 0; i < SHAPES * PRECISIONS * 2; i++) {
        const shape *c = &shapes[i / 2 / PRECISIONS];
        const struct precision *p = &precisions[i / 2 % PRECISIONS];

        print_message("# %s, %s, HT_CUDA_CUDNN=%s\n", c->name, ht_dtype_name(p->dtype),
                      ways[i % 2]);
        setenv("HT_CUDA_CUDNN", ways[i % 2], true);
        setenv("EMULATED_ORDER", cuda_orders[i / 2 / PRECISIONS % 3], true);
        check(c, p, device);
    }
    unsetenv("EMULATED_ORDER");
    unsetenv("HT_CUDA_CUDNN");
}

static void same_bits(const shape *c, const struct precision *p, ht_device *device)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *first[RESULTS], *second[RESULTS];

    convolve(c, device, p->dtype, p->numbers, first);
    setenv("EMULATED_PLANS", "old", true); /* a second plan for it would end the process */
    convolve(c, device, p->dtype, p->numbers, second);
    unsetenv("EMULATED_PLANS");
    for (int k = 0; k < RESULTS; k++)
        if (first[k] != NULL)
            assert_memory_equal(ht_test_values(first[k]), ht_test_values(second[k]),
                                (size_t)ht_tensor_size(first[k]) * sizeof(double));
    ht_scope_close(scope);
}

static void a_convolution_repeats_its_bits(void **state)
{
    ht_device *device = cuda_device();

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    for (size_t i = 0; i < SHAPES * PRECISIONS; i++)
        same_bits(&shapes[i / PRECISIONS], &precisions[i % PRECISIONS], device);
}

/* More than the module keeps plans for, two of each: the oldest make room, and come back. */
static void many_shapes_share_the_cache_of_plans(void **state)
{
    ht_device *device = cuda_device();
    shape c = {"many", 2, 1, 2, 2, {3, 3}, {2, 2}, {1, 1}, {0, 0}, {1, 1}, 1, true, false};

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    for (int i = 0; i < 280; i++) {
        c.in[0] = 3 + i % 10;
        c.in[1] = 3 + i % 140 / 10;
        check(&c, &precisions[2], device);
    }
}

/* An infinity in x reaches the pixels whose window has it, and no others. */
static void infinities_stay_in_their_windows(void **state)
{
    ht_device *device = cuda_device();
    const int64_t dims[] = {2, 3, 16, 16}, kernel[] = {4, 3, 3, 3};
    ht_tensor *x, *weight, *y[2];

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    x = ht_test_randn(4, dims, HT_FLOAT32, HT_NONE, 1);
    weight = ht_test_randn(4, kernel, HT_FLOAT32, HT_NONE, 2);
    x = ht_where(ht_eq(x, ht_max(x, HT_NONE)), ht_full(0, NULL, INFINITY, HT_FLOAT32, HT_NONE), x);
    for (int i = 0; i < 2; i++) {
        ht_device *on = i == 0 ? ht_device_get("cpu") : device;

        y[i] = ht_conv2d(ht_to_device(x, on), ht_to_device(weight, on), NULL, NULL);
        y[i] = ht_to_device(ht_isfinite(y[i]), ht_device_get("cpu"));
        assert_non_null(y[i]);
    }
    ht_test_expect_same(y[1], y[0], 0);
}

HT_TEST_SUITE(test_cuda_conv, cmocka_unit_test(results_of_both_ways_are_right),
              cmocka_unit_test(a_convolution_repeats_its_bits),
              cmocka_unit_test(many_shapes_share_the_cache_of_plans),
              cmocka_unit_test(infinities_stay_in_their_windows));
