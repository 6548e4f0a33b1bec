/* ranks 1 */
/* Reductions and cumulative sums of every level and dtype against naive loops: along either axis of
 * a matrix of all small widths and of long ones, transposed, and over both axes at once. */
#include "cpu_kernels.h"

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
                               .data = {y, x, position}},
                      .ndim = 1,
                      .shape = {reduced},
                      .stride = {step}};
    return r;
}

static void check_sum(const ht_kernels *k, ht_dtype dtype, const ht_reduction *r)
{
    assert_int_equal(k->reduce[HT_REDUCE_SUM][dtype](NULL, r), 0);
    for (int64_t o = 0; o < r->loop.shape[0]; o++) {
        char rounded[MAX_BYTES];
        double sum = 0;

        for (int64_t i = 0; i < r->shape[0]; i++)
            sum += cpu_get(dtype, x, o * r->loop.stride[1][0] + i * r->stride[0]);
        cpu_set(total_dtype(dtype), rounded, 0, sum);
        assert_true(cpu_get(total_dtype(dtype), y, o) == cpu_get(total_dtype(dtype), rounded, 0));
    }
}

/* Sums over 3 in the accumulator's dtype, rounded to the input's, and about 1. */
static void check_wide(const ht_kernels *k, ht_dtype dtype, const ht_reduction *r)
{
    const bool is_complex = ht_dtype_is_complex(dtype);
    const ht_dtype wide = is_complex ? HT_COMPLEX128 : HT_FLOAT64;
    const ht_dtype mean = dtype < HT_FLOAT16 ? HT_FLOAT32 : dtype;
    static _Alignas(64) char found[3][MAX * MAX_BYTES], centre[MAX_BYTES];
    const ht_reduce_kernel ids[3] = {HT_REDUCE_SUM_WIDE, HT_REDUCE_MEAN, HT_REDUCE_DEVIATIONS};

    cpu_set(wide, centre, 0, 1);
    for (int i = 0; i < 3; i++) {
        ht_reduction job = *r;

        job.divisor = 3;
        job.loop.data[0] = found[i];
        job.loop.data[2] = centre;
        job.loop.stride[2][0] = 0;
        assert_int_equal(k->reduce[ids[i]][dtype](NULL, &job), 0);
    }
    for (int64_t o = 0; o < r->loop.shape[0]; o++) {
        char rounded[MAX_BYTES];
        double sum = 0, squares = 0;

        for (int64_t i = 0; i < r->shape[0]; i++) {
            double value = cpu_get(dtype, x, o * r->loop.stride[1][0] + i * r->stride[0]);

            sum += value;
            squares += (is_complex ? 1.25 : 1) * (value - 1) * (value - 1);
        }
        cpu_set(mean, rounded, 0, sum / 3);
        assert_true(cpu_get(wide, found[0], o) == sum / 3);
        assert_true(cpu_get(mean, found[1], o) == cpu_get(mean, rounded, 0));
        assert_true(cpu_get(HT_FLOAT64, found[2], o) == squares / 3);
    }
}

/* Whole numbers: their squares are exact in double, whatever the order. */
static void check_powers(const ht_kernels *k, ht_dtype dtype, const ht_reduction *r)
{
    for (int squares = 0; squares < 2; squares++) {
        const ht_reduce_kernel id = squares ? HT_REDUCE_SUM_SQUARES : HT_REDUCE_SUM_ABS;

        assert_int_equal(k->reduce[id][dtype](NULL, r), 0);
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
static void check_extreme(const ht_kernels *k, ht_dtype dtype, const ht_reduction *r, int sign)
{
    const ht_reduce_kernel value = sign > 0 ? HT_REDUCE_MAX : HT_REDUCE_MIN;
    const ht_reduce_kernel arg = sign > 0 ? HT_REDUCE_ARGMAX : HT_REDUCE_ARGMIN;

    for (int with_position = 0; with_position < 2; with_position++) {
        assert_int_equal(k->reduce[with_position ? arg : value][dtype](NULL, r), 0);
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

static void check_matrix(ht_dtype dtype, int64_t rows, int64_t columns, bool nan)
{
    const ht_reduction along[] = {
        reduction(rows, columns, columns, 1), /* each row */
        reduction(columns, 1, rows, columns), /* each column */
    };

    fill(dtype, rows * columns, nan);
    for (int l = 0; l < level_count; l++)
        for (int axis = 0; axis < 2; axis++) {
            if (!nan) {
                check_sum(&levels[l].kernels, dtype, &along[axis]);
                check_wide(&levels[l].kernels, dtype, &along[axis]);
            }
            if (!nan && ht_dtype_is_floating(dtype))
                check_powers(&levels[l].kernels, dtype, &along[axis]);
            if (!ht_dtype_is_complex(dtype)) {
                check_extreme(&levels[l].kernels, dtype, &along[axis], 1);
                check_extreme(&levels[l].kernels, dtype, &along[axis], -1);
            }
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
        check_matrix((ht_dtype)dtype, 200, 9, nan);
        check_matrix((ht_dtype)dtype, MAX / 2, 2, false);
    }
}

static void nothing_sums_to_zero(void **state)
{
    (void)state;
    for (int l = 0; l < level_count; l++) {
        ht_reduction r = reduction(12, 1, 0, 12);

        memset(y, 1, sizeof y);
        assert_int_equal(levels[l].kernels.reduce[HT_REDUCE_SUM][HT_FLOAT32](NULL, &r), 0);
        for (int64_t o = 0; o < 12; o++)
            assert_true(cpu_get(HT_FLOAT32, y, o) == 0);
    }
}

/* (7, 5, 11) over its outer and inner axis: positions count through both. */
static void two_axes(void **state)
{
    ht_reduction r = {
        .loop = {.ndim = 1, .shape = {5}, .stride = {{1}, {11}, {1}}, .data = {y, x, position}},
        .ndim = 2,
        .shape = {7, 11},
        .stride = {55, 1}};

    (void)state;
    for (int64_t i = 0; i < 7 * 5 * 11; i++)
        cpu_set(HT_FLOAT32, x, i, (double)(i * 37 % 385));
    for (int l = 0; l < level_count; l++) {
        assert_int_equal(levels[l].kernels.reduce[HT_REDUCE_ARGMAX][HT_FLOAT32](NULL, &r), 0);
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

/* A million times 0.1f: a float accumulator would be off in the third digit. */
static void sums_are_kept_in_double(void **state)
{
    enum { N = 1000000 };
    float *many = malloc(N * sizeof *many), sum;
    ht_reduction r = {.loop = {.ndim = 1, .shape = {1}, .stride = {{1}, {1}}, .data = {&sum, many}},
                      .ndim = 1,
                      .shape = {N},
                      .stride = {1}};

    (void)state;
    for (int i = 0; i < N; i++)
        many[i] = 0.1f;
    for (int l = 0; l < level_count; l++) {
        levels[l].kernels.reduce[HT_REDUCE_SUM][HT_FLOAT32](NULL, &r);
        assert_true(fabs(sum - N * (double)0.1f) <= 0x1p-24 * 1e5);
    }
    free(many);
}

static void cumulative_sums(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++)
        for (int along_rows = 0; along_rows < 2; along_rows++) {
            const int64_t rows = 30, columns = 41, total = rows * columns;
            ht_cumulation c = {.loop = {.ndim = 1, .data = {y, x}}};

            c.loop.shape[0] = along_rows ? rows : columns;
            c.loop.stride[0][0] = c.loop.stride[1][0] = along_rows ? columns : 1;
            c.count = along_rows ? columns : rows;
            c.in_stride = c.out_stride = along_rows ? 1 : columns;
            fill((ht_dtype)dtype, total, false);
            for (int l = 0; l < level_count; l++) {
                levels[l].kernels.cumulative[HT_CUMULATIVE_CUMSUM][dtype](NULL, &c);
                for (int64_t o = 0; o < c.loop.shape[0]; o++) {
                    double sum = 0;

                    for (int64_t i = 0; i < c.count; i++) {
                        int64_t at = o * c.loop.stride[1][0] + i * c.in_stride;

                        sum += cpu_get((ht_dtype)dtype, x, at);
                        assert_true(cpu_get(total_dtype((ht_dtype)dtype), y, at) == sum);
                    }
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
              cmocka_unit_test_setup(nothing_sums_to_zero, setup),
              cmocka_unit_test_setup(two_axes, setup),
              cmocka_unit_test_setup(sums_are_kept_in_double, setup),
              cmocka_unit_test_setup(cumulative_sums, setup));
