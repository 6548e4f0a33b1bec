/* ranks 1 own device */
/* Optimizer steps against torch.optim's formulas in double, element by element, over several steps,
 * and the same bits at every level and length. */
#include "cpu_kernels.h"

#include "ht/kernels/optim.h"

enum { N = 131, STEPS = 8, PARTS = 3 };

static cpu_level levels[3];
static int level_count;

typedef struct arrays {
    _Alignas(64) char param[N * 8], grad[N * 8], state[3][N * 8];
} arrays;

static void fill_from(uint64_t state, arrays *a, ht_dtype dtype)
{
    for (int64_t i = 0; i < N; i++) {
        cpu_set(dtype, a->param, i, 2 * cpu_random(&state) - 1);
        cpu_set(dtype, a->grad, i, 2 * cpu_random(&state) - 1);
        for (int s = 0; s < 3; s++)
            cpu_set(dtype, a->state[s], i, 0);
    }
}

static void fill(arrays *a, ht_dtype dtype)
{
    fill_from(17, a, dtype);
}

/* A call and what lies behind it. */
typedef struct job {
    ht_update_call call;
    ht_update_part part[PARTS];
} job;

static ht_update_part make_part(arrays *a, int64_t n, int64_t step)
{
    return (ht_update_part){
        .param = CPU_AT(a->param),
        .grad = CPU_AT(a->grad),
        .state = {CPU_AT(a->state[0]), CPU_AT(a->state[1]), CPU_AT(a->state[2])},
        .n = n,
        .step = step,
        .number = 0.5};
}

static job make_job(arrays *a, int64_t n, int64_t step)
{
    return (job){.call = {.lr = 0.1,
                          .beta1 = 0.9,
                          .beta2 = 0.99,
                          .eps = 1e-6,
                          .weight_decay = 0.01,
                          .momentum = 0.8,
                          .dampening = 0.3,
                          .grad_scale = 0.5,
                          .call.rows = 1,
                          .call.table = offsetof(job, part)},
                 .part = {make_part(a, n, step)}};
}

static void run(int level, ht_kernel kind, ht_dtype dtype, job *j)
{
    assert_ptr_equal(ht_update_parts(&j->call), j->part);
    assert_int_equal(cpu_run_bytes(&levels[level].kernels, kind, dtype, j,
                                   sizeof j->call + (size_t)j->call.call.rows * sizeof *j->part),
                     0);
}

/* Steps by the moments of Adam. */
static void moments_of_adam(ht_kernel kind, const job *j, double *p, double g, double s[3])
{
    const ht_update_call *u = &j->call;
    const double t = (double)j->part->step, left = 1 - pow(u->beta2, t);

    s[0] = u->beta1 * s[0] + (1 - u->beta1) * g;
    s[1] = u->beta2 * s[1] + (1 - u->beta2) * g * g;
    if (kind == HT_KERNEL_UPDATE_NADAM) {
        const double mu = u->beta1 * (1 - pow(0.96, t * u->dampening) / 2);
        const double next = u->beta1 * (1 - pow(0.96, (t + 1) * u->dampening) / 2);
        const double all = j->part->number * mu;

        *p -= u->lr * ((1 - mu) / (1 - all) * g + next / (1 - all * next) * s[0]) /
              (sqrt(s[1] / left) + u->eps);
    } else {
        const double most = 2 / (1 - u->beta2) - 1, rho = most - 2 * t * (1 - left) / left;
        const double r = (rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho);

        *p -= u->lr * s[0] / (1 - pow(u->beta1, t)) *
              (rho > 5 ? sqrt(r) * sqrt(left) / (sqrt(s[1]) + u->eps) : 1);
    }
}

/* One element, one step: param, and the states. */
static void reference(ht_kernel kind, const job *j, double *p, double grad, double s[3])
{
    const ht_update_call *u = &j->call;
    const double step = (double)j->part->step;
    double g = grad * u->grad_scale * (u->maximize ? -1 : 1);

    if (u->decoupled && (kind == HT_KERNEL_UPDATE_ADAM || kind == HT_KERNEL_UPDATE_NADAM ||
                         kind == HT_KERNEL_UPDATE_RADAM))
        *p *= 1 - u->lr * u->weight_decay;
    else if (kind != HT_KERNEL_UPDATE_RPROP)
        g += u->weight_decay * *p;
    if (kind == HT_KERNEL_UPDATE_SGD) {
        s[0] = step == 1 ? g : u->momentum * s[0] + (1 - u->dampening) * g;
        *p -= u->lr * (j->part->state[0].data == NULL ? g
                       : u->nesterov                  ? g + u->momentum * s[0]
                                                      : s[0]);
    } else if (kind == HT_KERNEL_UPDATE_ADAM) {
        s[0] = u->beta1 * s[0] + (1 - u->beta1) * g;
        s[1] = u->beta2 * s[1] + (1 - u->beta2) * g * g;
        s[2] = fmax(s[2], s[1]);
        *p -= u->lr * s[0] / (1 - pow(u->beta1, step)) /
              (sqrt(s[u->amsgrad ? 2 : 1] / (1 - pow(u->beta2, step))) + u->eps);
    } else if (kind == HT_KERNEL_UPDATE_RMSPROP) {
        double *buffer = &s[u->centered ? 2 : 1], ratio;

        s[0] = u->beta1 * s[0] + (1 - u->beta1) * g * g;
        if (u->centered)
            s[1] = u->beta1 * s[1] + (1 - u->beta1) * g;
        ratio = g / (sqrt(u->centered ? s[0] - s[1] * s[1] : s[0]) + u->eps);
        *buffer = u->momentum * *buffer + ratio;
        *p -= u->lr * *buffer;
    } else if (kind == HT_KERNEL_UPDATE_ADAMAX) {
        s[0] = u->beta1 * s[0] + (1 - u->beta1) * g;
        s[1] = fmax(u->beta2 * s[1], fabs(g) + u->eps);
        *p -= u->lr / (1 - pow(u->beta1, step)) * s[0] / s[1];
    } else if (kind == HT_KERNEL_UPDATE_ADAGRAD) {
        s[0] += g * g;
        *p -= u->lr / (1 + (step - 1) * u->beta1) * g / (sqrt(s[0]) + u->eps);
    } else if (kind == HT_KERNEL_UPDATE_ADADELTA) {
        double delta;

        s[0] = u->beta1 * s[0] + (1 - u->beta1) * g * g;
        delta = sqrt(s[1] + u->eps) / sqrt(s[0] + u->eps) * g;
        s[1] = u->beta1 * s[1] + (1 - u->beta1) * delta * delta;
        *p -= u->lr * delta;
    } else if (kind == HT_KERNEL_UPDATE_RPROP) {
        const double turn = g * s[0];

        s[1] *= turn > 0 ? u->beta2 : turn < 0 ? u->beta1 : 1;
        s[1] = fmin(fmax(s[1], u->eps), u->momentum);
        s[0] = turn < 0 ? 0 : g;
        *p -= s[0] == 0 ? 0 : copysign(s[1], s[0]);
    } else if (kind == HT_KERNEL_UPDATE_ASGD) {
        const double after = step - 1 - u->eps;

        *p = (1 - u->beta1 * j->part->number) * *p - j->part->number * g;
        s[0] += (*p - s[0]) / (after > 1 ? after : 1);
    } else if (kind == HT_KERNEL_UPDATE_NADAM || kind == HT_KERNEL_UPDATE_RADAM) {
        moments_of_adam(kind, j, p, g, s);
    } else {
        fail_msg("kernel %d of HT_OPTIM_KERNELS has no reference here", kind);
    }
}

/* `option` sets the flags: bit 0 nesterov, decoupled or centered, bit 1 maximize, bit 2 no momentum
 * (SGD: without buffer) and amsgrad. */
static job configured(ht_kernel kind, arrays *a, int64_t n, int option, int step)
{
    job j = make_job(a, n, step);

    j.call.nesterov = j.call.decoupled = j.call.centered = option & 1;
    j.call.maximize = option & 2;
    if (option & 4) {
        j.call.momentum = 0;
        j.call.amsgrad = true;
        if (kind == HT_KERNEL_UPDATE_SGD)
            j.part->state[0].data = NULL;
    }
    return j;
}

static void check(ht_kernel kind, ht_dtype dtype, int option)
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
            job j = configured(kind, &got[l], N, option, step);

            run(l, kind, dtype, &j);
            assert_memory_equal(got[l].param, got[0].param, sizeof got[0].param);
        }
        for (int64_t i = 0; i < N; i++) {
            const job j = configured(kind, &got[0], N, option, step);

            reference(kind, &j, &param[i], cpu_get(dtype, got[0].grad, i), states[i]);
            assert_true(fabs(cpu_get(dtype, got[0].param, i) - param[i]) <= 32 * cpu_eps(dtype));
        }
    }
}

static void steps(void **state)
{
    (void)state;
    for (int dtype = HT_FLOAT32; dtype <= HT_FLOAT64; dtype++)
        for (ht_kernel kind = HT_KERNELS_OPTIM; kind < HT_KERNELS_OPTIM_END; kind++)
            for (int option = 0; option < 8; option++)
                check(kind, (ht_dtype)dtype, option);
}

/* A segment boundary must not change the results: every prefix equals the same part of the complete
 * result. */
static void lengths_agree(void **state)
{
    static arrays whole, part;

    (void)state;
    for (ht_kernel kind = HT_KERNELS_OPTIM; kind < HT_KERNELS_OPTIM_END; kind++)
        for (int l = 0; l < level_count; l++)
            for (int64_t n = 0; n <= 70; n++) {
                fill(&whole, HT_FLOAT32);
                fill(&part, HT_FLOAT32);
                job all = configured(kind, &whole, N, 0, 1);
                job some = configured(kind, &part, n, 0, 1);

                run(l, kind, HT_FLOAT32, &all);
                run(l, kind, HT_FLOAT32, &some);
                for (int64_t i = 0; i < n; i++)
                    assert_true(cpu_same(HT_FLOAT32, part.param, i, whole.param, i));
            }
}

/* Three parameters of different lengths and ages in one call are the same as in three calls;
 * nothing is written behind the end of one. */
static void one_update_of_several_parts_equals_several(void **state)
{
    static const int64_t n[PARTS] = {70, 0, N - 1}, step[PARTS] = {1, 2, 3};
    static arrays together[PARTS], apart[PARTS], before;

    (void)state;
    for (ht_kernel kind = HT_KERNELS_OPTIM; kind < HT_KERNELS_OPTIM_END; kind++)
        for (int l = 0; l < level_count; l++) {
            job all = make_job(&together[0], 0, 0);

            all.call.call.rows = PARTS;
            for (int i = 0; i < PARTS; i++) {
                job one = make_job(&apart[i], n[i], step[i]);

                fill_from(17 + (uint64_t)i, &together[i], HT_FLOAT64);
                fill_from(17 + (uint64_t)i, &apart[i], HT_FLOAT64);
                all.part[i] = make_part(&together[i], n[i], step[i]);
                run(l, kind, HT_FLOAT64, &one);
            }
            run(l, kind, HT_FLOAT64, &all);
            assert_memory_equal(together, apart, sizeof together);
            for (int i = 0; i < PARTS; i++) {
                fill_from(17 + (uint64_t)i, &before, HT_FLOAT64);
                assert_memory_equal(together[i].param + 8 * n[i], before.param + 8 * n[i],
                                    sizeof before.param - 8 * (size_t)n[i]);
            }
        }
}

/* The first step of momentum writes its buffer without reading it. */
static void first_step_reads_no_buffer(void **state)
{
    static arrays a, fresh;

    (void)state;
    for (int l = 0; l < level_count; l++) {
        job j = make_job(&a, N, 1), expected = make_job(&fresh, N, 1);

        fill(&a, HT_FLOAT32);
        fill(&fresh, HT_FLOAT32);
        for (int64_t i = 0; i < N; i++)
            cpu_set(HT_FLOAT32, a.state[0], i, NAN);
        run(l, HT_KERNEL_UPDATE_SGD, HT_FLOAT32, &j);
        run(l, HT_KERNEL_UPDATE_SGD, HT_FLOAT32, &expected);
        assert_memory_equal(&a, &fresh, sizeof a);
    }
}

/* 0.125 by a pointer has the effect of 0.125 times the scale of gradients. */
static void factor_scales_gradients(void **state)
{
    static const double factor = 0.125;
    static arrays by_factor, by_scale;

    (void)state;
    for (ht_kernel kind = HT_KERNELS_OPTIM; kind < HT_KERNELS_OPTIM_END; kind++)
        for (int l = 0; l < level_count; l++) {
            job j = make_job(&by_factor, N, 2), scaled = make_job(&by_scale, N, 2);

            fill(&by_factor, HT_FLOAT32);
            fill(&by_scale, HT_FLOAT32);
            j.call.factor = CPU_AT(&factor);
            scaled.call.grad_scale *= factor;
            run(l, kind, HT_FLOAT32, &j);
            run(l, kind, HT_FLOAT32, &scaled);
            assert_memory_equal(&by_factor, &by_scale, sizeof by_scale);
        }
}

/* `unless` 0 is as none; anything else, NaN too, and no part of the call is done. */
static void update_kernels_skip_the_step_if_unless_is_set(void **state)
{
    static const double unless[] = {0, 1, NAN};
    static arrays got, done, before;

    (void)state;
    for (ht_kernel kind = HT_KERNELS_OPTIM; kind < HT_KERNELS_OPTIM_END; kind++)
        for (int l = 0; l < level_count; l++)
            for (int i = 0; i < 3; i++) {
                job j = make_job(&got, 50, 2), plain = make_job(&done, 50, 2);

                fill(&before, HT_FLOAT64);
                got = done = before;
                j.call.unless = CPU_AT(&unless[i]);
                j.call.call.rows = plain.call.call.rows = 2; /* a second step for the same */
                j.part[1] = j.part[0];
                plain.part[1] = plain.part[0];
                run(l, kind, HT_FLOAT64, &j);
                run(l, kind, HT_FLOAT64, &plain);
                assert_memory_equal(&got, i == 0 ? &done : &before, sizeof got);
                assert_memory_not_equal(&done, &before, sizeof done);
            }
}

static void half_precision_has_no_steps(void **state)
{
    (void)state;
    for (int l = 0; l < level_count; l++)
        for (ht_kernel kind = HT_KERNELS_OPTIM; kind < HT_KERNELS_OPTIM_END; kind++)
            for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++) {
                if (dtype == HT_FLOAT32 || dtype == HT_FLOAT64)
                    assert_non_null(levels[l].kernels.at[kind][dtype]);
                else
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

HT_TEST_SUITE(test_cpu_update, cmocka_unit_test_setup(steps, setup),
              cmocka_unit_test_setup(lengths_agree, setup),
              cmocka_unit_test_setup(one_update_of_several_parts_equals_several, setup),
              cmocka_unit_test_setup(first_step_reads_no_buffer, setup),
              cmocka_unit_test_setup(factor_scales_gradients, setup),
              cmocka_unit_test_setup(update_kernels_skip_the_step_if_unless_is_set, setup),
              cmocka_unit_test_setup(half_precision_has_no_steps, setup));
