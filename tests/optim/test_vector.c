/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Parameters as one vector, and back. */
#include "ht_test.h"
#include "tensor_check.h"

#include "ht.h"

static ht_value *list_of(ht_tensor *x[2], int split)
{
    const int64_t matrix[] = {3, 2}, row[] = {4};

    x[0] = ht_array((double[]){1, 2, 3, 4, 5, 6}, 2, matrix, HT_FLOAT64, split);
    x[1] = ht_array((double[]){7, 8, 9, 10}, 1, row, HT_FLOAT64, split);
    return ht_value_tensors(2, x);
}

static void test_there_and_back(void **state)
{
    (void)state;
    for (int i = -1; i < 1; i++) {
        const int split = i < 0 ? HT_LOCAL : i;
        ht_tensor *x[2], *vector, *twice;
        ht_value *list = list_of(x, split);

        ht_tensor_set_requires_grad(x[0], true);
        vector = ht_parameters_to_vector(list);
        ht_test_expect(ht_detach(vector), (double[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0);
        twice = ht_mul_scalar(ht_detach(vector), 2);
        assert_int_equal(ht_backward(ht_sum(ht_mul(vector, twice), HT_NONE)), HT_SUCCESS);
        ht_test_expect(ht_tensor_grad(x[0]), (double[]){2, 4, 6, 8, 10, 12}, 0);
        assert_int_equal(ht_vector_to_parameters(twice, list), HT_SUCCESS);
        ht_test_expect(ht_detach(x[0]), (double[]){2, 4, 6, 8, 10, 12}, 0);
        ht_test_expect(x[1], (double[]){14, 16, 18, 20}, 0);
    }
}

static void test_misuse(void **state)
{
    ht_tensor *x[2];
    ht_value *list = list_of(x, HT_LOCAL);

    (void)state;
    HT_TEST_EXPECT_ERROR(
        ht_parameters_to_vector(ht_value_list()), HT_ERR_ARGUMENT,
        "ht_parameters_to_vector: parameters is empty, expected at least one tensor");
    HT_TEST_EXPECT_ERROR(ht_vector_to_parameters(x[1], list), HT_ERR_SHAPE,
                         "ht_vector_to_parameters: vector is (4,), expected (10)");
    ht_value_append(list, ht_value_number(1));
    HT_TEST_EXPECT_ERROR(ht_parameters_to_vector(list), HT_ERR_ARGUMENT,
                         "ht_parameters_to_vector: parameters[2] is a number, expected a tensor");
}

static void test_a_parameter_without_axes(void **state)
{
    ht_tensor *x[2];
    ht_value *list = list_of(x, HT_LOCAL);
    ht_tensor *scale = ht_full_ext(0, NULL, HT_NUM(11), HT_FLOAT64, HT_NONE, ht_get_device(),
                                   HT_COMM_SELF);

    (void)state;
    ht_value_append(list, ht_value_tensor(scale));
    ht_test_expect(ht_parameters_to_vector(list), (double[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 0);
    assert_int_equal(ht_vector_to_parameters(ht_mul_scalar(ht_parameters_to_vector(list), 2), list),
                     HT_SUCCESS);
    assert_true(ht_item(scale) == 22);
}

HT_TEST_SUITE(test_vector, cmocka_unit_test(test_there_and_back), cmocka_unit_test(test_misuse),
              cmocka_unit_test(test_a_parameter_without_axes));
