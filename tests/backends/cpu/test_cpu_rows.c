/* ranks 1 */
/* Log-softmax and the negative log likelihood against their formulas in double; sums in long
 * double. */
#include "cpu_kernels.h"

enum { ROWS = 3, MAX = 3000 };

static cpu_level levels[3];
static int level_count;
static _Alignas(64) char x[ROWS * MAX * 8], y[ROWS * MAX * 8], dx[ROWS * MAX * 8];

static void check(const ht_kernels *k, ht_dtype dtype, int64_t columns)
{
    const ht_rows rows = {.dtype = dtype, .rows = ROWS, .columns = columns};
    uint64_t state = (uint64_t)columns;

    for (int64_t i = 0; i < ROWS * columns; i++)
        cpu_set(dtype, x, i, 100 + 8 * cpu_random(&state));
    assert_int_equal(k->log_softmax_forward(NULL, &rows, x, y), 0);
    assert_int_equal(k->log_softmax_backward(NULL, &rows, x, y, dx), 0);
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

static void nll(void **state)
{
    static const float scores[] = {-1, -2, -3, -4, -5, -6};
    static const int64_t target[] = {2, -100};
    static const float weight[] = {0.5f, 0.25f};
    static const float expected[] = {0, 0, -0.5f, 0, 0, 0};
    const ht_rows rows = {.dtype = HT_FLOAT32, .rows = 2, .columns = 3};
    float loss[2], gradient[6];

    (void)state;
    for (int l = 0; l < level_count; l++) {
        assert_int_equal(levels[l].kernels.nll_forward(NULL, &rows, scores, target, -100, loss), 0);
        assert_true(loss[0] == 3 && loss[1] == 0);
        levels[l].kernels.nll_backward(NULL, &rows, weight, target, -100, gradient);
        for (int i = 0; i < 6; i++)
            assert_true(gradient[i] == expected[i]);
    }
}

static void target_outside_is_named(void **state)
{
    static const float scores[6] = {0};
    static const int64_t target[] = {2, 3};
    const ht_rows rows = {.dtype = HT_FLOAT32, .rows = 2, .columns = 3};
    const char *message;
    float loss[2];

    (void)state;
    assert_int_not_equal(levels[0].kernels.nll_forward(NULL, &rows, scores, target, -100, loss), 0);
    assert_int_equal(ht_error_get(&message), HT_ERR_ARGUMENT);
    assert_string_equal(message, "target 3 of row 1 is outside the 3 classes");
}

static int setup(void **state)
{
    (void)state;
    if (level_count == 0)
        level_count = cpu_levels(levels);
    return 0;
}

HT_TEST_SUITE(test_cpu_rows, cmocka_unit_test_setup(log_softmax, setup),
              cmocka_unit_test_setup(nll, setup),
              cmocka_unit_test_setup(target_outside_is_named, setup));
