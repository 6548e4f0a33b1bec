/* ranks 1 own device */
/* Normalisation of rows against its formulas in double, with and without parameters, and with the
 * same bits at every level. */
#include "cpu_kernels.h"

#include "ht/kernels/nn.h"

enum { OUTER = 3, GROUPS = 2, ROWS = OUTER * GROUPS, MAX_ROW = 140, MAX = ROWS * MAX_ROW };

static cpu_level levels[3];
static int level_count;
static _Alignas(64) char x[MAX * 8], y[MAX * 8], dy[MAX * 8], dx[MAX * 8];
static char weight[GROUPS * MAX_ROW * 8], bias[GROUPS * MAX_ROW * 8];
static double stats[2 * ROWS], dweight[GROUPS * MAX_ROW], dbias[GROUPS * MAX_ROW];

static void fill(ht_dtype dtype, char *to, int64_t n, double low, uint64_t seed)
{
    for (int64_t i = 0; i < n; i++)
        cpu_set(dtype, to, i, low + 2 * cpu_random(&seed));
}

static void assert_near(ht_dtype dtype, double got, double expected, double size)
{
    if (!(fabs(got - expected) <= 16 * cpu_eps(dtype) * (1 + size)))
        fail_msg("%.17g is not %.17g", got, expected);
}

static void run_both(int level, ht_dtype dtype, ht_row_norm_call call)
{
    ht_row_norm_call forward = call, backward = call;

    forward.y.data = y;
    backward.y.data = dy;
    backward.dx.data = dx;
    backward.dweight.data = dweight;
    backward.dbias.data = dbias;
    assert_int_equal(cpu_run(&levels[level].kernels, HT_KERNEL_ROW_NORM_FORWARD, dtype, &forward),
                     0);
    assert_int_equal(cpu_run(&levels[level].kernels, HT_KERNEL_ROW_NORM_BACKWARD, dtype, &backward),
                     0);
}

/* Element i of x: its row, and its place in the parameters. */
static int64_t place_of(const ht_row_norm_call *n, int64_t i, int64_t *row)
{
    *row = i / (n->channels * n->inner);
    return *row % n->groups * n->channels + i / n->inner % n->channels;
}

/* The results by plain loops, in double. */
static void check(ht_dtype dtype, const ht_row_norm_call *n)
{
    const int64_t length = n->channels * n->inner, count = ROWS * length;
    double mean[ROWS] = {0}, variance[ROWS] = {0}, s[ROWS] = {0}, q[ROWS] = {0};
    double weights[GROUPS * MAX_ROW] = {0}, biases[GROUPS * MAX_ROW] = {0};

    for (int pass = 0; pass < 4; pass++)
        for (int64_t i = 0; i < count; i++) {
            int64_t row, place = place_of(n, i, &row);
            const double value = cpu_get(dtype, x, i), g = cpu_get(dtype, dy, i);
            const double w = n->weight.data != NULL ? cpu_get(dtype, weight, place) : 1;
            const double b = n->bias.data != NULL ? cpu_get(dtype, bias, place) : 0;
            const double invstd = 1 / sqrt(variance[row] + n->eps),
                         d = (value - mean[row]) * invstd;

            if (pass == 0) {
                mean[row] += n->root_mean_square ? 0 : value / (double)length;
            } else if (pass == 1) {
                variance[row] += (value - mean[row]) * (value - mean[row]) / (double)length;
            } else if (pass == 2) {
                assert_near(dtype, cpu_get(dtype, y, i), d * w + b, invstd * w * 3);
                s[row] += n->root_mean_square ? 0 : g * w / (double)length;
                q[row] += g * w * d / (double)length;
                weights[place] += g * d;
                biases[place] += g;
            } else {
                assert_near(dtype, cpu_get(dtype, dx, i), invstd * (g * w - s[row] - d * q[row]),
                            invstd * (1 + 3 * invstd * fabs(q[row])));
                assert_near(HT_FLOAT64, dweight[place], weights[place], (double)count);
                assert_near(HT_FLOAT64, dbias[place], biases[place], (double)count);
            }
        }
    for (int row = 0; row < ROWS; row++) {
        assert_near(HT_FLOAT64, stats[row], mean[row], (double)length);
        assert_near(HT_FLOAT64, stats[ROWS + row], 1 / sqrt(variance[row] + n->eps),
                    (double)length);
    }
}

static void check_levels(ht_dtype dtype, ht_row_norm_call n)
{
    const size_t bytes = (size_t)(ROWS * n.channels * n.inner) * ht_dtype_size(dtype);
    char first_y[MAX * 8], first_dx[MAX * 8];

    for (int level = 0; level < level_count; level++) {
        run_both(level, dtype, n);
        if (level == 0) {
            check(dtype, &n);
            memcpy(first_y, y, bytes);
            memcpy(first_dx, dx, bytes);
        }
        assert_memory_equal(first_y, y, bytes);
        assert_memory_equal(first_dx, dx, bytes);
    }
}

static void rows_of_every_length(void **state)
{
    (void)state;
    for (int dtype = HT_FLOAT16; dtype <= HT_FLOAT64; dtype++) {
        ht_row_norm_call n = {
            .outer = OUTER, .groups = GROUPS, .eps = 0.01, .x = CPU_AT(x), .stats = CPU_AT(stats)};

        fill((ht_dtype)dtype, x, MAX, 1, 1);
        fill((ht_dtype)dtype, dy, MAX, -1, 2);
        fill((ht_dtype)dtype, weight, GROUPS * MAX_ROW, 0, 3);
        fill((ht_dtype)dtype, bias, GROUPS * MAX_ROW, -1, 4);
        for (int kind = 0; kind < 4; kind++) {
            n.root_mean_square = kind % 2 == 1;
            n.weight.data = kind < 3 ? weight : NULL;
            n.bias.data = kind < 2 ? bias : NULL;
            for (n.inner = 1; n.inner <= 20; n.inner += n.inner < 3 ? 1 : 17)
                for (n.channels = 1; n.channels * n.inner <= MAX_ROW;
                     n.channels += n.inner == 1 ? 1 : 3)
                    check_levels((ht_dtype)dtype, n);
        }
    }
}

/* Without eps, a row times 2^power has the same y, and dx times 2^-power. */
static void check_power(int level, ht_row_norm_call n, int power)
{
    const int64_t count = ROWS * n.channels * n.inner;
    double first_y[MAX], first_dx[MAX], first_weights[GROUPS * MAX_ROW];

    n.eps = 0;
    fill(HT_FLOAT64, x, MAX, 1, 1);
    run_both(level, HT_FLOAT64, n);
    memcpy(first_y, y, sizeof first_y);
    memcpy(first_dx, dx, sizeof first_dx);
    memcpy(first_weights, dweight, sizeof first_weights);
    for (int64_t i = 0; i < count; i++)
        cpu_set(HT_FLOAT64, x, i, ldexp(cpu_get(HT_FLOAT64, x, i), power));
    n.eps = power > 0 ? 0.01 : 0;
    run_both(level, HT_FLOAT64, n);
    for (int64_t i = 0; i < count; i++) {
        const double unscaled = ldexp(cpu_get(HT_FLOAT64, dx, i), power);

        assert_near(HT_FLOAT64, cpu_get(HT_FLOAT64, y, i), first_y[i], 8);
        assert_near(HT_FLOAT64, unscaled, first_dx[i], 8);
    }
    for (int64_t i = 0; i < n.groups * n.channels; i++)
        assert_near(HT_FLOAT64, dweight[i], first_weights[i], 8 * (double)count);
}

static void rows_whose_squares_leave_the_range(void **state)
{
    static const int powers[] = {-1000, -600, -530, 505, 600, 1000};
    ht_row_norm_call n = {.outer = OUTER,
                          .groups = GROUPS,
                          .x = CPU_AT(x),
                          .weight = CPU_AT(weight),
                          .bias = CPU_AT(bias),
                          .stats = CPU_AT(stats)};

    (void)state;
    fill(HT_FLOAT64, dy, MAX, -1, 2);
    fill(HT_FLOAT64, weight, GROUPS * MAX_ROW, 0, 3);
    fill(HT_FLOAT64, bias, GROUPS * MAX_ROW, -1, 4);
    for (int level = 0; level < level_count; level++)
        for (size_t i = 0; i < sizeof powers / sizeof *powers; i++)
            for (int kind = 0; kind < 4; kind++) {
                n.root_mean_square = kind % 2 == 1;
                n.channels = kind < 2 ? 37 : 7;
                n.inner = kind < 2 ? 1 : 19;
                check_power(level, n, powers[i]);
            }
}

/* Gradients that nothing needs are not written, and no rows have gradients of 0. */
static void gradients_are_optional(void **state)
{
    ht_row_norm_call n = {.outer = OUTER,
                          .groups = 1,
                          .channels = 5,
                          .inner = 1,
                          .eps = 0.01,
                          .x = CPU_AT(x),
                          .y = CPU_AT(dy),
                          .stats = CPU_AT(stats)};

    (void)state;
    for (int level = 0; level < level_count; level++) {
        assert_int_equal(
            cpu_run(&levels[level].kernels, HT_KERNEL_ROW_NORM_BACKWARD, HT_FLOAT32, &n), 0);
        n.outer = 0;
        n.dweight.data = dweight;
        dweight[4] = 1;
        assert_int_equal(
            cpu_run(&levels[level].kernels, HT_KERNEL_ROW_NORM_BACKWARD, HT_FLOAT32, &n), 0);
        assert_true(dweight[4] == 0);
    }
}

static int setup(void **state)
{
    (void)state;
    level_count = cpu_levels(levels);
    return 0;
}

HT_TEST_SUITE(test_cpu_row_norm, cmocka_unit_test_setup(rows_of_every_length, setup),
              cmocka_unit_test_setup(rows_whose_squares_leave_the_range, setup),
              cmocka_unit_test_setup(gradients_are_optional, setup));
