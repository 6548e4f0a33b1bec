/* ranks 1 own device */
/* The functions of float32 against the C library's in double, over all exponents and signs, and the
 * conversions of half precision against the definition. */
#include <float.h>

#include "cpu_kernels.h"
#include "elementwise.h"

#include "backends/cpu/float_math.h"

static cpu_level levels[3];
static int level_count;

/* The distance of a float from a double, in units in the last place of the exact result. */
static double ulps(float got, double exact)
{
    int exponent;

    if (isnan(exact))
        return isnan(got) ? 0 : INFINITY;
    if ((double)got == exact || (float)exact == got)
        return 0;
    if (isinf(got) || isnan(got))
        return INFINITY;
    frexp(exact, &exponent);
    return fabs((double)got - exact) / ldexp(1, exponent - 24 < -149 ? -149 : exponent - 24);
}

/* Every 4099th float, which are numbers of all exponents and signs, through a kernel whose results
 * are floats. */
static void check_within_two_ulp(ht_kernel kernel, const char *name, const char *operands)
{
    enum { STEP = 4099, N = 1024 };
    const ht_test_function *f = ht_test_function_of(kernel, name);
    ht_kernel_table *table = &levels[level_count - 1].kernels; /* levels agree */
    float x[N], y[N];

    if (table->at[kernel][HT_FLOAT32] == NULL || operands[0] == 'B')
        return;
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += (uint64_t)STEP * N) {
        ht_loop loop = cpu_row(N, y, 1, x, 1, NULL, 0);

        memcpy(loop.param, f->param, sizeof loop.param);
        for (int i = 0; i < N; i++)
            x[i] = ht__bits_to_float((uint32_t)(bits + (uint64_t)STEP * (uint64_t)i));
        assert_int_equal(cpu_run(table, kernel, HT_FLOAT32, &loop), 0);
        for (int i = 0; i < N; i++)
            if (ulps(y[i], f->value(x[i])) > 2)
                fail_msg("%s of %a is %a", name, (double)x[i], (double)y[i]);
    }
}

static void functions_are_within_two_ulp(void **state)
{
#define CHECK(name, operands) check_within_two_ulp(HT_KERNEL_##name, #name, operands);
    (void)state;
    level_count = cpu_levels(levels);
    HT_UNARY_KERNELS(CHECK)
#undef CHECK
}

static void functions_at_zero_infinity_and_nan(void **state)
{
    (void)state;
    assert_true(ht__exp_float(INFINITY) == INFINITY && ht__exp_float(-INFINITY) == 0);
    assert_true(ht__exp_float(0) == 1 && isnan(ht__exp_float(NAN)));
    assert_true(ulps(ht__exp_float(-103.0f), exp(-103.0)) <= 1);
    assert_true(ht__exp_below_float(-INFINITY) == 0 && isnan(ht__exp_below_float(NAN)));
    for (float x = -110; x <= 43; x += 0.37f)
        assert_true(ht__exp_below_float(x) == ht__exp_float(x));
    for (float x = 44.1f; x <= 1e38f; x *= 1.01f)
        assert_true(ht__exp_below_float(x) == INFINITY);
    assert_true(ht__exp_below_float(INFINITY) == INFINITY);
    assert_true(ht__log_float(0) == -INFINITY && isnan(ht__log_float(-1)));
    assert_true(ht__log_float(INFINITY) == INFINITY && ht__log_float(1) == 0);
    assert_true(ht__tanh_float(INFINITY) == 1 && ht__tanh_float(-INFINITY) == -1);
    assert_true(signbit(ht__tanh_float(-0.0f)) && isnan(ht__tanh_float(NAN)));
    assert_true(ht__expm1_float(INFINITY) == INFINITY && ht__expm1_float(-INFINITY) == -1);
    assert_true(signbit(ht__expm1_float(-0.0f)) && isnan(ht__expm1_float(NAN)));
    assert_true(ht__log1p_float(-1) == -INFINITY && isnan(ht__log1p_float(-1.5f)));
    assert_true(signbit(ht__log1p_float(-0.0f)) && ht__log1p_float(INFINITY) == INFINITY);
    assert_true(ht__sigmoid_float(INFINITY) == 1 && ht__sigmoid_float(-INFINITY) == 0);
    assert_true(ht__sigmoid_float(-0.0f) == 0.5f && isnan(ht__sigmoid_float(NAN)));
}

/* PyTorch's values and slopes, too. */
static void check_activation(float (*f)(float x, float *slope), float slope_at_zero)
{
    float slope;

    assert_true(signbit(f(-0.0f, &slope)) && slope == slope_at_zero);
    assert_false(signbit(f(0, &slope)));
    assert_true(f(INFINITY, &slope) == INFINITY && isnan(slope));
    assert_true(isnan(f(-INFINITY, &slope)) && isnan(slope));
    assert_true(isnan(f(NAN, &slope)) && isnan(slope));
    assert_true(isnan(f(-NAN, &slope)) && isnan(slope));
    assert_true(f(150, &slope) == 150 && slope == 1);
    assert_true(f(-150, &slope) == 0 && slope == 0);
    assert_true(f(FLT_MAX, &slope) == FLT_MAX && slope == 1);
    assert_true(f(-FLT_MAX, &slope) == 0 && slope == 0);
}

static void activations_at_zero_infinity_and_nan(void **state)
{
    (void)state;
    check_activation(ht__gelu_float, 0.5f);
    check_activation(ht__silu_float, 0.5f);
    check_activation(ht__mish_float, 0.6f);
}

/* The value of a binary16 number by its fields. */
static double float16_value(uint16_t x)
{
    int exponent = x >> 10 & 31, fraction = x & 1023;
    double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);

    return x & 0x8000 ? -magnitude : magnitude;
}

static void float16_all(void **state)
{
    (void)state;
    for (uint32_t x = 0; x < 0x10000; x++) {
        float value = ht__float16_to_float((uint16_t)x);

        if ((x & 0x7fff) > 0x7c00) {
            assert_true(isnan(value) && isnan(ht__float16_to_float(ht__float_to_float16(value))));
            continue;
        }
        assert_int_equal(ht__float_to_float16(value), x);
        if ((x & 0x7fff) < 0x7c00)
            assert_true((double)value == float16_value((uint16_t)x));
    }
}

/* Between two neighbours: below the middle down, above it up, in the middle to the even one. */
static void float16_rounds_to_even(void **state)
{
    (void)state;
    for (uint16_t x = 0; x < 0x7bff; x++) {
        float low = ht__float16_to_float(x), high = ht__float16_to_float((uint16_t)(x + 1));
        float middle = (low + high) / 2;

        assert_int_equal(ht__float_to_float16(middle), x & 1 ? x + 1 : x);
        assert_int_equal(ht__float_to_float16(nextafterf(middle, 0)), x);
        assert_int_equal(ht__float_to_float16(nextafterf(middle, INFINITY)), x + 1);
    }
    assert_int_equal(ht__float_to_float16(65519.99f), 0x7bff);
    assert_int_equal(ht__float_to_float16(65520), 0x7c00);
}

static void bfloat16_rounds_to_even(void **state)
{
    (void)state;
    for (uint32_t x = 0; x < 0x7f80; x++) {
        uint32_t middle = x << 16 | 0x8000;

        assert_int_equal(ht__float_to_bfloat16(ht__bfloat16_to_float((uint16_t)x)), x);
        assert_int_equal(ht__float_to_bfloat16(ht__bits_to_float(middle)), x + (x & 1));
        assert_int_equal(ht__float_to_bfloat16(ht__bits_to_float(middle - 1)), x);
        assert_int_equal(ht__float_to_bfloat16(ht__bits_to_float(middle + 1)), x + 1);
    }
    assert_true(isnan(ht__bfloat16_to_float(ht__float_to_bfloat16(ht__bits_to_float(0x7f800001)))));
}

HT_TEST_SUITE(test_cpu_float_math, cmocka_unit_test(functions_are_within_two_ulp),
              cmocka_unit_test(functions_at_zero_infinity_and_nan),
              cmocka_unit_test(activations_at_zero_infinity_and_nan), cmocka_unit_test(float16_all),
              cmocka_unit_test(float16_rounds_to_even), cmocka_unit_test(bfloat16_rounds_to_even));
