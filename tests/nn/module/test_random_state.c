/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* The state of random numbers, saved and restored: every rank draws on as it would have, also where
 * ranks have drawn unequally often. */
#include "core/tensor/tensor.h"
#include "ht_test.h"
#include "tensor_check.h"

#include <string.h>

#include "ht.h"

enum { WIDTH = 64 };

static ht_module *new_net(void)
{
    ht_nn_seed(7);
    return ht_nn_sequential(HT_LIST(ht_module *, ht_nn_dropout(0.5), ht_nn_dropout2d(0.5)));
}

static ht_tensor *draw(ht_module *net)
{
    return ht_forward(net, ht_full(HT_SHAPE(1, WIDTH), 1, HT_FLOAT32, HT_LOCAL));
}

static void assert_same(ht_tensor *a, ht_tensor *b)
{
    assert_memory_equal(ht_test_data(a), ht_test_data(b), (size_t)ht_tensor_nbytes(a));
}

static ht_tensor *draw_alone(void)
{
    ht_tensor *x = ht_empty(HT_SHAPE(5), HT_FLOAT32, HT_LOCAL);

    ht_uniform_(x, 0, 1);
    return x;
}

static void every_rank_continues_its_draws(void **state)
{
    ht_module *net = new_net(), *again;
    ht_tensor *next, *numbers, *own, *fresh;
    ht_value *saved;

    (void)state;
    ht_random_seed(3);
    for (int i = 0; i <= ht_test_rank; i++)
        draw(net);
    for (int i = 0; i <= 2 * ht_test_rank; i++)
        draw_alone();
    ht_rand(HT_SHAPE(5), HT_FLOAT32, HT_NONE);
    saved = ht_nn_random_state_dict(net, HT_COMM_WORLD);
    next = draw(net);
    numbers = ht_rand(HT_SHAPE(5), HT_FLOAT32, HT_NONE);
    own = draw_alone();

    again = new_net();
    ht_nn_seed(8);
    ht_random_seed(4);
    fresh = draw(again);
    assert_memory_not_equal(ht_test_data(fresh), ht_test_data(next), WIDTH * sizeof(float));
    assert_int_equal(ht_nn_random_load_state_dict(again, saved, HT_COMM_WORLD), HT_SUCCESS);
    assert_same(draw(again), next);
    assert_same(ht_rand(HT_SHAPE(5), HT_FLOAT32, HT_NONE), numbers);
    assert_same(draw_alone(), own);
    ht_release(net);
    ht_release(again);
}

/* The counters of more ranks than there are now: all continue after the largest. */
static void on_other_ranks_no_draw_comes_twice(void **state)
{
    ht_module *net = new_net();
    ht_value *saved = ht_nn_random_state_dict(net, HT_COMM_WORLD);
    ht_value *counters = ht_value_get(saved, "counters");

    (void)state;
    assert_int_equal(ht_value_count(counters), 2);
    for (int i = 0; i < 2; i++)
        ht_value_set(counters, ht_value_key(counters, i),
                     ht_value_tensor(ht_arange(0, ht_test_size + 2, 1, HT_INT64, 0)));
    assert_int_equal(ht_nn_random_load_state_dict(net, saved, HT_COMM_WORLD), HT_SUCCESS);

    ht_module *other = new_net();

    for (int i = 0; i < ht_test_size + 1; i++)
        draw(other);
    assert_same(draw(net), draw(other));
    ht_release(net);
    ht_release(other);
}

/* A seed of its own on each rank, of both generators: each resumes with its own. */
static void every_rank_continues_with_its_seeds(void **state)
{
    ht_module *net = new_net(), *layer;
    ht_tensor *next, *own, *weight;
    ht_value *saved;

    (void)state;
    ht_nn_seed(7 + (uint64_t)ht_test_rank);
    ht_random_seed(UINT64_MAX - (uint64_t)ht_test_rank);
    draw(net);
    for (int i = 0; i <= ht_test_rank; i++)
        ht_release(ht_nn_linear(3, 3));
    saved = ht_nn_random_state_dict(net, HT_COMM_WORLD);
    next = draw(net);
    own = draw_alone();
    layer = ht_nn_linear(3, 3);
    weight = ht_copy(ht_module_find_parameter(layer, "weight"));
    ht_release(layer);

    ht_nn_seed(1);
    ht_random_seed(1);
    assert_int_equal(ht_nn_random_load_state_dict(net, saved, HT_COMM_WORLD), HT_SUCCESS);
    assert_same(draw(net), next);
    assert_same(draw_alone(), own);
    layer = ht_nn_linear(3, 3);
    assert_same(ht_module_find_parameter(layer, "weight"), weight);
    ht_release(layer);
    ht_release(net);
}

/* Rows of a state that two ranks more saved: `first` is rank 0's seed, `others` that of the rest. */
static void set_rows(ht_value *state, const char *key, int64_t first, int64_t others)
{
    const int64_t shape[] = {ht_test_size + 2, 2};
    ht_tensor *x = ht_full_ext(2, shape, HT_NUM(others), HT_INT64, 0, ht_device_get("cpu"),
                               HT_COMM_WORLD);
    int64_t *mine = ht_tensor_mutable_data(x);

    if (ht_test_rank == 0)
        mine[0] = first;
    ht_value_set(state, key, ht_value_tensor(x));
}

static void on_other_ranks_the_seeds_are_one(void **state)
{
    ht_module *net = new_net();
    ht_value *saved = ht_nn_random_state_dict(net, HT_COMM_WORLD);
    uint64_t seed, draws;
    const char *message;

    (void)state;
    set_rows(saved, "random", 5, 5);
    assert_int_equal(ht_nn_random_load_state_dict(net, saved, HT_COMM_WORLD), HT_SUCCESS);
    ht_random_get_state(&seed, &draws);
    assert_int_equal(seed, 5);
    assert_int_equal(draws, 5);
    set_rows(saved, "init", 6, 5);
    ht_random_seed(1);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_nn_random_load_state_dict(net, saved, HT_COMM_WORLD), HT_ERR_FORMAT);
    ht_error_get(&message);
    assert_string_equal(message, "ht_nn_random_load_state_dict: \"init\" of the state has seeds "
                                 "that differ between ranks, expected as many ranks as saved it, "
                                 "or one seed");
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_random_get_state(&seed, NULL);
    assert_int_equal(seed, 1);
    ht_release(net);
}

/* The states of older versions: one pair for all ranks. */
static void one_pair_is_that_of_all_ranks(void **state)
{
    ht_module *net = new_net();
    ht_value *saved = ht_nn_random_state_dict(net, HT_COMM_WORLD);
    const int64_t pair[] = {11, 3};
    uint64_t seed, draws;

    (void)state;
    ht_value_set(saved, "random", ht_value_tensor(ht_array(pair, HT_SHAPE(2), HT_INT64, HT_LOCAL)));
    ht_value_set(saved, "init", ht_value_tensor(ht_array(pair, HT_SHAPE(2), HT_INT64, HT_LOCAL)));
    assert_int_equal(ht_nn_random_load_state_dict(net, saved, HT_COMM_WORLD), HT_SUCCESS);
    ht_random_get_state(&seed, &draws);
    assert_int_equal(seed, 11);
    assert_int_equal(draws, 3);
    ht_release(net);
}

static void a_layer_without_a_count_is_named(void **state)
{
    ht_module *net = new_net(), *plain = ht_nn_sequential(HT_LIST(ht_module *, ht_nn_relu()));
    const char *message;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_nn_random_load_state_dict(
                         net, ht_nn_random_state_dict(plain, HT_COMM_WORLD), HT_COMM_WORLD),
                     HT_ERR_FORMAT);
    ht_error_get(&message);
    assert_string_equal(message, "ht_nn_random_load_state_dict: the state has no counter of \"0\"");
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(net);
    ht_release(plain);
}

HT_TEST_SUITE(test_random_state, cmocka_unit_test(every_rank_continues_its_draws),
              cmocka_unit_test(on_other_ranks_no_draw_comes_twice),
              cmocka_unit_test(every_rank_continues_with_its_seeds),
              cmocka_unit_test(on_other_ranks_the_seeds_are_one),
              cmocka_unit_test(one_pair_is_that_of_all_ranks),
              cmocka_unit_test(a_layer_without_a_count_is_named));
