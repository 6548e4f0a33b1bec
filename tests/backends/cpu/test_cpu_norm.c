/* ranks 1 own device */
/* Normalisation by channel against its formulas in double, row-major and channels-last, at every
 * level; and what PREPARE makes of moments, running statistics, weights and biases. */
#include "cpu_kernels.h"

#include "ht/kernels/nn.h"

enum { MAX = 4000, CHANNELS = 19 };

static cpu_level levels[3];
static int level_count;
static _Alignas(64) char x[MAX * 8], y[MAX * 8], dy[MAX * 8], dx[MAX * 8];
static char weight[CHANNELS * 8], bias[CHANNELS * 8];
static char running_mean[CHANNELS * 8], running_var[CHANNELS * 8];
static double moments[2 * CHANNELS], channel[4 * CHANNELS], sums[2 * CHANNELS];

static double *const mean = channel, *const invstd = channel + CHANNELS;
static double *const scale = channel + 2 * CHANNELS, *const shift = channel + 3 * CHANNELS;

static void fill(ht_dtype dtype, char *to, int64_t n, double low, uint64_t seed)
{
    for (int64_t i = 0; i < n; i++)
        cpu_set(dtype, to, i, low + 2 * cpu_random(&seed));
}

static void run(int level, ht_kernel kernel, ht_dtype dtype, ht_norm_call call)
{
    assert_int_equal(cpu_run(&levels[level].kernels, kernel, dtype, &call), 0);
}

static ht_norm_channels_call prepare_call(double count)
{
    return (ht_norm_channels_call){.channels = CHANNELS,
                                   .count = count,
                                   .eps = 0.01,
                                   .momentum = 0.3,
                                   .moments = CPU_AT(moments),
                                   .weight = CPU_AT(weight),
                                   .bias = CPU_AT(bias),
                                   .running_mean = CPU_AT(running_mean),
                                   .running_var = CPU_AT(running_var),
                                   .channel = CPU_AT(channel)};
}

static void prepare(int level, ht_dtype dtype, ht_norm_channels_call call)
{
    assert_int_equal(cpu_run(&levels[level].kernels, HT_KERNEL_NORM_PREPARE, dtype, &call), 0);
}

/* Fails unless the two differ by little, relative to numbers near `size` in the dtype. */
static void assert_near(ht_dtype dtype, double got, double expected, double size)
{
    if (!(fabs(got - expected) <= 16 * cpu_eps(dtype) * (1 + size)))
        fail_msg("%.17g is not %.17g", got, expected);
}

/* Channel c of the input by plain loops: its moments, and its sums with dy. */
static void check_statistics(ht_dtype dtype, const ht_norm_call *n, int64_t c)
{
    const double count = (double)(n->outer * n->inner);
    double sum = 0, m2 = 0, s1 = 0, s2 = 0;

    for (int pass = 0; pass < 2; pass++)
        for (int64_t k = 0; k < n->outer * n->inner; k++) {
            const int64_t i = (k / n->inner * CHANNELS + c) * n->inner + k % n->inner;
            const double value = cpu_get(dtype, x, i), gradient = cpu_get(dtype, dy, i);

            if (pass == 0) {
                sum += value;
                continue;
            }
            m2 += (value - sum / count) * (value - sum / count);
            s1 += gradient;
            s2 += gradient * (value - sum / count);
        }
    assert_near(HT_FLOAT64, moments[c], sum / count, count);
    assert_near(HT_FLOAT64, moments[CHANNELS + c], m2, count);
    assert_near(HT_FLOAT64, sums[c], s1, count);
    assert_near(HT_FLOAT64, sums[CHANNELS + c], s2, count);
}

/* All five kernels, as training uses them. */
static void check_training(int level, ht_dtype dtype, int64_t outer, int64_t inner)
{
    const double count = (double)(outer * inner);
    const ht_norm_call n = {.outer = outer,
                            .channels = CHANNELS,
                            .inner = inner,
                            .count = count,
                            .x = CPU_AT(x),
                            .moments = CPU_AT(moments),
                            .channel = CPU_AT(channel),
                            .sums = CPU_AT(sums)};
    ht_norm_call forward = n, backward = n;

    forward.y.data = y;
    backward.y.data = dy;
    backward.dx.data = dx;
    fill(dtype, x, outer * CHANNELS * inner, 1, 1);
    fill(dtype, dy, outer * CHANNELS * inner, -1, 2);
    run(level, HT_KERNEL_NORM_MOMENTS, dtype, n);
    prepare(level, dtype, prepare_call(count));
    run(level, HT_KERNEL_NORM_FORWARD, dtype, forward);
    run(level, HT_KERNEL_NORM_SUMS, dtype, backward);
    run(level, HT_KERNEL_NORM_BACKWARD, dtype, backward);
    for (int64_t c = 0; c < CHANNELS; c++)
        check_statistics(dtype, &n, c);
    for (int64_t i = 0; i < outer * CHANNELS * inner; i++) {
        const int64_t c = i / inner % CHANNELS;
        const double d = cpu_get(dtype, x, i) - mean[c], gradient = cpu_get(dtype, dy, i);
        const double along = d * sums[CHANNELS + c] * invstd[c] * invstd[c] / count;

        assert_near(dtype, cpu_get(dtype, y, i), d * scale[c] + shift[c], fabs(scale[c]));
        assert_near(dtype, cpu_get(dtype, dx, i), scale[c] * (gradient - sums[c] / count - along),
                    fabs(scale[c]) * (1 + fabs(along)));
    }
}

static void training_kernels_of_batch_norm(void **state)
{
    (void)state;
    for (int dtype = HT_FLOAT16; dtype <= HT_FLOAT64; dtype++) {
        fill((ht_dtype)dtype, weight, CHANNELS, 0, 3);
        fill((ht_dtype)dtype, bias, CHANNELS, -1, 4);
        for (int level = 0; level < level_count; level++) {
            for (int64_t outer = 1; outer <= 40; outer += 3)
                check_training(level, (ht_dtype)dtype, outer, 1);
            for (int64_t inner = 2; inner <= 70; inner++)
                check_training(level, (ht_dtype)dtype, 3, inner);
        }
    }
}

/* Moments of values times 2^power: the mean scales, and so does M2, which is infinite if it is too
 * large. */
static void check_power(int level, int64_t outer, int64_t inner, int power)
{
    const ht_norm_call n = {.outer = outer,
                            .channels = CHANNELS,
                            .inner = inner,
                            .x = CPU_AT(x),
                            .moments = CPU_AT(moments)};
    double first[2 * CHANNELS];

    fill(HT_FLOAT64, x, outer * CHANNELS * inner, 1, 1);
    run(level, HT_KERNEL_NORM_MOMENTS, HT_FLOAT64, n);
    memcpy(first, moments, sizeof first);
    for (int64_t i = 0; i < outer * CHANNELS * inner; i++)
        cpu_set(HT_FLOAT64, x, i, ldexp(cpu_get(HT_FLOAT64, x, i), power));
    run(level, HT_KERNEL_NORM_MOMENTS, HT_FLOAT64, n);
    for (int64_t c = 0; c < CHANNELS; c++) {
        const double m2 = ldexp(first[CHANNELS + c], 2 * power);

        assert_near(HT_FLOAT64, ldexp(moments[c], -power), first[c], 8);
        if (isinf(m2))
            assert_true(isinf(moments[CHANNELS + c]) && moments[CHANNELS + c] > 0);
        else
            assert_near(HT_FLOAT64, ldexp(moments[CHANNELS + c], -2 * power), first[CHANNELS + c],
                        8 * (double)(outer * inner));
    }
}

static void moments_whose_squares_overflow(void **state)
{
    static const int powers[] = {505, 507, 600, 1016};

    (void)state;
    for (int level = 0; level < level_count; level++)
        for (size_t i = 0; i < sizeof powers / sizeof *powers; i++) {
            check_power(level, 200, 1, powers[i]);
            check_power(level, 4, 50, powers[i]);
        }
}

/* Where there is no count, dx is scale dy. */
static void backward_of_fixed_statistics(void **state)
{
    const ht_norm_call n = {.outer = 2,
                            .channels = CHANNELS,
                            .inner = 5,
                            .x = CPU_AT(x),
                            .y = CPU_AT(dy),
                            .dx = CPU_AT(dx),
                            .channel = CPU_AT(channel),
                            .sums = CPU_AT(sums)};

    (void)state;
    fill(HT_FLOAT64, x, 10 * CHANNELS, 1, 1);
    fill(HT_FLOAT64, dy, 10 * CHANNELS, -1, 2);
    for (int64_t i = 0; i < 4 * CHANNELS; i++)
        channel[i] = (double)(1 + i);
    for (int64_t i = 0; i < 2 * CHANNELS; i++)
        sums[i] = NAN;
    for (int level = 0; level < level_count; level++) {
        run(level, HT_KERNEL_NORM_BACKWARD, HT_FLOAT64, n);
        for (int64_t i = 0; i < 10 * CHANNELS; i++)
            assert_true(cpu_get(HT_FLOAT64, dx, i) ==
                        scale[i / 5 % CHANNELS] * cpu_get(HT_FLOAT64, dy, i));
    }
}

static void set_up_statistics(ht_dtype dtype)
{
    fill(dtype, weight, CHANNELS, 0, 3);
    fill(dtype, bias, CHANNELS, -1, 4);
    fill(dtype, running_mean, CHANNELS, -1, 5);
    fill(dtype, running_var, CHANNELS, 1, 6);
    for (int64_t c = 0; c < CHANNELS; c++) {
        moments[c] = 0.25 * (double)c;
        moments[CHANNELS + c] = 3 + (double)c;
    }
}

/* Channel c as PREPARE should leave it, by its mean and variance. */
static void check_channel(const ht_norm_channels_call *n, ht_dtype dtype, int64_t c, double average,
                          double variance)
{
    const double expected = 1 / sqrt(variance + n->eps);

    assert_near(HT_FLOAT64, mean[c], average, 1);
    assert_near(HT_FLOAT64, invstd[c], expected, 1);
    assert_near(HT_FLOAT64, scale[c],
                n->weight.data != NULL ? cpu_get(dtype, weight, c) * expected : expected, 1);
    assert_near(HT_FLOAT64, shift[c], n->bias.data != NULL ? cpu_get(dtype, bias, c) : 0, 1);
}

/* From the moments of 7 values; option: bit 0 without weight, bit 1 without bias, bit 2 tracked. */
static void check_moments(int level, ht_dtype dtype, int option)
{
    ht_norm_channels_call n = prepare_call(7);
    char mean_before[CHANNELS * 8], var_before[CHANNELS * 8], expected[8];

    set_up_statistics(dtype);
    memcpy(mean_before, running_mean, sizeof mean_before);
    memcpy(var_before, running_var, sizeof var_before);
    n.weight.data = option & 1 ? NULL : weight;
    n.bias.data = option & 2 ? NULL : bias;
    n.track = option & 4;
    prepare(level, dtype, n);
    for (int64_t c = 0; c < CHANNELS; c++) {
        const double r = cpu_get(dtype, mean_before, c), v = cpu_get(dtype, var_before, c);
        const double m2 = moments[CHANNELS + c];

        check_channel(&n, dtype, c, moments[c], m2 / 7);
        cpu_set(dtype, expected, 0, n.track ? r + 0.3 * (moments[c] - r) : r);
        assert_near(dtype, cpu_get(dtype, running_mean, c), cpu_get(dtype, expected, 0), 0);
        cpu_set(dtype, expected, 0, n.track ? v + 0.3 * (m2 / 6 - v) : v);
        assert_near(dtype, cpu_get(dtype, running_var, c), cpu_get(dtype, expected, 0), 0);
    }
    if (!n.track) {
        assert_memory_equal(running_mean, mean_before, sizeof mean_before);
        assert_memory_equal(running_var, var_before, sizeof var_before);
    }
}

static void check_no_moments(int level, ht_dtype dtype)
{
    ht_norm_channels_call n = prepare_call(7);
    char before[CHANNELS * 8];

    set_up_statistics(dtype);
    memcpy(before, running_var, sizeof before);
    n.moments.data = NULL;
    n.track = true;
    prepare(level, dtype, n);
    for (int64_t c = 0; c < CHANNELS; c++)
        check_channel(&n, dtype, c, cpu_get(dtype, running_mean, c),
                      cpu_get(dtype, running_var, c));
    assert_memory_equal(running_var, before, sizeof before);
}

/* A batch of no values: the variance is 1, and nothing is tracked. */
static void check_no_values(int level, ht_dtype dtype)
{
    ht_norm_channels_call n = prepare_call(0);
    char before[CHANNELS * 8];

    set_up_statistics(dtype);
    memset(moments, 0, sizeof moments);
    memcpy(before, running_mean, sizeof before);
    n.track = true;
    prepare(level, dtype, n);
    for (int64_t c = 0; c < CHANNELS; c++)
        check_channel(&n, dtype, c, 0, 1);
    assert_memory_equal(running_mean, before, sizeof before);
}

static void preparation_of_batch_statistics(void **state)
{
    (void)state;
    for (int dtype = HT_FLOAT16; dtype <= HT_FLOAT64; dtype++)
        for (int level = 0; level < level_count; level++) {
            for (int option = 0; option < 8; option++)
                check_moments(level, (ht_dtype)dtype, option);
            check_no_moments(level, (ht_dtype)dtype);
            check_no_values(level, (ht_dtype)dtype);
        }
}

/* The moments of nothing are 0, and so are the sums of nothing. */
static void nothing_has_moments_of_zero(void **state)
{
    const ht_norm_call n = {.outer = 0,
                            .channels = CHANNELS,
                            .inner = 4,
                            .x = CPU_AT(x),
                            .y = CPU_AT(dy),
                            .moments = CPU_AT(moments),
                            .channel = CPU_AT(channel),
                            .sums = CPU_AT(sums)};

    (void)state;
    for (int level = 0; level < level_count; level++) {
        memset(moments, 1, sizeof moments);
        memset(sums, 1, sizeof sums);
        run(level, HT_KERNEL_NORM_MOMENTS, HT_FLOAT32, n);
        run(level, HT_KERNEL_NORM_SUMS, HT_FLOAT32, n);
        for (int64_t i = 0; i < 2 * CHANNELS; i++)
            assert_true(moments[i] == 0 && sums[i] == 0);
    }
}

static int setup(void **state)
{
    (void)state;
    if (level_count == 0)
        level_count = cpu_levels(levels);
    return 0;
}

HT_TEST_SUITE(test_cpu_norm, cmocka_unit_test_setup(training_kernels_of_batch_norm, setup),
              cmocka_unit_test_setup(moments_whose_squares_overflow, setup),
              cmocka_unit_test_setup(backward_of_fixed_statistics, setup),
              cmocka_unit_test_setup(preparation_of_batch_statistics, setup),
              cmocka_unit_test_setup(nothing_has_moments_of_zero, setup));
