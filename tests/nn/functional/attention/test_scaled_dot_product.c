/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Scaled dot-product attention over several tiles, rows without keys, and refusals. */
#include <math.h>

#include "nn/nn_test.h"
#include "tensor_check.h"

enum { BATCH = 3, ROWS = 150, KEYS = 300 }; /* more than a tile each */

static ht_tensor *leaf(int seed, int split, int64_t rows, int64_t columns)
{
    return nn_leaf(seed, HT_SHAPE(BATCH, rows, columns), split);
}

/* The same by operations that store the scores. mask: numbers, or NULL. */
static ht_tensor *composed(ht_tensor *const in[], ht_tensor *mask,
                           const ht_attention_options *options)
{
    ht_tensor *scores = ht_matmul(in[0], ht_transpose(in[1], -1, -2));

    scores = ht_mul_scalar(scores, 1 / sqrt((double)ht_tensor_shape(in[0])[2]));
    scores = ht_softmax(mask != NULL ? ht_add(scores, mask) : scores, -1);
    return ht_matmul(ht_dropout(scores, options->dropout_p, options->seed, options->draw), in[2]);
}

static void expect_composed(int split, ht_tensor *mask, ht_tensor *causal,
                            ht_attention_options options)
{
    ht_tensor *in[] = {leaf(1, split, ROWS, 4), leaf(2, split, KEYS, 4), leaf(3, split, KEYS, 3)};
    ht_tensor *grads[3], *expected = composed(in, mask != NULL ? mask : causal, &options), *y;

    assert_int_equal(ht_backward(ht_sum(ht_mul(expected, expected), HT_NONE)), HT_SUCCESS);
    for (int i = 0; i < 3; i++) {
        grads[i] = ht_copy(ht_tensor_grad(in[i]));
        ht_tensor_set_grad(in[i], NULL);
    }
    options.attn_mask = mask;
    options.is_causal = causal != NULL;
    y = ht_scaled_dot_product_attention_ext(in[0], in[1], in[2], &options);
    ht_test_expect_same(y, expected, 1e-13);
    assert_int_equal(ht_backward(ht_sum(ht_mul(y, y), HT_NONE)), HT_SUCCESS);
    for (int i = 0; i < 3; i++)
        ht_test_expect_same(ht_tensor_grad(in[i]), grads[i], 1e-12);
}

static ht_tensor *causal_mask(void)
{
    ht_tensor *all = ht_full(HT_SHAPE(ROWS, KEYS), -INFINITY, HT_FLOAT64, HT_NONE);

    return ht_triu(all, 1);
}

static void tiles_give_the_softmax_of_complete_rows(void **state)
{
    ht_attention_options options = ht_attention_options_default();

    (void)state;
    for (int split = 0; split < 2; split++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *mask = ht_mul_scalar(nn_leaf(4, HT_SHAPE(ROWS, KEYS), HT_NONE), 100);

        expect_composed(split ? 0 : HT_NONE, NULL, NULL, options);
        expect_composed(split ? 0 : HT_NONE, ht_detach(mask), NULL, options);
        expect_composed(split ? 0 : HT_NONE, NULL, causal_mask(), options);
        ht_scope_close(scope);
    }
}

static void dropout_is_that_of_the_stored_weights(void **state)
{
    ht_attention_options options = ht_attention_options_default();

    (void)state;
    options.seed = 7;
    options.draw = 2;
    for (int split = 0; split < 2; split++) {
        options.dropout_p = 0.3;
        expect_composed(split ? 0 : HT_NONE, NULL, NULL, options);
        options.dropout_p = 1;
        expect_composed(split ? 0 : HT_NONE, NULL, NULL, options);
    }
}

static void the_gradient_of_a_mask_is_summed_over_the_batch(void **state)
{
    ht_attention_options options = ht_attention_options_default();

    (void)state;
    for (int split = 0; split < 2; split++) {
        const int along = split ? 0 : HT_NONE;
        ht_tensor *in[] = {leaf(1, along, ROWS, 2), leaf(2, along, KEYS, 2),
                           leaf(3, along, KEYS, 2)};
        ht_tensor *mask = nn_leaf(4, HT_SHAPE(ROWS, KEYS), HT_NONE), *expected;
        ht_tensor *y = composed(in, mask, &options);

        assert_int_equal(ht_backward(ht_sum(ht_mul(y, y), HT_NONE)), HT_SUCCESS);
        expected = ht_copy(ht_tensor_grad(mask));
        ht_tensor_set_grad(mask, NULL);
        options.attn_mask = mask;
        y = ht_scaled_dot_product_attention_ext(in[0], in[1], in[2], &options);
        assert_int_equal(ht_backward(ht_sum(ht_mul(y, y), HT_NONE)), HT_SUCCESS);
        ht_test_expect_same(ht_tensor_grad(mask), expected, 1e-13);
    }
}

static void rows_without_keys_give_zeros(void **state)
{
    ht_attention_options options = ht_attention_options_default();
    ht_tensor *in[] = {nn_leaf(1, HT_SHAPE(2, 2), HT_NONE), nn_leaf(2, HT_SHAPE(3, 2), HT_NONE),
                       ht_array((double[]){1, 2, 3}, HT_SHAPE(3, 1), HT_FLOAT64, HT_NONE)};
    ht_tensor *y;

    (void)state;
    options.scale = 0;
    for (int kind = 0; kind < 2; kind++) {
        ht_tensor *mask = ht_array((double[]){0, 0, 0, 0, 1, 1}, HT_SHAPE(2, 3), HT_FLOAT64,
                                   HT_NONE);

        options.attn_mask = kind ? ht_astype(mask, HT_BOOL) : ht_log(mask);
        y = ht_scaled_dot_product_attention_ext(in[0], in[1], in[2], &options);
        ht_test_expect(y, (double[]){0, 2.5}, 1e-15);
        assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
        ht_test_expect(ht_tensor_grad(in[0]), (double[]){0, 0, 0, 0}, 0);
    }
    y = ht_scaled_dot_product_attention(in[0], ht_narrow(in[1], 0, 0, 0),
                                        ht_narrow(in[2], 0, 0, 0));
    ht_test_expect(y, (double[]){0, 0}, 0);
    assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
    y = ht_scaled_dot_product_attention(ht_narrow(in[0], 0, 0, 0), in[1], in[2]);
    assert_int_equal(ht_tensor_size(y), 0);
    assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
    y = ht_scaled_dot_product_attention(ht_narrow(in[0], 1, 0, 0), ht_narrow(in[1], 1, 0, 0),
                                        in[2]);
    ht_test_expect(y, (double[]){2, 2}, 1e-15);
}

static void nan_stays_in_its_row(void **state)
{
    ht_tensor *q = ht_array((double[]){NAN, 1}, HT_SHAPE(2, 1), HT_FLOAT64, HT_NONE);
    ht_tensor *k = ht_array((double[]){0, 0}, HT_SHAPE(2, 1), HT_FLOAT64, HT_NONE);
    ht_tensor *v = ht_array((double[]){1, 2}, HT_SHAPE(2, 1), HT_FLOAT64, HT_NONE);

    (void)state;
    ht_test_expect(ht_scaled_dot_product_attention(q, k, v), (double[]){NAN, 1.5}, 1e-15);
}

static void bad_options_are_errors(void **state)
{
    ht_attention_options options = ht_attention_options_default();
    ht_tensor *x = ht_ones(HT_SHAPE(2, 4, 3, 2), HT_FLOAT64, HT_NONE);
    ht_tensor *three = ht_ones(HT_SHAPE(2, 3, 3, 2), HT_FLOAT64, HT_NONE);
    ht_tensor *rows = ht_ones(HT_SHAPE(3, 2), HT_FLOAT64, 0);
    ht_tensor *two = ht_ones(HT_SHAPE(3, 2), HT_FLOAT64, HT_NONE);

    (void)state;
#define REFUSED(q, k, code, text)                                                      \
    HT_TEST_EXPECT_ERROR(ht_scaled_dot_product_attention_ext(q, k, k, &options), code, \
                         "ht_scaled_dot_product_attention_ext: " text)
    options.enable_gqa = true;
    REFUSED(x, three, HT_ERR_SHAPE, "query is (2, 4, 3, 2), key is (2, 3, 3, 2): its heads do not");
    REFUSED(two, two, HT_ERR_SHAPE,
            "query is (3, 2), key is (3, 2): enable_gqa needs an axis of heads");
    options = ht_attention_options_default();
    options.dropout_p = 1.5;
    REFUSED(x, x, HT_ERR_ARGUMENT, "p is 1.5, expected 0 to 1");
    options = ht_attention_options_default();
    options.scale = INFINITY;
    REFUSED(x, x, HT_ERR_ARGUMENT, "scale is inf, expected a finite number");
    options = ht_attention_options_default();
    REFUSED(rows, rows, HT_ERR_ARGUMENT, "query is split along axis 0; only a batch axis");
    REFUSED(ht_resplit(x, 1), x, HT_ERR_ARGUMENT, "query is split along axis 1");
    options.attn_mask = ht_ones(HT_SHAPE(3, 3), HT_INT32, HT_NONE);
    REFUSED(x, x, HT_ERR_DTYPE, "query is float64, attn_mask is int32, expected bool or float64");
    options.attn_mask = ht_ones(HT_SHAPE(2), HT_BOOL, HT_NONE);
    REFUSED(x, x, HT_ERR_SHAPE, "query is (2, 4, 3, 2), attn_mask is (2,): it does not broadcast");
    options.is_causal = true;
    REFUSED(x, x, HT_ERR_ARGUMENT, "attn_mask and is_causal are set, expected at most one of them");
#undef REFUSED
}

static void a_mask_of_keys_alone_broadcasts(void **state)
{
    ht_attention_options options = ht_attention_options_default();
    ht_tensor *in[] = {leaf(1, HT_NONE, 4, 4), leaf(2, HT_NONE, 3, 4), leaf(3, HT_NONE, 3, 2)};
    ht_tensor *keys = ht_array((double[]){0.5, -INFINITY, 2}, HT_SHAPE(3), HT_FLOAT64, HT_NONE);

    (void)state;
    options.attn_mask = keys;
    ht_test_expect_same(ht_scaled_dot_product_attention_ext(in[0], in[1], in[2], &options),
                        composed(in, keys, &options), 1e-13);
}

static void without_heads_of_query_gradients_are_zeros(void **state)
{
    ht_attention_options options = ht_attention_options_default();
    ht_tensor *q = nn_leaf(1, HT_SHAPE(2, 0, 3, 4), HT_NONE);
    ht_tensor *k = nn_leaf(2, HT_SHAPE(2, 2, 3, 4), HT_NONE), *y;

    (void)state;
    options.enable_gqa = true;
    y = ht_scaled_dot_product_attention_ext(q, k, k, &options);
    assert_int_equal(ht_backward(ht_sum(y, HT_NONE)), HT_SUCCESS);
    ht_test_expect_same(ht_tensor_grad(k), ht_zeros_like(ht_detach(k)), 0);
}

HT_TEST_SUITE(test_scaled_dot_product, cmocka_unit_test(tiles_give_the_softmax_of_complete_rows),
              cmocka_unit_test(dropout_is_that_of_the_stored_weights),
              cmocka_unit_test(the_gradient_of_a_mask_is_summed_over_the_batch),
              cmocka_unit_test(a_mask_of_keys_alone_broadcasts),
              cmocka_unit_test(without_heads_of_query_gradients_are_zeros),
              cmocka_unit_test(rows_without_keys_give_zeros),
              cmocka_unit_test(nan_stays_in_its_row), cmocka_unit_test(bad_options_are_errors));
