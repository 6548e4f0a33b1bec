/* ranks 1 own device */
/* SPDX-License-Identifier: MIT */
/* Functions of complex numbers of the CUDA module compared with C's in long double. Both parts are
 * right to 8 units in the last place: also near the unit circle, near the axes, and for large
 * numbers. Powers lose what b log a loses. */
#include <complex.h>

#include "cuda_device.h"
#include "backends/cpu/cpu_kernels.h"
#include "complex_of.h"
#include "ht/kernels/elementwise.h"
#include "tensor_check.h"

enum { COUNT = 20000, FIRST_INVERSE = 9 };

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

/* Numbers of any size, around the unit circle, and near each axis. */
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
        const long double complex right = f->value(complex_of(z[i][0], z[i][1]));

        if (!is_right(got[i][0], creall(right)) || !is_right(got[i][1], cimagl(right)))
            fail_msg("%s of (%.17g, %.17g) is (%.17g, %.17g), expected (%.17Lg, %.17Lg)", f->name,
                     z[i][0], z[i][1], got[i][0], got[i][1], creall(right), cimagl(right));
    }
}

static void run(ht_device *device, ht_kernel id, ht_dtype dtype, ht_loop *loop)
{
    loop->call = (ht_kernel_call){.bytes = sizeof *loop,
                                  .kernel = id,
                                  .dtype = dtype,
                                  .operands = HT_LOOP_OPERANDS,
                                  .what = "the test"};
    assert_int_equal(device->kernels->at[id][dtype](device->stream, &loop->call), 0);
}

/* Up to the largest finite parts. */
static void fill_far(void)
{
    uint64_t seed = 13;

    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < 2; k++)
            z[i][k] = between(&seed, -2, 2) *
                      exp2(between(&seed, i % 2 == 0 ? 400 : 1020, 1023) * (i % 3 != k));
}

static void check_functions(ht_device *device, int first)
{
    char *remote = device->backend->memory_alloc(device->stream, sizeof z + sizeof got);
    ht_loop loop = cpu_row(COUNT, remote + sizeof z, 1, remote, 1, NULL, 0);

    assert_non_null(remote);
    ht__device_put(device, remote, z, sizeof z);
    for (size_t k = (size_t)first; k < sizeof functions / sizeof *functions; k++) {
        run(device, functions[k].id, HT_COMPLEX128, &loop);
        assert_int_equal(ht__device_get(device, got, remote + sizeof z, sizeof got), 0);
        check(&functions[k]);
    }
    device->backend->memory_free(device->stream, remote);
}

static void both_parts_are_right(void **state)
{
    ht_device *device = cuda_device();

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    fill();
    check_functions(device, 0);
    fill_far();
    check_functions(device, FIRST_INVERSE);
}

/* (a, b, a / b): a numerator that a power of 2 in common with a small denominator would make
 * infinite. */
static void quotients_by_small_numbers_are_right(void **state)
{
    static const double rows[][3][2] = {
        {{0x1p1000, 0}, {0x1p-970, 0}, {INFINITY, 0}},
        {{0x1p1000, 0x1p990}, {0x1p-970, 0x1p-980}, {INFINITY, 0}},
        {{0x1p1000, -0x1p-100}, {0x1p-972, 0}, {INFINITY, -0x1p872}},
        {{0x1p900, 0x1p901}, {0, 0x1p-1000}, {INFINITY, -INFINITY}},
        {{0x1p-1000, 0x1p-990}, {0x1p-980, 0}, {0x1p-20, 0x1p-10}},
    };
    double quotient[2];
    ht_device *device = cuda_device();

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    char *remote = device->backend->memory_alloc(device->stream, sizeof rows[0]);
    ht_loop loop = cpu_row(1, remote + 32, 1, remote, 1, remote + 16, 1);

    assert_non_null(remote);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ht__device_put(device, remote, rows[i], sizeof rows[i]);
        run(device, HT_KERNEL_DIV, HT_COMPLEX128, &loop);
        assert_int_equal(ht__device_get(device, quotient, remote + 32, sizeof quotient), 0);
        if (quotient[0] != rows[i][2][0] || quotient[1] != rows[i][2][1])
            fail_msg("row %zu: (%.17g, %.17g)", i, quotient[0], quotient[1]);
    }
    device->backend->memory_free(device->stream, remote);
}

/* Two products of imaginary parts near the largest number. */
static void the_real_part_of_a_sum_stays_finite(void **state)
{
    static const double numbers[] = {1, 0x1p1023, 1, 0x1p1023};
    ht_device *device = cuda_device();
    double sum[2];

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    ht_tensor *x = ht_to_device(ht_array(numbers, HT_SHAPE(1, 2), HT_COMPLEX128, HT_LOCAL), device);
    ht_tensor *y = ht_matmul(x, ht_ones_like(ht_transpose(x, 0, 1)));

    assert_int_equal(ht_tensor_to_array(y, sum, 1, HT_COMPLEX128), HT_SUCCESS);
    assert_true(sum[0] == 2 && sum[1] == INFINITY);
}

/* An element of an operand of powers. */
static void put(ht_dtype dtype, char *x, int i, const double number[2])
{
    for (int k = 0; k < 2; k++)
        if (dtype == HT_COMPLEX64)
            ((float *)x)[2 * i + k] = (float)number[k];
        else
            ((double *)x)[2 * i + k] = number[k];
}

static long double complex get(ht_dtype dtype, const char *x, int i)
{
    if (dtype == HT_COMPLEX64)
        return complex_of(((const float *)x)[2 * i], ((const float *)x)[2 * i + 1]);
    return complex_of(((const double *)x)[2 * i], ((const double *)x)[2 * i + 1]);
}

/* complex64 is computed in complex128, and each part is rounded once. The error of complex128 is that
 * of b log a: relative to the modulus, 2.7 (1 + |b log a|) 2^-53 was seen. */
static bool is_right_power(ht_dtype dtype, long double complex power, long double complex a,
                           long double complex b)
{
    const long double complex right = cpowl(a, b), off = power - right;
    const long double size = cabsl(right);

    if (dtype == HT_COMPLEX128)
        return cabsl(off) <= 8 * 0x1p-53L * (1 + cabsl(b * clogl(a))) * size;
    return fabsl(creall(off)) <= 1.01L * 0x1p-24L * fabsl(creall(right)) + 0x1p-149L &&
           fabsl(cimagl(off)) <= 1.01L * 0x1p-24L * fabsl(cimagl(right)) + 0x1p-149L;
}

/* Neither infinite nor subnormal. */
static bool is_regular(ht_dtype dtype, long double size)
{
    return dtype == HT_COMPLEX64 ? size > 0x1p-120L && size < 0x1p120L
                                 : size > 0x1p-1000L && size < 0x1p1000L;
}

static void powers_are_right(void **state)
{
    static const ht_dtype dtypes[] = {HT_COMPLEX64, HT_COMPLEX128};
    static char x[3][sizeof z];
    ht_device *device = cuda_device();

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    char *remote = device->backend->memory_alloc(device->stream, sizeof x);
    ht_loop loop = cpu_row(COUNT, remote + 2 * sizeof z, 1, remote, 1, remote + sizeof z, 1);
    uint64_t seed = 12;

    fill();
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
        int regular = 0;

        for (int i = 0; i < COUNT; i++) {
            const double size = exp(between(&seed, -6, 5));
            const double b[2] = {between(&seed, -1, 1) * size, between(&seed, -1, 1) * size};

            put(dtypes[k], x[0], i, z[i]);
            put(dtypes[k], x[1], i, b);
        }
        ht__device_put(device, remote, x, sizeof x);
        run(device, HT_KERNEL_POW, dtypes[k], &loop);
        assert_int_equal(ht__device_get(device, x, remote, sizeof x), 0);
        for (int i = 0; i < COUNT; i++) {
            const long double complex a = get(dtypes[k], x[0], i), b = get(dtypes[k], x[1], i);
            const long double complex power = get(dtypes[k], x[2], i);

            if (!is_regular(dtypes[k], cabsl(cpowl(a, b))))
                continue;
            regular++;
            if (!is_right_power(dtypes[k], power, a, b))
                fail_msg("(%.17Lg, %.17Lg) to the power of (%.17Lg, %.17Lg) is (%.17Lg, %.17Lg)",
                         creall(a), cimagl(a), creall(b), cimagl(b), creall(power), cimagl(power));
        }
        assert_true(regular > COUNT / 2);
    }
    device->backend->memory_free(device->stream, remote);
}

HT_TEST_SUITE(test_cuda_complex, cmocka_unit_test(both_parts_are_right),
              cmocka_unit_test(quotients_by_small_numbers_are_right),
              cmocka_unit_test(the_real_part_of_a_sum_stays_finite),
              cmocka_unit_test(powers_are_right));
