/* ranks 1 */
/* Elementwise kernels and conversions of every level and dtype. What one element gives alone is
 * compared with double arithmetic; what it gives in rows of any length, start and stride must be
 * the same bits, and so must what the other levels give. */
#include "cpu_kernels.h"

enum { COUNT = 3100, MAX_BYTES = 16 };

static cpu_level levels[3];
static int level_count;

typedef struct operand {
    ht_dtype dtype;
    _Alignas(64) char data[(COUNT + 8) * MAX_BYTES];
} operand;

static operand a, b;
static char alone[(COUNT + 8) * MAX_BYTES], row[(2 * COUNT + 8) * MAX_BYTES];

static void fill(operand *x, ht_dtype dtype, uint64_t seed)
{
    static const double special[] = {0,   -0.0,     1,  -1, INFINITY, -INFINITY,
                                     NAN, 0x1p-130, -3, 90, -105};
    const bool whole = ht_dtype_is_integer(dtype) || dtype == HT_BOOL;

    x->dtype = dtype;
    for (int64_t i = 0; i < COUNT + 8; i++) {
        double value = 20 * cpu_random(&seed) - (dtype == HT_UINT8 ? 0 : 10);

        if (!whole && i % 7 == 3)
            value = special[i / 7 % 11];
        cpu_set(dtype, x->data, i, value);
    }
}

static const char *at(const operand *x, int64_t i)
{
    return x->data + i * (int64_t)ht_dtype_size(x->dtype);
}

/* Each element by a call of its own. */
static void compute_alone(ht_loop_fn f, ht_dtype result)
{
    for (int64_t i = 0; i < COUNT + 8; i++) {
        ht_loop loop = cpu_row(1, alone + i * (int64_t)ht_dtype_size(result), 1, at(&a, i), 1,
                               at(&b, i), 1);
        assert_int_equal(f(NULL, &loop), 0);
    }
}

static void check_row(ht_loop_fn f, ht_dtype result, int64_t n, int64_t start, int64_t ys,
                      int64_t as, int64_t bs)
{
    ht_loop loop = cpu_row(n, row, ys, at(&a, start), as, at(&b, start), bs);

    assert_int_equal(f(NULL, &loop), 0);
    for (int64_t i = 0; i < n; i++)
        assert_true(cpu_same(result, row, i * ys, alone, start + i * as));
}

/* Every length up to 70, some starts, and a long row; then steps, forwards and backwards. */
static void check_layouts(ht_loop_fn f, ht_dtype result)
{
    for (int64_t n = 0; n <= 70; n++)
        check_row(f, result, n, n % 5, 1, 1, 1);
    check_row(f, result, 3000, 3, 1, 1, 1);
    for (int64_t n = 1; n <= 40; n += 3) {
        check_row(f, result, n, 1, 2, 1, 1);
        check_row(f, result, n, 2, 1, 3, 3);
        check_row(f, result, n, 60, 1, -1, -1);
    }
}

/* An operand of stride 0 is the same as one that repeats its element. */
static void check_scalars(ht_loop_fn f, ht_dtype result)
{
    char repeated[64 * MAX_BYTES], expected[64 * MAX_BYTES];
    const int64_t n = 61, size = (int64_t)ht_dtype_size(b.dtype);
    ht_loop loop;

    for (int64_t i = 0; i < n; i++)
        memcpy(repeated + i * size, at(&b, 5), (size_t)size);
    for (int side = 0; side < 2; side++) {
        loop = side ? cpu_row(n, expected, 1, repeated, 1, a.data, 1)
                    : cpu_row(n, expected, 1, a.data, 1, repeated, 1);
        assert_int_equal(f(NULL, &loop), 0);
        loop = side ? cpu_row(n, row, 1, at(&b, 5), 0, a.data, 1)
                    : cpu_row(n, row, 1, a.data, 1, at(&b, 5), 0);
        assert_int_equal(f(NULL, &loop), 0);
        for (int64_t i = 0; i < n; i++)
            assert_true(cpu_same(result, row, i, expected, i));
    }
}

static void check_levels_agree(ht_loop_fn of_level[], ht_dtype result)
{
    for (int l = 0; l < level_count; l++) {
        ht_loop loop = cpu_row(COUNT, row, 1, a.data, 1, b.data, 1);

        assert_int_equal(of_level[l](NULL, &loop), 0);
        if (l == 0)
            compute_alone(of_level[0], result);
        for (int64_t i = 0; i < COUNT; i++)
            assert_true(cpu_same(result, row, i, alone, i));
    }
}

static double unary_reference(ht_unary_kernel op, double x)
{
    switch (op) {
    case HT_UNARY_NEG:
        return -x;
    case HT_UNARY_EXP:
        return exp(x);
    case HT_UNARY_LOG:
        return log(x);
    case HT_UNARY_SQRT:
        return sqrt(x);
    case HT_UNARY_TANH:
        return tanh(x);
    default:
        return isnan(x) || x > 0 ? x : 0;
    }
}

/* Relative to the result; what is beyond the range of the dtype went there in the reference too. */
static void check_value(ht_dtype dtype, const void *got, int64_t i, double expected)
{
    char rounded[MAX_BYTES];
    double value = cpu_get(dtype, got, i);

    cpu_set(dtype, rounded, 0, expected);
    expected = cpu_get(dtype, rounded, 0);
    if (isnan(expected))
        assert_true(isnan(value));
    else if (isinf(expected) || expected == 0)
        assert_true(value == expected);
    else
        assert_true(fabs(value - expected) <= 4 * cpu_eps(dtype) * fabs(expected) + 0x1p-148);
}

static void unary_kernels(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++)
        for (int op = 0; op < HT_UNARY_COUNT; op++) {
            ht_loop_fn of_level[3] = {0};

            for (int l = 0; l < level_count; l++)
                of_level[l] = levels[l].kernels.unary[op][dtype];
            if (of_level[0] == NULL)
                continue;
            fill(&a, (ht_dtype)dtype, 1);
            fill(&b, (ht_dtype)dtype, 2);
            check_levels_agree(of_level, (ht_dtype)dtype);
            for (int64_t i = 0; i < COUNT && !ht_dtype_is_complex((ht_dtype)dtype); i++)
                check_value(
                    (ht_dtype)dtype, alone, i,
                    unary_reference((ht_unary_kernel)op, cpu_get((ht_dtype)dtype, a.data, i)));
            for (int l = 0; l < level_count; l++)
                check_layouts(of_level[l], (ht_dtype)dtype);
        }
}

static double binary_reference(ht_binary_kernel op, ht_dtype dtype, double x, double y)
{
    switch (op) {
    case HT_BINARY_ADD:
        return dtype == HT_BOOL ? x != 0 || y != 0 : x + y;
    case HT_BINARY_SUB:
        return x - y;
    case HT_BINARY_MUL:
        return x * y;
    case HT_BINARY_DIV:
        return x / y;
    case HT_BINARY_EQ:
        return x == y;
    case HT_BINARY_NE:
        return x != y;
    case HT_BINARY_LT:
        return x < y;
    case HT_BINARY_LE:
        return x <= y;
    case HT_BINARY_GT:
        return x > y;
    case HT_BINARY_GE:
        return x >= y;
    case HT_BINARY_MINIMUM:
        return isnan(x) || isnan(y) ? NAN : fmin(x, y);
    case HT_BINARY_MAXIMUM:
        return isnan(x) || isnan(y) ? NAN : fmax(x, y);
    case HT_BINARY_RELU_GRAD:
        return y > 0 ? x : 0;
    default:
        return NAN;
    }
}

static bool is_comparison(int op)
{
    return op >= HT_BINARY_EQ && op <= HT_BINARY_GE;
}

static void binary_kernels(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++)
        for (int op = 0; op < HT_BINARY_COUNT; op++) {
            const ht_dtype result = is_comparison(op) ? HT_BOOL : (ht_dtype)dtype;
            ht_loop_fn of_level[3] = {0};

            for (int l = 0; l < level_count; l++)
                of_level[l] = levels[l].kernels.binary[op][dtype];
            if (of_level[0] == NULL)
                continue;
            fill(&a, (ht_dtype)dtype, 3);
            fill(&b, (ht_dtype)dtype, 4);
            check_levels_agree(of_level, result);
            for (int64_t i = 0;
                 i < COUNT && !ht_dtype_is_complex((ht_dtype)dtype) && op != HT_BINARY_TANH_GRAD;
                 i++)
                check_value(result, alone, i,
                            binary_reference((ht_binary_kernel)op, (ht_dtype)dtype,
                                             cpu_get((ht_dtype)dtype, a.data, i),
                                             cpu_get((ht_dtype)dtype, b.data, i)));
            for (int l = 0; l < level_count; l++) {
                check_layouts(of_level[l], result);
                check_scalars(of_level[l], result);
            }
        }
}

/* Sums and products of integers wrap around, and a bool of two ones stays one. */
static void integers_wrap(void **state)
{
    int32_t big[2] = {INT32_MAX, INT32_MIN}, one[2] = {1, -1}, sum[2];
    uint8_t yes[2] = {1, 1}, both[2];
    ht_loop loop = cpu_row(2, sum, 1, big, 1, one, 1);

    (void)state;
    levels[0].kernels.binary[HT_BINARY_ADD][HT_INT32](NULL, &loop);
    assert_int_equal(sum[0], INT32_MIN);
    assert_int_equal(sum[1], INT32_MAX);
    loop = cpu_row(2, both, 1, yes, 1, yes, 1);
    levels[0].kernels.binary[HT_BINARY_ADD][HT_BOOL](NULL, &loop);
    assert_int_equal(both[0], 1);
}

static void conversions(void **state)
{
    (void)state;
    for (int from = 0; from < HT_DTYPE_COUNT; from++)
        for (int to = 0; to < HT_DTYPE_COUNT; to++) {
            const bool whole = ht_dtype_is_integer((ht_dtype)to);
            ht_loop_fn of_level[3] = {0};

            for (int l = 0; l < level_count; l++)
                of_level[l] = levels[l].kernels.convert[from][to];
            assert_non_null(of_level[0]);
            fill(&a, (ht_dtype)from, 5);
            fill(&b, (ht_dtype)from, 6);
            for (int64_t i = 0; whole && i < COUNT + 8; i++) /* in range, finite */
                cpu_set((ht_dtype)from, a.data, i, (double)(i % 100));
            check_levels_agree(of_level, (ht_dtype)to);
            for (int64_t i = 0; i < COUNT && to != HT_BOOL; i++)
                check_value((ht_dtype)to, alone, i, cpu_get((ht_dtype)from, a.data, i));
            for (int l = 0; l < level_count; l++)
                check_layouts(of_level[l], (ht_dtype)to);
        }
}

/* Images from row-major to channels-last: outer axes, and a step along the row. */
static void outer_axes(void **state)
{
    enum { N = 2, CH = 3, H = 4, W = 5 };
    float x[N * CH * H * W], y[N * CH * H * W];
    ht_loop loop = {.ndim = 4,
                    .shape = {N, H, W, CH},
                    .stride = {{H * W * CH, W * CH, CH, 1}, {CH * H * W, W, 1, H * W}},
                    .data = {y, x}};

    (void)state;
    for (int i = 0; i < N * CH * H * W; i++)
        x[i] = (float)i;
    for (int l = 0; l < level_count; l++) {
        memset(y, 0, sizeof y);
        levels[l].kernels.unary[HT_UNARY_NEG][HT_FLOAT32](NULL, &loop);
        for (int n = 0; n < N; n++)
            for (int c = 0; c < CH; c++)
                for (int i = 0; i < H * W; i++)
                    assert_true(y[(n * H * W + i) * CH + c] == -x[(n * CH + c) * H * W + i]);
    }
}

static int setup(void **state)
{
    (void)state;
    if (level_count == 0)
        level_count = cpu_levels(levels);
    return 0;
}

HT_TEST_SUITE(test_cpu_elementwise, cmocka_unit_test_setup(unary_kernels, setup),
              cmocka_unit_test_setup(binary_kernels, setup),
              cmocka_unit_test_setup(integers_wrap, setup),
              cmocka_unit_test_setup(conversions, setup),
              cmocka_unit_test_setup(outer_axes, setup));
