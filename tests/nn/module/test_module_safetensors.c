/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Modules in safetensors files: saved states come back; what does not fit changes nothing. */
#include <string.h>

#include "nn/nn_test.h"
#include "tensor_check.h"

static const char path[] = "module.safetensors";

static ht_module *net_new(uint64_t seed)
{
    ht_nn_seed(seed);
    return ht_nn_sequential(HT_LIST(ht_module *, ht_nn_linear(3, 4), ht_nn_batch_norm1d(4, NULL)));
}

static void compare(const char *name, ht_tensor *x, void *other)
{
    ht_tensor *y = ht_value_as_tensor(ht_value_get(other, name));

    assert_non_null(y);
    assert_int_equal(ht_tensor_dtype(x), ht_tensor_dtype(y));
    assert_memory_equal(ht_test_data(x), ht_test_data(y), (size_t)ht_tensor_nbytes(x));
}

static void round_trips(void **state)
{
    ht_module *a = net_new(1), *b = net_new(2);

    (void)state;
    ht_forward(a, ht_ones(HT_SHAPE(5, 3), HT_FLOAT32, HT_LOCAL)); /* the running statistics move */
    assert_int_equal(ht_module_save_safetensors(a, path, HT_COMM_WORLD), HT_SUCCESS);
    assert_int_equal(ht_module_load_safetensors(b, path, HT_COMM_WORLD), HT_SUCCESS);
    ht_module_named_parameters(a, compare, ht_module_state_dict(b));
    ht_module_named_buffers(a, compare, ht_module_state_dict(b));
    assert_true(ht_tensor_requires_grad(ht_module_find_parameter(b, "0.weight")));

    ht_module_to_dtype(a, HT_BFLOAT16);
    assert_int_equal(ht_module_save_safetensors(a, path, HT_COMM_WORLD), HT_SUCCESS);
    assert_int_equal(ht_module_load_safetensors(b, path, HT_COMM_WORLD), HT_SUCCESS);
    ht_module_to_dtype(b, HT_BFLOAT16);
    ht_module_named_parameters(a, compare, ht_module_state_dict(b));
    ht_test_remove(path);
    ht_release(a);
    ht_release(b);
}

static void a_file_that_does_not_fit_changes_nothing(void **state)
{
    ht_module *a = net_new(1), *b = net_new(2), *same = net_new(2);

    (void)state;
    assert_int_equal(ht_module_save_safetensors(a, path, HT_COMM_WORLD), HT_SUCCESS);
    ht_module_add(b, "2", NULL, ht_nn_linear_ext(3, 3, false));
    HT_TEST_EXPECT_ERROR(ht_module_load_safetensors(b, path, HT_COMM_WORLD), HT_ERR_FORMAT,
                         "ht_module_load_safetensors: module.safetensors does not fit the model: "
                         "missing 2.weight");
    ht_module_named_parameters(same, compare, ht_module_state_dict(b));
    ht_test_remove(path);
    HT_TEST_EXPECT_ERROR(ht_module_load_safetensors(a, path, HT_COMM_WORLD), HT_ERR_IO,
                         "ht_module_load_safetensors: cannot open module.safetensors");
    HT_TEST_EXPECT_ERROR(ht_module_save_safetensors(a, "/nowhere/x", HT_COMM_WORLD), HT_ERR_IO,
                         "ht_module_save_safetensors: cannot write /nowhere/x");
    ht_release(a);
    ht_release(b);
    ht_release(same);
}

HT_TEST_SUITE(test_module_safetensors, cmocka_unit_test(round_trips),
              cmocka_unit_test(a_file_that_does_not_fit_changes_nothing));
