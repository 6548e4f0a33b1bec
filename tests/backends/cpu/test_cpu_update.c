/* ranks 1 */
/* Optimizer steps against torch.optim's formulas in double, element by element, over several steps,
 * and the same bits at every level and length. */
#include "cpu_kernels.h"

enum { N = 131, STEPS = 3 };

static cpu_level levels[3];
static int level_count;

typedef struct arrays {
    _Alignas(64) char param[N * 8], grad[N * 8], state[3][N * 8];
} arrays;

static void fill(arrays *a, ht_dtype dtype)
{
    uint64_t state = 17;

    for (int64_t i = 0; i < N; i++) {
        cpu_set(dtype, a->param, i, 2 * cpu_random(&state) - 1);
        cpu_set(dtype, a->grad, i, 2 * cpu_random(&state) - 1);
        for (int s = 0; s < 3; s++)
            cpu_set(dtype, a->state[s], i, 0);
    }
}

static ht_update update(arrays *a, ht_dtype dtype, int64_t n)
{
    ht_update u = {.dtype = dtype, .n = n, .param = a->param, .grad = a->grad, .grad_scale = 0.5};

    for (int s = 0; s < 3; s++)
        u.state[s] = a->state[s];
    u.lr = 0.1;
    u.beta1 = 0.9;
    u.beta2 = 0.99;
    u.eps = 1e-6;
    u.weight_decay = 0.01;
    u.momentum = 0.8;
    u.dampening = 0.3;
    return u;
}

/* One element, one step: param, and the states. */
static void reference(ht_update_kernel kind, const ht_update *u, double *p, double grad,
                      double s[3])
{
    double g = grad * u->grad_scale * (u->maximize ? -1 : 1);

    if (kind == HT_UPDATE_ADAM && u->decoupled)
        *p *= 1 - u->lr * u->weight_decay;
    else
        g += u->weight_decay * *p;
    if (kind == HT_UPDATE_SGD) {
        s[0] = u->first ? g : u->momentum * s[0] + (1 - u->dampening) * g;
        *p -= u->lr * (u->state[0] == NULL ? g : u->nesterov ? g + u->momentum * s[0] : s[0]);
    } else if (kind == HT_UPDATE_ADAM) {
        s[0] = u->beta1 * s[0] + (1 - u->beta1) * g;
        s[1] = u->beta2 * s[1] + (1 - u->beta2) * g * g;
        *p -= u->lr * s[0] / (1 - pow(u->beta1, (double)u->step)) /
              (sqrt(s[1] / (1 - pow(u->beta2, (double)u->step))) + u->eps);
    } else if (kind == HT_UPDATE_RMSPROP) {
        double *buffer = &s[u->centered ? 2 : 1], step;

        s[0] = u->beta1 * s[0] + (1 - u->beta1) * g * g;
        if (u->centered)
            s[1] = u->beta1 * s[1] + (1 - u->beta1) * g;
        step = g / (sqrt(u->centered ? s[0] - s[1] * s[1] : s[0]) + u->eps);
        *buffer = u->momentum * *buffer + step;
        *p -= u->lr * *buffer;
    } else {
        double delta;

        s[0] = u->beta1 * s[0] + (1 - u->beta1) * g * g;
        delta = sqrt(s[1] + u->eps) / sqrt(s[0] + u->eps) * g;
        s[1] = u->beta1 * s[1] + (1 - u->beta1) * delta * delta;
        *p -= u->lr * delta;
    }
}

/* `option` sets the flags: bit 0 nesterov, decoupled or centered, bit 1 maximize, bit 2 no momentum
 * (SGD: without buffer). */
static ht_update configured(ht_update_kernel kind, arrays *a, ht_dtype dtype, int64_t n, int option,
                            int step)
{
    ht_update u = update(a, dtype, n);

    u.nesterov = u.decoupled = u.centered = option & 1;
    u.maximize = option & 2;
    u.first = step == 1;
    u.step = step;
    if (option & 4) {
        u.momentum = 0;
        if (kind == HT_UPDATE_SGD)
            u.state[0] = NULL;
    }
    return u;
}

static void check(ht_update_kernel kind, ht_dtype dtype, int option)
{
    static arrays got[3];
    static double param[N], states[N][3];

    for (int l = 0; l < level_count; l++)
        fill(&got[l], dtype);
    for (int64_t i = 0; i < N; i++) {
        param[i] = cpu_get(dtype, got[0].param, i);
        states[i][0] = states[i][1] = states[i][2] = 0;
    }
    for (int step = 1; step <= STEPS; step++) {
        for (int l = 0; l < level_count; l++) {
            ht_update u = configured(kind, &got[l], dtype, N, option, step);
            assert_int_equal(levels[l].kernels.update[kind](NULL, &u), 0);
            assert_memory_equal(got[l].param, got[0].param, sizeof got[0].param);
        }
        for (int64_t i = 0; i < N; i++) {
            ht_update u = configured(kind, &got[0], dtype, N, option, step);

            reference(kind, &u, &param[i], cpu_get(dtype, got[0].grad, i), states[i]);
            assert_true(fabs(cpu_get(dtype, got[0].param, i) - param[i]) <= 32 * cpu_eps(dtype));
        }
    }
}

static void steps(void **state)
{
    (void)state;
    for (int dtype = HT_FLOAT32; dtype <= HT_FLOAT64; dtype++) {
        for (int option = 0; option < 8; option++) {
            check(HT_UPDATE_SGD, (ht_dtype)dtype, option);
            check(HT_UPDATE_RMSPROP, (ht_dtype)dtype, option);
        }
        for (int option = 0; option < 4; option++) {
            check(HT_UPDATE_ADAM, (ht_dtype)dtype, option);
            check(HT_UPDATE_ADADELTA, (ht_dtype)dtype, option);
        }
    }
}

/* What a segment boundary cuts off must not change: every prefix equals the whole. */
static void lengths_agree(void **state)
{
    static arrays whole, part;

    (void)state;
    for (int kind = 0; kind < HT_UPDATE_COUNT; kind++)
        for (int l = 0; l < level_count; l++)
            for (int64_t n = 0; n <= 70; n++) {
                fill(&whole, HT_FLOAT32);
                fill(&part, HT_FLOAT32);
                ht_update all = configured((ht_update_kernel)kind, &whole, HT_FLOAT32, N, 0, 1);
                ht_update some = configured((ht_update_kernel)kind, &part, HT_FLOAT32, n, 0, 1);

                levels[l].kernels.update[kind](NULL, &all);
                levels[l].kernels.update[kind](NULL, &some);
                for (int64_t i = 0; i < n; i++)
                    assert_true(cpu_same(HT_FLOAT32, part.param, i, whole.param, i));
            }
}

/* y = a x + b y: the same bits at every level, whatever the length; x may be y. */
static void check_sums(ht_dtype dtype)
{
    static arrays whole[3], part, before;

    fill(&before, dtype);
    for (int l = 0; l < level_count; l++) {
        fill(&whole[l], dtype);
        fill(&part, dtype);
        levels[l].kernels.axpby(NULL, dtype, N, 0.75, whole[l].grad, -1.25, whole[l].param);
        levels[l].kernels.axpby(NULL, dtype, 67, 0.75, part.grad, -1.25, part.param);
        levels[l].kernels.axpby(NULL, dtype, N, 2, part.grad, 1, part.grad);
        assert_memory_equal(whole[l].param, whole[0].param, sizeof whole[0].param);
        for (int64_t i = 0; i < N; i++) {
            double x = cpu_get(dtype, before.grad, i), y = cpu_get(dtype, before.param, i);

            assert_true(fabs(cpu_get(dtype, whole[l].param, i) - (0.75 * x - 1.25 * y)) <=
                        2 * cpu_eps(dtype));
            assert_true(fabs(cpu_get(dtype, part.grad, i) - 3 * x) <= 4 * cpu_eps(dtype));
            assert_true(cpu_same(dtype, part.param, i, i < 67 ? whole[l].param : before.param, i));
        }
    }
}

static void sums_in_place(void **state)
{
    (void)state;
    check_sums(HT_FLOAT32);
    check_sums(HT_FLOAT64);
}

static void half_precision_is_refused(void **state)
{
    static arrays a;
    ht_update u = update(&a, HT_BFLOAT16, 0);
    const char *message;

    (void)state;
    assert_int_not_equal(levels[0].kernels.update[HT_UPDATE_ADAM](NULL, &u), 0);
    ht_error_get(&message);
    assert_string_equal(message, "Adam: there is no bfloat16 kernel on the cpu");
}

static int setup(void **state)
{
    (void)state;
    if (level_count == 0)
        level_count = cpu_levels(levels);
    return 0;
}

HT_TEST_SUITE(test_cpu_update, cmocka_unit_test_setup(steps, setup),
              cmocka_unit_test_setup(lengths_agree, setup),
              cmocka_unit_test_setup(sums_in_place, setup),
              cmocka_unit_test_setup(half_precision_is_refused, setup));
