/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Embeddings: padding, frequencies, norms, bags, and layers of several inputs. */
#include <math.h>

#include "nn/nn_test.h"
#include "tensor_check.h"

static ht_tensor *weight_of(double *numbers)
{
    ht_tensor *weight = ht_array(numbers, HT_SHAPE(3, 2), HT_FLOAT64, HT_NONE);

    ht_tensor_set_requires_grad(weight, true);
    return weight;
}

static ht_tensor *indices(int split)
{
    return ht_array((int64_t[]){2, 0, 0, 0, 1, 1}, HT_SHAPE(3, 2), HT_INT64, split);
}

static void padding_has_no_gradient(void **state)
{
    ht_embedding_options options = ht_embedding_options_default();

    (void)state;
    options.padding_idx = -2;
    for (int split = 0; split < 2; split++) {
        ht_tensor *weight = weight_of((double[]){1, 2, 3, 4, INFINITY, 6});
        ht_tensor *y = ht_embedding_ext(indices(split ? 0 : HT_NONE), weight, &options);

        ht_test_expect(y, (double[]){INFINITY, 6, 1, 2, 1, 2, 1, 2, 3, 4, 3, 4}, 0);
        assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
        ht_test_expect(ht_tensor_grad(weight), (double[]){3, 3, 0, 0, 1, 1}, 0);
    }
}

static void gradients_are_divided_by_frequency(void **state)
{
    ht_embedding_options options = ht_embedding_options_default();
    ht_embedding_bag_options bag = ht_embedding_bag_options_default();

    (void)state;
    options.scale_grad_by_freq = bag.scale_grad_by_freq = true;
    bag.mode = HT_BAG_SUM;
    for (int split = 0; split < 4; split++) {
        ht_tensor *weight = weight_of((double[]){1, 2, 3, 4, 5, 6});
        ht_tensor *x = indices(split & 1 ? 0 : HT_NONE);
        ht_tensor *y = split & 2 ? ht_embedding_ext(x, weight, &options)
                                 : ht_embedding_bag(x, weight, NULL, &bag);

        assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
        ht_test_expect(ht_tensor_grad(weight), (double[]){1, 1, 1, 1, 1, 1}, 1e-15);
    }
}

static void rows_divided_by_frequency_can_be_written(void **state)
{
    ht_embedding_options options = ht_embedding_options_default();

    (void)state;
    options.scale_grad_by_freq = true;
    for (int split = 0; split < 2; split++) {
        ht_tensor *weight = weight_of((double[]){1, 2, 3, 4, 5, 6});
        ht_tensor *y = ht_embedding_ext(indices(split ? 0 : HT_NONE), weight, &options);

        assert_int_equal(ht_mul_scalar_(y, -3), HT_SUCCESS);
        ht_test_expect(y, (double[]){-15, -18, -3, -6, -3, -6, -3, -6, -9, -12, -9, -12}, 0);
        assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
        ht_test_expect(ht_tensor_grad(weight), (double[]){-3, -3, -3, -3, -3, -3}, 1e-15);
    }
}

static void rows_above_the_largest_norm_are_scaled(void **state)
{
    ht_embedding_options options = ht_embedding_options_default();

    (void)state;
    options.max_norm = 2.5;
    for (int split = 0; split < 2; split++) {
        ht_tensor *weight = weight_of((double[]){3, 4, 1, 2, 30, 40});
        ht_tensor *x = ht_narrow(indices(split ? 0 : HT_NONE), 0, 1, 3); /* 0 0 1 1 */
        ht_tensor *y = ht_embedding_ext(x, weight, &options);

        ht_test_expect(y, (double[]){1.5, 2, 1.5, 2, 1, 2, 1, 2}, 1e-7);
        ht_test_expect(weight, (double[]){1.5, 2, 1, 2, 30, 40}, 1e-7);
        assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
        ht_test_expect(ht_tensor_grad(weight), (double[]){2, 2, 2, 2, 0, 0}, 0);
    }
}

static void the_last_offset_may_be_an_end(void **state)
{
    ht_embedding_bag_options options = ht_embedding_bag_options_default();
    ht_tensor *weight = weight_of((double[]){1, 2, 3, 4, 5, 6});
    ht_tensor *x = ht_flatten(indices(HT_NONE), 0);
    ht_tensor *offsets = ht_array((int[]){0, 1, 5}, HT_SHAPE(3), HT_INT32, HT_NONE);

    (void)state;
    options.include_last_offset = true;
    ht_test_expect(ht_embedding_bag(x, weight, offsets, &options), (double[]){5, 6, 1.5, 2.5},
                   1e-15);
    x = ht_narrow(x, 0, 0, 0); /* bags without rows */
    offsets = ht_zeros(HT_SHAPE(2), HT_INT64, HT_NONE);
    options = ht_embedding_bag_options_default();
    for (int mode = HT_BAG_MEAN; mode <= HT_BAG_MAX; mode++) {
        options.mode = (ht_bag_mode)mode;
        ht_test_expect(ht_embedding_bag(x, weight, offsets, &options), (double[]){0, 0, 0, 0}, 0);
    }
}

static void bad_calls_are_errors(void **state)
{
    ht_embedding_bag_options bag = ht_embedding_bag_options_default();
    ht_embedding_options options = ht_embedding_options_default();
    ht_tensor *weight = weight_of((double[]){1, 2, 3, 4, 5, 6}), *x = indices(HT_NONE);
    ht_tensor *flat = ht_flatten(x, 0);
    ht_tensor *offsets = ht_array((int64_t[]){0, 3, 2}, HT_SHAPE(3), HT_INT64, HT_NONE);

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_embedding(ht_add_scalar(x, 1), weight), HT_ERR_ARGUMENT,
                         "ht_embedding: index 3 is out of range for 3 rows");
    HT_TEST_EXPECT_ERROR(ht_embedding(ht_sub_scalar(x, 1), weight), HT_ERR_ARGUMENT,
                         "ht_embedding: index -1 is out of range for 3 rows");
    options.padding_idx = 3;
    HT_TEST_EXPECT_ERROR(ht_embedding_ext(x, weight, &options), HT_ERR_ARGUMENT,
                         "ht_embedding_ext: padding_idx is 3, expected -3 to 2");
    HT_TEST_EXPECT_ERROR(ht_embedding_bag(flat, weight, offsets, NULL), HT_ERR_ARGUMENT,
                         "offsets are not ascending from 0 to at most 6");
    HT_TEST_EXPECT_ERROR(ht_embedding_bag(x, weight, offsets, NULL), HT_ERR_ARGUMENT,
                         "offsets is set, expected NULL with indices of two axes");
    HT_TEST_EXPECT_ERROR(ht_embedding_bag(flat, weight, NULL, NULL), HT_ERR_SHAPE,
                         "indices are (6,), expected two axes, or one axis and offsets");
    bag.per_sample_weights = weight;
    HT_TEST_EXPECT_ERROR(ht_embedding_bag(x, weight, NULL, &bag), HT_ERR_ARGUMENT,
                         "per_sample_weights is set, expected NULL unless mode is HT_BAG_SUM");
    bag.mode = HT_BAG_SUM;
    HT_TEST_EXPECT_ERROR(ht_embedding_bag(ht_narrow(x, 0, 0, 2), weight, NULL, &bag), HT_ERR_SHAPE,
                         "per_sample_weights are (3, 2), expected the shape (2, 2) of indices");
    bag = ht_embedding_bag_options_default();
    bag.mode = HT_BAG_MAX;
    bag.scale_grad_by_freq = true;
    HT_TEST_EXPECT_ERROR(ht_embedding_bag(x, weight, NULL, &bag), HT_ERR_ARGUMENT,
                         "scale_grad_by_freq is true, expected false with HT_BAG_MAX");
}

static void empty_batches_give_empty_results(void **state)
{
    ht_tensor *weight = weight_of((double[]){1, 2, 3, 4, 5, 6});
    ht_tensor *x = ht_zeros(HT_SHAPE(0, 2), HT_INT64, 0);

    (void)state;
    assert_int_equal(ht_tensor_size(ht_embedding(x, weight)), 0);
    assert_int_equal(ht_tensor_size(ht_embedding_bag(x, weight, NULL, NULL)), 0);
    assert_int_equal(ht_backward(ht_sum(ht_embedding(x, weight), HT_NONE)), HT_SUCCESS);
    ht_test_expect(ht_tensor_grad(weight), (double[]){0, 0, 0, 0, 0, 0}, 0);
}

static ht_tensor *forward_of(ht_module *module, int count, ht_tensor *const in[])
{
    ht_tensor *y = ht_value_as_tensor(ht_forward_value(module, ht_value_tensors(count, in)));

    assert_non_null(y);
    ht_release(module);
    return y;
}

static void layers_take_several_inputs(void **state)
{
    ht_tensor *a = ht_array((double[]){3, 4}, HT_SHAPE(1, 2), HT_FLOAT64, HT_LOCAL);
    ht_tensor *b = ht_array((double[]){4, 3}, HT_SHAPE(1, 2), HT_FLOAT64, HT_LOCAL);
    ht_tensor *x = ht_zeros(HT_SHAPE(3), HT_INT64, HT_LOCAL);
    ht_module *module;

    (void)state;
    ht_test_expect(forward_of(ht_nn_cosine_similarity(1, 1e-8), HT_LIST(ht_tensor *, a, b)),
                   (double[]){0.96}, 1e-15);
    ht_test_expect(forward_of(ht_nn_pairwise_distance(1, 0, false), HT_LIST(ht_tensor *, a, b)),
                   (double[]){2}, 1e-15);
    module = ht_nn_bilinear(2, 2, 5, true);
    assert_int_equal(ht_module_to_dtype(module, HT_FLOAT64), HT_SUCCESS);
    assert_int_equal(ht_tensor_shape(forward_of(module, HT_LIST(ht_tensor *, a, b)))[1], 5);
    module = ht_nn_embedding_bag(4, 6, NULL);
    assert_int_equal(
        ht_tensor_shape(forward_of(
            module, HT_LIST(ht_tensor *, x, ht_zeros(HT_SHAPE(2), HT_INT64, HT_LOCAL))))[1],
        6);
    module = ht_nn_embedding_bag(4, 6, NULL);
    assert_int_equal(ht_tensor_ndim(ht_forward(module, ht_expand_dims(x, 0))), 2);
    ht_release(module);
    module = ht_nn_bilinear(2, 2, 5, true);
    HT_TEST_EXPECT_ERROR(ht_forward(module, a), HT_ERR_ARGUMENT,
                         "ht_nn_bilinear: inputs is invalid, expected a list of 2 to 2 tensors");
    ht_release(module);
}

static void weights_are_normal_and_zero_at_the_padding(void **state)
{
    ht_embedding_options options = ht_embedding_options_default();
    ht_module *module;
    ht_tensor *weight;

    (void)state;
    options.padding_idx = -1;
    module = ht_nn_embedding_ext(1000, 10, &options);
    weight = ht_module_find_parameter(module, "weight");
    assert_true(fabs(ht_item(ht_mean(weight, HT_NONE))) < 0.05);
    assert_true(fabs(ht_item(ht_std(weight, HT_NONE)) - 1) < 0.05);
    assert_true(ht_item(ht_max(ht_abs(ht_narrow(weight, 0, 999, 1000)), HT_NONE)) == 0);
    ht_release(module);
    options.padding_idx = 5;
    HT_TEST_EXPECT_ERROR(ht_nn_embedding_ext(5, 2, &options), HT_ERR_ARGUMENT,
                         "ht_nn_embedding_ext: padding_idx is 5, expected -5 to 4");
    HT_TEST_EXPECT_ERROR(ht_nn_embedding(0, 2), HT_ERR_ARGUMENT,
                         "ht_nn_embedding: rows is 0, expected at least 1");
}

/* Functions and layers refuse the same ones, with the same words. */
static void norms_out_of_range(void **state)
{
    static const struct {
        double max_norm, norm_type;
        const char *text;
    } rows[] = {
        {-1, 2, "max_norm is -1, expected at least 0"},
        {NAN, 2, "max_norm is nan, expected at least 0"},
        {1, 0, "norm_type is 0, expected a number above 0"},
        {1, -2, "norm_type is -2, expected a number above 0"},
        {INFINITY, NAN, "norm_type is nan, expected a number above 0"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ht_tensor *weight = ht_ones(HT_SHAPE(3, 2), HT_FLOAT64, HT_NONE), *x = indices(HT_NONE);
        ht_embedding_options options = ht_embedding_options_default();
        ht_embedding_bag_options bag = ht_embedding_bag_options_default();

        options.max_norm = bag.max_norm = rows[i].max_norm;
        options.norm_type = bag.norm_type = rows[i].norm_type;
        HT_TEST_EXPECT_ERROR(assert_null(ht_embedding_ext(x, weight, &options)), HT_ERR_ARGUMENT,
                             rows[i].text);
        HT_TEST_EXPECT_ERROR(assert_null(ht_embedding_bag(x, weight, NULL, &bag)), HT_ERR_ARGUMENT,
                             rows[i].text);
        HT_TEST_EXPECT_ERROR(assert_null(ht_nn_embedding_ext(3, 2, &options)), HT_ERR_ARGUMENT,
                             rows[i].text);
        HT_TEST_EXPECT_ERROR(assert_null(ht_nn_embedding_bag(3, 2, &bag)), HT_ERR_ARGUMENT,
                             rows[i].text);
    }
}

static void invalid_norm_orders_are_errors(void **state)
{
    ht_tensor *x = ht_ones(HT_SHAPE(3, 2), HT_FLOAT64, HT_NONE), *empty;

    (void)state;
    HT_TEST_EXPECT_ERROR(assert_null(ht_nn_pairwise_distance(NAN, 0, false)), HT_ERR_ARGUMENT,
                         "ht_nn_pairwise_distance: p is nan, expected an order of ht_vector_norm");
    HT_TEST_EXPECT_ERROR(assert_null(ht_nn_pairwise_distance(HT_NORM_FRO, 0, false)),
                         HT_ERR_ARGUMENT, "ht_nn_pairwise_distance: p is 1e+300");
    HT_TEST_EXPECT_ERROR(assert_null(ht_pairwise_distance(x, x, NAN, 0, false)), HT_ERR_ARGUMENT,
                         "ht_pairwise_distance: p is nan, expected an order of ht_vector_norm");
    empty = ht_zeros(HT_SHAPE(3, 0), HT_FLOAT64, HT_NONE);
    HT_TEST_EXPECT_ERROR(assert_null(ht_pairwise_distance(empty, empty, INFINITY, 0, false)),
                         HT_ERR_SHAPE, "ht_pairwise_distance: x of shape (3, 0) has no elements");
}

HT_TEST_SUITE(test_embedding, cmocka_unit_test(padding_has_no_gradient),
              cmocka_unit_test(gradients_are_divided_by_frequency),
              cmocka_unit_test(rows_divided_by_frequency_can_be_written),
              cmocka_unit_test(rows_above_the_largest_norm_are_scaled),
              cmocka_unit_test(the_last_offset_may_be_an_end),
              cmocka_unit_test(bad_calls_are_errors),
              cmocka_unit_test(empty_batches_give_empty_results),
              cmocka_unit_test(layers_take_several_inputs),
              cmocka_unit_test(weights_are_normal_and_zero_at_the_padding),
              cmocka_unit_test(norms_out_of_range),
              cmocka_unit_test(invalid_norm_orders_are_errors));
