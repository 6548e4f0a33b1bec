/* ranks 1 own device */
/* Softmax, log-softmax, the negative log likelihood and cross entropy against their formulas in
 * double; sums in long double. */
#include "cpu_kernels.h"

#include "ht/kernels/nn.h"

enum { ROWS = 3, MAX = 3000 };

static cpu_level levels[3];
static int level_count;
static _Alignas(64) char x[ROWS * MAX * 8], y[ROWS * MAX * 8], dx[ROWS * MAX * 8];

/* y and dx by a pair of kernels, of x = dy. */
static void run_pair(const ht_kernel_table *k, ht_kernel forward, ht_kernel backward,
                     ht_dtype dtype, int64_t columns)
{
    ht_rows_call there = {.rows = ROWS, .columns = columns, .x = CPU_AT(x), .y = CPU_AT(y)};
    ht_rows_call back = {
        .rows = ROWS, .columns = columns, .x = CPU_AT(dx), .y = CPU_AT(y), .dy = CPU_AT(x)};
    uint64_t state = (uint64_t)columns;

    for (int64_t i = 0; i < ROWS * columns; i++)
        cpu_set(dtype, x, i, 100 + 8 * cpu_random(&state));
    assert_int_equal(cpu_run(k, forward, dtype, &there), 0);
    assert_int_equal(cpu_run(k, backward, dtype, &back), 0);
}

static void check(const ht_kernel_table *k, ht_dtype dtype, int64_t columns)
{
    run_pair(k, HT_KERNEL_LOG_SOFTMAX_FORWARD, HT_KERNEL_LOG_SOFTMAX_BACKWARD, dtype, columns);
    for (int64_t row = 0; row < ROWS; row++) {
        long double exps = 0, gradients = 0;

        for (int64_t j = row * columns; j < (row + 1) * columns; j++) {
            exps += exp(cpu_get(dtype, x, j));
            gradients += cpu_get(dtype, x, j);
        }
        for (int64_t j = row * columns; j < (row + 1) * columns; j++) {
            double expected = cpu_get(dtype, x, j) - log((double)exps);
            double share = exp(cpu_get(dtype, y, j)) * (double)gradients;
            double gradient = cpu_get(dtype, x, j) - share;

            assert_true(fabs(cpu_get(dtype, y, j) - expected) <= 4 * cpu_eps(dtype) * 20);
            assert_true(fabs(cpu_get(dtype, dx, j) - gradient) <=
                        32 * cpu_eps(dtype) * (108 + share));
        }
    }
}

static void check_softmax(const ht_kernel_table *k, ht_dtype dtype, int64_t columns)
{
    run_pair(k, HT_KERNEL_SOFTMAX_FORWARD, HT_KERNEL_SOFTMAX_BACKWARD, dtype, columns);
    for (int64_t row = 0; row < ROWS; row++) {
        long double exps = 0, products = 0;

        for (int64_t j = row * columns; j < (row + 1) * columns; j++) {
            exps += expl(cpu_get(dtype, x, j) - 100);
            products += (long double)cpu_get(dtype, x, j) * cpu_get(dtype, y, j);
        }
        for (int64_t j = row * columns; j < (row + 1) * columns; j++) {
            const double got = cpu_get(dtype, y, j);
            const double expected = (double)(expl(cpu_get(dtype, x, j) - 100) / exps);
            const double gradient = got * (cpu_get(dtype, x, j) - (double)products);

            /* 2 ulp of an exponential, the same of their sum, a rounding of the sum and of y */
            assert_true(fabs(got - expected) <= 10 * cpu_eps(dtype) * (expected + 1e-4));
            assert_true(fabs(cpu_get(dtype, dx, j) - gradient) <=
                        16 * cpu_eps(dtype) * got * 108 + 1e-7);
        }
    }
}

static void softmax(void **state)
{
    (void)state;
    for (int l = 0; l < level_count; l++)
        for (int dtype = HT_FLOAT16; dtype <= HT_FLOAT64; dtype++) {
            for (int64_t columns = 1; columns <= 70; columns++)
                check_softmax(&levels[l].kernels, (ht_dtype)dtype, columns);
            check_softmax(&levels[l].kernels, (ht_dtype)dtype, MAX);
        }
}

static void log_softmax(void **state)
{
    (void)state;
    for (int l = 0; l < level_count; l++)
        for (int dtype = HT_FLOAT16; dtype <= HT_FLOAT64; dtype++) {
            for (int64_t columns = 1; columns <= 70; columns++)
                check(&levels[l].kernels, (ht_dtype)dtype, columns);
            check(&levels[l].kernels, (ht_dtype)dtype, dtype == HT_FLOAT16 ? 200 : MAX);
        }
}

/* Two rows of three classes. */
static ht_rows_call nll_call(const int64_t *target)
{
    return (ht_rows_call){.rows = 2, .columns = 3, .ignore = -100, .target = CPU_AT(target)};
}

static void nll(void **state)
{
    static float scores[] = {-1, -2, -3, -4, -5, -6};
    static const int64_t target[] = {2, -100};
    static const float weight[] = {0.5f, 0.25f};
    static const float expected[] = {0, 0, -0.5f, 0, 0, 0};
    float loss[2], gradient[6] = {7, 7, 7, 7, 7, 7};

    (void)state;
    for (int l = 0; l < level_count; l++) {
        ht_rows_call forward = nll_call(target), backward = nll_call(target);

        forward.x.data = scores;
        forward.y.data = loss;
        assert_int_equal(cpu_run(&levels[l].kernels, HT_KERNEL_NLL_FORWARD, HT_FLOAT32, &forward),
                         0);
        assert_true(loss[0] == 3 && loss[1] == 0);
        backward.x.data = gradient;
        backward.dy = CPU_AT(weight);
        assert_int_equal(cpu_run(&levels[l].kernels, HT_KERNEL_NLL_BACKWARD, HT_FLOAT32, &backward),
                         0);
        for (int i = 0; i < 6; i++)
            assert_true(gradient[i] == expected[i]);
    }
}

static void target_outside_is_named(void **state)
{
    static float scores[6] = {0}, loss[2];
    static const int64_t target[] = {2, 3};
    ht_rows_call rows = nll_call(target);
    const char *message;

    (void)state;
    rows.x.data = scores;
    rows.y.data = loss;
    assert_int_not_equal(cpu_run(&levels[0].kernels, HT_KERNEL_NLL_FORWARD, HT_FLOAT32, &rows), 0);
    assert_int_equal(ht_error_get(&message), HT_ERR_ARGUMENT);
    assert_string_equal(message, "target 3 of row 1 is outside the 3 classes");
}

/* The forward pass reports them, perhaps later than this: the rows' gradients are 0, and nothing is
 * written outside. */
static void target_outside_has_no_gradient(void **state)
{
    static const int64_t target[][2] = {{3, -1}, {INT64_MAX, INT64_MIN}, {-101, 6}};
    static const float weight[] = {0.5f, 0.25f};
    float around[12];

    (void)state;
    for (int l = 0; l < level_count; l++)
        for (int t = 0; t < 3; t++) {
            ht_rows_call rows = nll_call(target[t]);

            for (int i = 0; i < 12; i++)
                around[i] = 7;
            rows.x.data = around + 3;
            rows.dy = CPU_AT(weight);
            assert_int_equal(cpu_run(&levels[l].kernels, HT_KERNEL_NLL_BACKWARD, HT_FLOAT32, &rows),
                             0);
            for (int i = 0; i < 12; i++)
                assert_true(around[i] == (i < 3 || i >= 9 ? 7 : 0));
        }
}

/* The last row's target is ignored, or outside of the columns. */
static void check_cross_entropy(const ht_kernel_table *k, ht_dtype dtype, int64_t columns)
{
    const int64_t target[ROWS] = {columns / 2, 0, -100}, outside[ROWS] = {columns / 2, 0, columns};
    double stats[2 * ROWS], loss[ROWS], dloss[ROWS];
    ht_cross_entropy_call call = {.rows = ROWS,
                                  .columns = columns,
                                  .ignore = -100,
                                  .x = CPU_AT(x),
                                  .target = CPU_AT(target),
                                  .stats = CPU_AT(stats),
                                  .loss = CPU_AT(loss)};
    uint64_t state = (uint64_t)columns;

    for (int64_t i = 0; i < ROWS * columns; i++)
        cpu_set(dtype, x, i, 100 + 8 * cpu_random(&state));
    for (int64_t row = 0; row < ROWS; row++)
        cpu_set(dtype, dloss, row, 0.5 + (double)row);
    assert_int_equal(cpu_run(k, HT_KERNEL_CROSS_ENTROPY_FORWARD, dtype, &call), 0);
    call.loss = (ht_kernel_operand){.data = NULL};
    call.dloss = CPU_AT(dloss);
    call.dx = CPU_AT(dx);
    if (columns % 2 == 0)
        call.target = CPU_AT(outside);
    assert_int_equal(cpu_run(k, HT_KERNEL_CROSS_ENTROPY_BACKWARD, dtype, &call), 0);
    for (int64_t row = 0; row < ROWS; row++) {
        const double g = row == ROWS - 1 ? 0 : 0.5 + (double)row;
        const char *from = x + (size_t)(row * columns) * ht_dtype_size(dtype);
        long double exps = 0;
        double expected;

        for (int64_t j = 0; j < columns; j++)
            exps += exp(cpu_get(dtype, from, j));
        expected = row == ROWS - 1 ? 0 : log((double)exps) - cpu_get(dtype, from, target[row]);
        assert_true(fabs(cpu_get(dtype, loss, row) - expected) <= 4 * cpu_eps(dtype) * 20);
        for (int64_t j = 0; j < columns; j++) {
            const double share = exp(cpu_get(dtype, from, j)) / (double)exps;

            expected = g * (share - (j == target[row]));
            assert_true(fabs(cpu_get(dtype, dx, row * columns + j) - expected) <=
                        64 * cpu_eps(dtype) * g);
        }
    }
}

static void cross_entropy(void **state)
{
    (void)state;
    for (int l = 0; l < level_count; l++)
        for (int dtype = HT_FLOAT16; dtype <= HT_FLOAT64; dtype++)
            for (int64_t columns = 1; columns <= 70; columns++)
                check_cross_entropy(&levels[l].kernels, (ht_dtype)dtype, columns);
}

static int setup(void **state)
{
    (void)state;
    if (level_count == 0)
        level_count = cpu_levels(levels);
    return 0;
}

HT_TEST_SUITE(test_cpu_rows, cmocka_unit_test_setup(softmax, setup),
              cmocka_unit_test_setup(log_softmax, setup), cmocka_unit_test_setup(nll, setup),
              cmocka_unit_test_setup(cross_entropy, setup),
              cmocka_unit_test_setup(target_outside_is_named, setup),
              cmocka_unit_test_setup(target_outside_has_no_gradient, setup));
