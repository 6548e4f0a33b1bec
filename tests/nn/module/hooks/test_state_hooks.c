/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Hooks around states: they prepare and change a state that is made, and one that is loaded, from a
 * map or a file. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nn/nn_test.h"

static char heard[256];

static void hear(const char *what, const char *prefix)
{
    const size_t used = strlen(heard);

    snprintf(heard + used, sizeof heard - used, "%s(%s) ", what, prefix);
}

static void before_state(ht_module *module, const char *prefix, void *user)
{
    (void)module;
    hear(user, prefix);
}

static ht_value *listen(ht_module *module, ht_value *state, const char *prefix, void *user)
{
    (void)module, (void)state;
    hear(user, prefix);
    return NULL;
}

static void after_load(ht_module *module, ht_value *missing, ht_value *unexpected, void *user)
{
    char counts[32];

    (void)module;
    snprintf(counts, sizeof counts, "%d %d", ht_value_count(missing), ht_value_count(unexpected));
    hear(user, counts);
}

/* Another map, in which the first `from` of a name is a `to`. */
static ht_value *renamed(const ht_value *state, const char *from, const char *to)
{
    ht_value *map = ht_value_map();

    for (int i = 0; i < ht_value_count(state); i++) {
        const char *key = ht_value_key(state, i), *at = strstr(key, from);
        char name[64];

        snprintf(name, sizeof name, "%s", key);
        if (at != NULL)
            snprintf(name, sizeof name, "%.*s%s%s", (int)(at - key), key, to, at + strlen(from));
        ht_value_set(map, name, ht_value_at(state, i));
    }
    return map;
}

static ht_value *to_kernel(ht_module *module, ht_value *state, const char *prefix, void *user)
{
    (void)module, (void)prefix, (void)user;
    return renamed(state, "weight", "kernel");
}

static ht_value *to_weight(ht_module *module, ht_value *state, const char *prefix, void *user)
{
    (void)module, (void)prefix, (void)user;
    return renamed(state, "kernel", "weight");
}

static ht_value *to_list(ht_module *module, ht_value *state, const char *prefix, void *user)
{
    (void)module, (void)state, (void)prefix, (void)user;
    return ht_value_list();
}

static ht_module *net_new(void)
{
    return ht_nn_sequential(HT_LIST(ht_module *, ht_nn_linear(2, 1)));
}

static void register_all(ht_module *module)
{
    ht_module_register_state_dict_pre_hook(module, before_state, "before");
    ht_module_register_state_dict_post_hook(module, listen, "after");
    ht_module_register_load_state_dict_pre_hook(module, listen, "load");
    ht_module_register_load_state_dict_post_hook(module, after_load, "loaded");
}

static void hooks_run_in_the_order_of_the_tree(void **state)
{
    ht_module *net = net_new();
    ht_value *map;

    (void)state;
    register_all(net);
    register_all(ht_module_find(net, "0"));
    heard[0] = '\0';
    map = ht_module_state_dict(net);
    assert_string_equal(heard, "before() before(0.) after(0.) after() ");
    heard[0] = '\0';
    assert_int_equal(ht_module_load_state_dict(net, map), HT_SUCCESS);
    assert_string_equal(heard, "load() load(0.) loaded(0 0) loaded(0 0) ");
    heard[0] = '\0';
    map = ht_value_map();
    ht_value_set(map, "odd", ht_value_number(1));
    assert_int_equal(ht_module_load_state_dict_ext(net, map, false, NULL, NULL), HT_SUCCESS);
    assert_string_equal(heard, "load() load(0.) loaded(2 1) loaded(2 1) ");
    ht_release(net);
}

static void hooks_change_states(void **state)
{
    ht_module *a = net_new(), *b = net_new();
    ht_value *map;

    (void)state;
    ht_module_register_state_dict_post_hook(ht_module_find(a, "0"), to_kernel, NULL);
    map = ht_module_state_dict(a);
    assert_int_equal(ht_value_count(map), 2);
    assert_ptr_equal(ht_value_as_tensor(ht_value_get(map, "0.kernel")),
                     ht_module_find_parameter(a, "0.weight"));
    ht_module_register_load_state_dict_pre_hook(b, to_weight, NULL);
    assert_int_equal(ht_module_load_state_dict(b, map), HT_SUCCESS);
    assert_non_null(ht_value_get(map, "0.kernel"));
    assert_true(ht_item(ht_sum(ht_module_find_parameter(b, "0.weight"), HT_NONE)) ==
                ht_item(ht_sum(ht_module_find_parameter(a, "0.weight"), HT_NONE)));
    ht_release(a);
    ht_release(b);
}

static void hooks_change_files(void **state)
{
    ht_module *a = net_new(), *b = net_new();
    long id = ht_test_rank == 0 ? (long)getpid() : 0;
    char path[64];

    (void)state;
    MPI_Bcast(&id, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "/tmp/ht-test-state-hooks-%ld.h5", id);
    ht_module_register_state_dict_post_hook(a, to_kernel, NULL);
    ht_module_register_load_state_dict_pre_hook(b, to_weight, NULL);
    assert_int_equal(ht_module_save_state(a, path, HT_COMM_WORLD), HT_SUCCESS);
    assert_int_equal(ht_module_load_state(b, path, HT_COMM_WORLD), HT_SUCCESS);
    assert_true(ht_item(ht_sum(ht_module_find_parameter(b, "0.weight"), HT_NONE)) ==
                ht_item(ht_sum(ht_module_find_parameter(a, "0.weight"), HT_NONE)));

    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_module_register_load_state_dict_pre_hook(b, to_list, NULL);
    assert_int_equal(ht_module_load_state(b, path, HT_COMM_WORLD), HT_ERR_ARGUMENT);
    nn_assert_error(
        "ht_module_load_state: the result of a hook of Sequential is a list, expected a map");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_test_remove(path);
    ht_release(a);
    ht_release(b);
}

static ht_value *add_item(ht_module *module, ht_value *state, const char *prefix, void *user)
{
    (void)module, (void)prefix, (void)user;
    ht_value_set(state, "odd", ht_value_number(1));
    return NULL;
}

static void hooks_leave_the_caller_the_map(void **state)
{
    ht_module *net = net_new();
    ht_value *map = ht_module_state_dict(net), *unexpected;

    (void)state;
    ht_module_register_load_state_dict_pre_hook(net, add_item, NULL);
    assert_int_equal(ht_module_load_state_dict_ext(net, map, false, NULL, &unexpected), HT_SUCCESS);
    assert_int_equal(ht_value_count(unexpected), 1);
    assert_int_equal(ht_value_count(map), 2);
    ht_release(net);
}

static void fail_on_the_last(ht_module *module, ht_value *missing, ht_value *unexpected, void *user)
{
    (void)module, (void)missing, (void)unexpected, (void)user;
    if (ht_test_rank == ht_test_size - 1)
        ht_reshape(ht_ones(HT_SHAPE(3), HT_FLOAT32, HT_LOCAL), HT_SHAPE(2));
}

static void an_error_of_one_hook_is_every_rank_s(void **state)
{
    ht_module *net = net_new();
    long id = ht_test_rank == 0 ? (long)getpid() : 0;
    char path[64];

    (void)state;
    MPI_Bcast(&id, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    snprintf(path, sizeof path, "/tmp/ht-test-failing-hook-%ld.h5", id);
    assert_int_equal(ht_module_save_state(net, path, HT_COMM_WORLD), HT_SUCCESS);
    ht_module_register_load_state_dict_post_hook(net, fail_on_the_last, NULL);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_module_load_state(net, path, HT_COMM_WORLD), HT_ERR_SHAPE);
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_test_remove(path);
    ht_release(net);
}

static ht_value *fail_with_the_map(ht_module *module, ht_value *state, const char *prefix,
                                   void *user)
{
    (void)module, (void)prefix, (void)user;
    ht_reshape(ht_ones(HT_SHAPE(3), HT_FLOAT32, HT_LOCAL), HT_SHAPE(2));
    return state;
}

static void an_error_counts_though_the_hook_returns_a_map(void **state)
{
    ht_module *net = net_new();
    ht_value *map = ht_module_state_dict(net);

    (void)state;
    ht_module_register_state_dict_post_hook(net, fail_with_the_map, NULL);
    ht_module_register_load_state_dict_pre_hook(net, fail_with_the_map, NULL);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_null(ht_module_state_dict(net));
    assert_int_equal(ht_error_get(NULL), HT_ERR_SHAPE);
    ht_error_clear();
    assert_int_equal(ht_module_load_state_dict(net, map), HT_ERR_SHAPE);
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_release(net);
}

static void hooks_without_a_map_are_refused(void **state)
{
    ht_module *net = net_new();
    ht_value *map = ht_module_state_dict(net);

    (void)state;
    ht_module_register_state_dict_post_hook(net, to_list, NULL);
    ht_module_register_load_state_dict_pre_hook(ht_module_find(net, "0"), to_list, NULL);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_null(ht_module_state_dict(net));
    nn_assert_error(
        "ht_module_state_dict: the result of a hook of Sequential is a list, expected a map");
    assert_int_equal(ht_module_load_state_dict(net, map), HT_ERR_ARGUMENT);
    nn_assert_error(
        "ht_module_load_state_dict: the result of a hook of Linear is a list, expected a map");
    assert_int_equal(ht_module_register_state_dict_pre_hook(net, NULL, NULL), 0);
    nn_assert_error("ht_module_register_state_dict_pre_hook: hook is NULL");
    assert_int_equal(ht_module_register_load_state_dict_post_hook(NULL, after_load, NULL), 0);
    nn_assert_error("ht_module_register_load_state_dict_post_hook: module is NULL");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(net);
}

HT_TEST_SUITE(test_state_hooks, cmocka_unit_test(hooks_run_in_the_order_of_the_tree),
              cmocka_unit_test(hooks_change_states), cmocka_unit_test(hooks_change_files),
              cmocka_unit_test(hooks_leave_the_caller_the_map),
              cmocka_unit_test(an_error_of_one_hook_is_every_rank_s),
              cmocka_unit_test(an_error_counts_though_the_hook_returns_a_map),
              cmocka_unit_test(hooks_without_a_map_are_refused));
