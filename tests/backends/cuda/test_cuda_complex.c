/* ranks 1 */
/* SPDX-License-Identifier: MIT */
/* Functions of complex numbers of the CUDA module beside C's in long double: both parts are right to
 * 8 units in the last place, near the unit circle and the axes, too. */
#include <complex.h>

#include "cuda_device.h"
#include "backends/cpu/cpu_kernels.h"
#include "ht/kernels/elementwise.h"

enum { COUNT = 20000 };

static const struct function {
    const char *name;
    ht_kernel id;
    long double complex (*value)(long double complex z);
} functions[] = {
    {"exp", HT_KERNEL_EXP, cexpl},       {"log", HT_KERNEL_LOG, clogl},
    {"sqrt", HT_KERNEL_SQRT, csqrtl},    {"sin", HT_KERNEL_SIN, csinl},
    {"cos", HT_KERNEL_COS, ccosl},       {"tan", HT_KERNEL_TAN, ctanl},
    {"sinh", HT_KERNEL_SINH, csinhl},    {"cosh", HT_KERNEL_COSH, ccoshl},
    {"tanh", HT_KERNEL_TANH, ctanhl},    {"asin", HT_KERNEL_ASIN, casinl},
    {"acos", HT_KERNEL_ACOS, cacosl},    {"atan", HT_KERNEL_ATAN, catanl},
    {"asinh", HT_KERNEL_ASINH, casinhl}, {"acosh", HT_KERNEL_ACOSH, cacoshl},
    {"atanh", HT_KERNEL_ATANH, catanhl},
};

static double z[COUNT][2], got[COUNT][2];

static double between(uint64_t *seed, double low, double high)
{
    return low + (high - low) * cpu_random(seed);
}

/* Of any size, about the unit circle, and about each axis. */
static void fill(void)
{
    uint64_t seed = 11;

    for (int i = 0; i < COUNT; i++) {
        const double small = exp(between(&seed, -40, 0)), any = exp(between(&seed, -12, 6));
        const double angle = between(&seed, 0, 6.3), radius = 1 + between(&seed, -1, 1) * small;
        const double wide = between(&seed, -3, 3), narrow = between(&seed, -1, 1) * small;

        z[i][0] = i % 4 == 0   ? between(&seed, -1, 1) * any
                  : i % 4 == 1 ? radius * cos(angle)
                  : i % 4 == 2 ? wide
                               : narrow;
        z[i][1] = i % 4 == 0   ? between(&seed, -1, 1) * any
                  : i % 4 == 1 ? radius * sin(angle)
                  : i % 4 == 2 ? narrow
                               : wide;
    }
}

static bool is_right(double value, long double right)
{
    const double size = fabs((double)right);

    return value == (double)right || fabsl(value - right) <= 8 * (nextafter(size, INFINITY) - size);
}

static void check(const struct function *f)
{
    for (int i = 0; i < COUNT; i++) {
        const long double complex right = f->value(CMPLXL(z[i][0], z[i][1]));

        if (!is_right(got[i][0], creall(right)) || !is_right(got[i][1], cimagl(right)))
            fail_msg("%s of (%.17g, %.17g) is (%.17g, %.17g), expected (%.17Lg, %.17Lg)", f->name,
                     z[i][0], z[i][1], got[i][0], got[i][1], creall(right), cimagl(right));
    }
}

static void both_parts_are_right(void **state)
{
    ht_device *device = cuda_device();

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    char *remote = device->backend->memory_alloc(device->stream, sizeof z + sizeof got);
    ht_loop loop = cpu_row(COUNT, remote + sizeof z, 1, remote, 1, NULL, 0);

    assert_non_null(remote);
    fill();
    ht__device_put(device, remote, z, sizeof z);
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        loop.call = (ht_kernel_call){.bytes = sizeof loop,
                                     .kernel = functions[k].id,
                                     .dtype = HT_COMPLEX128,
                                     .operands = HT_LOOP_OPERANDS,
                                     .what = "the test"};
        assert_int_equal(
            device->kernels->at[functions[k].id][HT_COMPLEX128](device->stream, &loop.call), 0);
        assert_int_equal(ht__device_get(device, got, remote + sizeof z, sizeof got), 0);
        check(&functions[k]);
    }
    device->backend->memory_free(device->stream, remote);
}

HT_TEST_SUITE(test_cuda_complex, cmocka_unit_test(both_parts_are_right));
