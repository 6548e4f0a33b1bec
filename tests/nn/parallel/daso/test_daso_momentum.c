/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Momentum that a schedule turns on and off, on ranks of which one has no rows at that time. */
#include "daso_test.h"

enum { BATCHES = 6, ALL = 2 * BATCHES };

/* Off, on, and off again; a rest within a cycling epoch, too. */
static const double momenta[ALL] = {0, 0.9, 0.9, 0, 0, 0.5, 0, 0, 0.9, 0, 0.5, 0.5};

static double gradient_of(int batch, int rank, int i)
{
    return sin(1.3 * batch + 0.7 * i + 2.1 * rank);
}

/* Gradients of a batch, or none. */
static void set_gradients(struct points *points, int batch, int rank)
{
    ht_tensor *all[] = {points->first, points->second};

    for (int i = 0; i < 2; i++) {
        const ht_body *body = all[i]->body;
        ht_tensor *grad = NULL;

        if (rank >= 0)
            grad = ht_full(body->ndim, body->shape, gradient_of(batch, rank, i), body->dtype,
                           HT_LOCAL);
        ht_tensor_set_grad(all[i], grad);
    }
}

static struct setting set_run(ht_dtype dtype, bool exchange_momentum)
{
    ht_daso_options o = options_of(1, 0, HT_BFLOAT16);
    ht_sgd_options sgd = ht_sgd_options_default();
    ht_module *net = new_points(dtype, 1);

    o.exchange_momentum = exchange_momentum;
    sgd.dampening = 0.3; /* distinguishes the first update with a momentum from later ones */
    ht_set_grad_enabled(false);
    return set_daso(1, net, ht_optim_sgd(trainable(net), 0.05, &sgd), 2, BATCHES, &o);
}

/* The last of several ranks has no rows as the momentum begins. */
static void train_batch(struct setting *s, int batch)
{
    ht_scope *scope = ht_scope_open();
    bool without = ht_test_size > 1 && ht_test_rank == ht_test_size - 1;

    ht__optim_set_momentum(s->optimizer, momenta[batch]);
    set_gradients(points_of(s), batch, without && (batch == 1 || batch == 2) ? -1 : ht_test_rank);
    assert_int_equal(ht_daso_step(s->daso), HT_SUCCESS);
    if (batch % BATCHES == BATCHES - 1)
        ht_daso_epoch_loss_logic(s->daso, 1, true);
    ht_scope_close(scope);
}

/* A blocking phase is SGD on the mean of the gradients, whenever its momentum begins. */
static void a_momentum_may_begin_later(void **state)
{
    ht_daso_options o = options_of(1, 1, HT_FLOAT32);
    ht_module *net = new_points(HT_FLOAT64, 1), *one = new_points(HT_FLOAT64, 1);
    ht_optimizer *optimizer = ht_optim_sgd(trainable(one), 0.05, NULL);
    struct setting s;

    (void)state;
    o.exchange_momentum = true;
    ht_set_grad_enabled(false);
    s = set_daso(1, net, ht_optim_sgd(trainable(net), 0.05, NULL), 2, BATCHES, &o);
    for (int batch = 0; batch < BATCHES; batch++) {
        struct points *points = ht_module_data(one);
        double mean[2] = {0};

        for (int i = 0; i < 2 * ht_test_size; i++)
            mean[i % 2] += gradient_of(batch, i / 2, i % 2) / ht_test_size;
        ht__optim_set_momentum(s.optimizer, batch < 2 ? 0 : 0.9);
        ht__optim_set_momentum(optimizer, batch < 2 ? 0 : 0.9);
        set_gradients(points_of(&s), batch, ht_test_rank);
        set_gradients(points, batch, 0);
        ht_fill_(ht_tensor_grad(points->first), mean[0]);
        ht_fill_(ht_tensor_grad(points->second), mean[1]);
        assert_int_equal(ht_optimizer_step(optimizer), HT_SUCCESS);
        assert_int_equal(ht_daso_step(s.daso), HT_SUCCESS);
        assert_true(fabs(value_of(points_of(&s)->first) - value_of(points->first)) <= 1e-12);
        assert_true(fabs(value_of(points_of(&s)->second) - value_of(points->second)) <= 1e-12);
    }
    ht_release(optimizer);
    ht_release(one);
    end(&s);
}

/* The buffers are averaged while they rest, too, and on a rank that had no rows when they began. */
static void all_ranks_have_the_momentum_of_one(void **state)
{
    struct setting s = set_run(HT_FLOAT32, true);

    (void)state;
    for (int batch = 0; batch < BATCHES; batch++) {
        const ht_tensor *buffer;
        double mine, root;

        train_batch(&s, batch);
        buffer = ht_optimizer_state(s.optimizer, 0, "momentum_buffer");
        assert_int_equal(buffer != NULL, batch > 0);
        if (buffer == NULL)
            continue;
        root = mine = value_of((ht_tensor *)buffer);
        MPI_Bcast(&root, 1, MPI_DOUBLE, 0, ht_comm_mpi(s.comm));
        assert_true(mine == root && mine != 0);
        assert_false(s.optimizer->entries[0].is_new[0]);
    }
    end(&s);
}

/* The keys of the parameters in the optimizer's state. */
static int64_t count_keys(ht_optimizer *optimizer)
{
    ht_scope *scope = ht_scope_open();
    ht_value *list = ht_value_get(ht_optimizer_state_dict(optimizer), "state");
    int64_t count = 0;

    for (int i = 0; i < ht_value_count(list); i++)
        count += ht_value_count(ht_value_at(list, i));
    ht_scope_close(scope);
    return count;
}

/* A file takes one state of all ranks, although the last one has made no update. */
static void all_ranks_save_states_of_the_same_keys(void **state)
{
    ht_daso_options o = options_of(0, 0, HT_FLOAT32);

    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        ht_module *net = new_points(HT_FLOAT32, 1);
        struct setting s = set_daso(1, net, optimizer_of((enum optimizer_kind)kind, trainable(net)),
                                    2, BATCHES, &o);
        int64_t range[2];

        ht_set_grad_enabled(false);
        set_gradients(points_of(&s), 0, ht_test_rank < ht_test_size - 1 ? ht_test_rank : -1);
        assert_int_equal(ht_daso_step(s.daso), HT_SUCCESS);
        assert_non_null(ht_daso_state_dict(s.daso));
        range[0] = count_keys(s.optimizer);
        range[1] = -range[0];
        MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_INT64_T, MPI_MIN, ht_comm_mpi(s.comm));
        assert_int_equal(range[0], -range[1]);
        end(&s);
    }
}

static void load(struct setting *to, struct setting *from)
{
    ht_scope *scope = ht_scope_open();
    ht_value *daso = ht_daso_state_dict(from->daso);

    assert_int_equal(ht_module_load_state_dict(to->net, ht_module_state_dict(from->net)),
                     HT_SUCCESS);
    /* As a file has it: that of rank 0, which is another one than those of other ranks. */
    assert_int_equal(
        ht_optimizer_load_state_dict(to->optimizer, ht_optimizer_state_dict(from->optimizer)),
        HT_SUCCESS);
    for (int i = 0; i < to->optimizer->count; i++) {
        ht_tensor *buffer = to->optimizer->entries[i].state[0];

        if (buffer != NULL)
            ht_fill_(buffer, -1);
    }
    assert_int_equal(ht_daso_load_state_dict(to->daso, daso), HT_SUCCESS);
    ht_scope_close(scope);
}

static void check_same(const struct setting *a, const struct setting *b, int saved, int batch)
{
    const struct points *one = points_of(a), *other = points_of(b);

    if (memcmp(ht_test_data(one->first), ht_test_data(other->first), 3 * sizeof(float)) != 0 ||
        memcmp(ht_test_data(one->second), ht_test_data(other->second), 2 * sizeof(float)) != 0)
        fail_msg("saved before batch %d: after batch %d, %.9g is %.9g", saved, batch,
                 value_of(one->first), value_of(other->first));
}

/* Saved at rest, or with a momentum that no update has used yet: the same bits after that. */
static void a_resting_momentum_is_saved(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * ALL; i++) {
        const int saved = i / 2;
        struct setting s = set_run(HT_FLOAT32, i % 2 == 1), resumed;

        for (int batch = 0; batch < saved; batch++)
            train_batch(&s, batch);
        if (saved % 2 == 1)
            ht__optim_set_momentum(s.optimizer, momenta[saved]);
        resumed = set_run(HT_FLOAT32, i % 2 == 1);
        load(&resumed, &s);
        for (int batch = saved; batch < ALL; batch++) {
            train_batch(&s, batch);
            train_batch(&resumed, batch);
            check_same(&s, &resumed, saved, batch);
        }
        end(&resumed);
        end(&s);
    }
}

static void refuses(struct setting *s, const ht_value *map, const char *text)
{
    expect(ht_daso_load_state_dict(s->daso, map), HT_ERR_FORMAT, text);
}

static void set_flags(ht_value *map, const char *name, double value)
{
    ht_fill_(ht_value_as_tensor(ht_value_get(map, name)), value);
}

static void damaged_flags_are_refused(void **state)
{
    struct setting s = set_run(HT_FLOAT32, false);
    ht_value *map;

    (void)state;
    ht_comm_set_errhandler(s.comm, HT_ERRORS_RETURN);
    for (int batch = 0; batch < 3; batch++)
        train_batch(&s, batch);
    map = ht_daso_state_dict(s.daso);
    set_flags(map, "optimizer_made", 2);
    refuses(&s, map, "ht_daso_load_state_dict: \"optimizer_made\" has 2, expected 0 and 1");
    set_flags(map, "optimizer_made", 0);
    refuses(&s, map,
            "ht_daso_load_state_dict: the state has no \"momentum_buffer\" of parameter 0, which "
            "the optimizer uses; load the optimizer's state first");
    map = ht_daso_state_dict(s.daso);
    set_flags(map, "optimizer_used", 0.5);
    refuses(&s, map, "ht_daso_load_state_dict: \"optimizer_used\" has 0.5, expected 0 and 1");
    ht_value_set(map, "optimizer_used", ht_value_number(1));
    refuses(&s, map, "ht_daso_load_state_dict: the state has no tensor \"optimizer_used\"");
    end(&s);
}

/* SGD has one tensor for each parameter, Adam two. */
static void the_state_of_another_optimizer_is_refused(void **state)
{
    struct setting sgd = set_run(HT_FLOAT32, false), adam;
    ht_daso_options o = options_of(1, 0, HT_BFLOAT16);
    ht_module *net = new_points(HT_FLOAT32, 1);

    (void)state;
    adam = set_daso(1, net, ht_optim_adam(trainable(net), 0.05, NULL), 2, BATCHES, &o);
    ht_comm_set_errhandler(sgd.comm, HT_ERRORS_RETURN);
    refuses(
        &sgd, ht_daso_state_dict(adam.daso),
        "ht_daso_load_state_dict: the state has tensor 1 of parameter 0, which SGD lacks; is it "
        "of another optimizer?");
    assert_null(ht_optimizer_state(sgd.optimizer, 0, "momentum_buffer"));
    assert_non_null(ht_optimizer_state_dict(sgd.optimizer));
    end(&adam);
    end(&sgd);
}

/* Nothing of a state that is refused is left. */
static void a_refused_state_makes_no_momentum(void **state)
{
    struct setting s = set_run(HT_FLOAT32, false), fresh = set_run(HT_FLOAT32, false);
    int64_t shape[] = {ht_test_size, 1};
    ht_value *map;

    (void)state;
    ht_comm_set_errhandler(fresh.comm, HT_ERRORS_RETURN);
    for (int batch = 0; batch < 4; batch++)
        train_batch(&s, batch);
    map = ht_daso_state_dict(s.daso);
    ht__optim_set_momentum(fresh.optimizer, 0);
    ht_value_set(map, "optimizer_state", ht_value_tensor(ht_zeros(2, shape, HT_FLOAT32, HT_NONE)));
    assert_int_equal(ht_daso_load_state_dict(fresh.daso, map), HT_ERR_FORMAT);
    ht_error_clear();
    assert_null(ht_optimizer_state(fresh.optimizer, 0, "momentum_buffer"));
    assert_int_equal(ht_daso_load_state_dict(fresh.daso, ht_daso_state_dict(s.daso)), HT_SUCCESS);
    assert_non_null(ht_optimizer_state(fresh.optimizer, 0, "momentum_buffer"));
    end(&fresh);
    end(&s);
}

HT_TEST_SUITE(test_daso_momentum, cmocka_unit_test(a_momentum_may_begin_later),
              cmocka_unit_test(all_ranks_have_the_momentum_of_one),
              cmocka_unit_test(all_ranks_save_states_of_the_same_keys),
              cmocka_unit_test(a_resting_momentum_is_saved),
              cmocka_unit_test(the_state_of_another_optimizer_is_refused),
              cmocka_unit_test(a_refused_state_makes_no_momentum),
              cmocka_unit_test(damaged_flags_are_refused));
