/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* Layers of attention and Transformers: inputs, dropout, initial values and refusals. */
#include <math.h>

#include "nn/nn_test.h"
#include "tensor_check.h"

static ht_tensor *sequence(int seed, int64_t length, int64_t batch, int64_t features)
{
    return ht_astype(ht_detach(nn_leaf(seed, HT_SHAPE(length, batch, features), HT_LOCAL)),
                     HT_FLOAT32);
}

static ht_tensor *forward_of(ht_module *module, int count, ht_tensor *const in[])
{
    ht_value *output = ht_forward_value(module, ht_value_tensors(count, in));

    return ht_value_as_tensor(ht_value_get_kind(output) == HT_VALUE_LIST ? ht_value_at(output, 0)
                                                                         : output);
}

static void one_tensor_is_query_key_and_value(void **state)
{
    ht_module *module = ht_nn_multihead_attention(8, 2);
    ht_tensor *x = sequence(1, 3, 2, 8), *y = ht_forward(module, x);

    (void)state;
    ht_test_expect_same(forward_of(module, HT_LIST(ht_tensor *, x, x, x)), y, 1e-6);
    /* Equal values in other tensors are projected one by one. */
    ht_test_expect_same(forward_of(module, HT_LIST(ht_tensor *, x, ht_copy(x), ht_copy(x))), y,
                        1e-6);
    ht_release(module);
}

/* The dropout of weights does not depend on whether they are stored. */
static void dropout_is_drawn_in_training_alone(void **state)
{
    ht_multihead_attention_options options = ht_multihead_attention_options_default();
    ht_module *module[2];
    ht_tensor *x = sequence(1, 3, 2, 8), *y[2];

    (void)state;
    options.dropout = 0.5;
    for (int i = 0; i < 2; i++) {
        ht_nn_seed(5);
        module[i] = ht_nn_multihead_attention_ext(8, 2, &options);
    }
    y[0] = ht_forward(module[0], x);
    y[1] = forward_of(module[1], HT_LIST(ht_tensor *, x, x, x));
    ht_test_expect_same(y[0], y[1], 1e-6);
    y[1] = ht_forward(module[0], x);
    assert_true(ht_item(ht_sum(ht_abs(ht_sub(y[0], y[1])), HT_NONE)) > 0.01);
    ht_module_eval(module[0]);
    ht_test_expect_same(ht_forward(module[0], x), ht_forward(module[0], x), 0);
    ht_release(module[0]);
    ht_release(module[1]);
}

static double largest(ht_module *module, const char *path)
{
    return ht_item(ht_max(ht_abs(ht_detach(ht_module_find_parameter(module, path))), HT_NONE));
}

static void parameters_start_as_in_pytorch(void **state)
{
    ht_multihead_attention_options options = ht_multihead_attention_options_default();
    ht_transformer_options transformer = ht_transformer_options_default();
    ht_module *module;

    (void)state;
    options.add_bias_kv = true;
    module = ht_nn_multihead_attention_ext(32, 4, &options);
    assert_true(largest(module, "in_proj_weight") <= sqrt(6.0 / 128));
    assert_true(largest(module, "in_proj_weight") > 0.9 * sqrt(6.0 / 128));
    assert_true(largest(module, "in_proj_bias") == 0 && largest(module, "out_proj.bias") == 0);
    assert_true(
        fabs(ht_item(ht_std(ht_detach(ht_module_find_parameter(module, "bias_k")), HT_NONE)) *
                 sqrt(32) -
             1) < 0.5);
    ht_release(module);
    transformer.num_encoder_layers = 2;
    transformer.num_decoder_layers = 1;
    transformer.dim_feedforward = 32;
    module = ht_nn_transformer(32, 4, &transformer);
    assert_true(largest(module, "decoder.layers.0.linear1.weight") > 0.9 * sqrt(6.0 / 64));
    ht_release(module);
    module = ht_nn_transformer_encoder(ht_nn_transformer_encoder_layer(8, 2, &transformer), 2,
                                       NULL);
    ht_test_expect_same(ht_module_find_parameter(module, "layers.0.linear1.weight"),
                        ht_module_find_parameter(module, "layers.1.linear1.weight"), 0);
    ht_release(module);
}

static void the_mask_of_a_sequence_is_causal(void **state)
{
    const double expected[] = {0, -INFINITY, -INFINITY, 0, 0, -INFINITY, 0, 0, 0};

    (void)state;
    ht_test_expect(ht_generate_square_subsequent_mask(3), expected, 0);
}

static void bad_inputs_are_errors(void **state)
{
    ht_module *module = ht_nn_multihead_attention(4, 2);
    ht_tensor *x = sequence(1, 3, 2, 4), *bad = sequence(1, 3, 2, 5);
    ht_tensor *mask = ht_ones(HT_SHAPE(2, 2), HT_FLOAT32, HT_LOCAL);
    ht_value *map = ht_value_map();

    (void)state;
#define REFUSED(in, code, text) HT_TEST_EXPECT_ERROR(ht_forward_value(module, in), code, text)
    REFUSED(ht_value_tensor(bad), HT_ERR_SHAPE,
            "ht_nn_multihead_attention: query is (3, 2, 5), expected (L, N, E) "
            "or (L, E) with 4 features");
    REFUSED(ht_value_tensors(HT_LIST(ht_tensor *, x, x, sequence(1, 2, 2, 4))), HT_ERR_SHAPE,
            "value is (2, 2, 4), expected");
    REFUSED(ht_value_tensors(HT_LIST(ht_tensor *, x, x, x, x)), HT_ERR_SHAPE,
            "ht_nn_multihead_attention: key_padding_mask is (3, 2, 4), expected (2, 3)");
    REFUSED(map, HT_ERR_ARGUMENT,
            "ht_nn_multihead_attention: inputs has no entry 'query', expected one");
    ht_value_set(map, "query", ht_value_tensor(x));
    ht_value_set(map, "is_causal", ht_value_number(1));
    REFUSED(map, HT_ERR_ARGUMENT,
            "ht_nn_multihead_attention: attn_mask is NULL, expected a mask with is_causal");
    ht_value_set(map, "attn_mask", ht_value_tensor(mask));
    REFUSED(map, HT_ERR_SHAPE, "ht_nn_multihead_attention: attn_mask is (2, 2), expected (3, 3)");
    ht_value_set(map, "attn_mask", ht_value_tensor(ht_astype(mask, HT_INT32)));
    REFUSED(map, HT_ERR_DTYPE, "attn_mask is int32, expected bool or a floating dtype");
    ht_value_set(map, "mask", ht_value_tensor(mask));
    REFUSED(map, HT_ERR_ARGUMENT, "inputs has 'mask', expected only names of its inputs");
    ht_release(module);
    module = ht_nn_transformer(4, 2, NULL);
    REFUSED(ht_value_tensors(HT_LIST(ht_tensor *, x, bad)), HT_ERR_SHAPE,
            "ht_nn_transformer: src is (3, 2, 4), tgt is (3, 2, 5), expected one batch size and 4");
    ht_release(module);
#undef REFUSED
}

static void bad_settings_are_errors(void **state)
{
    ht_multihead_attention_options options = ht_multihead_attention_options_default();
    ht_transformer_options transformer = ht_transformer_options_default();

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_nn_multihead_attention(5, 2), HT_ERR_ARGUMENT,
                         "ht_nn_multihead_attention: embed_dim is 5, expected a multiple of "
                         "num_heads 2");
    HT_TEST_EXPECT_ERROR(ht_nn_multihead_attention(4, 0), HT_ERR_ARGUMENT,
                         "ht_nn_multihead_attention: num_heads is 0, expected at least 1");
    options.dropout = 2;
    HT_TEST_EXPECT_ERROR(ht_nn_multihead_attention_ext(4, 2, &options), HT_ERR_ARGUMENT,
                         "ht_nn_multihead_attention_ext: dropout is 2, expected 0 to 1");
    transformer.activation = NULL;
    HT_TEST_EXPECT_ERROR(ht_nn_transformer_encoder_layer(4, 2, &transformer), HT_ERR_ARGUMENT,
                         "ht_nn_transformer_encoder_layer: activation is NULL");
    HT_TEST_EXPECT_ERROR(ht_nn_transformer_decoder(NULL, 2, ht_nn_identity()), HT_ERR_ARGUMENT,
                         "ht_nn_transformer_decoder: layer is NULL");
    HT_TEST_EXPECT_ERROR(ht_nn_transformer_encoder(ht_nn_identity(), 0, NULL), HT_ERR_ARGUMENT,
                         "ht_nn_transformer_encoder: num_layers is 0, expected at least 1");
}

HT_TEST_SUITE(test_attention_layers, cmocka_unit_test(one_tensor_is_query_key_and_value),
              cmocka_unit_test(dropout_is_drawn_in_training_alone),
              cmocka_unit_test(parameters_start_as_in_pytorch),
              cmocka_unit_test(the_mask_of_a_sequence_is_causal),
              cmocka_unit_test(bad_inputs_are_errors), cmocka_unit_test(bad_settings_are_errors));
