/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* PowerSGD: where it must be exact, what error feedback keeps, and training with it. */
#include "nn/parallel/data/comm_hook_test.h"
#include "golden/power_sgd.h"

enum { ROWS = 9, COLUMNS = 12, N = ROWS * COLUMNS };

static ht_power_sgd *new_state(int rank, double min_rate)
{
    ht_power_sgd_options options = ht_power_sgd_options_default();

    options.rank = rank;
    options.start_iter = 2;
    options.min_compression_rate = min_rate;
    return ht_power_sgd_new(&options);
}

static void random_values(double *values, int which)
{
    for (int i = 0; i < N; i++)
        values[i] = sin(1.3 * i + 0.01 * i * i + 0.9 * which);
}

static void mean_of_random(double *mean, int first, int count)
{
    double values[N];

    memset(mean, 0, N * sizeof *mean);
    for (int r = first; r < first + count; r++) {
        random_values(values, r);
        for (int i = 0; i < N; i++)
            mean[i] += values[i] / count;
    }
}

/* The first two steps are plain averages. */
static void skip_plain_steps(struct probe *p)
{
    double mean[N], values[N];

    mean_of_random(mean, 0, ht_test_size);
    random_values(values, ht_test_rank);
    for (int step = 0; step < 2; step++) {
        const double *got = ht_test_data(probe_average(p, values));

        for (int i = 0; i < N; i++)
            assert_true(fabs(got[i] - mean[i]) <= 1e-14);
    }
}

static void assert_close(const double *got, const double *expected, double tolerance)
{
    for (int i = 0; i < N; i++) {
        if (!(fabs(got[i] - expected[i]) <= tolerance))
            fail_msg("element %d is %.17g, expected %.17g", i, got[i], expected[i]);
    }
}

/* Rank 2 with error feedback and warm start, step by step as PyTorch's hook. */
static void test_golden(void **state)
{
    ht_power_sgd *sgd;
    struct probe p;
    double values[N];

    (void)state;
    if (ht_test_size != 2)
        HT_TEST_SKIP("PyTorch's values are of two ranks");
    sgd = new_state(2, 1);
    p = open_probe(ROWS, COLUMNS, HT_FLOAT64, ht_comm_hook_power_sgd, sgd);
    skip_plain_steps(&p);
    for (int step = 2; step < 8; step++) {
        random_values(values, 10 * step + ht_test_rank);
        assert_close(ht_test_data(probe_average(&p, values)), golden_power_sgd[step - 2], 1e-12);
    }
    close_probe(&p);
    ht_release(sgd);
}

static void test_full_rank_is_the_mean(void **state)
{
    ht_power_sgd *sgd = new_state(ROWS, 0);
    struct probe p = open_probe(ROWS, COLUMNS, HT_FLOAT64, ht_comm_hook_power_sgd, sgd);
    double mean[N], values[N];

    (void)state;
    skip_plain_steps(&p);
    for (int step = 0; step < 3; step++) {
        mean_of_random(mean, 10 * step, ht_test_size);
        random_values(values, 10 * step + ht_test_rank);
        assert_close(ht_test_data(probe_average(&p, values)), mean, 1e-13);
    }
    assert_true(ht_power_sgd_compression_rate(sgd) == (double)N / (ROWS * (ROWS + COLUMNS)));
    close_probe(&p);
    ht_release(sgd);
}

/* A mean of rank 1 is exact at rank 1, and at rank 2, where a column is made up. It is exact up to
 * rounding, which grows where Q of the step before has little of the new direction. */
static void test_gradient_of_low_rank_is_exact(void **state)
{
    double values[N], mean[N];

    (void)state;
    for (int rank = 1; rank <= 2; rank++) {
        ht_power_sgd *sgd = new_state(rank, 1);
        struct probe p = open_probe(ROWS, COLUMNS, HT_FLOAT64, ht_comm_hook_power_sgd, sgd);

        skip_plain_steps(&p);
        for (int step = 0; step < 4; step++) {
            for (int i = 0; i < N; i++) {
                double unit = cos(i / COLUMNS + step) * sin(1 + i % COLUMNS * (step + 1));

                values[i] = unit * (1 + ht_test_rank);
                mean[i] = unit * (1 + ht_test_size) / 2;
            }
            assert_close(ht_test_data(probe_average(&p, values)), mean, 1e-11);
        }
        close_probe(&p);
        ht_release(sgd);
    }
}

/* Nothing gets lost: after a gradient, zeros follow until all that was left out has come. */
static void test_error_feedback_keeps_the_sum(void **state)
{
    ht_power_sgd *sgd = new_state(1, 1);
    struct probe p = open_probe(ROWS, COLUMNS, HT_FLOAT64, ht_comm_hook_power_sgd, sgd);
    double sum[N] = {0}, mean[N], values[N], first = 0;

    (void)state;
    skip_plain_steps(&p);
    mean_of_random(mean, 0, ht_test_size);
    random_values(values, ht_test_rank);
    for (int step = 0; step < 60; step++) {
        const double *got = ht_test_data(probe_average(&p, values));

        for (int i = 0; i < N; i++) {
            sum[i] += got[i];
            first = step == 0 ? fmax(first, fabs(got[i] - mean[i])) : first;
        }
        memset(values, 0, sizeof values);
    }
    assert_true(first > 0.1);
    assert_close(sum, mean, 1e-12);
    close_probe(&p);
    ht_release(sgd);
}

/* A gradient of zeros has no direction, and must stay zero. */
static void test_zeros_stay_zeros(void **state)
{
    ht_power_sgd *sgd = new_state(2, 1);
    struct probe p = open_probe(ROWS, COLUMNS, HT_FLOAT64, ht_comm_hook_power_sgd, sgd);
    double zeros[N] = {0}, mean[N], values[N];

    (void)state;
    skip_plain_steps(&p);
    for (int step = 0; step < 3; step++)
        assert_close(ht_test_data(probe_average(&p, zeros)), zeros, 0);
    for (int i = 0; i < N; i++)
        values[i] = mean[i] = cos(i / COLUMNS) * sin(1 + i % COLUMNS);
    assert_close(ht_test_data(probe_average(&p, values)), mean, 1e-13);
    close_probe(&p);
    ht_release(sgd);
}

static void power_sgd_agrees_blocking_and_overlapped(void **state)
{
    double expected[VALUES], values[VALUES], plain[VALUES];

    (void)state;
    train_hooked(true, 1, SGD, NULL, NULL, plain);
    for (int mode = 0; mode < 4; mode++) {
        ht_power_sgd_options options = ht_power_sgd_options_default();

        options.start_iter = 2;
        options.min_compression_rate = 1;
        options.warm_start = mode & 1;
        options.error_feedback = mode & 2;
        for (size_t i = 0; i < sizeof hook_bucket_sizes / sizeof *hook_bucket_sizes; i++) {
            ht_power_sgd *one = ht_power_sgd_new(&options), *two = ht_power_sgd_new(&options);

            train_hooked(true, 1, SGD, ht_comm_hook_power_sgd, one, expected);
            train_hooked(false, hook_bucket_sizes[i], SGD, ht_comm_hook_power_sgd, two, values);
            assert_memory_equal(values, expected, sizeof values);
            ht_release(one);
            ht_release(two);
        }
        assert_true(distance(values, plain) > 1e-6);
    }
}

/* Least squares of the probe's weight towards targets that differ between the ranks, at rank 1: the
 * mean of the targets is reached. */
static void test_regression_converges(void **state)
{
    ht_power_sgd *sgd = new_state(1, 1);
    struct probe p = open_probe(ROWS, COLUMNS, HT_FLOAT64, ht_comm_hook_power_sgd, sgd);
    double target[N], mean[N], w[N] = {0}, gradient[N];

    (void)state;
    mean_of_random(mean, 0, ht_test_size);
    random_values(target, ht_test_rank);
    for (int step = 0; step < 400; step++) {
        const double *got;

        for (int i = 0; i < N; i++)
            gradient[i] = w[i] - target[i];
        got = ht_test_data(probe_average(&p, gradient));
        for (int i = 0; i < N; i++)
            w[i] -= 0.05 * got[i];
    }
    assert_close(w, mean, 1e-3);
    close_probe(&p);
    ht_release(sgd);
}

static void test_misuse(void **state)
{
    ht_power_sgd_options options = ht_power_sgd_options_default();
    const char *message;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    options.start_iter = 1;
    assert_null(ht_power_sgd_new(&options));
    ht_error_get(&message);
    assert_non_null(strstr(message, "start_iter is 1, expected at least 2"));
    ht_error_clear();
    options.start_iter = 2;
    options.rank = 0;
    assert_null(ht_power_sgd_new(&options));
    ht_error_get(&message);
    assert_non_null(strstr(message, "rank is 0, expected at least 1"));
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
}

/* A gradient that overflows on one rank is lost, together with the earlier remainder; later ones
   are not. */
static void test_an_overflow_is_forgotten(void **state)
{
    const double bad[] = {INFINITY, NAN};
    double values[N];

    (void)state;
    for (int i = 0; i < 4; i++) {
        ht_power_sgd *sgd = new_state(2, i < 2 ? 1 : 1e9); /* compressed; complete */
        struct probe p = open_probe(ROWS, COLUMNS, HT_FLOAT64, ht_comm_hook_power_sgd, sgd);

        skip_plain_steps(&p);
        for (int step = 2; step < 7; step++) {
            const double *got;
            bool finite = true;

            random_values(values, 10 * step + ht_test_rank);
            if (step == 3 && ht_test_rank == ht_test_size - 1)
                values[N / 2] = bad[i % 2];
            got = ht_test_data(probe_average(&p, values));
            for (int k = 0; k < N; k++)
                finite &= isfinite(got[k]) != 0;
            assert_true(finite == (step != 3));
        }
        close_probe(&p);
        ht_release(sgd);
    }
}

static void train_scaled(bool blocking, ht_loss_scaling scaling, double values[VALUES])
{
    const struct run run = {.blocking = blocking, .bucket_mb = 4.4e-4};
    ht_optim_wrapper_options options = ht_optim_wrapper_options_default();
    ht_power_sgd *sgd = new_state(1, 1);
    ht_module *net = new_net(3), *dp;
    ht_optimizer *optimizer = new_optimizer(net, SGD);
    ht_optim_wrapper *wrapper;

    options.loss_scaling = scaling;
    options.scale = options.growth_interval = 1;
    options.growth_factor = 16;
    wrapper = ht_optim_wrapper_new(optimizer, &options);
    dp = wrap(net, HT_COMM_WORLD, optimizer, &run);
    assert_int_equal(ht_data_parallel_register_comm_hook(dp, ht_comm_hook_power_sgd, sgd),
                     HT_SUCCESS);
    for (int step = 0; step < 6; step++) {
        ht_scope *scope = ht_scope_open();
        int64_t first = 100 * step + 10 * ht_test_rank;

        ht_optim_wrapper_begin(wrapper, dp);
        ht_tensor *loss = ht_nll_loss(ht_forward(dp, batch_rows(first, 3)), batch_classes(first, 3),
                                      HT_MEAN);
        assert_int_equal(ht_optim_wrapper_update_params(wrapper, loss), HT_SUCCESS);
        ht_scope_close(scope);
    }
    read_parameters(net, values);
    ht_release(wrapper);
    ht_release(dp);
    ht_release(net);
    ht_release(optimizer);
    ht_release(sgd);
}

/* The remainder of a gradient is added to the next one in its units: a scale of the losses that is
 * another power of two in each step changes no bit. */
static void test_a_scale_that_changes(void **state)
{
    double plain[VALUES], values[VALUES];

    (void)state;
    for (int blocking = 0; blocking < 2; blocking++) {
        train_scaled(blocking, HT_LOSS_SCALING_NONE, plain);
        train_scaled(blocking, HT_LOSS_SCALING_DYNAMIC, values);
        assert_memory_equal(values, plain, sizeof values);
    }
}

static double scale_seen;

static ht_status see_scale(ht_grad_bucket *bucket, int round, void *state)
{
    (void)state;
    scale_seen = ht_grad_bucket_loss_scale(bucket);
    return ht_comm_hook_allreduce(bucket, round, NULL);
}

static void test_a_hook_knows_the_scale(void **state)
{
    struct probe p = open_probe(2, 2, HT_FLOAT64, see_scale, NULL);
    ht_optim_wrapper_options options = ht_optim_wrapper_options_default();
    ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(p.linear), 1, NULL);
    ht_optim_wrapper *wrapper;
    ht_tensor *x;

    (void)state;
    probe_average(&p, (double[]){1, 2, 3, 4});
    assert_true(scale_seen == 1);
    options.loss_scaling = HT_LOSS_SCALING_STATIC;
    options.scale = 8;
    wrapper = ht_optim_wrapper_new(sgd, &options);
    ht_optim_wrapper_begin(wrapper, p.dp);
    x = ht_array((double[]){1, 2, 3, 4}, HT_SHAPE(2, 2), HT_FLOAT64, HT_LOCAL);
    assert_int_equal(ht_optim_wrapper_update_params(wrapper, ht_sum(ht_forward(p.dp, x), HT_NONE)),
                     HT_SUCCESS);
    assert_true(scale_seen == 8);
    ht_release(wrapper);
    ht_release(sgd);
    close_probe(&p);
}

HT_TEST_SUITE(test_comm_hook_power_sgd, cmocka_unit_test(test_a_scale_that_changes),
              cmocka_unit_test(test_a_hook_knows_the_scale),
              cmocka_unit_test(test_an_overflow_is_forgotten), cmocka_unit_test(test_golden),
              cmocka_unit_test(test_full_rank_is_the_mean),
              cmocka_unit_test(test_gradient_of_low_rank_is_exact),
              cmocka_unit_test(test_error_feedback_keeps_the_sum),
              cmocka_unit_test(test_zeros_stay_zeros),
              cmocka_unit_test(power_sgd_agrees_blocking_and_overlapped),
              cmocka_unit_test(test_regression_converges), cmocka_unit_test(test_misuse));
