/* ranks 1 */
/* Elementwise kernels and conversions of every level and dtype. What one element gives alone is
 * compared with double arithmetic; what it gives in rows of any length, start and stride must be
 * the same bits, and so must what the other levels give. */
#include "complex_of.h"
#include "cpu_kernels.h"
#include "elementwise.h"

enum { COUNT = 3100, MAX_BYTES = 16 };

static cpu_level levels[3];
static int level_count;

typedef struct operand {
    ht_dtype dtype;
    _Alignas(64) char data[(COUNT + 8) * MAX_BYTES];
} operand;

static operand a, b, third;
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

/* A kernel, and the dtype of what it gives. */
typedef struct kernel {
    ht_kernel id;
    ht_dtype dtype, result;
} kernel;

static bool exists(ht_kernel id, int dtype)
{
    return levels[0].kernels.at[id][dtype] != NULL;
}

/* param: LEAKY_RELU's slope, AXPBY's factors. The third operand is CLIP's upper bound. */
static void run(int level, const kernel *k, ht_loop loop)
{
    loop.param[0] = 0.75;
    loop.param[1] = -1.25;
    if (loop.data[3] == NULL)
        cpu_set(k->dtype, loop.value[3].bytes, 0, 4);
    assert_int_equal(cpu_run(&levels[level].kernels, k->id, k->dtype, &loop), 0);
}

/* Each element by a call of its own. */
static void compute_alone(const kernel *k)
{
    for (int64_t i = 0; i < COUNT + 8; i++)
        run(0, k,
            cpu_row(1, alone + i * (int64_t)ht_dtype_size(k->result), 1, at(&a, i), 1, at(&b, i),
                    1));
}

static void check_row(int level, const kernel *k, int64_t n, int64_t start, int64_t ys, int64_t as,
                      int64_t bs)
{
    run(level, k, cpu_row(n, row, ys, at(&a, start), as, at(&b, start), bs));
    for (int64_t i = 0; i < n; i++)
        assert_true(cpu_same(k->result, row, i * ys, alone, start + i * as));
}

/* Every length up to 70, some starts, and a long row; then steps, forwards and backwards. */
static void check_layouts(int level, const kernel *k)
{
    for (int64_t n = 0; n <= 70; n++)
        check_row(level, k, n, n % 5, 1, 1, 1);
    check_row(level, k, 3000, 3, 1, 1, 1);
    for (int64_t n = 1; n <= 40; n += 3) {
        check_row(level, k, n, 1, 2, 1, 1);
        check_row(level, k, n, 2, 1, 3, 3);
        check_row(level, k, n, 60, 1, -1, -1);
    }
}

/* Operand `which` is element 5 of b in memory, of stride 0, or by value. */
static void use_scalar(ht_loop *loop, int which, bool by_value)
{
    loop->stride[which][0] = 0;
    loop->data[which] = by_value ? NULL : b.data + 5 * ht_dtype_size(b.dtype);
    if (by_value)
        memcpy(loop->value[which].bytes, at(&b, 5), ht_dtype_size(b.dtype));
}

/* An operand of stride 0, or by value, is the same as one that repeats its element. `operands`
 * counts the result, too. */
static void check_scalars(int level, const kernel *k, int operands)
{
    char repeated[64 * MAX_BYTES], expected[64 * MAX_BYTES];
    const int64_t n = 61, size = (int64_t)ht_dtype_size(b.dtype);

    for (int64_t i = 0; i < n; i++)
        memcpy(repeated + i * size, at(&b, 5), (size_t)size);
    for (int which = 1; which < operands; which++) {
        ht_loop loop = cpu_row(n, expected, 1, a.data, 1, a.data, 1);

        loop.data[which] = repeated;
        run(level, k, loop);
        loop.data[0] = row;
        for (int by_value = 0; by_value < 2; by_value++) {
            use_scalar(&loop, which, by_value);
            memset(row, 0x55, sizeof expected);
            run(level, k, loop);
            for (int64_t i = 0; i < n; i++)
                assert_true(cpu_same(k->result, row, i, expected, i));
        }
    }
}

/* Nothing but values: every element is the same. */
static void check_values(int level, const kernel *k, int operands)
{
    char one[MAX_BYTES];
    ht_loop loop = cpu_row(1, one, 1, at(&b, 5), 1, at(&b, 5), 1);

    run(level, k, loop);
    loop = cpu_row(23, row, 2, NULL, 0, NULL, 0);
    for (int which = 1; which < operands; which++)
        use_scalar(&loop, which, true);
    run(level, k, loop);
    for (int64_t i = 0; i < 23; i++)
        assert_true(cpu_same(k->result, row, 2 * i, one, 0));
}

static void check_levels_agree(const kernel *k)
{
    compute_alone(k);
    for (int level = 0; level < level_count; level++) {
        run(level, k, cpu_row(COUNT, row, 1, a.data, 1, b.data, 1));
        for (int64_t i = 0; i < COUNT; i++)
            assert_true(cpu_same(k->result, row, i, alone, i));
    }
}

static void check_levels(const kernel *k, int operands)
{
    for (int level = 0; level < level_count; level++) {
        check_layouts(level, k);
        check_scalars(level, k, operands);
        check_values(level, k, operands);
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

static double complex get_complex(ht_dtype dtype, const void *array, int64_t i)
{
    const ht_dtype part = dtype == HT_COMPLEX64 ? HT_FLOAT32 : HT_FLOAT64;

    return complex_of(cpu_get(part, array, 2 * i), cpu_get(part, array, 2 * i + 1));
}

/* What a number is in a dtype. */
static double rounded(ht_dtype dtype, double value)
{
    char element[MAX_BYTES];

    cpu_set(dtype, element, 0, value);
    return cpu_get(dtype, element, 0);
}

/* Relative to the absolute value; where infinities are, only that the result is not finite. */
static void check_complex_value(ht_dtype dtype, const void *got, int64_t i, double complex expected)
{
    const double complex value = get_complex(dtype, got, i);

    if (isfinite(rounded(dtype, cabs(expected))))
        assert_true(cabs(value - expected) <=
                    16 * cpu_eps(dtype) * cabs(expected) + (dtype == HT_COMPLEX64 ? 0x1p-147 : 0));
    else
        assert_false(isfinite(creal(value)) && isfinite(cimag(value)));
}

/* A row of the lists of kernels. */
static const struct listed {
    ht_kernel id;
    const char *name, *operands;
} unary_list[] =
    {
#define ROW(name, operands) {HT_KERNEL_##name, #name, operands},
        HT_UNARY_KERNELS(ROW)},
  others_list[] = {HT_BINARY_KERNELS(ROW) HT_TERNARY_KERNELS(ROW)
#undef ROW
};

#define FOR_EACH(op, list) \
    for (const struct listed *op = list; op < list + sizeof list / sizeof *list; op++)

static void check_unary(const kernel *k, const ht_test_function *f)
{
    for (int64_t i = 0; i < COUNT; i++) {
        if (!ht_dtype_is_complex(k->dtype))
            check_value(k->dtype, alone, i, f->value(cpu_get(k->dtype, a.data, i)));
        else if (f->complex_value != NULL)
            check_complex_value(k->dtype, alone, i,
                                f->complex_value(get_complex(k->dtype, a.data, i)));
        else
            fail_msg("%s has no complex value in its row", f->name);
    }
}

static void unary_kernels(void **state)
{
    (void)state;
    FOR_EACH(op, unary_list)
    for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++) {
        const kernel k = {op->id, (ht_dtype)dtype, (ht_dtype)dtype};

        if (!exists(op->id, dtype))
            continue;
        fill(&a, k.dtype, 1);
        fill(&b, k.dtype, 2);
        check_levels_agree(&k);
        check_unary(&k, ht_test_function_of(op->id, op->name));
        check_levels(&k, 2);
    }
}

/* The dtype that arithmetic is done in. */
static ht_dtype computed_in(ht_dtype dtype)
{
    return dtype == HT_FLOAT16 || dtype == HT_BFLOAT16 ? HT_FLOAT32 : dtype;
}

/* g (1 - y^2), rounded where the kernel does, as it cancels. */
static double tanh_grad(ht_dtype dtype, double g, double y)
{
    const ht_dtype in = computed_in(dtype);

    return g * rounded(in, 1 - rounded(in, y * y));
}

static double reference(const struct listed *op, ht_dtype dtype, double x, double y)
{
    switch (op->id) {
    case HT_KERNEL_ADD:
        return dtype == HT_BOOL ? x != 0 || y != 0 : x + y;
    case HT_KERNEL_SUB:
        return x - y;
    case HT_KERNEL_MUL:
        return x * y;
    case HT_KERNEL_DIV:
        return x / y;
    case HT_KERNEL_EQ:
        return x == y;
    case HT_KERNEL_NE:
        return x != y;
    case HT_KERNEL_LT:
        return x < y;
    case HT_KERNEL_LE:
        return x <= y;
    case HT_KERNEL_GT:
        return x > y;
    case HT_KERNEL_GE:
        return x >= y;
    case HT_KERNEL_MINIMUM:
        return isnan(x) || isnan(y) ? NAN : fmin(x, y);
    case HT_KERNEL_MAXIMUM:
        return isnan(x) || isnan(y) ? NAN : fmax(x, y);
    case HT_KERNEL_RELU_GRAD:
        return y > 0 ? x : 0;
    case HT_KERNEL_TANH_GRAD:
        return tanh_grad(dtype, x, y);
    case HT_KERNEL_LEAKY_RELU:
        return y > 0 ? x : 0.75 * x;
    case HT_KERNEL_AXPBY:
        return rounded(dtype, 0.75 * x) + rounded(dtype, -1.25 * y);
    case HT_KERNEL_CLIP:
        return isnan(x) || isnan(y) ? NAN : fmin(fmax(x, y), 4);
    default:
        fail_msg("kernel %s has no reference here", op->name);
        return NAN;
    }
}

static double complex complex_reference(const struct listed *op, double complex x, double complex y)
{
    switch (op->id) {
    case HT_KERNEL_ADD:
        return x + y;
    case HT_KERNEL_SUB:
        return x - y;
    case HT_KERNEL_MUL:
        return x * y;
    case HT_KERNEL_DIV:
        return x / y;
    case HT_KERNEL_EQ:
        return x == y;
    case HT_KERNEL_NE:
        return x != y;
    case HT_KERNEL_RELU_GRAD:
        return creal(y) > 0 ? x : 0;
    case HT_KERNEL_TANH_GRAD:
        return x * (1 - y * y);
    case HT_KERNEL_AXPBY:
        return 0.75 * x - 1.25 * y;
    default:
        fail_msg("kernel %s has no reference of complex numbers here", op->name);
        return NAN;
    }
}

static void check_binary(const kernel *k, const struct listed *op)
{
    for (int64_t i = 0; i < COUNT; i++) {
        double complex z;

        if (!ht_dtype_is_complex(k->dtype)) {
            check_value(k->result, alone, i,
                        reference(op, k->dtype, cpu_get(k->dtype, a.data, i),
                                  cpu_get(k->dtype, b.data, i)));
            continue;
        }
        z = complex_reference(op, get_complex(k->dtype, a.data, i),
                              get_complex(k->dtype, b.data, i));
        if (k->result == HT_BOOL)
            check_value(HT_BOOL, alone, i, creal(z));
        else
            check_complex_value(k->dtype, alone, i, z);
    }
}

/* Of CLIP the third operand is a number. */
static void binary_and_ternary_kernels(void **state)
{
    (void)state;
    FOR_EACH(op, others_list)
    for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++) {
        const kernel k = {op->id, (ht_dtype)dtype,
                          op->operands[0] == 'B' ? HT_BOOL : (ht_dtype)dtype};

        if (!exists(op->id, dtype))
            continue;
        fill(&a, k.dtype, 3);
        fill(&b, k.dtype, 4);
        check_levels_agree(&k);
        check_binary(&k, op);
        check_levels(&k, 3);
    }
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

static void conversions(void **state)
{
    (void)state;
    for (int from = 0; from < HT_DTYPE_COUNT; from++)
        for (int to = 0; to < HT_DTYPE_COUNT; to++) {
            const kernel k = {HT_KERNEL_CONVERT(to), (ht_dtype)from, (ht_dtype)to};
            const bool whole = ht_dtype_is_integer(k.result);

            fill(&a, k.dtype, 5);
            fill(&b, k.dtype, 6);
            for (int64_t i = 0; whole && i < COUNT + 8; i++) { /* in range, finite */
                cpu_set(k.dtype, a.data, i, (double)(i % 100));
                cpu_set(k.dtype, b.data, i, (double)(i % 90));
            }
            check_levels_agree(&k);
            for (int64_t i = 0; i < COUNT && to != HT_BOOL; i++)
                check_value(k.result, alone, i, cpu_get(k.dtype, a.data, i));
            check_levels(&k, 2);
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
        run(l, &(kernel){HT_KERNEL_NEG, HT_FLOAT32, HT_FLOAT32}, loop);
        for (int n = 0; n < N; n++)
            for (int c = 0; c < CH; c++)
                for (int i = 0; i < H * W; i++)
                    assert_true(y[(n * H * W + i) * CH + c] == -x[(n * CH + c) * H * W + i]);
    }
}

/* A value converted to its own dtype fills, and leaves alone what lies between the rows. */
static void fills(void **state)
{
    enum { ROWS = 3, COLUMNS = 5, ROOM = 7 };
    double y[ROWS * ROOM];
    ht_loop loop = {.ndim = 2,
                    .shape = {ROWS, COLUMNS},
                    .stride = {{ROOM, 1}},
                    .data = {y},
                    .value = {{{0}}, {.real = {2.5}}}};

    (void)state;
    for (int l = 0; l < level_count; l++) {
        memset(y, 0, sizeof y);
        run(l, &(kernel){HT_KERNEL_CONVERT(HT_FLOAT64), HT_FLOAT64, HT_FLOAT64}, loop);
        for (int i = 0; i < ROWS * ROOM; i++)
            assert_true(y[i] == (i % ROOM < COLUMNS ? 2.5 : 0));
    }
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
                  .data = {y, a.data, b.data}});
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

            loop.data[3] = (void *)(uintptr_t)(alike ? high + 3 : high);
            loop.stride[3][0] = !alike;
            run(l, &(kernel){HT_KERNEL_CLIP, HT_FLOAT32, HT_FLOAT32}, loop);
            for (int i = 0; i < (alike ? 6 : 4); i++)
                check_value(HT_FLOAT32, y, i, expected[alike][i]);
        }
}

/* Three tensors give, in a row, what numbers in place of the second and third give one by one. */
static void check_three_tensors(ht_kernel id)
{
    for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++) {
        const kernel k = {id, (ht_dtype)dtype, (ht_dtype)dtype};
        ht_loop loop;

        if (!exists(k.id, dtype))
            continue;
        fill(&a, k.dtype, 9);
        fill(&b, k.dtype, 10);
        fill(&third, k.dtype, 11);
        for (int64_t i = 0; i < COUNT; i++) {
            loop = cpu_row(1, alone + i * (int64_t)ht_dtype_size(k.dtype), 1, at(&a, i), 1,
                           at(&b, i), 0);
            loop.data[3] = (void *)(uintptr_t)at(&third, i);
            run(0, &k, loop);
        }
        loop = cpu_row(COUNT, row, 1, a.data, 1, b.data, 1);
        loop.data[3] = third.data;
        loop.stride[3][0] = 1;
        for (int level = 0; level < level_count; level++) {
            memset(row, 0x55, sizeof row);
            run(level, &k, loop);
            for (int64_t i = 0; i < COUNT; i++)
                assert_true(cpu_same(k.dtype, row, i, alone, i));
        }
    }
}

static void three_tensors(void **state)
{
#define CHECK(name, operands) check_three_tensors(HT_KERNEL_##name);
    (void)state;
    HT_TERNARY_KERNELS(CHECK)
#undef CHECK
}

static int setup(void **state)
{
    (void)state;
    if (level_count == 0)
        level_count = cpu_levels(levels);
    return 0;
}

HT_TEST_SUITE(test_cpu_elementwise, cmocka_unit_test_setup(unary_kernels, setup),
              cmocka_unit_test_setup(binary_and_ternary_kernels, setup),
              cmocka_unit_test_setup(integers_wrap, setup),
              cmocka_unit_test_setup(conversions, setup), cmocka_unit_test_setup(outer_axes, setup),
              cmocka_unit_test_setup(fills, setup),
              cmocka_unit_test_setup(sums_of_multiples, setup),
              cmocka_unit_test_setup(bounds_have_strides, setup),
              cmocka_unit_test_setup(three_tensors, setup));
