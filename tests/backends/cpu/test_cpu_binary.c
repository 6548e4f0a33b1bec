/* ranks 1 own device */
/* Elementwise kernels of two and three operands, of every level and dtype, as those of one are
 * tested (test_cpu_elementwise.c). */
#include "cpu_elementwise.h"
#include "elementwise.h"

static operand third;

static const struct listed list[] = {HT_BINARY_KERNELS(LISTED) HT_TERNARY_KERNELS(LISTED)};

static bool is_exact(ht_dtype dtype)
{
    return dtype == HT_BOOL || ht_dtype_is_integer(dtype);
}

/* The dtype that arithmetic is done in. */
static ht_dtype computed_in(ht_dtype dtype)
{
    return dtype == HT_FLOAT16 || dtype == HT_BFLOAT16 ? HT_FLOAT32 : dtype;
}

/* The low bits, as a number. */
static double wrapped(ht_dtype dtype, uint64_t value)
{
    const int unused = 64 - 8 * (int)ht_dtype_size(dtype);

    return dtype == HT_UINT8 ? (double)(uint8_t)value
                             : (double)((int64_t)(value << unused) >> unused);
}

/* g (1 - y^2), rounded where the kernel rounds, because the difference cancels. */
static double tanh_grad(ht_dtype dtype, double g, double y)
{
    const ht_dtype in = computed_in(dtype);

    return g * rounded(in, 1 - rounded(in, y * y));
}

/* g (1 - y) y, rounded in the same way. */
static double sigmoid_grad(ht_dtype dtype, double g, double y)
{
    const ht_dtype in = computed_in(dtype);

    return g * rounded(in, rounded(in, 1 - y) * y);
}

static double power(ht_dtype dtype, double x, double y)
{
    uint64_t product = 1;

    if (!is_exact(dtype))
        return pow(x, y);
    if (y < 0)
        return x == 1 || x == -1 ? pow(x, y) : 0;
    for (int i = 0; i < y; i++)
        product *= (uint64_t)(int64_t)x;
    return wrapped(dtype, product);
}

/* long double, so that a quotient just below a whole number is not rounded up to it. */
static double floor_quotient(ht_dtype dtype, double x, double y)
{
    if (y == 0)
        return is_exact(dtype) ? 0 : x / y;
    if (isinf(y) && isfinite(x))
        return x != 0 && (x < 0) != (y < 0) ? -1 : 0;
    return isinf(x) ? NAN : (double)floorl((long double)x / y);
}

static double remainder_of(ht_dtype dtype, double x, double y)
{
    const double rest = fmod(x, y);

    if (y == 0)
        return is_exact(dtype) ? 0 : NAN;
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

static double gcd(double x, double y)
{
    return y == 0 ? fabs(x) : gcd(y, fmod(x, y));
}

/* log(e^x + e^y), by the power and the unit of another base, too. */
static double logarithm_of_sum(double x, double y, double (*power_of)(double), double unit)
{
    if (isnan(x) || isnan(y) || x == y)
        return x + y != x + y ? NAN : x + unit;
    return fmax(x, y) + log1p(power_of(-fabs(x - y))) * unit / log(2);
}

static double shifted(ht_dtype dtype, double x, double by)
{
    const bool none = by < 0 || by >= 8 * (double)ht_dtype_size(dtype);

    return none ? 0 : wrapped(dtype, (uint64_t)(int64_t)x << (int)by);
}

static bool close(double x, double y)
{
    return x == y || (isfinite(x) && isfinite(y) && fabs(x - y) <= -1.25 + 0.75 * fabs(y));
}

/* The result of each kernel for real numbers, in double; the third operand of CLIP and WHERE is 4.
 */
/* clang-format off */
#define REFERENCES(X) \
    X(ADD, dtype == HT_BOOL ? x != 0 || y != 0 : x + y) \
    X(SUB, x - y) \
    X(MUL, x * y) \
    X(DIV, x / y) \
    X(POW, power(dtype, x, y)) \
    X(FLOORDIV, floor_quotient(dtype, x, y)) \
    X(REMAINDER, remainder_of(dtype, x, y)) \
    X(FMOD, is_exact(dtype) && y == 0 ? 0 : fmod(x, y)) \
    X(GCD, gcd(x, y)) \
    X(LCM, x == 0 || y == 0 ? 0 : fabs(x * y) / gcd(x, y)) \
    X(HYPOT, hypot(x, y)) \
    X(COPYSIGN, copysign(x, y)) \
    X(ATAN2, atan2(x, y)) \
    X(LOGADDEXP, logarithm_of_sum(x, y, exp, log(2))) \
    X(LOGADDEXP2, logarithm_of_sum(x, y, exp2, 1)) \
    X(BITWISE_AND, (double)((int64_t)x & (int64_t)y)) \
    X(BITWISE_OR, (double)((int64_t)x | (int64_t)y)) \
    X(BITWISE_XOR, (double)((int64_t)x ^ (int64_t)y)) \
    X(LEFT_SHIFT, shifted(dtype, x, y)) \
    X(RIGHT_SHIFT, y < 0 || y > 63 ? -(x < 0) : floor(ldexp(x, -(int)y))) \
    X(LOGICAL_AND, x != 0 && y != 0) \
    X(LOGICAL_OR, x != 0 || y != 0) \
    X(LOGICAL_XOR, (x != 0) != (y != 0)) \
    X(ISCLOSE, close(x, y)) \
    X(EQ, x == y) \
    X(NE, x != y) \
    X(LT, x < y) \
    X(LE, x <= y) \
    X(GT, x > y) \
    X(GE, x >= y) \
    X(MINIMUM, isnan(x) || isnan(y) ? NAN : fmin(x, y)) \
    X(MAXIMUM, isnan(x) || isnan(y) ? NAN : fmax(x, y)) \
    X(RELU_GRAD, y <= 0 ? 0 : x) \
    X(TANH_GRAD, tanh_grad(dtype, x, y)) \
    X(SIGMOID_GRAD, sigmoid_grad(dtype, x, y)) \
    X(AXPBY, rounded(dtype, 0.75 * x) + rounded(dtype, -1.25 * y)) \
    X(CLIP, isnan(x) || isnan(y) ? NAN : fmin(fmax(x, y), 4)) \
    X(WHERE, x != 0 ? y : 4)

#define COMPLEX_REFERENCES(X) \
    X(ADD, x + y) \
    X(SUB, x - y) \
    X(MUL, x * y) \
    X(DIV, x / y) \
    X(POW, y == 0 ? 1 : cpow(x, y)) \
    X(LOGICAL_AND, x != 0 && y != 0) \
    X(LOGICAL_OR, x != 0 || y != 0) \
    X(LOGICAL_XOR, (x != 0) != (y != 0)) \
    X(ISCLOSE, x == y || cabs(x - y) <= -1.25 + 0.75 * cabs(y)) \
    X(EQ, x == y) \
    X(NE, x != y) \
    X(RELU_GRAD, creal(y) <= 0 ? 0 : x) \
    X(TANH_GRAD, x * (1 - y * y)) \
    X(AXPBY, 0.75 * x - 1.25 * y) \
    X(WHERE, x != 0 ? y : complex_of(4, 2))

#define FUNCTION(name, value) \
    static double of_##name(ht_dtype dtype, double x, double y) { (void)dtype; return value; }
REFERENCES(FUNCTION)
#define COMPLEX_FUNCTION(name, value) \
    static double complex of_complex_##name(double complex x, double complex y) { return value; }
COMPLEX_REFERENCES(COMPLEX_FUNCTION)

#define ROW(name, value) [HT_KERNEL_##name] = of_##name,
static double (*const references[])(ht_dtype, double, double) = {
    [HT_KERNELS_ELEMENTWISE_END] = NULL, REFERENCES(ROW)};
#define COMPLEX_ROW(name, value) [HT_KERNEL_##name] = of_complex_##name,
static double complex (*const complex_references[])(double complex, double complex) = {
    [HT_KERNELS_ELEMENTWISE_END] = NULL, COMPLEX_REFERENCES(COMPLEX_ROW)};
/* clang-format on */

/* The larger of the terms that are rounded on the way to log(e^x + e^y): the maximum, and the
 * difference, which is an exponent. */
static double logarithm_terms(double x, double y)
{
    const double apart = fabs(x - y);

    return isfinite(apart) ? fabs(fmax(x, y)) + apart * exp2(-apart) : 0;
}

static void check_real(const kernel *k, const struct listed *op, int64_t i)
{
    const double x = cpu_get(a.dtype, a.data, i), y = cpu_get(b.dtype, b.data, i);
    const ht_test_function *f = ht_test_function_of_grad(op->id);
    const bool cancels = op->id == HT_KERNEL_LOGADDEXP || op->id == HT_KERNEL_LOGADDEXP2;

    if (f != NULL) {
        check_sum(k->result, alone, i, x * f->slope(y), isfinite(x) ? fabs(x) : 0);
        return;
    }
    if (references[op->id] == NULL)
        fail_msg("kernel %s has no reference here", op->name);
    check_sum(k->result, alone, i, references[op->id](k->dtype, x, y),
              cancels ? logarithm_terms(x, y) : 0);
}

/* exp(y log x) has the errors of log x times y. */
static void check_complex(const kernel *k, const struct listed *op, int64_t i)
{
    const double complex x = ht_dtype_is_complex(a.dtype) ? get_complex(a.dtype, a.data, i)
                                                          : cpu_get(a.dtype, a.data, i);
    const double complex y = get_complex(b.dtype, b.data, i);
    const double growth = cabs(y * clog(x));
    double complex z;

    if (complex_references[op->id] == NULL)
        fail_msg("kernel %s has no reference of complex numbers here", op->name);
    z = complex_references[op->id](x, y);
    if (k->result == HT_BOOL)
        check_value(HT_BOOL, alone, i, creal(z));
    else
        check_complex_growth(k->dtype, alone, i, z,
                             op->id == HT_KERNEL_POW && isfinite(growth) ? 1 + growth : 1);
}

/* Puts special real numbers of each kind next to each other. */
static void mix_specials(operand *x)
{
    for (int64_t i = 3; i < COUNT && !is_exact(x->dtype) && !ht_dtype_is_complex(x->dtype); i += 7)
        cpu_set(x->dtype, x->data, i, special(i, 77));
}

/* The third operand of ternary kernels is a number. */
static void binary_and_ternary_kernels(void **state)
{
    (void)state;
    FOR_EACH(op, list)
    for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++) {
        const kernel k = {op->id, (ht_dtype)dtype, result_of(op, (ht_dtype)dtype)};
        const ht_test_function *f = ht_test_function_of_grad(op->id);

        if (!exists(op->id, dtype))
            continue;
        params = f != NULL ? f->param : two_params;
        fill(&a, op->operands[1] == 'b' ? HT_BOOL : k.dtype, 3);
        fill(&b, k.dtype, 4);
        mix_specials(&b);
        check_levels_agree(&k);
        for (int64_t i = 0; i < COUNT; i++)
            (ht_dtype_is_complex(k.dtype) ? check_complex : check_real)(&k, op, i);
        check_levels(&k, 3);
    }
    params = two_params;
}

/* Sums and products of integers wrap around, and a bool of two ones stays one. */
static void integers_wrap(void **state)
{
    int32_t big[2] = {INT32_MAX, INT32_MIN}, one[2] = {1, -1}, sum[2];
    uint8_t yes[2] = {1, 1}, both[2];

    (void)state;
    run(0, &(kernel){HT_KERNEL_ADD, HT_INT32, HT_INT32}, cpu_row(2, sum, 1, big, 1, one, 1));
    assert_int_equal(sum[0], INT32_MIN);
    assert_int_equal(sum[1], INT32_MAX);
    run(0, &(kernel){HT_KERNEL_ADD, HT_BOOL, HT_BOOL}, cpu_row(2, both, 1, yes, 1, yes, 1));
    assert_int_equal(both[0], 1);
}
/* y = 0.75 a - 1.25 b (4, 6): a lies transposed, b is one row for all, y has gaps between its rows.
 */
static void check_strided_sum(int level, ht_dtype dtype)
{
    enum { ROWS = 4, COLUMNS = 6, ROOM = 10 };
    const kernel k = {HT_KERNEL_AXPBY, dtype, dtype};
    char y[ROWS * ROOM * MAX_BYTES] = {0};

    fill(&a, dtype, 7);
    fill(&b, dtype, 8);
    run(level, &k,
        (ht_loop){.ndim = 2,
                  .shape = {ROWS, COLUMNS},
                  .stride = {{ROOM, 1}, {1, ROWS}, {0, 1}},
                  .operand = {CPU_AT(y), CPU_AT(a.data), CPU_AT(b.data)}});
    for (int64_t i = 0; i < ROWS * ROOM; i++) {
        const int64_t r = i / ROOM, c = i % ROOM;
        const double x = cpu_get(dtype, a.data, c * ROWS + r), z = cpu_get(dtype, b.data, c);

        check_value(dtype, y, i,
                    c < COLUMNS ? rounded(dtype, 0.75 * x) + rounded(dtype, -1.25 * z) : 0);
    }
}

/* y is b, or both a and b; beyond its 67 elements nothing changes. */
static void check_sum_in_place(int level, ht_dtype dtype, bool both)
{
    static operand before;
    const kernel k = {HT_KERNEL_AXPBY, dtype, dtype};

    fill(&a, dtype, 7);
    fill(&b, dtype, both ? 7 : 8);
    before = b;
    compute_alone(&k);
    run(level, &k, cpu_row(67, b.data, 1, both ? b.data : a.data, 1, b.data, 1));
    for (int64_t i = 0; i < 80; i++)
        assert_true(cpu_same(dtype, b.data, i, i < 67 ? alone : before.data, i));
}

static void sums_of_multiples(void **state)
{
    (void)state;
    for (int l = 0; l < level_count; l++)
        for (int dtype = HT_FLOAT32; dtype <= HT_FLOAT64; dtype++) {
            check_strided_sum(l, (ht_dtype)dtype);
            check_sum_in_place(l, (ht_dtype)dtype, false);
            check_sum_in_place(l, (ht_dtype)dtype, true);
        }
}

/* Upper bounds of any layout, too, and NaN among them. */
static void bounds_have_strides(void **state)
{
    const float x[] = {-1, 5, NAN, 2, 2, 9}, low[] = {0, 1, 2, NAN}, high[] = {3, NAN, 1, 4};
    const float expected[2][6] = {{0, NAN, NAN, NAN, 3, NAN}, {0, 4, NAN, 2, 2, 4}};
    float y[6];

    (void)state;
    for (int l = 0; l < level_count; l++)
        for (int alike = 0; alike < 2; alike++) {
            ht_loop loop = cpu_row(alike ? 6 : 4, y, 1, x, 1, low, alike ? 0 : 1);

            loop.operand[3].data = (void *)(uintptr_t)(alike ? high + 3 : high);
            loop.stride[3][0] = !alike;
            run(l, &(kernel){HT_KERNEL_CLIP, HT_FLOAT32, HT_FLOAT32}, loop);
            for (int i = 0; i < (alike ? 6 : 4); i++)
                check_value(HT_FLOAT32, y, i, expected[alike][i]);
        }
}

/* Three tensors give, in a row, what numbers in place of the second and third give one by one. */
static void check_three_tensors(ht_kernel id, const char *operands)
{
    for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++) {
        const kernel k = {id, (ht_dtype)dtype, (ht_dtype)dtype};
        ht_loop loop;

        if (!exists(k.id, dtype))
            continue;
        fill(&a, operands[1] == 'b' ? HT_BOOL : k.dtype, 9);
        fill(&b, k.dtype, 10);
        fill(&third, k.dtype, 11);
        for (int64_t i = 0; i < COUNT; i++) {
            loop = cpu_row(1, alone + i * (int64_t)ht_dtype_size(k.dtype), 1, at(&a, i), 1,
                           at(&b, i), 0);
            loop.operand[3].data = (void *)(uintptr_t)at(&third, i);
            run(0, &k, loop);
        }
        loop = cpu_row(COUNT, row, 1, a.data, 1, b.data, 1);
        loop.operand[3].data = third.data;
        loop.stride[3][0] = 1;
        for (int level = 0; level < level_count; level++) {
            memset(row, 0x55, sizeof row);
            run(level, &k, loop);
            for (int64_t i = 0; i < COUNT; i++)
                assert_true(cpu_same(k.dtype, row, i, alone, i));
        }
    }
}

static void kernels_of_three_tensors(void **state)
{
#define CHECK(name, operands) check_three_tensors(HT_KERNEL_##name, operands);
    (void)state;
    HT_TERNARY_KERNELS(CHECK)
#undef CHECK
}
HT_TEST_SUITE(test_cpu_binary, cmocka_unit_test_setup(binary_and_ternary_kernels, setup),
              cmocka_unit_test_setup(integers_wrap, setup),
              cmocka_unit_test_setup(sums_of_multiples, setup),
              cmocka_unit_test_setup(bounds_have_strides, setup),
              cmocka_unit_test_setup(kernels_of_three_tensors, setup));
