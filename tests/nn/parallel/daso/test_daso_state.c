/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* A run that saves in any phase continues as one that is resumed from its file, bit for bit. */
#include "daso_test.h"

#include <unistd.h>

enum { EPOCHS = 5, BATCHES = 6, NUMBERS = 7 };

static const char path[] = "test_daso_state.h5";

/* By the runs that follow. */
static bool exchange_momentum, without_optimizer;
static const char *device = "cpu";

/* Everything on, so that everything has a state. */
static struct setting set_run(ht_comm *world, int ranks_per_node)
{
    ht_daso_options o = options_of(1, 1, HT_BFLOAT16);
    ht_module *net = new_points(HT_FLOAT32, 1);
    struct setting s = {.net = net};
    char text[16];

    ht_module_to_device(net, ht_device_get(device));
    s.optimizer = ht_optim_adam(trainable(net), 0.05, NULL);
    o.max_global_skips = 4;
    o.outer_lr = 0.8;
    o.downcast_asynchronous = true;
    o.exchange_momentum = exchange_momentum;
    snprintf(text, sizeof text, "%d", ranks_per_node);
    setenv("HT_RANKS_PER_NODE", text, true);
    s.comm = ht_comm_split(world, 0, ht_comm_rank(world));
    s.daso = ht_optim_daso(s.optimizer, EPOCHS, s.comm, &o);
    s.model = ht_nn_data_parallel_multi_gpu(net, s.daso, s.comm);
    ht_daso_set_last_batch(s.daso, BATCHES - 1);
    return s;
}

/* A batch that is this rank's own; the buffer follows it, too. */
static void train_batch(struct setting *s, int batch)
{
    ht_scope *scope = ht_scope_open();
    int64_t three = 3;
    double values[3];
    ht_tensor *y, *buffer;

    for (int i = 0; i < 3; i++)
        values[i] = sin(1.3 * batch + 0.7 * i + 2.1 * ht_test_rank);
    y = ht_forward(
        s->model,
        ht_to_device(ht_astype(ht_array(values, 1, &three, HT_FLOAT64, HT_LOCAL), HT_FLOAT32),
                     ht_device_get(device)));
    assert_int_equal(ht_backward(ht_mul(y, y)), HT_SUCCESS);
    buffer = points_of(s)->buffer;
    ht_copy_(buffer, ht_add_scalar(ht_mul_scalar(buffer, 0.5), values[0]));
    assert_int_equal(ht_daso_step(s->daso), HT_SUCCESS);
    ht_daso_zero_grad(s->daso);
    ht_scope_close(scope);
}

/* From batch `first` (of the run) to before `last`. The second epoch has a batch whose gradients
 * stay on their ranks, so that it matters who sends next. */
static void train_on(struct setting *s, int first, int last)
{
    for (int batch = first; batch < last; batch++) {
        if (batch == BATCHES)
            s->daso->schedule.local_skip = 2;
        train_batch(s, batch);
        if (batch % BATCHES == BATCHES - 1)
            ht_daso_epoch_loss_logic(s->daso, 1, true);
    }
}

static void save(struct setting *s)
{
    ht_scope *scope = ht_scope_open();
    ht_value *state = ht_value_map();
    ht_checkpoint_options o = ht_checkpoint_options_default();

    o.keep = 1;
    ht_value_set(state, "daso", ht_daso_state_dict(s->daso));
    ht_value_set(state, "model", ht_module_state_dict(s->net));
    ht_value_set(state, "optimizer", ht_optimizer_state_dict(s->optimizer));
    assert_int_equal(ht_checkpoint_save(state, path, s->comm, &o), HT_SUCCESS);
    ht_scope_close(scope);
}

static ht_status load(struct setting *s)
{
    ht_scope *scope = ht_scope_open();
    ht_value *state = ht_checkpoint_load(path, s->comm, NULL);
    ht_status status;

    assert_non_null(state);
    ht_module_load_state_dict(s->net, ht_value_get(state, "model"));
    if (!without_optimizer)
        ht_optimizer_load_state_dict(s->optimizer, ht_value_get(state, "optimizer"));
    status = ht_daso_load_state_dict(s->daso, ht_value_get(state, "daso"));
    ht_scope_close(scope);
    return status;
}

static void remove_file(void)
{
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0)
        unlink(path);
}

static void read_all(const struct setting *s, float values[NUMBERS])
{
    memcpy(values, ht_test_data(points_of(s)->first), 3 * sizeof *values);
    memcpy(values + 3, ht_test_data(points_of(s)->second), 2 * sizeof *values);
    memcpy(values + 5, ht_test_data(points_of(s)->buffer), 2 * sizeof *values);
}

/* After the next batch, before exchanges hide what one rank has otherwise, and in the end. */
static void go_on(struct setting *s, int batches, float values[2 * NUMBERS])
{
    train_on(s, batches, batches + 1);
    read_all(s, values);
    train_on(s, batches + 1, EPOCHS * BATCHES);
    read_all(s, values + NUMBERS);
}

static void check_resumed_after(int batches, int ranks_per_node)
{
    struct setting s = set_run(HT_COMM_WORLD, ranks_per_node);
    float expected[2 * NUMBERS], values[2 * NUMBERS];

    train_on(&s, 0, batches);
    save(&s);
    go_on(&s, batches, expected);
    end(&s);

    s = set_run(HT_COMM_WORLD, ranks_per_node);
    assert_int_equal(load(&s), HT_SUCCESS);
    go_on(&s, batches, values);
    for (int i = 0; i < 2 * NUMBERS; i++) {
        if (memcmp(&values[i], &expected[i], sizeof values[i]) != 0)
            fail_msg("saved after %d batches, nodes of %d: number %d is %.9g, expected %.9g",
                     batches, ranks_per_node, i, values[i], expected[i]);
    }
    end(&s);
    remove_file();
}

/* Within and between epochs of all phases; with an exchange outstanding, and none. */
static void test_resumes_in_every_phase(void **state)
{
    static const int after[] = {0, 2, 6, 7, 8, 9, 10, 12, 13, 19, 24, 27};

    (void)state;
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        exchange_momentum = i / 2 % 2 == 1;
        check_resumed_after(after[i], 1 + (int)i % 2);
    }
    exchange_momentum = false;
    without_optimizer = true; /* DASO's state has the optimizer's of each rank */
    check_resumed_after(8, 1);
    without_optimizer = false;
}

/* Messages are on the CPU for a model on any device: the same bits as on the CPU. */
static void test_a_model_on_another_device(void **state)
{
    float expected[NUMBERS], values[NUMBERS];
    struct setting s = set_run(HT_COMM_WORLD, 2);

    (void)state;
    train_on(&s, 0, EPOCHS * BATCHES);
    read_all(&s, expected);
    end(&s);
    device = "cpu:1";
    ht_use_device(ht_device_get(device));
    exchange_momentum = true;
    check_resumed_after(8, 2);
    exchange_momentum = false;
    s = set_run(HT_COMM_WORLD, 2);
    train_on(&s, 0, EPOCHS * BATCHES);
    read_all(&s, values);
    end(&s);
    device = "cpu";
    ht_use_device(ht_device_get(device));
    assert_memory_equal(values, expected, sizeof values);
}

static double first_moment(const struct setting *s)
{
    return ht_item(ht_narrow(ht_optimizer_state(s->optimizer, 0, "exp_avg"), 0, 0, 1));
}

/* Moments are still averaged after the optimizer's state was loaded, which gives it other tensors
 * for them. */
static void test_momentum_after_loading(void **state)
{
    struct setting s;
    double mine, first;

    (void)state;
    exchange_momentum = true;
    s = set_run(HT_COMM_WORLD, 1);
    exchange_momentum = false;
    train_on(&s, 0, 2);
    ht_optimizer_load_state_dict(s.optimizer, ht_optimizer_state_dict(s.optimizer));
    train_on(&s, 2, 3);
    first = mine = first_moment(&s);
    MPI_Bcast(&first, 1, MPI_DOUBLE, 0, ht_comm_mpi(s.comm));
    assert_true(mine == first && mine != 0);
    end(&s);
}

/* It is received first, and not merged into the loaded values. */
static void test_loading_while_an_exchange_is_on_its_way(void **state)
{
    struct setting s = set_run(HT_COMM_WORLD, 1);
    ht_value *map;

    (void)state;
    train_on(&s, 0, 8);
    map = ht_daso_state_dict(s.daso);
    train_on(&s, 8, 11);
    assert_int_equal(ht_daso_get_report(s.daso).sent, 0);
    assert_int_equal(ht_daso_load_state_dict(s.daso, map), HT_SUCCESS);
    train_on(&s, 8, 11);
    assert_int_equal(ht_daso_get_report(s.daso).staleness, -1);
    end(&s);
}

/* A reset in the middle of an epoch leaves nothing that ranks have for themselves. */
static void test_saved_after_a_reset(void **state)
{
    struct setting s = set_run(HT_COMM_WORLD, 1);
    float expected[NUMBERS], values[NUMBERS];

    (void)state;
    train_on(&s, 0, 9);
    assert_int_equal(ht_daso_reset(s.daso), HT_SUCCESS);
    save(&s);
    train_on(&s, 0, 3);
    read_all(&s, expected);
    end(&s);
    s = set_run(HT_COMM_WORLD, 1);
    assert_int_equal(load(&s), HT_SUCCESS);
    train_on(&s, 0, 3);
    read_all(&s, values);
    assert_memory_equal(values, expected, sizeof values);
    end(&s);
    remove_file();
}

/* Where updates were skipped on some ranks (ht_daso_add_scaler), they differ. */
static void test_steps_are_each_ranks_own(void **state)
{
    struct setting s = set_run(HT_COMM_WORLD, 1);

    (void)state;
    train_on(&s, 0, 3);
    s.optimizer->entries[0].steps -= ht_test_rank % 2;
    save(&s);
    end(&s);
    s = set_run(HT_COMM_WORLD, 1);
    assert_int_equal(load(&s), HT_SUCCESS);
    assert_int_equal(s.optimizer->entries[0].steps, 3 - ht_test_rank % 2);
    end(&s);
    remove_file();
}

/* After every epoch, in any phase, all ranks have the same bits. */
static void test_ranks_agree_after_epochs(void **state)
{
    struct setting s = set_run(HT_COMM_WORLD, 2);
    bool differed = false;

    (void)state;
    for (int batch = 0; batch < EPOCHS * BATCHES; batch++) {
        float mine[NUMBERS], first[NUMBERS];

        train_on(&s, batch, batch + 1);
        read_all(&s, mine);
        memcpy(first, mine, sizeof first);
        MPI_Bcast(first, sizeof first, MPI_BYTE, 0, ht_comm_mpi(s.comm));
        differed |= memcmp(mine, first, sizeof first) != 0;
        if (batch % BATCHES == BATCHES - 1)
            assert_memory_equal(mine, first, sizeof first);
    }
    assert_true(differed == (ht_test_rank > 0));
    end(&s);
}

/* On fewer ranks: not from within an epoch; from between two, with the mean of the states. */
static void test_other_ranks(void **state)
{
    struct setting s;
    ht_comm *half;
    double sum = 0, mine;

    (void)state;
    if (ht_test_size != 4)
        return;
    s = set_run(HT_COMM_WORLD, 2);
    train_on(&s, 0, 8);
    save(&s);
    end(&s);
    half = ht_comm_split(HT_COMM_WORLD, ht_test_rank < 2 ? 0 : -1, ht_test_rank);
    if (half != NULL) {
        s = set_run(half, 1);
        ht_comm_set_errhandler(s.comm, HT_ERRORS_RETURN);
        expect(load(&s), HT_ERR_STATE,
               "ht_daso_load_state_dict: the state is of 4 ranks on 2 nodes, after batch 2 of "
               "6; 2 ranks on 2 nodes can resume only between two epochs");
        end(&s);
    }
    remove_file();

    s = set_run(HT_COMM_WORLD, 2);
    train_on(&s, 0, 12);
    save(&s);
    mine = first_moment(&s);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, ht_comm_mpi(s.comm));
    end(&s);
    if (half != NULL) {
        s = set_run(half, 1);
        assert_int_equal(load(&s), HT_SUCCESS);
        assert_true(fabs(first_moment(&s) - sum / 4) <= 1e-6);
        assert_int_equal(ht_daso_get_report(s.daso).epoch, 2);
        train_on(&s, 12, EPOCHS * BATCHES);
        end(&s);
        ht_release(half);
    }
    remove_file();
}

/* On other nodes: the ranks of each have the same optimizer, and no state of other nodes. */
static void a_state_loads_on_other_nodes(void **state)
{
    struct setting s;
    double mine, first;

    (void)state;
    if (ht_test_size != 4)
        return;
    s = set_run(HT_COMM_WORLD, 2);
    train_on(&s, 0, 8);
    save(&s);
    end(&s);
    s = set_run(HT_COMM_WORLD, 4);
    ht_comm_set_errhandler(s.comm, HT_ERRORS_RETURN);
    expect(load(&s), HT_ERR_STATE,
           "ht_daso_load_state_dict: the state is of 4 ranks on 2 nodes (rank 2 on node 1), "
           "after batch 2 of 6; 4 ranks on 1 node (rank 2 on node 0) can resume only between "
           "two epochs");
    end(&s);
    remove_file();

    s = set_run(HT_COMM_WORLD, 2);
    train_on(&s, 0, 12);
    save(&s);
    end(&s);
    s = set_run(HT_COMM_WORLD, 4);
    assert_int_equal(load(&s), HT_SUCCESS);
    first = mine = first_moment(&s);
    MPI_Bcast(&first, 1, MPI_DOUBLE, 0, ht_comm_mpi(s.comm));
    assert_true(mine == first);
    end(&s);
    remove_file();
}

static void test_misuse(void **state)
{
    struct setting s = set_run(HT_COMM_WORLD, 1);
    ht_value *map = ht_value_map();

    (void)state;
    ht_comm_set_errhandler(s.comm, HT_ERRORS_RETURN);
    expect(ht_daso_load_state_dict(s.daso, map), HT_ERR_FORMAT,
           "ht_daso_load_state_dict: the state has no integer \"ranks\" of at least 1");
    expect(ht_daso_load_state_dict(s.daso, ht_value_get(map, "daso")), HT_ERR_ARGUMENT,
           "ht_daso_load_state_dict: state is NULL; was the checkpoint "
           "written by a run with DASO?");
    end(&s);
}

HT_TEST_SUITE(test_daso_state, cmocka_unit_test(test_resumes_in_every_phase),
              cmocka_unit_test(test_a_model_on_another_device),
              cmocka_unit_test(test_momentum_after_loading),
              cmocka_unit_test(test_loading_while_an_exchange_is_on_its_way),
              cmocka_unit_test(test_saved_after_a_reset),
              cmocka_unit_test(test_steps_are_each_ranks_own),
              cmocka_unit_test(test_ranks_agree_after_epochs), cmocka_unit_test(test_other_ranks),
              cmocka_unit_test(a_state_loads_on_other_nodes), cmocka_unit_test(test_misuse));
