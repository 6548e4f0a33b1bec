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
              cmocka_unit_test(a_layer_without_a_count_is_named));
