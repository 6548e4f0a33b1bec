/* ranks 1 */
/* SPDX-License-Identifier: MIT */
/* Convolutions of 16 bits of the CUDA module beside those of the same numbers in float64: results and
 * gradients are rounded once. */
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

static const struct half {
    ht_dtype dtype;
    double rounding; /* half a unit in the last place of 1 */
} halves[] = {{HT_FLOAT16, 0x1p-11}, {HT_BFLOAT16, 0x1p-8}};

/* The numbers of a 16-bit tensor as `dtype`, on a device. */
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

/* Sums are those of float32, and their rounding to 16 bits is at most half a unit. */
static void expect_rounded_once(ht_tensor *got, ht_tensor *right, double rounding)
{
    const double *found = ht_test_values(got), *expected = ht_test_values(right);

    assert_int_equal(ht_tensor_size(got), ht_tensor_size(right));
    for (int64_t i = 0; i < ht_tensor_size(got); i++)
        if (!(fabs(found[i] - expected[i]) <= rounding * fabs(expected[i]) + 0x1p-18))
            fail_msg("element %lld is %.17g, expected %.17g", (long long)i, found[i], expected[i]);
}

static void check(const shape *c, const struct half *half, ht_device *device)
{
    const int64_t before = ht_device_fallbacks(device);
    ht_scope *scope = ht_scope_open();
    ht_tensor *expected[RESULTS], *got[RESULTS];

    convolve(c, ht_device_get("cpu"), HT_FLOAT64, half->dtype, expected);
    convolve(c, device, half->dtype, half->dtype, got);
    for (int k = 0; k < RESULTS; k++)
        if (expected[k] != NULL) {
            assert_int_equal(ht_tensor_dtype(got[k]), half->dtype);
            expect_rounded_once(got[k], expected[k], half->rounding);
        }
    assert_int_equal(ht_device_fallbacks(device), before);
    ht_scope_close(scope);
}

static void results_of_16_bits_are_rounded_once(void **state)
{
    ht_device *device = cuda_device();

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t k = 0; k < sizeof halves / sizeof *halves; k++) {
            print_message("# %s, %s\n", shapes[i].name, ht_dtype_name(halves[k].dtype));
            setenv("EMULATED_ORDER", cuda_orders[i % 3], true);
            check(&shapes[i], &halves[k], device);
        }
    unsetenv("EMULATED_ORDER");
}

HT_TEST_SUITE(test_cuda_conv, cmocka_unit_test(results_of_16_bits_are_rounded_once));
