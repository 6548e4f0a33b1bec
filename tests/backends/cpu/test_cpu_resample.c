/* ranks 1 own device */
/* Weighted sums along an axis, and their gradients, against plain loops in double at every level. */
#include "cpu_kernels.h"

#include "ht/kernels/index.h"

enum { OUTER = 3, IN = 5, OUT = 7, TAPS = 2, MAX_INNER = 40, MAX = OUTER * OUT * MAX_INNER };

static cpu_level levels[3];
static int level_count;
static char x[MAX * 8], y[MAX * 8], dx[MAX * 8];
static double sums[MAX];

static const int64_t at[TAPS * OUT] = {0, 0, 1, 2, 3, 4, 4, 1, 0, 2, 3, 4, 4, 0};
static const double weight[TAPS * OUT] = {1, 0.5, 0.25, 1, -2, 0.5, 1, 0.5, 2, 1, 0, 0.25, -1, 1};

static void assert_near(ht_dtype dtype, const char *got, int64_t i, double expected)
{
    const double value = cpu_get(dtype, got, i);

    if (!(fabs(value - expected) <= 32 * cpu_eps(dtype)))
        fail_msg("%s: element %d is %.17g, not %.17g", ht_dtype_name(dtype), (int)i, value,
                 expected);
}

/* y_k += weight x_i for all elements, or with `back` x_i += weight y_k, in double. */
static void add_up(ht_dtype dtype, int64_t inner, const char *from, bool back)
{
    memset(sums, 0, sizeof sums);
    for (int64_t o = 0; o < OUTER; o++)
        for (int64_t j = 0; j < TAPS * OUT; j++)
            for (int64_t k = 0; k < inner; k++) {
                const int64_t i = (o * IN + at[j]) * inner + k;
                const int64_t to = (o * OUT + j % OUT) * inner + k;

                sums[back ? i : to] += weight[j] * cpu_get(dtype, from, back ? to : i);
            }
}

static void check(int level, ht_dtype dtype, int64_t inner)
{
    ht_resample_call call = {.x = CPU_AT(x),
                             .y = CPU_AT(y),
                             .at = CPU_AT(at),
                             .weight = CPU_AT(weight),
                             .outer = OUTER,
                             .in = IN,
                             .out = OUT,
                             .inner = inner,
                             .taps = TAPS};

    assert_int_equal(cpu_run(&levels[level].kernels, HT_KERNEL_RESAMPLE_FORWARD, dtype, &call), 0);
    add_up(dtype, inner, x, false);
    for (int64_t i = 0; i < OUTER * OUT * inner; i++)
        assert_near(dtype, y, i, sums[i]);
    call.x = CPU_AT(dx);
    assert_int_equal(cpu_run(&levels[level].kernels, HT_KERNEL_RESAMPLE_BACKWARD, dtype, &call), 0);
    add_up(dtype, inner, y, true);
    for (int64_t i = 0; i < OUTER * IN * inner; i++)
        assert_near(dtype, dx, i, sums[i]);
}

static void sums_along_an_axis(void **state)
{
    uint64_t seed = 1;

    (void)state;
    level_count = cpu_levels(levels);
    for (int dtype = HT_FLOAT16; dtype <= HT_FLOAT64; dtype++) {
        for (int64_t i = 0; i < MAX; i++)
            cpu_set((ht_dtype)dtype, x, i, 2 * cpu_random(&seed) - 1);
        for (int level = 0; level < level_count; level++)
            for (int64_t inner = 1; inner <= MAX_INNER; inner++)
                check(level, (ht_dtype)dtype, inner);
    }
}

HT_TEST_SUITE(test_cpu_resample, cmocka_unit_test(sums_along_an_axis));
