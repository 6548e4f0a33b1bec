/* ranks 1 own device */
/* Attention against its formulas in double: more rows and keys than a tile has, masks, groups of
 * heads, dropout; with the same bits at every level. */
#include "cpu_kernels.h"

#include "ht/kernels/nn.h"

enum { BATCH = 4, LONGEST = 300, E = 5, EV = 3, SCORES = BATCH * LONGEST * LONGEST };
enum { Q, K, V, MASK, DY, INPUTS };
enum { Y, LSE, DQ, DK, DV, DMASK, RESULTS };
enum { NO_MASK, BOOL_MASK, ADDED_MASK, CAUSAL, ALL_MASKED, MASKS };

static cpu_level levels[3];
static int level_count;
static char *in[INPUTS], *out[RESULTS], *first[RESULTS];
static uint8_t *keep;          /* 0: dropped out */
static double *p, *ds, *right; /* weights of all rows; gradients of scores; sums */

static const size_t lists = (size_t)BATCH * LONGEST * E; /* the longest, but masks */

static void fill(ht_dtype dtype, int64_t scores, int mask)
{
    uint64_t seed = 5;

    for (int list = 0; list < INPUTS; list++)
        for (int64_t i = 0; list != MASK && i < (int64_t)lists; i++)
            cpu_set(dtype, in[list], i, 2 * cpu_random(&seed) - 1);
    for (int64_t i = 0; i < scores; i++) {
        if (mask == BOOL_MASK || mask == ALL_MASKED)
            ((uint8_t *)in[MASK])[i] = mask == BOOL_MASK && cpu_random(&seed) < 0.75;
        else
            cpu_set(dtype, in[MASK], i, 2 * cpu_random(&seed) - 1);
    }
}

static bool sees(const ht_attention_call *a, int64_t i, int64_t row, int64_t column)
{
    return !(a->causal && column > row) &&
           !(a->mask.data != NULL && a->mask_is_bool && ((uint8_t *)in[MASK])[i] == 0);
}

static double score(const ht_attention_call *a, ht_dtype dtype, int64_t b, int64_t row, int64_t j)
{
    const int64_t q = (b * a->l + row) * a->e, k = (b / a->k_group * a->s + j) * a->e;
    const int64_t i = (b * a->l + row) * a->s + j;
    double sum = 0;

    for (int64_t c = 0; c < a->e; c++)
        sum += cpu_get(dtype, in[Q], q + c) * cpu_get(dtype, in[K], k + c);
    sum *= a->scale;
    return a->mask.data != NULL && !a->mask_is_bool ? sum + cpu_get(dtype, in[MASK], i) : sum;
}

/* p of all rows, before dropout, and the logarithm of each row's sum of exponentials. */
static void weigh(const ht_attention_call *a, ht_dtype dtype, double *lse)
{
    for (int64_t row = 0; row < a->batch * a->l; row++) {
        double *w = p + row * a->s, sum = 0;

        for (int64_t j = 0; j < a->s; j++) {
            const bool seen = sees(a, row * a->s + j, row % a->l, j);

            w[j] = seen ? exp(score(a, dtype, row / a->l, row % a->l, j)) : 0;
            sum += w[j];
        }
        for (int64_t j = 0; j < a->s; j++)
            w[j] = sum > 0 ? w[j] / sum : 0;
        lse[row] = sum > 0 ? log(sum) : -(double)INFINITY;
    }
}

static double factor(const ht_attention_call *a, int64_t i)
{
    return a->draw.a == 0 ? 1 : keep[i] != 0 ? 1 / (1 - a->draw.a) : 0;
}

static void assert_list(ht_dtype dtype, const char *got, const double *expected, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        const double value = cpu_get(dtype, got, i);

        if (isinf(expected[i])
                ? value != expected[i]
                : !(fabs(value - expected[i]) <= 512 * cpu_eps(dtype) * (1 + fabs(expected[i]))))
            fail_msg("%s: element %lld is %.17g, not %.17g", ht_dtype_name(dtype), (long long)i,
                     value, expected[i]);
    }
}

static void check_forward(const ht_attention_call *a, ht_dtype dtype)
{
    weigh(a, dtype, right);
    assert_list(dtype, out[LSE], right, a->batch * a->l);
    memset(right, 0, lists * sizeof *right);
    for (int64_t i = 0; i < a->batch * a->l * a->s; i++) {
        const int64_t row = i / a->s, v = row / a->l / a->v_group * a->s + i % a->s;

        for (int64_t c = 0; c < a->ev; c++)
            right[row * a->ev + c] += p[i] * factor(a, i) * cpu_get(dtype, in[V], v * a->ev + c);
    }
    assert_list(dtype, out[Y], right, a->batch * a->l * a->ev);
}

/* dv, and ds = p (dp - sum p dp), where dp is the gradient of the weights. */
static void check_values(const ht_attention_call *a, ht_dtype dtype)
{
    memset(right, 0, lists * sizeof *right);
    for (int64_t row = 0; row < a->batch * a->l; row++) {
        double sum = 0;

        for (int64_t j = 0; j < a->s; j++) {
            const int64_t i = row * a->s + j, v = row / a->l / a->v_group * a->s + j;

            ds[i] = 0;
            for (int64_t c = 0; c < a->ev; c++) {
                const double dy = cpu_get(dtype, in[DY], row * a->ev + c);

                right[v * a->ev + c] += p[i] * factor(a, i) * dy;
                ds[i] += factor(a, i) * dy * cpu_get(dtype, in[V], v * a->ev + c);
            }
            sum += p[i] * ds[i];
        }
        for (int64_t i = row * a->s; i < (row + 1) * a->s; i++)
            ds[i] = p[i] * (ds[i] - sum);
    }
    assert_list(dtype, out[DV], right, a->batch / a->v_group * a->s * a->ev);
}

/* The gradient of query or key by ds. */
static void check_scores(const ht_attention_call *a, ht_dtype dtype, bool query)
{
    memset(right, 0, lists * sizeof *right);
    for (int64_t i = 0; i < a->batch * a->l * a->s; i++) {
        const int64_t q = i / a->s, k = q / a->l / a->k_group * a->s + i % a->s;

        for (int64_t c = 0; c < a->e; c++)
            right[(query ? q : k) * a->e + c] += ds[i] * a->scale *
                                                 cpu_get(dtype, in[query ? K : Q],
                                                         (query ? k : q) * a->e + c);
    }
    assert_list(dtype, out[query ? DQ : DK], right,
                query ? a->batch * a->l * a->e : a->batch / a->k_group * a->s * a->e);
}

/* Numbers as the draws of the dropout kernel have them. */
static void draw(const ht_attention_call *a, int64_t scores)
{
    ht_dropout_call dropout = {.draw = a->draw};
    float *ones = malloc((size_t)(scores + 1) * sizeof *ones);

    for (int64_t i = 0; i < scores; i++)
        ones[i] = 1;
    dropout.draw.start = a->draw.start * a->l * a->s;
    dropout.draw.outer = 1;
    dropout.draw.inner = dropout.draw.inner_global = scores;
    dropout.x.data = dropout.y.data = ones;
    dropout.mask.data = keep;
    assert_int_equal(cpu_run(&levels[0].kernels, HT_KERNEL_DROPOUT_FORWARD, HT_FLOAT32, &dropout),
                     0);
    free(ones);
}

static void run(int level, ht_dtype dtype, ht_attention_call a, int64_t scores)
{
    for (int i = 0; i < RESULTS; i++)
        memset(out[i], 0x55, (i == DMASK ? SCORES : lists) * 8);
    memset(out[DMASK], 0, (size_t)scores * ht_dtype_size(dtype));
    a.q.data = in[Q];
    a.k.data = in[K];
    a.v.data = in[V];
    a.y.data = out[Y];
    a.lse.data = out[LSE];
    assert_int_equal(cpu_run(&levels[level].kernels, HT_KERNEL_ATTENTION_FORWARD, dtype, &a), 0);
    a.dy.data = in[DY];
    a.dq.data = out[DQ];
    a.dk.data = out[DK];
    a.dv.data = out[DV];
    a.dmask.data = a.mask.data != NULL && !a.mask_is_bool ? out[DMASK] : NULL;
    assert_int_equal(cpu_run(&levels[level].kernels, HT_KERNEL_ATTENTION_BACKWARD, dtype, &a), 0);
}

static void check(ht_dtype dtype, int64_t l, int64_t s, int mask, double dropout, int64_t group)
{
    const int64_t scores = BATCH * l * s;
    ht_attention_call a = {.batch = BATCH,
                           .k_group = group,
                           .v_group = group,
                           .l = l,
                           .s = s,
                           .e = E,
                           .ev = EV,
                           .leads = 1,
                           .lead = {BATCH},
                           .mask_stride = {l * s, s},
                           .mask_is_bool = mask == BOOL_MASK || mask == ALL_MASKED,
                           .causal = mask == CAUSAL,
                           .scale = 0.75,
                           .draw = {.seed = 9, .draw = 2, .a = dropout, .start = 3}};

    a.mask.data = mask == NO_MASK || mask == CAUSAL ? NULL : in[MASK];
    fill(dtype, scores, mask);
    for (int level = 0; level < level_count; level++) {
        run(level, dtype, a, scores);
        for (int i = 0; i < RESULTS; i++) {
            const size_t bytes = (i == DMASK ? (size_t)SCORES : lists) * 8;

            if (level == 0)
                memcpy(first[i], out[i], bytes);
            assert_memory_equal(first[i], out[i], bytes);
        }
    }
    if (dropout > 0)
        draw(&a, scores);
    check_forward(&a, dtype);
    check_values(&a, dtype);
    check_scores(&a, dtype, true);
    check_scores(&a, dtype, false);
    if (mask == ADDED_MASK)
        assert_list(dtype, out[DMASK], ds, scores);
}

static const int64_t sizes[][2] = {{1, 1}, {5, 33}, {130, 7}, {7, LONGEST}, {LONGEST, 257}, {3, 0}};

static void every_mask_and_size(void **state)
{
    (void)state;
    for (int dtype = HT_FLOAT32; dtype <= HT_FLOAT64; dtype++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            for (int mask = 0; mask < MASKS; mask++)
                check((ht_dtype)dtype, sizes[i][0], sizes[i][1], mask, 0, 1 + mask % 2);
}

static void dropout_is_that_of_the_dropout_kernel(void **state)
{
    (void)state;
    for (int dtype = HT_FLOAT32; dtype <= HT_FLOAT64; dtype++)
        for (size_t i = 1; i < 4; i++)
            check((ht_dtype)dtype, sizes[i][0], sizes[i][1], ADDED_MASK, 0.25, 2);
}

static int setup(void **state)
{
    (void)state;
    if (level_count == 0)
        level_count = cpu_levels(levels);
    for (int i = 0; i < INPUTS; i++)
        in[i] = calloc(i == MASK ? SCORES : lists, 8);
    for (int i = 0; i < RESULTS; i++) {
        out[i] = calloc(i == DMASK ? SCORES : lists, 8);
        first[i] = calloc(i == DMASK ? SCORES : lists, 8);
    }
    keep = calloc(SCORES, 1);
    p = calloc(SCORES, sizeof *p);
    ds = calloc(SCORES, sizeof *ds);
    right = calloc(lists, sizeof *right);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (int i = 0; i < INPUTS; i++)
        free(in[i]);
    for (int i = 0; i < RESULTS; i++) {
        free(out[i]);
        free(first[i]);
    }
    free(keep);
    free(p);
    free(ds);
    free(right);
    return 0;
}

HT_TEST_SUITE(test_cpu_attention,
              cmocka_unit_test_setup_teardown(every_mask_and_size, setup, teardown),
              cmocka_unit_test_setup_teardown(dropout_is_that_of_the_dropout_kernel, setup,
                                              teardown));
