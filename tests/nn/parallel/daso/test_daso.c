/* ranks 1 2 3 4 6 */
/* SPDX-License-Identifier: MIT */
/* DASO's exchanges against numbers worked out by hand, and against DataParallel; misuse. */
#include "daso_test.h"

#include "utils/data/files.h"
#include "tensor_check.h"

/* The cycling phase, with these skips. */
static void cycle(struct setting *s, int64_t global_skip, int64_t wait)
{
    assert_int_equal(ht_daso_get_report(s->daso).phase, HT_DASO_CYCLING);
    s->daso->schedule.global_skip = global_skip;
    s->daso->schedule.wait = wait;
}

static void set_values(const struct setting *s, double value)
{
    ht_fill_(points_of(s)->first, value);
    ht_fill_(points_of(s)->second, 2 * value);
}

static void check_values(const struct setting *s, double value)
{
    if (!(fabs(value_of(points_of(s)->first) - value) <= 1e-12 * (1 + fabs(value))))
        fail_msg("%.17g, expected %.17g", value_of(points_of(s)->first), value);
    assert_true(fabs(value_of(points_of(s)->second) - 2 * value) <= 1e-11 * (1 + fabs(value)));
    assert_true(value_of(points_of(s)->frozen) == 7);
}

/* x = (n x_local + sum of what the nodes sent) / (n + P), n = 2 S or 1. */
static void test_merge_formula(void **state)
{
    static const int staleness[] = {0, 1, 2, 4};
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    int p = ht_test_size;

    (void)state;
    for (int i = 0; i < 4; i++) {
        int s = staleness[i], n = s > 0 ? 2 * s : 1;
        struct setting set = set_points(1, HT_FLOAT64, 1, 100, &o);

        cycle(&set, 50, s);
        set_values(&set, 10 * ht_test_rank);
        assert_int_equal(ht_daso_step(set.daso), HT_SUCCESS);
        assert_int_equal(ht_daso_get_report(set.daso).sent, 0);
        check_values(&set, 10 * ht_test_rank);
        set_values(&set, 100 + ht_test_rank);
        for (int b = 1; b <= s; b++)
            ht_daso_step(set.daso);
        if (s == 0)
            ht__daso_receive(set.daso);
        assert_int_equal(ht_daso_get_report(set.daso).staleness, s);
        check_values(&set, (n * (100.0 + ht_test_rank) + 10.0 * p * (p - 1) / 2) / (n + p));
        end(&set);
    }
}

/* Nodes of 2 ranks, the last one of 1 where their number is odd: each counts by its ranks. The
 * smallest node says how many take turns. */
static void test_merge_of_unequal_nodes(void **state)
{
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    struct setting s = set_points(2, HT_FLOAT64, 1, 100, &o);
    int p = (ht_test_size + 1) / 2, node = ht_test_rank / 2;
    int groups = ht_test_size % 2 == 0 ? 2 : 1;
    double sum = 0;

    (void)state;
    for (int k = 0; k < p; k++)
        sum += (2 * k + 1 < ht_test_size ? 2.0 : 1.0) * p / ht_test_size * 10 * k;
    cycle(&s, 4, 1);
    for (int turn = 0; turn < 3; turn++) {
        set_values(&s, 10 * node);
        ht_daso_step(s.daso);
        assert_int_equal(ht_daso_get_report(s.daso).sent, turn % groups);
        /* Only what the rank that sent has counts, which differs from turn to turn: the others of
         * its node get it, and nothing from before. */
        set_values(&s, ht_test_rank % 2 == turn % groups ? 100 * turn + node : -1);
        ht_daso_step(s.daso);
        check_values(&s, (2 * (100.0 * turn + node) + sum) / (2 + p));
        ht_daso_step(s.daso);
        ht_daso_step(s.daso);
        assert_int_equal(ht_daso_get_report(s.daso).staleness, -1);
    }
    end(&s);
}

/* An outstanding message is received before the next is sent, however long the wait. */
static void test_receives_before_it_sends(void **state)
{
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    struct setting s = set_points(1, HT_FLOAT64, 1, 100, &o);

    (void)state;
    cycle(&s, 1, 1);
    ht_daso_step(s.daso);
    ht_daso_step(s.daso);
    assert_int_equal(ht_daso_get_report(s.daso).staleness, 1);
    assert_int_equal(ht_daso_get_report(s.daso).sent, 0);
    end(&s);
}

/* Sent in chunks that cut parameters anywhere; or in one, however large it might be. */
static void test_chunks(void **state)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 6, INT64_MAX};
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct setting s;

        o.sending_chunk_size = sizes[i];
        s = set_points(1, HT_FLOAT64, 1, 100, &o);
        cycle(&s, 4, 1);
        set_values(&s, 10 * ht_test_rank);
        ht_daso_step(s.daso);
        ht_daso_step(s.daso);
        check_values(&s, (20.0 * ht_test_rank + 5.0 * ht_test_size * (ht_test_size - 1)) /
                             (2 + ht_test_size));
        end(&s);
    }
}

/* The mean of parameters and buffers; and every rank has the bits of rank 0. */
static void test_blocking_mean(void **state)
{
    ht_daso_options o = options_of(4, 4, HT_FLOAT32);

    (void)state;
    for (int ranks = 1; ranks <= 3; ranks++) {
        struct setting s = set_points(ranks, HT_FLOAT64, 1, 100, &o);

        set_values(&s, ht_test_rank);
        ht_fill_(points_of(&s)->buffer, 3 * ht_test_rank);
        ht_daso_step(s.daso);
        assert_true(ht_daso_get_report(s.daso).blocking);
        check_values(&s, (ht_test_size - 1) / 2.0);
        assert_true(fabs(value_of(points_of(&s)->buffer) - 3 * (ht_test_size - 1) / 2.0) < 1e-12);
        end(&s);
    }
}

/* bfloat16 has 8 bits: of 1 + 2^-12 nothing beyond the 1 would arrive. */
static void test_small_updates_survive_16_bits(void **state)
{
    static const ht_dtype wires[] = {HT_BFLOAT16, HT_FLOAT16};

    (void)state;
    for (int w = 0; w < 2; w++) {
        ht_daso_options o = options_of(4, 4, wires[w]);
        struct setting s = set_points(1, HT_FLOAT32, 1, 100, &o);

        for (int step = 1; step <= 16; step++) {
            ht_add_(points_of(&s)->first, ht_full_like(points_of(&s)->first, ldexp(1, -12)), 1);
            ht_daso_step(s.daso);
        }
        assert_true(fabs(value_of(points_of(&s)->first) - (1 + ldexp(1, -8))) < 1e-6);
        end(&s);
    }
}

/* 16 bits in the asynchronous phase only where that was asked for. */
static void test_asynchronous_downcast(void **state)
{
    (void)state;
    for (int downcast = 0; downcast < 2; downcast++) {
        ht_daso_options o = options_of(0, 0, HT_BFLOAT16);
        double sum = 0, expected, value;
        struct setting s;

        o.downcast_asynchronous = downcast;
        s = set_points(1, HT_FLOAT32, 1, 100, &o);
        cycle(&s, 4, 1);
        ht_fill_(points_of(&s)->first, 1.0001 + ht_test_rank / 1024.0);
        for (int r = 0; r < ht_test_size; r++)
            sum += 1.0001 + r / 1024.0;
        ht_daso_step(s.daso);
        ht_daso_step(s.daso);
        value = value_of(points_of(&s)->first);
        expected = (2 * (1.0001 + ht_test_rank / 1024.0) + sum) / (2 + ht_test_size);
        assert_true(fabs(value - expected) < (downcast ? 1e-4 : 3e-7));
        if (downcast && ht_test_size > 1)
            assert_true(fabs(value - expected) > 3e-7);
        end(&s);
    }
}

/* Three epochs by hand: v = mu v + d, x += lr (d + mu v), where all ranks went d on average. */
static void three_outer_steps_by_hand(void **state)
{
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    double x = 1, v = 0, d = 1 + (ht_test_size - 1) / 2.0;
    struct setting s;

    (void)state;
    o.outer_lr = 0.7;
    o.outer_momentum = 0.5;
    s = set_points(1, HT_FLOAT64, x, 1, &o);
    for (int epoch = 0; epoch < 3; epoch++) {
        ht_fill_(points_of(&s)->first, x + 1 + ht_test_rank);
        ht_daso_step(s.daso);
        ht_daso_epoch_loss_logic(s.daso, 1, false);
        v = 0.5 * v + d;
        x += 0.7 * (d + 0.5 * v);
        assert_true(fabs(value_of(points_of(&s)->first) - x) < 1e-12 * x);
    }
    end(&s);
}

/* Averaging parameters after the update is averaging gradients, for SGD. */
static void test_warm_up_equals_data_parallel(void **state)
{
    double expected[VALUES], values[VALUES];
    ht_sgd_options sgd = ht_sgd_options_default();
    ht_daso_options o = options_of(20, 0, HT_FLOAT32);

    (void)state;
    sgd.momentum = 0.9;
    sgd.weight_decay = 0.01;
    for (int ranks = 1; ranks <= (ht_test_size % 2 == 0 ? 2 : 1); ranks++) {
        ht_module *net = new_net(3), *dp;
        ht_optimizer *optimizer = ht_optim_sgd(ht_module_parameters(net), 0.1, &sgd);
        struct setting s;

        dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, true);
        for (int step = 0; step < 20; step++) {
            ht_optimizer_zero_grad(optimizer);
            backward_rows(dp, 4 * (step * ht_test_size + ht_test_rank), 4);
            ht_optimizer_step(optimizer);
        }
        read_parameters(net, expected);
        ht_release(dp);
        ht_release(net);
        ht_release(optimizer);

        net = new_net(3);
        s = set_daso(ranks, net, ht_optim_sgd(ht_module_parameters(net), 0.1, &sgd), 20, 20, &o);
        for (int step = 0; step < 20; step++) {
            ht_daso_zero_grad(s.daso);
            backward_rows(s.model, 4 * (step * ht_test_size + ht_test_rank), 4);
            ht_daso_step(s.daso);
        }
        read_parameters(net, values);
        assert_true(distance(values, expected) <= 1e-12);
        end(&s);
    }
}

/* For other optimizers: the mean of what each rank's own update gives. */
static void test_mean_of_adams(void **state)
{
    ht_daso_options o = options_of(20, 0, HT_FLOAT32);
    ht_module *net = new_net(5), *alone = new_net(5);
    ht_optimizer *own = new_optimizer(alone, ADAM);
    struct setting s = set_daso(1, net, new_optimizer(net, ADAM), 20, 20, &o);
    double values[VALUES], expected[VALUES];

    (void)state;
    for (int step = 0; step < 5; step++) {
        ht_value *list = ht_module_parameters(alone);

        ht_daso_zero_grad(s.daso);
        backward_rows(s.model, 4 * (step * ht_test_size + ht_test_rank), 4);
        ht_daso_step(s.daso);
        ht_optimizer_zero_grad(own);
        backward_rows(alone, 4 * (step * ht_test_size + ht_test_rank), 4);
        ht_optimizer_step(own);
        for (int i = 0; i < ht_value_count(list); i++) {
            ht_tensor *x = ht_tensor_local(ht_value_as_tensor(ht_value_at(list, i)));

            ht_set_grad_enabled(false);
            ht_allreduce(HT_COMM_WORLD, x, x, HT_OP_SUM);
            ht_mul_scalar_(x, 1.0 / ht_test_size);
            ht_set_grad_enabled(true);
        }
        read_parameters(net, values);
        read_parameters(alone, expected);
        assert_true(distance(values, expected) <= 1e-12);
    }
    ht_release(alone);
    ht_release(own);
    end(&s);
}

/* A rank that has sent continues before the others have arrived. */
static void test_sending_does_not_wait(void **state)
{
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);
    struct setting s = set_points(1, HT_FLOAT64, 1, 100, &o);
    int64_t one = 1;
    ht_tensor *token = ht_full_ext(1, &one, HT_NUM(1), HT_FLOAT64, HT_NONE, ht_get_device(),
                                   HT_COMM_SELF);

    (void)state;
    cycle(&s, 50, 2);
    for (int r = 0; r < ht_test_size; r++) {
        if (r > 0 && r == ht_test_rank)
            ht_recv(HT_COMM_WORLD, token, r - 1, 1);
        if (r != ht_test_rank)
            continue;
        ht_daso_step(s.daso);
        ht_daso_step(s.daso);
        if (r + 1 < ht_test_size)
            ht_send(HT_COMM_WORLD, token, r + 1, 1);
    }
    ht_daso_step(s.daso);
    assert_int_equal(ht_daso_get_report(s.daso).staleness, 2);
    end(&s);
}

/* Where one rank alone saw what its group received, the others would wait for ever. */
static void test_all_ranks_see_what_is_not_finite(void **state)
{
    (void)state;
    for (int warmup = 0; warmup < 2; warmup++) {
        ht_daso_options o = options_of(warmup, 0, HT_FLOAT32);
        struct setting s = set_points(2, HT_FLOAT64, 1, 100, &o);
        const char *message;

        ht_comm_set_errhandler(s.comm, HT_ERRORS_RETURN);
        set_values(&s, ht_test_rank == ht_test_size - 1 - (ht_test_size - 1) % 2 ? NAN : 1);
        if (!warmup)
            assert_int_equal(ht_daso_step(s.daso), HT_SUCCESS);
        assert_int_equal(ht_daso_step(s.daso), HT_ERR_STATE);
        ht_error_get(&message);
        assert_string_equal(message, warmup
                                         ? "ht_daso_step: the parameters exchanged after batch 0 "
                                           "of epoch 0 are infinite or NaN"
                                         : "ht_daso_step: the parameters exchanged after batch 1 "
                                           "of epoch 0 are infinite or NaN");
        ht_error_clear();
        end(&s);
    }
}

/* Receives the outstanding message, makes all ranks equal, and begins with the first epoch and the
 * first group again. */
static void test_reset(void **state)
{
    ht_daso_options o = options_of(1, 1, HT_FLOAT32);
    struct setting s = set_points(1, HT_FLOAT64, 1, 2, &o);
    char text[256] = "";
    FILE *stream = tmpfile();

    (void)state;
    for (int batch = 0; batch < 2; batch++)
        ht_daso_step(s.daso);
    ht_daso_epoch_loss_logic(s.daso, 1, true);
    assert_string_equal(ht_daso_phase_name(ht_daso_get_report(s.daso).phase), "cycling");
    set_values(&s, 10 * ht_test_rank);
    ht_daso_step(s.daso);
    set_values(&s, 100 + ht_test_rank);
    assert_int_equal(ht_daso_reset(s.daso), HT_SUCCESS);
    check_values(&s, (100 + (ht_test_size - 1) / 2.0 + 5.0 * ht_test_size * (ht_test_size - 1)) /
                         (1 + ht_test_size));
    assert_int_equal(ht_daso_get_report(s.daso).epoch, 0);
    assert_int_equal(ht_daso_get_report(s.daso).batch, 0);
    assert_string_equal(ht_daso_phase_name(ht_daso_get_report(s.daso).phase), "warm-up");
    ht_daso_print(s.daso, stream);
    rewind(stream);
    assert_non_null(fgets(text, sizeof text, stream));
    assert_non_null(strstr(text, "epoch 0 of 10: warm-up, blocking"));
    fclose(stream);
    end(&s);
}

/* Loaded parameters arrive with all their bits, and NaN that was exchanged is forgotten, because
 * 16-bit differences count from the values at a reset. */
static void test_loaded_parameters(void **state)
{
    ht_daso_options o = options_of(4, 4, HT_BFLOAT16);
    struct setting s = set_points(1, HT_FLOAT32, 1, 100, &o);

    (void)state;
    ht_comm_set_errhandler(s.comm, HT_ERRORS_RETURN);
    ht_fill_(points_of(&s)->first, NAN);
    assert_int_equal(ht_daso_step(s.daso), HT_ERR_STATE);
    ht_error_clear();
    ht_fill_(points_of(&s)->first, 0.7234567);
    assert_int_equal(ht_daso_reset(s.daso), HT_SUCCESS);
    assert_int_equal(ht_daso_step(s.daso), HT_SUCCESS);
    assert_true(fabs(value_of(points_of(&s)->first) - 0.7234567) < 1e-7);
    end(&s);
}

static ht_status try_options(const ht_daso_options *o, ht_optimizer *optimizer)
{
    ht_daso *daso = ht_optim_daso(optimizer, 10, HT_COMM_WORLD, o);

    assert_null(daso);
    return ht_error_get(NULL);
}

/* Every argument out of its range, with its message. */
static void test_arguments(void **state)
{
    static const struct {
        size_t at;
        double value; /* of a double, or an int64_t */
        bool real;
        const char *message;
    } rows[] = {
        {offsetof(ht_daso_options, warmup_epochs), -1, false,
         "ht_optim_daso: warmup_epochs is -1, expected at least 0"},
        {offsetof(ht_daso_options, cooldown_epochs), -1, false,
         "ht_optim_daso: cooldown_epochs is -1, expected at least 0"},
        {offsetof(ht_daso_options, max_global_skips), 0, false,
         "ht_optim_daso: max_global_skips is 0, expected at least 1"},
        {offsetof(ht_daso_options, sending_chunk_size), 0, false,
         "ht_optim_daso: sending_chunk_size is 0, expected at least 1"},
        {offsetof(ht_daso_options, skip_reduction_factor), 1, false,
         "ht_optim_daso: skip_reduction_factor is 1, expected at least 2"},
        {offsetof(ht_daso_options, local_skip_factor), -4, false,
         "ht_optim_daso: local_skip_factor is -4, expected at least 1"},
        {offsetof(ht_daso_options, stability_level), 1, true,
         "ht_optim_daso: stability_level is 1, expected 0 <= stability_level < 1"},
        {offsetof(ht_daso_options, outer_lr), -0.5, true,
         "ht_optim_daso: outer_lr is -0.5, expected a finite value of at least 0"},
        {offsetof(ht_daso_options, outer_momentum), 1, true,
         "ht_optim_daso: outer_momentum is 1, expected 0 <= outer_momentum < 1"},
    };
    ht_module *net = new_points(HT_FLOAT64, 1);
    ht_optimizer *optimizer = ht_optim_sgd(trainable(net), 1, NULL);

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ht_daso_options o = ht_daso_options_default();
        void *at = (char *)&o + rows[i].at;

        if (rows[i].real)
            *(double *)at = rows[i].value;
        else
            *(int64_t *)at = (int64_t)rows[i].value;
        expect(try_options(&o, optimizer), HT_ERR_ARGUMENT, rows[i].message);
    }
    assert_null(ht_optim_daso(optimizer, 0, HT_COMM_WORLD, NULL));
    expect(ht_error_get(NULL), HT_ERR_ARGUMENT,
           "ht_optim_daso: total_epochs is 0, expected at least 1");
    assert_null(ht_optim_daso(NULL, 10, HT_COMM_WORLD, NULL));
    expect(ht_error_get(NULL), HT_ERR_ARGUMENT, "ht_optim_daso: optimizer is NULL");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(optimizer);
    ht_release(net);
}

/* An epoch has the number of batches that the loader gives every rank, also where rows run out on
 * some ranks earlier. */
static void test_the_loader_says_how_long_an_epoch_is(void **state)
{
    static const char *const names[] = {"x"};
    ht_daso_options o = options_of(4, 4, HT_FLOAT32);
    struct setting s = set_points(1, HT_FLOAT64, 1, 100, &o);
    ht_dataloader_options options = ht_dataloader_options_default();
    ht_dataloader *loader;
    ht_dataset *rows;

    (void)state;
    ht_comm_set_errhandler(s.comm, HT_ERRORS_RETURN);
    files_open();
    files_make("rows.h5", 8 * ht_test_size + 1, 1, 4);
    rows = ht_dataset_hdf5(files_path("rows.h5"), 1, names, HT_COMM_WORLD);
    options.batch_size = 4;
    loader = ht_dataloader_new(rows, &options);
    assert_int_equal(ht_dataloader_batches(loader), 3);
    assert_int_equal(ht_daso_set_loader(s.daso, loader), HT_SUCCESS);
    /* One rank has no loader: all get the error. */
    expect(ht_daso_set_loader(s.daso, ht_test_rank == ht_test_size - 1 ? NULL : loader),
           HT_ERR_ARGUMENT, "ht_daso_set_loader: loader is NULL");
    for (int batch = 0; batch < 3; batch++)
        assert_int_equal(ht_daso_step(s.daso), HT_SUCCESS);
    assert_int_equal(ht_daso_set_loader(s.daso, loader), HT_ERR_STATE);
    expect(ht_daso_step(s.daso), HT_ERR_STATE,
           "ht_daso_step: all 3 batches of epoch 0 are done; begin the next epoch with "
           "ht_daso_epoch_loss_logic");
    ht_release(loader);
    ht_release(rows);
    end(&s);
    files_remove();
}

static void test_misuse(void **state)
{
    ht_module *net = new_points(HT_FLOAT64, 1), *other = new_points(HT_FLOAT64, 1);
    ht_optimizer *optimizer = ht_optim_sgd(trainable(net), 1, NULL);
    ht_daso_options o = ht_daso_options_default(), bad = o;
    ht_daso *daso;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    bad.warmup_epochs = 7;
    expect(try_options(&bad, optimizer), HT_ERR_ARGUMENT,
           "ht_optim_daso: 7 epochs of warm-up and 4 of cool-down are more than all 10 epochs");
    bad = o;
    bad.downcast_type = HT_INT32;
    expect(try_options(&bad, optimizer), HT_ERR_ARGUMENT,
           "ht_optim_daso: downcast_type is int32, expected bfloat16, float16 or float32");
    bad.downcast_type = HT_FLOAT16;
    bad.exchange_momentum = true;
    expect(try_options(&bad, optimizer), HT_ERR_ARGUMENT,
           "ht_optim_daso: downcast_type is float16, in which squares of small gradients are 0; "
           "exchange_momentum expects bfloat16 or float32");
    expect(ht_daso_zero_grad(NULL), HT_ERR_ARGUMENT, "ht_daso_zero_grad: daso is NULL");
    expect(ht_daso_set_last_batch(NULL, 1), HT_ERR_ARGUMENT,
           "ht_daso_set_last_batch: daso is NULL");
    if (ht_test_size > 1) {
        bad = o;
        bad.warmup_epochs = ht_test_rank == 1;
        expect(try_options(&bad, optimizer), HT_ERR_ARGUMENT,
               "ht_optim_daso: warmup_epochs is 0 on rank 0 and 1 on rank 1, expected the same on "
               "all ranks");
    }
    daso = ht_optim_daso(optimizer, 10, HT_COMM_WORLD, &o);
    expect(ht_daso_step(daso), HT_ERR_STATE,
           "ht_daso_step: the model is missing; wrap it in ht_nn_data_parallel_multi_gpu");
    expect(ht_daso_set_model(daso, other), HT_ERR_ARGUMENT,
           "ht_daso_set_model: of the 2 parameters of the SGD optimizer, 2 are not the module's");
    assert_int_equal(ht_daso_set_model(daso, net), HT_SUCCESS);
    expect(ht_daso_step(daso), HT_ERR_STATE,
           "ht_daso_step: call ht_daso_set_last_batch or ht_daso_set_loader first");
    expect(ht_daso_set_last_batch(daso, -1), HT_ERR_ARGUMENT,
           "ht_daso_set_last_batch: last_batch is -1, expected an index of at least 0");
    if (ht_test_size == 2)
        expect(ht_daso_set_last_batch(daso, ht_test_rank), HT_ERR_ARGUMENT,
               "ht_daso_set_last_batch: an epoch has between 1 and 2 batches on the ranks, "
               "expected the same number on all");
    ht_daso_set_last_batch(daso, 0);
    expect(ht_daso_epoch_loss_logic(daso, 1, false), HT_ERR_STATE,
           "ht_daso_epoch_loss_logic: 0 of 1 batches of the epoch are done, expected all");
    assert_int_equal(ht_daso_step(daso), HT_SUCCESS);
    expect(ht_daso_step(daso), HT_ERR_STATE,
           "ht_daso_step: all 1 batches of epoch 0 are done; begin the next epoch with "
           "ht_daso_epoch_loss_logic");
    if (ht_test_size == 2)
        expect(ht_daso_epoch_loss_logic(daso, ht_test_rank, true), HT_ERR_ARGUMENT,
               "ht_daso_epoch_loss_logic: the averaged loss is 0 on rank 0 and 1 on rank 1, "
               "expected the same on all ranks");
    assert_int_equal(ht_daso_epoch_loss_logic(daso, 1, true), HT_SUCCESS);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(daso);
    ht_release(optimizer);
    ht_release(net);
    ht_release(other);
}

HT_TEST_SUITE(
    test_daso, cmocka_unit_test(test_merge_formula), cmocka_unit_test(test_merge_of_unequal_nodes),
    cmocka_unit_test(test_receives_before_it_sends), cmocka_unit_test(test_chunks),
    cmocka_unit_test(test_blocking_mean), cmocka_unit_test(test_small_updates_survive_16_bits),
    cmocka_unit_test(test_asynchronous_downcast), cmocka_unit_test(three_outer_steps_by_hand),
    cmocka_unit_test(test_warm_up_equals_data_parallel), cmocka_unit_test(test_mean_of_adams),
    cmocka_unit_test(test_sending_does_not_wait),
    cmocka_unit_test(test_all_ranks_see_what_is_not_finite), cmocka_unit_test(test_reset),
    cmocka_unit_test(test_loaded_parameters), cmocka_unit_test(test_arguments),
    cmocka_unit_test(test_the_loader_says_how_long_an_epoch_is), cmocka_unit_test(test_misuse));
