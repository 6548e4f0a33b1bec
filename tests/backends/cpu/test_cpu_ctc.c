/* ranks 1 own device */
/* Connectionist temporal classification against the sum over all paths in double, with the same
 * bits at every level; targets that fit no path, and invalid classes. */
#include "cpu_kernels.h"

#include "ht/kernels/nn.h"

enum { STEPS = 5, ROWS = 6, CLASSES = 3, WIDTH = 3, BLANK = 1, ELEMENTS = 2 * WIDTH + 1 };
enum { INPUTS = STEPS * ROWS * CLASSES };

static cpu_level levels[3];
static int level_count;
static char x[INPUTS * 8], dx[INPUTS * 8], loss[ROWS * 8], dloss[ROWS * 8];
static char first_dx[INPUTS * 8], first_loss[ROWS * 8];
static double alpha[ROWS * STEPS * ELEMENTS], scratch[4 * WIDTH + 2 + CLASSES];

/* Repeated classes, no target, fewer steps, no steps. The last target needs a step more than it has. */
static int64_t targets[ROWS][WIDTH] = {{0, 2, 0}, {2, 2, 0}, {0, 0, 0},
                                       {2, 0, 0}, {0, 0, 0}, {0, 0, 2}};
static int64_t input_lengths[ROWS] = {5, 5, 4, 3, 0, 3};
static int64_t target_lengths[ROWS] = {3, 2, 0, 1, 0, 3};

static ht_ctc_call call_of(bool zero_infinity)
{
    return (ht_ctc_call){.x = CPU_AT(x),
                         .targets = CPU_AT(targets),
                         .input_lengths = CPU_AT(input_lengths),
                         .target_lengths = CPU_AT(target_lengths),
                         .loss = CPU_AT(loss),
                         .alpha = CPU_AT(alpha),
                         .dloss = CPU_AT(dloss),
                         .dx = CPU_AT(dx),
                         .scratch = CPU_AT(scratch),
                         .steps = STEPS,
                         .rows = ROWS,
                         .classes = CLASSES,
                         .width = WIDTH,
                         .blank = BLANK,
                         .zero_infinity = zero_infinity};
}

static void fill(ht_dtype dtype)
{
    uint64_t seed = 3;

    for (int64_t i = 0; i < INPUTS; i++)
        cpu_set(dtype, x, i, -0.1 - 2 * cpu_random(&seed));
    for (int64_t i = 0; i < ROWS; i++)
        cpu_set(dtype, dloss, i, 0.5 + (double)i / 4);
}

static bool spells(const int64_t path[], int64_t steps, int64_t row)
{
    int64_t found = 0;

    for (int64_t t = 0; t < steps; t++) {
        if (path[t] == BLANK || (t > 0 && path[t] == path[t - 1]))
            continue;
        if (found == target_lengths[row] || path[t] != targets[row][found])
            return false;
        found++;
    }
    return found == target_lengths[row];
}

/* The probability of all paths of a row, and of those that are at a class after a step. */
static double sum_of_paths(ht_dtype dtype, int64_t row, double at[STEPS][CLASSES])
{
    const int64_t steps = input_lengths[row];
    int64_t count = 1, path[STEPS];
    double sum = 0;

    memset(at, 0, sizeof(double) * STEPS * CLASSES);
    for (int64_t t = 0; t < steps; t++)
        count *= CLASSES;
    for (int64_t i = 0; i < count; i++) {
        double log_p = 0;
        int64_t rest = i;

        for (int64_t t = 0; t < steps; t++, rest /= CLASSES) {
            path[t] = rest % CLASSES;
            log_p += cpu_get(dtype, x, (t * ROWS + row) * CLASSES + path[t]);
        }
        if (!spells(path, steps, row))
            continue;
        sum += exp(log_p);
        for (int64_t t = 0; t < steps; t++)
            at[t][path[t]] += exp(log_p);
    }
    return sum;
}

static void assert_near(ht_dtype dtype, double got, double expected)
{
    const double bound = fmax(4 * cpu_eps(dtype), 1e-14);

    if (isinf(expected) ? got != expected : !(fabs(got - expected) <= bound * (1 + fabs(expected))))
        fail_msg("%s: %.17g is not %.17g", ht_dtype_name(dtype), got, expected);
}

static void check_row(ht_dtype dtype, int64_t row, bool zero_infinity)
{
    double at[STEPS][CLASSES], sum = sum_of_paths(dtype, row, at);
    const double right = sum > 0 ? -log(sum) : zero_infinity ? 0 : (double)INFINITY;

    assert_near(dtype, cpu_get(dtype, loss, row), right);
    for (int64_t t = 0; t < STEPS; t++)
        for (int64_t c = 0; c < CLASSES; c++) {
            const int64_t i = (t * ROWS + row) * CLASSES + c;
            const double p = exp(cpu_get(dtype, x, i)), got = cpu_get(dtype, dx, i);

            if (t >= input_lengths[row] || (sum == 0 && zero_infinity))
                assert_true(got == 0);
            else if (sum == 0)
                assert_true(isnan(got));
            else
                assert_near(dtype, got, cpu_get(dtype, dloss, row) * (p - at[t][c] / sum));
        }
}

static void check(ht_dtype dtype, ht_ctc_call call)
{
    for (int level = 0; level < level_count; level++) {
        ht_ctc_call forward = call, backward = call;

        memset(dx, 0x55, sizeof dx);
        assert_int_equal(cpu_run(&levels[level].kernels, HT_KERNEL_CTC_FORWARD, dtype, &forward),
                         0);
        assert_int_equal(cpu_run(&levels[level].kernels, HT_KERNEL_CTC_BACKWARD, dtype, &backward),
                         0);
        if (level == 0) {
            memcpy(first_dx, dx, sizeof dx);
            memcpy(first_loss, loss, sizeof loss);
        }
        assert_memory_equal(first_loss, loss, ROWS * ht_dtype_size(dtype));
        for (int64_t i = 0; i < INPUTS; i++)
            assert_true(cpu_same(dtype, first_dx, i, dx, i));
    }
    for (int64_t row = 0; row < ROWS; row++)
        check_row(dtype, row, call.zero_infinity);
}

static void losses_are_sums_over_paths(void **state)
{
    (void)state;
    for (int dtype = HT_FLOAT16; dtype <= HT_FLOAT64; dtype++) {
        fill((ht_dtype)dtype);
        check((ht_dtype)dtype, call_of(false));
        check((ht_dtype)dtype, call_of(true));
    }
}

static void targets_may_follow_each_other(void **state)
{
    int64_t one[ROWS * WIDTH], starts[ROWS], count = 0;
    ht_ctc_call call = call_of(true);

    (void)state;
    for (int64_t row = 0; row < ROWS; row++) {
        starts[row] = count;
        for (int64_t i = 0; i < target_lengths[row]; i++)
            one[count++] = targets[row][i];
    }
    call.targets.data = one;
    call.starts.data = starts;
    fill(HT_FLOAT64);
    check(HT_FLOAT64, call);
}

static void a_class_out_of_range_is_an_error(void **state)
{
    static const int64_t wrong[] = {-1, CLASSES};

    (void)state;
    fill(HT_FLOAT32);
    for (int level = 0; level < level_count; level++)
        for (int i = 0; i < 2; i++) {
            ht_ctc_call call = call_of(false);

            targets[3][0] = wrong[i];
            assert_int_not_equal(
                cpu_run(&levels[level].kernels, HT_KERNEL_CTC_FORWARD, HT_FLOAT32, &call), 0);
            targets[3][0] = 2;
        }
    ht_error_clear();
}

static int setup(void **state)
{
    (void)state;
    if (level_count == 0)
        level_count = cpu_levels(levels);
    return 0;
}

HT_TEST_SUITE(test_cpu_ctc, cmocka_unit_test_setup(losses_are_sums_over_paths, setup),
              cmocka_unit_test_setup(targets_may_follow_each_other, setup),
              cmocka_unit_test_setup(a_class_out_of_range_is_an_error, setup));
