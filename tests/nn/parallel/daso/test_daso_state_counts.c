/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Integer buffers, which ranks do not average: a run that is resumed from its file continues with
 * each rank's own. With cumulative averages, they weigh the statistics. */
#include "daso_test.h"

#include <unistd.h>

enum { EPOCHS = 4, BATCHES = 4, FEATURES = 3, NUMBERS = 2 * FEATURES + 1 };

static const char path[] = "test_daso_state_counts.h5";

static struct setting set_run(int ranks_per_node)
{
    ht_daso_options o = options_of(1, 1, HT_FLOAT32);
    ht_batch_norm_options norm = ht_batch_norm_options_default();
    ht_module *net;

    norm.cumulative_average = true;
    o.max_global_skips = 4;
    o.local_skip_factor = 1;
    ht_nn_seed(5);
    net = ht_nn_sequential(
        HT_LIST(ht_module *, ht_nn_batch_norm1d(FEATURES, &norm), ht_nn_linear(FEATURES, 1)));
    ht_module_to_dtype(net, HT_FLOAT64);
    return set_daso(ranks_per_node, net, ht_optim_sgd(ht_module_parameters(net), 0.1, NULL), EPOCHS,
                    BATCHES, &o);
}

/* Odd ranks have no rows in the first epochs, so that they count fewer batches. */
static void train_batch(struct setting *s, int batch)
{
    const bool none = ht_test_rank % 2 == 1 && batch < 2 * BATCHES;
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_narrow(batch_rows(10 * batch + 4 * ht_test_rank, 4), 1, 0, FEATURES);

    assert_int_equal(ht_daso_zero_grad(s->daso), HT_SUCCESS);
    assert_int_equal(
        ht_data_parallel_backward(
            s->model, none ? NULL : ht_mean(ht_square(ht_forward(s->model, x)), HT_NONE)),
        HT_SUCCESS);
    assert_int_equal(ht_daso_step(s->daso), HT_SUCCESS);
    if (batch % BATCHES == BATCHES - 1)
        ht_daso_epoch_loss_logic(s->daso, 1, true);
    ht_scope_close(scope);
}

static void train_on(struct setting *s, int first, int last)
{
    for (int batch = first; batch < last; batch++)
        train_batch(s, batch);
}

static void save(struct setting *s)
{
    ht_scope *scope = ht_scope_open();
    ht_value *state = ht_value_map();
    ht_checkpoint_options o = ht_checkpoint_options_default();

    o.keep = 1;
    ht_value_set(state, "daso", ht_daso_state_dict(s->daso));
    ht_value_set(state, "model", ht_module_state_dict(s->net));
    assert_int_equal(ht_checkpoint_save(state, path, s->comm, &o), HT_SUCCESS);
    ht_scope_close(scope);
}

static void load(struct setting *s)
{
    ht_scope *scope = ht_scope_open();
    ht_value *state = ht_checkpoint_load(path, s->comm, NULL);

    assert_int_equal(ht_module_load_state_dict(s->net, ht_value_get(state, "model")), HT_SUCCESS);
    assert_int_equal(ht_daso_load_state_dict(s->daso, ht_value_get(state, "daso")), HT_SUCCESS);
    ht_scope_close(scope);
}

static void remove_file(void)
{
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0)
        unlink(path);
}

static void read_buffer(const char *name, ht_tensor *x, void *user)
{
    double **at = user;

    (void)name;
    assert_int_equal(ht_tensor_to_array(x, *at, ht_tensor_size(x), HT_FLOAT64), HT_SUCCESS);
    *at += ht_tensor_size(x);
}

static void read_buffers(const struct setting *s, double values[NUMBERS])
{
    ht_module_named_buffers(s->net, read_buffer, &values);
}

static void check_resumed_after(int batches, int ranks_per_node)
{
    double expected[NUMBERS], values[NUMBERS];
    struct setting s = set_run(ranks_per_node);

    train_on(&s, 0, batches);
    save(&s);
    train_on(&s, batches, EPOCHS * BATCHES);
    read_buffers(&s, expected);
    end(&s);
    s = set_run(ranks_per_node);
    load(&s);
    train_on(&s, batches, EPOCHS * BATCHES);
    read_buffers(&s, values);
    assert_memory_equal(values, expected, sizeof values);
    end(&s);
    remove_file();
}

static void each_rank_resumes_with_its_own_counts(void **state)
{
    static const int after[] = {1, 4, 6, 7, 8, 9, 13};

    (void)state;
    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        check_resumed_after(after[i], 1);
        check_resumed_after(after[i], 2);
    }
}

static double count_of(const struct setting *s)
{
    double values[NUMBERS];

    read_buffers(s, values);
    return values[NUMBERS - 1];
}

static void other_nodes_begin_with_the_largest_counts(void **state)
{
    struct setting s = set_run(1);

    (void)state;
    train_on(&s, 0, BATCHES);
    assert_true(count_of(&s) == (ht_test_rank % 2 == 1 ? 0 : BATCHES));
    save(&s);
    end(&s);
    s = set_run(ht_test_size);
    load(&s);
    assert_true(count_of(&s) == BATCHES);
    end(&s);
    remove_file();
}

/* As earlier versions saved it. */
static ht_value *without_counts(const ht_value *map)
{
    ht_value *rest = ht_value_map();

    for (int i = 0; i < ht_value_count(map); i++) {
        if (strcmp(ht_value_key(map, i), "integer_buffers") != 0)
            ht_value_set(rest, ht_value_key(map, i), ht_value_at(map, i));
    }
    return rest;
}

static void a_state_without_counts_keeps_those_of_the_model(void **state)
{
    struct setting s = set_run(1);
    ht_scope *scope = ht_scope_open();
    ht_value *map;

    (void)state;
    train_on(&s, 0, BATCHES);
    map = without_counts(ht_daso_state_dict(s.daso));
    train_on(&s, BATCHES, 2 * BATCHES);
    assert_int_equal(ht_daso_load_state_dict(s.daso, map), HT_SUCCESS);
    assert_true(count_of(&s) == (ht_test_rank % 2 == 1 ? 0 : 2 * BATCHES));
    ht_scope_close(scope);
    end(&s);
}

static void damaged_counts_are_refused(void **state)
{
    struct setting s = set_run(1);
    ht_scope *scope = ht_scope_open();
    ht_value *map;
    const char *message;

    (void)state;
    ht_comm_set_errhandler(s.comm, HT_ERRORS_RETURN);
    train_on(&s, 0, BATCHES);
    map = ht_daso_state_dict(s.daso);
    ht_value_set(map, "integer_buffers", ht_value_number(3));
    expect(ht_daso_load_state_dict(s.daso, map), HT_ERR_FORMAT,
           "ht_daso_load_state_dict: \"integer_buffers\" is a number, expected an int64 tensor");
    ht_value_set(map, "integer_buffers",
                 ht_value_tensor(ht_zeros(HT_SHAPE(ht_test_size, 2), HT_INT64, 0)));
    assert_int_equal(ht_daso_load_state_dict(s.daso, map), HT_ERR_FORMAT);
    ht_error_get(&message);
    assert_true(strstr(message, "\"integer_buffers\" has ") != NULL);
    ht_error_clear();
    ht_scope_close(scope);
    end(&s);
}

HT_TEST_SUITE(test_daso_state_counts, cmocka_unit_test(each_rank_resumes_with_its_own_counts),
              cmocka_unit_test(other_nodes_begin_with_the_largest_counts),
              cmocka_unit_test(a_state_without_counts_keeps_those_of_the_model),
              cmocka_unit_test(damaged_counts_are_refused));
