/* ranks 1 own device */
/* Random numbers: Philox against its published vectors, independence of slabs and levels to the
 * bit, and the distributions. */
#include "cpu_kernels.h"

#include "backends/cpu/random/normal.h"
#include "backends/cpu/random/philox.h"
#include "ht/kernels/nn.h"

enum { N = 3000 };

static cpu_level levels[3];
static int level_count;

/* Counter, key and result of philox4x32 10 in the known-answer file of Random123. */
static void philox_known_answers(void **state)
{
    static const uint32_t zeros[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    static const uint32_t pi[] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    uint32_t words[PHILOX_WORDS];

    (void)state;
    philox_fill(words, 1, 0, 0, 0);
    assert_memory_equal(words, zeros, sizeof zeros);
    philox_fill(words, 1, 0x85a308d3243f6a88, 0x299f31d0a4093822, 0x0370734413198a2e);
    assert_memory_equal(words, pi, sizeof pi);
}

static ht_random_draw job(void)
{
    ht_random_draw draw = {.seed = 42, .draw = 7, .outer = 1, .inner = N};

    draw.inner_global = N;
    draw.a = -1;
    draw.b = 2;
    draw.low = 3;
    draw.high = 90;
    return draw;
}

static void run(int level, ht_kernel kind, ht_dtype dtype, ht_random_draw draw, void *out)
{
    ht_random_call call = {.out = CPU_AT(out), .draw = draw};

    assert_int_equal(cpu_run(&levels[level].kernels, kind, dtype, &call), 0);
}

static bool has(ht_dtype dtype, ht_kernel kind)
{
    return kind == HT_KERNEL_RANDOM_INTEGER ? !ht_dtype_is_complex(dtype)
                                            : ht_dtype_is_floating(dtype);
}

/* The complete draw at the baseline, then in pieces and as columns at every level: the same bits.
 */
static void check_slabs(ht_kernel kind, ht_dtype dtype)
{
    static _Alignas(64) char whole[N * 8], piece[N * 8];

    run(0, kind, dtype, job(), whole);
    for (int l = 0; l < level_count; l++) {
        ht_random_draw draw = job();

        for (int64_t start = 0, n = 1; start + n <= N; start += n, n = n * 2 + 1) {
            draw.start = start;
            draw.inner = n;
            run(l, kind, dtype, draw, piece);
            for (int64_t i = 0; i < n; i++)
                assert_true(cpu_same(dtype, piece, i, whole, start + i));
        }
        draw = job(); /* columns 11 ... 17 of (100, 30) */
        draw.outer = 100;
        draw.inner_global = 30;
        draw.start = 11;
        draw.inner = 7;
        run(l, kind, dtype, draw, piece);
        for (int64_t i = 0; i < 700; i++)
            assert_true(cpu_same(dtype, piece, i, whole, i / 7 * 30 + 11 + i % 7));
    }
}

static void slabs_and_levels_agree(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++)
        for (ht_kernel kind = HT_KERNELS_RANDOM; kind < HT_KERNELS_RANDOM_END; kind++)
            if (has((ht_dtype)dtype, kind))
                check_slabs(kind, (ht_dtype)dtype);
}

static void another_seed_or_draw_differs(void **state)
{
    float base[N], other[N];
    ht_random_draw draw = job();

    (void)state;
    run(0, HT_KERNEL_RANDOM_UNIFORM, HT_FLOAT32, draw, base);
    draw.seed++;
    run(0, HT_KERNEL_RANDOM_UNIFORM, HT_FLOAT32, draw, other);
    assert_memory_not_equal(base, other, sizeof base);
    draw = job();
    draw.draw++;
    run(0, HT_KERNEL_RANDOM_UNIFORM, HT_FLOAT32, draw, other);
    assert_memory_not_equal(base, other, sizeof base);
}

/* The inverse of the distribution function, through erfc: P(Z < z) back to the word's probability.
 */
static void normal_inverts_the_distribution(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 200000; i++) {
        const uint64_t word = i * 0x9e3779b97f4a7c15 >> (i % 60);
        const uint32_t word32 = (uint32_t)(i * 0x9e3779b9) >> (i % 28);
        const double p = ((double)(word << 1 >> 12) + 0.5) * 0x1p-53;
        const double p32 = ((double)(word32 & 0x7fffffff) + 0.5) * 0x1p-32;
        const double z = fabs(ht__normal_double(word)), z32 = fabs(ht__normal_float(word32));

        assert_true(fabs(0.5 * erfc(z / sqrt(2)) / p - 1) < 1e-13 * (1 + z * z));
        assert_true(fabs(0.5 * erfc(z32 / sqrt(2)) / p32 - 1) < 6e-7 * (1 + z32 * z32));
        assert_true(ht__normal_double(word ^ UINT64_C(1) << 63) == -ht__normal_double(word));
    }
}

/* Mean and variance of a million, within five deviations of what they should be. */
static void moments(void **state)
{
    enum { MANY = 1000000 };
    float *value = malloc(MANY * sizeof *value);
    const ht_random_draw draw = {.seed = 5, .outer = 1, .inner = MANY, .a = 0, .b = 1};

    (void)state;
    for (ht_kernel kind = HT_KERNELS_RANDOM; kind < HT_KERNELS_RANDOM_END; kind++) {
        double mean = 0, variance = 1; /* of RANDOM_NORMAL */
        double sum = 0, squares = 0;

        if (kind == HT_KERNEL_RANDOM_INTEGER) /* has a test of its own */
            continue;
        if (kind == HT_KERNEL_RANDOM_UNIFORM) {
            mean = 0.5;
            variance = 1.0 / 12;
        } else if (kind != HT_KERNEL_RANDOM_NORMAL) {
            fail_msg("kernel %d of HT_RANDOM_KERNELS has no moments here", kind);
        }
        run(0, kind, HT_FLOAT32, draw, value);
        for (int64_t i = 0; i < MANY; i++) {
            sum += value[i] - mean;
            squares += (value[i] - mean) * (value[i] - mean);
        }
        assert_true(fabs(sum / MANY) < 5 * sqrt(variance / MANY));
        assert_true(fabs(squares / MANY / variance - 1) < 5 * sqrt(2.0 / MANY));
    }
    free(value);
}

/* Half precision rounds 0.9999 up to 1: the open end must not be reached all the same. */
static void intervals_are_half_open(void **state)
{
    static char value[N * 8];
    ht_random_draw draw = job();
    bool seen[10] = {false};

    (void)state;
    for (int dtype = HT_FLOAT16; dtype <= HT_FLOAT64; dtype++) {
        run(level_count - 1, HT_KERNEL_RANDOM_UNIFORM, (ht_dtype)dtype, job(), value);
        for (int64_t i = 0; i < N; i++)
            assert_true(cpu_get((ht_dtype)dtype, value, i) >= -1 &&
                        cpu_get((ht_dtype)dtype, value, i) < 2);
    }
    draw.low = -4;
    draw.high = 6;
    run(0, HT_KERNEL_RANDOM_INTEGER, HT_INT64, draw, value);
    for (int64_t i = 0; i < N; i++) {
        assert_in_range(((int64_t *)value)[i] + 4, 0, 9);
        seen[((int64_t *)value)[i] + 4] = true;
    }
    for (int i = 0; i < 10; i++)
        assert_true(seen[i]);
}

static void dropout(void **state)
{
    static float x[N], y[N], dx[N];
    static uint8_t mask[N], base[N];
    const double p = 0.25;
    ht_dropout_call forward = {.x = CPU_AT(x),
                               .y = CPU_AT(y),
                               .mask = CPU_AT(mask),
                               .draw = {.seed = 3, .draw = 4, .outer = 1, .inner = N, .a = p}};
    int64_t kept = 0;

    (void)state;
    for (int64_t i = 0; i < N; i++)
        x[i] = (float)(i + 1);
    for (int l = 0; l < level_count; l++) {
        ht_dropout_call backward = forward;

        backward.y.data = dx;
        assert_int_equal(
            cpu_run(&levels[l].kernels, HT_KERNEL_DROPOUT_FORWARD, HT_FLOAT32, &forward), 0);
        assert_int_equal(
            cpu_run(&levels[l].kernels, HT_KERNEL_DROPOUT_BACKWARD, HT_FLOAT32, &backward), 0);
        if (l == 0)
            memcpy(base, mask, sizeof base);
        assert_memory_equal(base, mask, sizeof base);
        assert_memory_equal(y, dx, sizeof y);
        for (int64_t i = 0; i < N; i++)
            assert_true(y[i] == (mask[i] ? x[i] * (float)(1 / (1 - p)) : 0));
    }
    for (int64_t i = 0; i < N; i++)
        kept += base[i];
    assert_true(fabs((double)kept / N - (1 - p)) < 5 * sqrt(p * (1 - p) / N));
    forward.draw.a = 1;
    cpu_run(&levels[0].kernels, HT_KERNEL_DROPOUT_FORWARD, HT_FLOAT32, &forward);
    for (int64_t i = 0; i < N; i++)
        assert_true(mask[i] == 0 && y[i] == 0);
}

static void random_kernels_exist_for_their_dtypes_only(void **state)
{
    (void)state;
    for (int l = 0; l < level_count; l++)
        for (ht_kernel kind = HT_KERNELS_RANDOM; kind < HT_KERNELS_RANDOM_END; kind++)
            for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++) {
                if (!has((ht_dtype)dtype, kind))
                    assert_null(levels[l].kernels.at[kind][dtype]);
            }
}

static int setup(void **state)
{
    (void)state;
    if (level_count == 0)
        level_count = cpu_levels(levels);
    return 0;
}

HT_TEST_SUITE(test_cpu_random, cmocka_unit_test(philox_known_answers),
              cmocka_unit_test_setup(slabs_and_levels_agree, setup),
              cmocka_unit_test_setup(another_seed_or_draw_differs, setup),
              cmocka_unit_test(normal_inverts_the_distribution),
              cmocka_unit_test_setup(moments, setup),
              cmocka_unit_test_setup(intervals_are_half_open, setup),
              cmocka_unit_test_setup(dropout, setup),
              cmocka_unit_test_setup(random_kernels_exist_for_their_dtypes_only, setup));
