/* ranks 1 own device */
/* Reductions and cumulative sums of every level and dtype against naive loops. Matrices of all
 * small widths and of large ones are reduced along either axis, transposed, and over both axes at
 * once. */
#include "core/tensor/tensor.h"
#include "cpu_kernels.h"
#include "ht/kernels/reduce.h"

enum { MAX = 5000, MAX_BYTES = 16 };

static cpu_level levels[3];
static int level_count;
static _Alignas(64) char x[MAX * MAX_BYTES], y[MAX * MAX_BYTES];
static int64_t position[MAX];

static ht_dtype total_dtype(ht_dtype dtype)
{
    return dtype == HT_BOOL || ht_dtype_is_integer(dtype) ? HT_INT64 : dtype;
}

/* Small whole numbers, exact in every dtype, with equals among them; `nan` puts one in the middle.
 */
static void fill(ht_dtype dtype, int64_t n, bool nan)
{
    uint64_t state = 9;

    for (int64_t i = 0; i < n; i++)
        cpu_set(dtype, x, i, floor(4 * cpu_random(&state)) - (dtype == HT_UINT8 ? 0 : 2));
    if (nan)
        cpu_set(dtype, x, n / 2, NAN);
}

/* (outputs, reduced), elements by two strides. */
static ht_reduction reduction(int64_t outputs, int64_t between, int64_t reduced, int64_t step)
{
    ht_reduction r = {.loop = {.ndim = 1,
                               .shape = {outputs},
                               .stride = {{1}, {between}, {1}},
                               .operand = {CPU_AT(y), CPU_AT(x), CPU_AT(position)}},
                      .ndim = 1,
                      .shape = {reduced},
                      .stride = {step}};
    return r;
}

static void check_sum(const ht_kernel_table *k, ht_dtype dtype, ht_reduction *r)
{
    assert_int_equal(cpu_run(k, HT_KERNEL_SUM, dtype, r), 0);
    for (int64_t o = 0; o < r->loop.shape[0]; o++) {
        char rounded[MAX_BYTES];
        double sum = 0;

        for (int64_t i = 0; i < r->shape[0]; i++)
            sum += cpu_get(dtype, x, o * r->loop.stride[1][0] + i * r->stride[0]);
        cpu_set(total_dtype(dtype), rounded, 0, sum);
        assert_true(cpu_get(total_dtype(dtype), y, o) == cpu_get(total_dtype(dtype), rounded, 0));
    }
}

/* A tenth of the outputs are 0, most others small enough to be exact. */
static void check_prod(const ht_kernel_table *k, ht_dtype dtype, ht_reduction *r)
{
    const ht_dtype wide = dtype < HT_FLOAT16           ? HT_INT64
                          : ht_dtype_is_complex(dtype) ? HT_COMPLEX128
                                                       : HT_FLOAT64;

    assert_int_equal(cpu_run(k, HT_KERNEL_PROD, dtype, r), 0);
    for (int64_t o = 0; o < r->loop.shape[0]; o++) {
        double product = 1;

        for (int64_t i = 0; i < r->shape[0]; i++)
            product *= cpu_get(dtype, x, o * r->loop.stride[1][0] + i * r->stride[0]);
        assert_true(ht_dtype_is_complex(dtype) || cpu_get(wide, y, o) == product);
    }
}

/* Sums over 3 in the accumulator's dtype, rounded to the input's. */
static void check_wide(const ht_kernel_table *k, ht_dtype dtype, ht_reduction *r)
{
    const ht_dtype wide = ht_dtype_is_complex(dtype) ? HT_COMPLEX128 : HT_FLOAT64;
    const ht_dtype mean = dtype < HT_FLOAT16 ? HT_FLOAT32 : dtype;
    static _Alignas(64) char found[2][MAX * MAX_BYTES];
    const ht_kernel ids[2] = {HT_KERNEL_SUM_WIDE, HT_KERNEL_MEAN};

    for (int i = 0; i < 2; i++) {
        ht_reduction job = *r;

        job.divisor = 3;
        job.loop.operand[0].data = found[i];
        assert_int_equal(cpu_run(k, ids[i], dtype, &job), 0);
    }
    for (int64_t o = 0; o < r->loop.shape[0]; o++) {
        char rounded[MAX_BYTES];
        double sum = 0;

        for (int64_t i = 0; i < r->shape[0]; i++)
            sum += cpu_get(dtype, x, o * r->loop.stride[1][0] + i * r->stride[0]);
        cpu_set(mean, rounded, 0, sum / 3);
        assert_true(cpu_get(wide, found[0], o) == sum / 3);
        assert_true(cpu_get(mean, found[1], o) == cpu_get(mean, rounded, 0));
    }
}

/* The squares about the mean, and records for others. Integers: sums and squares are exact. */
static void check_moments(const ht_kernel_table *k, ht_dtype dtype, ht_reduction *r)
{
    const bool is_complex = ht_dtype_is_complex(dtype);
    static double found[2][6 * MAX];

    for (int i = 0; i < 2; i++) {
        ht_reduction job = *r;

        job.divisor = 1;
        job.loop.operand[0].data = found[i];
        job.loop.stride[0][0] = i == 0 ? 1 : 6;
        assert_int_equal(cpu_run(k, i == 0 ? HT_KERNEL_SPREAD : HT_KERNEL_MOMENTS, dtype, &job), 0);
    }
    for (int64_t o = 0; o < r->loop.shape[0]; o++) {
        const double n = (double)r->shape[0], *record = found[1] + 6 * o;
        const double shift = record[1], distance = record[is_complex ? 3 : 2];
        double sum = 0, squares = 0;

        for (int64_t i = 0; i < r->shape[0]; i++) {
            double value = cpu_get(dtype, x, o * r->loop.stride[1][0] + i * r->stride[0]);

            sum += value;
            squares += (is_complex ? 1.25 : 1) * value * value;
        }
        assert_true(record[0] == n && distance + n * shift == sum);
        squares -= (is_complex ? 1.25 : 1) * sum * sum / n;
        assert_true(fabs(found[0][o] - squares) <= 0x1p-50 * n);
    }
}

/* Integers: their squares are exact in double, in any order. */
static void check_powers(const ht_kernel_table *k, ht_dtype dtype, ht_reduction *r)
{
    for (int squares = 0; squares < 2; squares++) {
        const ht_kernel id = squares ? HT_KERNEL_SUM_SQUARES : HT_KERNEL_SUM_ABS;

        assert_int_equal(cpu_run(k, id, dtype, r), 0);
        for (int64_t o = 0; o < r->loop.shape[0]; o++) {
            double sum = 0;

            for (int64_t i = 0; i < r->shape[0]; i++) {
                double value = cpu_get(dtype, x, o * r->loop.stride[1][0] + i * r->stride[0]);

                sum += squares ? value * value : fabs(value);
            }
            assert_true(cpu_get(HT_FLOAT64, y, o) == sum);
        }
    }
}

/* The first of the largest (sign 1) or smallest (sign -1); NaN is beyond both. */
static void check_extreme(const ht_kernel_table *k, ht_dtype dtype, ht_reduction *r, int sign)
{
    const ht_kernel value = sign > 0 ? HT_KERNEL_MAX : HT_KERNEL_MIN;
    const ht_kernel arg = sign > 0 ? HT_KERNEL_ARGMAX : HT_KERNEL_ARGMIN;

    for (int with_position = 0; with_position < 2; with_position++) {
        assert_int_equal(cpu_run(k, with_position ? arg : value, dtype, r), 0);
        for (int64_t o = 0; o < r->loop.shape[0]; o++) {
            const int64_t start = o * r->loop.stride[1][0];
            int64_t best = 0;

            for (int64_t i = 1; i < r->shape[0]; i++) {
                double now = cpu_get(dtype, x, start + i * r->stride[0]);
                double old = cpu_get(dtype, x, start + best * r->stride[0]);

                if ((sign * now > sign * old) || (isnan(now) && !isnan(old)))
                    best = i;
            }
            assert_true(cpu_same(dtype, y, o, x, start + best * r->stride[0]));
            if (with_position)
                assert_int_equal(position[o], best);
        }
    }
}

static void check_largest(const ht_kernel_table *k, ht_dtype dtype, ht_reduction *r)
{
    check_extreme(k, dtype, r, 1);
}

static void check_smallest(const ht_kernel_table *k, ht_dtype dtype, ht_reduction *r)
{
    check_extreme(k, dtype, r, -1);
}

/* One or two kernels each, which have the same dtypes. */
static const struct {
    void (*check)(const ht_kernel_table *k, ht_dtype dtype, ht_reduction *r);
    ht_kernel kernels[2];
    bool takes_nan;
} checks[] = {
    {check_sum, {HT_KERNEL_SUM, -1}, false},
    {check_prod, {HT_KERNEL_PROD, -1}, false},
    {check_wide, {HT_KERNEL_SUM_WIDE, HT_KERNEL_MEAN}, false},
    {check_moments, {HT_KERNEL_SPREAD, HT_KERNEL_MOMENTS}, false},
    {check_powers, {HT_KERNEL_SUM_ABS, HT_KERNEL_SUM_SQUARES}, false},
    {check_largest, {HT_KERNEL_MAX, HT_KERNEL_ARGMAX}, true},
    {check_smallest, {HT_KERNEL_MIN, HT_KERNEL_ARGMIN}, true},
};

static void check_matrix(ht_dtype dtype, int64_t rows, int64_t columns, bool nan)
{
    ht_reduction along[] = {
        reduction(rows, columns, columns, 1), /* each row */
        reduction(columns, 1, rows, columns), /* each column */
    };

    fill(dtype, rows * columns, nan);
    for (int l = 0; l < level_count; l++)
        for (int axis = 0; axis < 2; axis++)
            for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
                if (levels[l].kernels.at[checks[i].kernels[0]][dtype] != NULL &&
                    (!nan || checks[i].takes_nan))
                    checks[i].check(&levels[l].kernels, dtype, &along[axis]);
}

/* A kernel of the list is checked by one of them. */
static void every_kernel_is_checked(void **state)
{
#define ROW(name, operands) {HT_KERNEL_##name, #name},
    static const struct {
        ht_kernel id;
        const char *name;
    } list[] = {HT_REDUCE_KERNELS(ROW)};
#undef ROW

    (void)state;
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        bool is_checked = false;

        for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
            is_checked = is_checked || checks[i].kernels[0] == list[k].id ||
                         checks[i].kernels[1] == list[k].id;
        if (!is_checked)
            fail_msg("kernel %s has no check here", list[k].name);
    }
}

static void matrices(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++) {
        const bool nan = ht_dtype_is_floating((ht_dtype)dtype);

        for (int64_t columns = 1; columns <= 70; columns++)
            check_matrix((ht_dtype)dtype, 1 + columns % 4, columns, nan && columns % 2);
        check_matrix((ht_dtype)dtype, 1, MAX, nan);
        check_matrix((ht_dtype)dtype, 3, 1500, false);
        for (int64_t columns = 2; columns <= 66; columns += columns < 9 ? 1 : 19)
            check_matrix((ht_dtype)dtype, MAX / columns, columns, nan && columns % 2);
    }
}

static void sums_without_elements_are_zero(void **state)
{
    (void)state;
    for (int l = 0; l < level_count; l++) {
        ht_reduction r = reduction(12, 1, 0, 12);

        memset(y, 1, sizeof y);
        assert_int_equal(cpu_run(&levels[l].kernels, HT_KERNEL_SUM, HT_FLOAT32, &r), 0);
        for (int64_t o = 0; o < 12; o++)
            assert_true(cpu_get(HT_FLOAT32, y, o) == 0);
    }
}

/* (7, 5, 11) over its outer and inner axis: positions count through both. */
static void argmax_over_an_outer_and_an_inner_axis(void **state)
{
    ht_reduction r = {.loop = {.ndim = 1,
                               .shape = {5},
                               .stride = {{1}, {11}, {1}},
                               .operand = {CPU_AT(y), CPU_AT(x), CPU_AT(position)}},
                      .ndim = 2,
                      .shape = {7, 11},
                      .stride = {55, 1}};

    (void)state;
    for (int64_t i = 0; i < 7 * 5 * 11; i++)
        cpu_set(HT_FLOAT32, x, i, (double)(i * 37 % 385));
    for (int l = 0; l < level_count; l++) {
        assert_int_equal(cpu_run(&levels[l].kernels, HT_KERNEL_ARGMAX, HT_FLOAT32, &r), 0);
        for (int64_t o = 0; o < 5; o++) {
            double largest = -1;
            int64_t where = 0;

            for (int64_t i = 0; i < 77; i++) {
                double value = cpu_get(HT_FLOAT32, x, i / 11 * 55 + o * 11 + i % 11);

                where = value > largest ? i : where;
                largest = fmax(largest, value);
            }
            assert_int_equal(position[o], where);
            assert_true(cpu_get(HT_FLOAT32, y, o) == largest);
        }
    }
}

/* Rows of 4 without gaps in each of 3 blocks, with gaps between these. */
static void narrow_rows_in_blocks(void **state)
{
    ht_reduction r = reduction(4, 1, 3, 400);

    (void)state;
    r.ndim = 2;
    r.shape[1] = 45;
    r.stride[1] = 4;
    for (int64_t i = 0; i < 1200; i++)
        cpu_set(HT_FLOAT32, x, i, (double)(i * 7 % 1201));
    for (int l = 0; l < level_count; l++) {
        double sum[4] = {0}, largest[4] = {0};
        int64_t where[4] = {0};

        for (int64_t i = 0; i < 3 * 45 * 4; i++) {
            double value = cpu_get(HT_FLOAT32, x, i / 180 * 400 + i % 180);

            sum[i % 4] += value;
            where[i % 4] = value > largest[i % 4] ? i / 4 : where[i % 4];
            largest[i % 4] = fmax(largest[i % 4], value);
        }
        cpu_run(&levels[l].kernels, HT_KERNEL_SUM, HT_FLOAT32, &r);
        for (int o = 0; o < 4; o++)
            assert_true(cpu_get(HT_FLOAT32, y, o) == sum[o]);
        cpu_run(&levels[l].kernels, HT_KERNEL_ARGMAX, HT_FLOAT32, &r);
        for (int o = 0; o < 4; o++)
            assert_true(cpu_get(HT_FLOAT32, y, o) == largest[o] && position[o] == where[o]);
    }
}

/* Numbers whose sums are inexact have the same bits at every level. */
static void levels_add_in_one_order(void **state)
{
    static const ht_dtype dtypes[] = {HT_FLOAT16, HT_FLOAT32, HT_FLOAT64, HT_COMPLEX64};
    static char expected[MAX * MAX_BYTES];
    uint64_t seed = 3;

    (void)state;
    for (int job = 0; job < 4 * 6; job++) {
        const int64_t columns = (int64_t[]){1, 3, 4, 40, 100, 700}[job % 6], rows = MAX / columns;
        const ht_dtype dtype = dtypes[job / 6];
        const ht_reduction along[] = {reduction(rows, columns, columns, 1),
                                      reduction(columns, 1, rows, columns)};

        for (int64_t i = 0; i < MAX; i++)
            cpu_set(dtype, x, i, cpu_random(&seed) - 0.5);
        for (int axis = 0; axis < 2; axis++)
            for (int l = 0; l < level_count; l++) {
                ht_reduction sum = along[axis];

                sum.divisor = 1;
                memset(y, 0, sizeof y);
                cpu_run(&levels[l].kernels, HT_KERNEL_SUM_WIDE, dtype, &sum);
                if (l == 0)
                    memcpy(expected, y, sizeof y);
                assert_memory_equal(y, expected, sizeof y);
            }
    }
}

/* A million times 0.1f: a float accumulator would be off in the third digit. */
static void sums_are_kept_in_double(void **state)
{
    enum { N = 1000000 };
    float *many = malloc(N * sizeof *many), sum;
    ht_reduction r = {.loop = {.ndim = 1,
                               .shape = {1},
                               .stride = {{1}, {1}},
                               .operand = {CPU_AT(&sum), CPU_AT(many)}},
                      .ndim = 1,
                      .shape = {N},
                      .stride = {1}};

    (void)state;
    for (int i = 0; i < N; i++)
        many[i] = 0.1f;
    for (int l = 0; l < level_count; l++) {
        assert_int_equal(cpu_run(&levels[l].kernels, HT_KERNEL_SUM, HT_FLOAT32, &r), 0);
        assert_true(fabs(sum - N * (double)0.1f) <= 0x1p-24 * 1e5);
    }
    free(many);
}

/* A matrix (30, 41) along either axis; each line starts with 0, or with its number modulo 3. */
static void check_cumulative(const ht_kernel_table *k, ht_dtype dtype, bool along_rows,
                             bool started)
{
    const int64_t rows = 30, columns = 41;
    const ht_dtype total = total_dtype(dtype);
    const ht_dtype wide = ht_dtype_is_complex(dtype)    ? HT_COMPLEX128
                          : ht_dtype_is_floating(dtype) ? HT_FLOAT64
                                                        : HT_INT64;
    char start[41 * MAX_BYTES];
    ht_cumulation c = {
        .loop = {.ndim = 1, .operand = {CPU_AT(y), CPU_AT(x), CPU_AT(started ? start : NULL)}}};

    c.loop.shape[0] = along_rows ? rows : columns;
    c.loop.stride[0][0] = c.loop.stride[1][0] = along_rows ? columns : 1;
    c.loop.stride[2][0] = started ? 1 : 0;
    c.count = along_rows ? columns : rows;
    c.in_stride = c.out_stride = along_rows ? 1 : columns;
    fill(dtype, rows * columns, false);
    for (int64_t o = 0; o < c.loop.shape[0]; o++)
        cpu_set(wide, start, o, (double)(o % 3));
    assert_int_equal(cpu_run(k, HT_KERNEL_CUMSUM, dtype, &c), 0);
    for (int64_t o = 0; o < c.loop.shape[0]; o++) {
        double sum = started ? (double)(o % 3) : 0;

        for (int64_t i = 0; i < c.count; i++) {
            int64_t at = o * c.loop.stride[1][0] + i * c.in_stride;

            sum += cpu_get(dtype, x, at);
            assert_true(cpu_get(total, y, at) == sum);
        }
    }
}

static void cumulative_sums(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++)
        for (int l = 0; l < level_count; l++)
            for (int option = 0; option < 4; option++)
                check_cumulative(&levels[l].kernels, (ht_dtype)dtype, option & 1, option & 2);
}

/* A long line and lines of 4, by each level with the same bits, and what doubles added one by one
 * are but for rounding. */
static void long_cumulative_sums(void **state)
{
    static const ht_dtype dtypes[] = {HT_FLOAT32, HT_FLOAT64, HT_COMPLEX64};
    static char expected[MAX * MAX_BYTES];
    uint64_t seed = 5;

    (void)state;
    for (int job = 0; job < 3 * 2; job++) {
        const ht_dtype dtype = dtypes[job / 2];
        const int64_t lines = job % 2 ? 4 : 1;
        ht_cumulation c = {.loop = {.ndim = 1,
                                    .shape = {lines},
                                    .stride = {{1}, {1}},
                                    .operand = {CPU_AT(y), CPU_AT(x)}},
                           .count = (MAX - 3) / lines,
                           .out_stride = lines,
                           .in_stride = lines};

        for (int64_t i = 0; i < MAX; i++)
            cpu_set(dtype, x, i, cpu_random(&seed) - 0.5);
        for (int l = 0; l < level_count; l++) {
            memset(y, 0, sizeof y);
            cpu_run(&levels[l].kernels, HT_KERNEL_CUMSUM, dtype, &c);
            if (l == 0)
                memcpy(expected, y, sizeof y);
            assert_memory_equal(y, expected, sizeof y);
        }
        for (int64_t line = 0; line < lines; line++) {
            double sum = 0;

            for (int64_t i = line; i < c.count * lines; i += lines) {
                sum += cpu_get(dtype, x, i);
                assert_true(fabs(cpu_get(dtype, y, i) - sum) <=
                            (dtype == HT_FLOAT64 ? 1e-12 : 1e-5));
            }
        }
    }
}

static int setup(void **state)
{
    (void)state;
    if (level_count == 0)
        level_count = cpu_levels(levels);
    return 0;
}

HT_TEST_SUITE(test_cpu_reduce, cmocka_unit_test_setup(matrices, setup),
              cmocka_unit_test(every_kernel_is_checked),
              cmocka_unit_test_setup(sums_without_elements_are_zero, setup),
              cmocka_unit_test_setup(argmax_over_an_outer_and_an_inner_axis, setup),
              cmocka_unit_test_setup(narrow_rows_in_blocks, setup),
              cmocka_unit_test_setup(levels_add_in_one_order, setup),
              cmocka_unit_test_setup(sums_are_kept_in_double, setup),
              cmocka_unit_test_setup(cumulative_sums, setup),
              cmocka_unit_test_setup(long_cumulative_sums, setup));
