/* ranks 1 own device */
/* Kernels that give a function and its derivative, of every level: the bits of the two kernels that
 * give one of them, in rows of any length, start and stride. */
#include "cpu_elementwise.h"

static char slope[(2 * COUNT + 8) * MAX_BYTES], slope_alone[(COUNT + 8) * MAX_BYTES];

static const struct slope_row {
    ht_kernel id, value, grad;
} rows[] = {
    {HT_KERNEL_GELU_SLOPE, HT_KERNEL_GELU, HT_KERNEL_GELU_GRAD},
    {HT_KERNEL_SILU_SLOPE, HT_KERNEL_SILU, HT_KERNEL_SILU_GRAD},
    {HT_KERNEL_MISH_SLOPE, HT_KERNEL_MISH, HT_KERNEL_MISH_GRAD},
};

static const struct slope_row *row_of(const struct listed *op)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].id == op->id)
            return &rows[i];
    }
    fail_msg("kernel %s has no row here", op->name);
    return NULL;
}

/* The results of the two kernels for all elements of a, the gradient for g = 1. */
static void compute_each(const struct slope_row *f, ht_dtype dtype)
{
    const kernel value = {f->value, dtype, dtype}, grad = {f->grad, dtype, dtype};

    cpu_set(dtype, b.data, 0, 1);
    run(0, &value, cpu_row(COUNT, alone, 1, a.data, 1, NULL, 0));
    run(0, &grad, cpu_row(COUNT, slope_alone, 1, b.data, 0, a.data, 1));
}

static void check_slope_row(int level, const kernel *k, int64_t n, int64_t start, int64_t ys,
                            int64_t ss, int64_t xs)
{
    const int64_t behind = n > 0 ? (n - 1) * (ys > ss ? ys : ss) + 1 : 0;

    memset(row, 0x55, (size_t)(behind + 4) * MAX_BYTES);
    memset(slope, 0x55, (size_t)(behind + 4) * MAX_BYTES);
    run(level, k, cpu_row(n, row, ys, slope, ss, at(&a, start), xs));
    for (int64_t i = 0; i < n; i++) {
        assert_true(cpu_same(k->dtype, row, i * ys, alone, start + i * xs));
        assert_true(cpu_same(k->dtype, slope, i * ss, slope_alone, start + i * xs));
    }
    assert_int_equal(row[(size_t)behind * ht_dtype_size(k->dtype)], 0x55);
    assert_int_equal(slope[(size_t)behind * ht_dtype_size(k->dtype)], 0x55);
}

static void check_slopes(int level, const kernel *k)
{
    check_slope_row(level, k, COUNT, 0, 1, 1, 1);
    for (int64_t n = 0; n <= 70; n++)
        check_slope_row(level, k, n, n % 5, 1, 1, 1);
    for (int64_t n = 1; n <= 40; n += 3) {
        check_slope_row(level, k, n, 1, 2, 1, 1);
        check_slope_row(level, k, n, 1, 1, 2, 1);
        check_slope_row(level, k, n, 2, 1, 1, 3);
        check_slope_row(level, k, n, 60, 1, 1, -1);
        check_slope_row(level, k, n, 7, 2, 2, 0);
    }
}

static void slopes_have_the_bits_of_the_other_kernels(void **state)
{
    static const struct listed list[] = {HT_SLOPE_KERNELS(LISTED)};

    (void)state;
    FOR_EACH(op, list)
    for (ht_dtype dtype = HT_FLOAT32; dtype <= HT_FLOAT64; dtype++) {
        const kernel k = {op->id, dtype, dtype};

        fill(&a, dtype, 12);
        b.dtype = dtype;
        compute_each(row_of(op), dtype);
        for (int level = 0; level < level_count; level++)
            check_slopes(level, &k);
    }
}

/* Gradients of 16 bits would be rounded twice. */
static void slope_kernels_exist_for_float_dtypes_only(void **state)
{
    static const struct listed list[] = {HT_SLOPE_KERNELS(LISTED)};

    (void)state;
    FOR_EACH(op, list)
    for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++)
        assert_int_equal(exists(op->id, dtype), dtype == HT_FLOAT32 || dtype == HT_FLOAT64);
}

/* (3, 5): y has gaps between its rows, slope lies transposed, x is row-major. */
static void outer_axes_of_all_three(void **state)
{
    enum { ROWS = 3, COLUMNS = 5, ROOM = 7 };
    float x[ROWS * COLUMNS], y[ROWS * ROOM], dy[COLUMNS * ROWS];
    ht_loop loop = {.ndim = 2,
                    .shape = {ROWS, COLUMNS},
                    .stride = {{ROOM, 1}, {1, ROWS}, {COLUMNS, 1}},
                    .operand = {CPU_AT(y), CPU_AT(dy), CPU_AT(x)}};

    (void)state;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = 0.5f * (float)(i - 7);
    for (int level = 0; level < level_count; level++) {
        memset(y, 0, sizeof y);
        run(level, &(kernel){HT_KERNEL_SILU_SLOPE, HT_FLOAT32, HT_FLOAT32}, loop);
        for (int i = 0; i < ROWS * ROOM; i++) {
            const int r = i / ROOM, c = i % ROOM;
            const double z = c < COLUMNS ? x[r * COLUMNS + c] : 0, s = 1 / (1 + exp(-z));

            check_value(HT_FLOAT32, y, i, c < COLUMNS ? z * s : 0);
            if (c < COLUMNS)
                check_sum(HT_FLOAT32, dy, c * ROWS + r, s * (1 + z * (1 - s)), 1);
        }
    }
}

HT_TEST_SUITE(test_cpu_slope,
              cmocka_unit_test_setup(slopes_have_the_bits_of_the_other_kernels, setup),
              cmocka_unit_test_setup(slope_kernels_exist_for_float_dtypes_only, setup),
              cmocka_unit_test_setup(outer_axes_of_all_three, setup));
