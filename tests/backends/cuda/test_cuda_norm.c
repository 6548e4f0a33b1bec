/* ranks 1 own device */
/* SPDX-License-Identifier: MIT */
/* Normalisation and variances of the CUDA module compared with the CPU's, for large elements too: the
 * squares of 1e20 are above float32. */
#include <stdlib.h>

#include "cuda_device.h"
#include "tensor_check.h"

enum { SAMPLES = 3, CHANNELS = 4, HEIGHT = 5, WIDTH = 6 };

static ht_tensor *batch_norm(ht_tensor *x)
{
    return ht_batch_norm(x, NULL, NULL, NULL, NULL, true, 0.1, 1e-5);
}

static ht_tensor *layer_norm(ht_tensor *x)
{
    return ht_layer_norm(x, 2, (int64_t[]){HEIGHT, WIDTH}, NULL, NULL, 1e-5);
}

static ht_tensor *group_norm(ht_tensor *x)
{
    return ht_group_norm(x, 2, NULL, NULL, 1e-5);
}

static ht_tensor *rms_norm(ht_tensor *x)
{
    return ht_rms_norm(x, 1, (int64_t[]){WIDTH}, NULL, 1e-5);
}

static ht_tensor *std_of_rows(ht_tensor *x)
{
    return ht_std(x, 3);
}

/* power: y grows as this power of x. */
static const struct {
    const char *name;
    ht_tensor *(*run)(ht_tensor *x);
    int power;
} functions[] = {{"batch_norm", batch_norm, 0},
                 {"layer_norm", layer_norm, 0},
                 {"group_norm", group_norm, 0},
                 {"rms_norm", rms_norm, 0},
                 {"std", std_of_rows, 1}};

static const double sizes[] = {1, 1e20, 1e37, 1e-15};

static const ht_dtype dtypes[] = {HT_BFLOAT16, HT_FLOAT32, HT_FLOAT64};
static const double bounds[] = {0x1p-7, 0x1p-20, 0x1p-45};

/* y and the gradient of x, both in float64, and as for elements of size 1. */
static void compute(size_t function, ht_tensor *x, ht_device *device, double size,
                    ht_tensor *out[2])
{
    ht_device *cpu = ht_device_get("cpu");
    ht_tensor *on = ht_to_device(ht_copy(x), device), *y, *dy;

    ht_tensor_set_requires_grad(on, true);
    y = functions[function].run(on);
    assert_non_null(y);
    dy = ht_test_randn(ht_tensor_ndim(y), ht_tensor_shape(y), HT_FLOAT64, HT_NONE, 2);
    dy = ht_to_device(ht_astype(dy, ht_tensor_dtype(y)), device);
    assert_int_equal(ht_backward_ext(y, dy, false), HT_SUCCESS);
    out[0] = ht_astype(ht_to_device(ht_detach(y), cpu), HT_FLOAT64);
    out[1] = ht_astype(ht_to_device(ht_tensor_grad(on), cpu), HT_FLOAT64);
    if (functions[function].power == 1)
        out[0] = ht_div_scalar(out[0], size);
    else
        out[1] = ht_mul_scalar(out[1], size);
}

static void check(size_t function, size_t kind, ht_device *device, double size)
{
    const int64_t shape[] = {SAMPLES, CHANNELS, HEIGHT, WIDTH};
    const int64_t before = ht_device_fallbacks(device);
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_add_scalar(ht_test_randn(4, shape, HT_FLOAT64, HT_NONE, 1), 0.5);
    ht_tensor *got[2], *expected[2];

    x = ht_astype(ht_mul_scalar(x, size), dtypes[kind]);
    compute(function, x, ht_device_get("cpu"), size, expected);
    compute(function, x, device, size, got);
    for (int i = 0; i < 2; i++) {
        assert_true(ht_item(ht_all(ht_isfinite(expected[i]), HT_NONE)) == 1);
        ht_test_expect_same(got[i], expected[i], bounds[kind]);
    }
    assert_int_equal(ht_device_fallbacks(device), before);
    ht_scope_close(scope);
}

static void large_elements_have_the_results_of_the_cpu(void **state)
{
    ht_device *device = cuda_device();

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        for (size_t kind = 0; kind < sizeof dtypes / sizeof *dtypes; kind++)
            for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
                print_message("# %s of %s, %g\n", functions[i].name, ht_dtype_name(dtypes[kind]),
                              sizes[size]);
                setenv("EMULATED_ORDER", cuda_orders[size % 3], true);
                check(i, kind, device, sizes[size]);
            }
    unsetenv("EMULATED_ORDER");
}

HT_TEST_SUITE(test_cuda_norm, cmocka_unit_test(large_elements_have_the_results_of_the_cpu));
