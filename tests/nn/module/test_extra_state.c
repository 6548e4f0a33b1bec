/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* State of a module that is not a parameter or a buffer: its type gives it and takes it. */
#include <stdio.h>
#include <unistd.h>

#include "nn/nn_test.h"
#include "tensor_check.h"

static bool refuses; /* of this rank: states of three numbers */

/* A list of numbers, as long as it has to be. */
struct history {
    double numbers[8];
    int64_t count;
};

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    struct history *history = ht_module_data(self);

    history->numbers[history->count] = (double)history->count + 0.5;
    history->count++;
    return x;
}

static ht_tensor *get(ht_module *self)
{
    struct history *history = ht_module_data(self);

    return ht_array(history->numbers, 1, &history->count, HT_FLOAT64, HT_LOCAL);
}

static ht_status set(ht_module *self, ht_tensor *state)
{
    struct history *history = ht_module_data(self);
    const double *numbers = ht_test_data(state);

    if (ht_tensor_size(state) > 8 || (refuses && ht_tensor_size(state) == 3))
        return ht_module_remove_hook(self, 0); /* an error */
    history->count = ht_tensor_size(state);
    for (int64_t i = 0; i < history->count; i++)
        history->numbers[i] = numbers[i];
    return HT_SUCCESS;
}

static const ht_module_type history_type = {
    .name = "History", .forward = forward, .get_extra_state = get, .set_extra_state = set};

static ht_module *net_new(int forwards)
{
    ht_module *net = ht_nn_sequential(HT_LIST(
        ht_module *, ht_nn_linear(1, 1), ht_module_new(sizeof(struct history), &history_type)));

    for (int i = 0; i < forwards; i++)
        ht_forward(net, ht_ones(HT_SHAPE(1, 1), HT_FLOAT32, HT_LOCAL));
    return net;
}

static const struct history *history_of(ht_module *net)
{
    return ht_module_data(ht_module_find(net, "1"));
}

static void extra_state_is_part_of_states(void **state)
{
    ht_module *a = net_new(3), *b = net_new(1);
    ht_value *map = ht_module_state_dict(a);

    (void)state;
    assert_int_equal(ht_value_count(map), 3);
    assert_int_equal(ht_tensor_size(ht_value_as_tensor(ht_value_get(map, "1._extra_state"))), 3);
    assert_int_equal(ht_module_load_state_dict(b, map), HT_SUCCESS);
    assert_int_equal(history_of(b)->count, 3);
    assert_true(history_of(b)->numbers[2] == 2.5);
    ht_release(a);
    ht_release(b);
}

static void extra_state_is_part_of_files(void **state)
{
    ht_module *a = net_new(4), *b = net_new(1), *c = net_new(0);
    long id = ht_test_rank == 0 ? (long)getpid() : 0;
    char path[64], other[64];

    (void)state;
    MPI_Bcast(&id, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "/tmp/ht-test-extra-%ld.h5", id);
    snprintf(other, sizeof other, "/tmp/ht-test-extra-%ld.safetensors", id);
    assert_int_equal(ht_module_save_state(a, path, HT_COMM_WORLD), HT_SUCCESS);
    assert_int_equal(ht_module_load_state(b, path, HT_COMM_WORLD), HT_SUCCESS);
    assert_int_equal(history_of(b)->count, 4);
    assert_int_equal(ht_module_save_safetensors(a, other, HT_COMM_WORLD), HT_SUCCESS);
    assert_int_equal(ht_module_load_safetensors(c, other, HT_COMM_WORLD), HT_SUCCESS);
    assert_true(history_of(c)->count == 4 && history_of(c)->numbers[3] == 3.5);
    ht_test_remove(path);
    ht_test_remove(other);
    ht_release(a);
    ht_release(b);
    ht_release(c);
}

static double weight_of(ht_module *net)
{
    return ht_item(ht_sum(ht_module_find_parameter(net, "0.weight"), HT_NONE));
}

/* The other ranks, which could have loaded it, keep their values. */
static void a_rank_that_refuses_keeps_all_from_loading(void **state)
{
    ht_module *a = net_new(3), *b = net_new(1);
    const double weight = weight_of(b);
    long id = ht_test_rank == 0 ? (long)getpid() : 0;
    char path[64];

    (void)state;
    MPI_Bcast(&id, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "/tmp/ht-test-refused-%ld.safetensors", id);
    assert_int_equal(ht_module_save_safetensors(a, path, HT_COMM_WORLD), HT_SUCCESS);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    refuses = ht_test_rank == ht_test_size - 1;
    assert_int_equal(ht_module_load_safetensors(b, path, HT_COMM_WORLD), HT_ERR_ARGUMENT);
    ht_error_clear();
    refuses = false;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    assert_true(weight_of(a) != weight && weight_of(b) == weight);
    assert_true(history_of(b)->count == 1 && history_of(b)->numbers[0] == 0.5);
    ht_test_remove(path);
    ht_release(a);
    ht_release(b);
}

static void missing_and_refused_extra_state_is_an_error(void **state)
{
    ht_module *net = net_new(2), *other = net_new(2);
    const double weight = weight_of(net);
    ht_value *map = ht_module_state_dict(ht_module_find(net, "0")), *missing;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_module_load_state_dict(ht_module_find(net, "1"), ht_value_map()),
                     HT_ERR_FORMAT);
    nn_assert_error("ht_module_load_state_dict: the state does not fit the model: missing "
                    "_extra_state");
    assert_int_equal(ht_module_load_state_dict_ext(net, map, false, &missing, NULL), HT_SUCCESS);
    assert_int_equal(ht_value_count(missing), 3);
    assert_non_null(ht_value_get(missing, "1._extra_state"));
    assert_int_equal(history_of(net)->count, 2);

    map = ht_module_state_dict(other);
    ht_value_set(map, "1._extra_state",
                 ht_value_tensor(ht_ones(HT_SHAPE(9), HT_FLOAT64, HT_LOCAL)));
    assert_int_equal(ht_module_load_state_dict(net, map), HT_ERR_ARGUMENT);
    ht_error_clear();
    assert_int_equal(history_of(net)->count, 2);
    assert_true(weight_of(net) == weight);
    ht_release(other);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(net);
}

static void extra_state_of_a_shared_module_has_each_of_its_paths(void **state)
{
    ht_module *part = net_new(3), *net, *taken;
    ht_value *map = ht_value_map();
    ht_value *extra = ht_value_get(ht_module_state_dict(part), "1._extra_state");

    (void)state;
    net = ht_nn_sequential(
        HT_LIST(ht_module *, ht_module_new(sizeof(struct history), &history_type)));
    taken = ht_nn_sequential(HT_LIST(ht_module *, net, ht_retain(net)));
    ht_value_set(map, "1.0._extra_state", extra);
    assert_int_equal(ht_module_load_state_dict(taken, map), HT_SUCCESS);
    assert_int_equal(((const struct history *)ht_module_data(ht_module_find(taken, "0.0")))->count,
                     3);
    ht_release(taken);
    ht_release(part);
}

HT_TEST_SUITE(test_extra_state, cmocka_unit_test(extra_state_is_part_of_states),
              cmocka_unit_test(extra_state_is_part_of_files),
              cmocka_unit_test(a_rank_that_refuses_keeps_all_from_loading),
              cmocka_unit_test(missing_and_refused_extra_state_is_an_error),
              cmocka_unit_test(extra_state_of_a_shared_module_has_each_of_its_paths));
