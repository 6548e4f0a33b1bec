/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* States of modules that share tensors, with any of their names, as PyTorch saves them. */
#include <string.h>

#include "nn/nn_test.h"
#include "tensor_check.h"

/* wte.weight and head.weight are one tensor, as in a language model. */
static ht_module *tied_new(void)
{
    ht_module *wte = ht_nn_embedding(5, 4);
    ht_tensor *weight = ht_module_find_parameter(wte, "weight");
    ht_module *head = ht_nn_parameter_dict(1, (const char *[]){"weight"}, &weight);

    return ht_nn_module_dict(2, (const char *[]){"wte", "head"}, (ht_module *[]){wte, head});
}

/* One layer, as "a" and as "b". */
static ht_module *twice_new(void)
{
    ht_module *layer = ht_nn_linear(3, 2);

    return ht_nn_module_dict(2, (const char *[]){"a", "b"},
                             (ht_module *[]){layer, ht_retain(layer)});
}

typedef struct item {
    const char *name; /* NULL: the end */
    double value;
} item;

/* A state of tensors of the shape of the parameter at each path. */
static ht_value *state_of(ht_module *net, const item items[])
{
    ht_value *map = ht_value_map();

    for (int i = 0; items[i].name != NULL; i++) {
        const ht_tensor *like = ht_module_find_parameter(net, items[i].name);

        ht_value_set(map, items[i].name,
                     ht_value_tensor(ht_full(ht_tensor_ndim(like), ht_tensor_shape(like),
                                             items[i].value, HT_FLOAT32, HT_LOCAL)));
    }
    return map;
}

static double first(ht_module *net, const char *path)
{
    return ((const float *)ht_test_data(ht_module_find_parameter(net, path)))[0];
}

static const struct row {
    ht_module *(*make)(void);
    item items[5], wanted[3];
} rows[] = {
    {tied_new, {{"wte.weight", 7}}, {{"wte.weight", 7}}},
    {tied_new, {{"wte.weight", 7}, {"head.weight", 7}}, {{"wte.weight", 7}}},
    {tied_new, {{"head.weight", 7}}, {{"wte.weight", 7}}},
    {tied_new, {{"wte.weight", 7}, {"head.weight", 8}}, {{"head.weight", 8}}},
    {tied_new, {{"head.weight", 8}, {"wte.weight", 7}}, {{"wte.weight", 7}}},
    {twice_new, {{"a.weight", 3}, {"a.bias", 4}}, {{"b.weight", 3}, {"b.bias", 4}}},
    {twice_new,
     {{"a.weight", 3}, {"a.bias", 4}, {"b.weight", 3}, {"b.bias", 4}},
     {{"a.weight", 3}, {"a.bias", 4}}},
    {twice_new, {{"b.weight", 3}, {"a.bias", 4}}, {{"a.weight", 3}, {"b.bias", 4}}},
};

enum { ROWS = sizeof rows / sizeof *rows };

static void assert_loaded(int index, ht_module *net)
{
    for (const item *w = rows[index].wanted; w->name != NULL; w++) {
        if (first(net, w->name) != w->value)
            fail_msg("row %d: %s is %g, expected %g", index, w->name, first(net, w->name),
                     w->value);
    }
    ht_release(net);
}

static void maps_with_any_path_load(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        ht_module *net = rows[i].make(), *other = rows[i].make();
        ht_value *map = state_of(net, rows[i].items), *missing, *unexpected;

        assert_int_equal(ht_module_load_state_dict(net, map), HT_SUCCESS);
        assert_loaded(i, net);
        assert_int_equal(ht_module_load_state_dict_ext(other, map, false, &missing, &unexpected),
                         HT_SUCCESS);
        assert_int_equal(ht_value_count(missing) + ht_value_count(unexpected), 0);
        assert_loaded(i, other);
    }
}

/* The order of a file's items is that of their names. */
static void files_with_any_path_load(void **state)
{
    static const char safetensors[] = "tied.safetensors", hdf5[] = "tied.h5";

    (void)state;
    for (int i = 0; i < ROWS; i++) {
        ht_module *net = rows[i].make(), *other = rows[i].make();
        ht_value *map = state_of(net, rows[i].items);

        if (i != 3 && i != 4) {
            assert_int_equal(ht_safetensors_save(map, safetensors, HT_COMM_WORLD), HT_SUCCESS);
            assert_int_equal(ht_module_load_safetensors(net, safetensors, HT_COMM_WORLD),
                             HT_SUCCESS);
            assert_loaded(i, ht_retain(net));
            assert_int_equal(ht_checkpoint_save(map, hdf5, HT_COMM_WORLD, NULL), HT_SUCCESS);
            assert_int_equal(ht_module_load_state(other, hdf5, HT_COMM_WORLD), HT_SUCCESS);
            assert_loaded(i, ht_retain(other));
            ht_test_remove(safetensors);
            ht_test_remove(hdf5);
        }
        ht_release(net);
        ht_release(other);
    }
}

static void messages_name_the_paths_of_the_state(void **state)
{
    ht_module *net = tied_new();
    ht_value *map = state_of(net, (item[]){{"wte.weight", 7}, {"head.weight", 8}, {NULL, 0}});
    ht_tensor *wide = ht_zeros(HT_SHAPE(3), HT_FLOAT32, HT_LOCAL);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_module_load_state_dict(net, ht_value_map()), HT_ERR_FORMAT,
                         "the state does not fit the model: missing wte.weight");
    ht_value_set(map, "head.bias", ht_value_tensor(wide));
    HT_TEST_EXPECT_ERROR(ht_module_load_state_dict(net, map), HT_ERR_FORMAT,
                         "the state does not fit the model: unexpected head.bias");
    for (int i = 0; i < 2; i++) { /* the last one, and one before it */
        const char *name = i == 0 ? "head.weight" : "wte.weight";

        map = state_of(net, (item[]){{"wte.weight", 7}, {"head.weight", 8}, {NULL, 0}});
        ht_value_set(map, name, ht_value_tensor(wide));
        HT_TEST_EXPECT_ERROR(ht_module_load_state_dict(net, map), HT_ERR_FORMAT,
                             i == 0 ? "misshapen head.weight is (3,) in the state, (5, 4) in"
                                    : "misshapen wte.weight is (3,) in the state, (5, 4) in");
    }
    ht_release(net);
}

HT_TEST_SUITE(test_tied_states, cmocka_unit_test(maps_with_any_path_load),
              cmocka_unit_test(files_with_any_path_load),
              cmocka_unit_test(messages_name_the_paths_of_the_state));
