/* ranks 1 own device */
/* Elementwise kernels and conversions of every level and dtype. Each result is compared with double
 * arithmetic. Rows of any length, start and stride must have the same bits, at every level. */
#include "cpu_elementwise.h"
#include "elementwise.h"

static const struct listed unary_list[] = {HT_UNARY_KERNELS(LISTED)};

static double value_of(const ht_test_function *f, ht_dtype dtype, double x)
{
    return dtype == HT_BOOL && f->bool_value != NULL ? f->bool_value(x) : f->value(x);
}

static void check_unary(const kernel *k, const ht_test_function *f)
{
    for (int64_t i = 0; i < COUNT; i++) {
        if (!ht_dtype_is_complex(k->dtype))
            check_value(k->result, alone, i, value_of(f, k->dtype, cpu_get(k->dtype, a.data, i)));
        else if (f->complex_value == NULL)
            fail_msg("%s has no complex value in its row", f->name);
        else if (ht_dtype_is_complex(k->result))
            check_complex_value(k->dtype, alone, i,
                                f->complex_value(get_complex(k->dtype, a.data, i)));
        else
            check_value(k->result, alone, i,
                        creal(f->complex_value(get_complex(k->dtype, a.data, i))));
    }
}

static void unary_kernels(void **state)
{
    (void)state;
    FOR_EACH(op, unary_list)
    for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++) {
        const kernel k = {op->id, (ht_dtype)dtype, result_of(op, (ht_dtype)dtype)};
        const ht_test_function *f = ht_test_function_of(op->id, op->name);

        if (!exists(op->id, dtype))
            continue;
        fill(&a, k.dtype, 1);
        fill(&b, k.dtype, 2);
        params = f->param;
        check_levels_agree(&k);
        check_unary(&k, f);
        check_levels(&k, 2);
    }
    params = two_params;
}

static void conversions(void **state)
{
    (void)state;
    for (int from = 0; from < HT_DTYPE_COUNT; from++)
        for (int to = 0; to < HT_DTYPE_COUNT; to++) {
            const kernel k = {HT_KERNEL_CONVERT(to), (ht_dtype)from, (ht_dtype)to};
            const bool whole = ht_dtype_is_integer(k.result);

            fill(&a, k.dtype, 5);
            fill(&b, k.dtype, 6);
            for (int64_t i = 0; whole && i < COUNT + 8; i++) { /* in range, finite */
                cpu_set(k.dtype, a.data, i, (double)(i % 100));
                cpu_set(k.dtype, b.data, i, (double)(i % 90));
            }
            check_levels_agree(&k);
            for (int64_t i = 0; i < COUNT && to != HT_BOOL; i++)
                check_value(k.result, alone, i, cpu_get(k.dtype, a.data, i));
            check_levels(&k, 2);
        }
}

/* Images from row-major to channels-last: outer axes, and a step along the row. */
static void outer_axes(void **state)
{
    enum { N = 2, CH = 3, H = 4, W = 5 };
    float x[N * CH * H * W], y[N * CH * H * W];
    ht_loop loop = {.ndim = 4,
                    .shape = {N, H, W, CH},
                    .stride = {{H * W * CH, W * CH, CH, 1}, {CH * H * W, W, 1, H * W}},
                    .operand = {CPU_AT(y), CPU_AT(x)}};

    (void)state;
    for (int i = 0; i < N * CH * H * W; i++)
        x[i] = (float)i;
    for (int l = 0; l < level_count; l++) {
        memset(y, 0, sizeof y);
        run(l, &(kernel){HT_KERNEL_NEG, HT_FLOAT32, HT_FLOAT32}, loop);
        for (int n = 0; n < N; n++)
            for (int c = 0; c < CH; c++)
                for (int i = 0; i < H * W; i++)
                    assert_true(y[(n * H * W + i) * CH + c] == -x[(n * CH + c) * H * W + i]);
    }
}

/* A value converted to its own dtype fills, and leaves alone what lies between the rows. */
static void convert_fills_rows_and_nothing_between(void **state)
{
    enum { ROWS = 3, COLUMNS = 5, ROOM = 7 };
    double y[ROWS * ROOM];
    ht_loop loop = {.ndim = 2,
                    .shape = {ROWS, COLUMNS},
                    .stride = {{ROOM, 1}},
                    .operand = {CPU_AT(y)},
                    .value = {{{0}}, {.real = {2.5}}}};

    (void)state;
    for (int l = 0; l < level_count; l++) {
        memset(y, 0, sizeof y);
        run(l, &(kernel){HT_KERNEL_CONVERT(HT_FLOAT64), HT_FLOAT64, HT_FLOAT64}, loop);
        for (int i = 0; i < ROWS * ROOM; i++)
            assert_true(y[i] == (i % ROOM < COLUMNS ? 2.5 : 0));
    }
}

HT_TEST_SUITE(test_cpu_elementwise, cmocka_unit_test_setup(unary_kernels, setup),
              cmocka_unit_test_setup(conversions, setup), cmocka_unit_test_setup(outer_axes, setup),
              cmocka_unit_test_setup(convert_fills_rows_and_nothing_between, setup));
