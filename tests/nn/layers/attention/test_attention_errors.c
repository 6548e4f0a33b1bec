/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Layers of several modules that exchange with other ranks: an error on one rank, before or between
 * those modules, is reported to all. The others would wait for it until the deadline. */
#include "nn/nn_test.h"

enum { ROWS = 2, CHANNELS = 3, FEATURES = 4 };
enum fault { NO_FAULT, NO_INPUTS, WRONG_WIDTH, WRONG_MASK, FAULTS };

static ht_module *sync_norm(void)
{
    return ht_nn_sync_batch_norm(CHANNELS, NULL, HT_COMM_WORLD);
}

static ht_transformer_options options_of(bool norm_first)
{
    ht_transformer_options options = ht_transformer_options_default();

    options.num_encoder_layers = options.num_decoder_layers = 2;
    options.dim_feedforward = 8;
    options.norm_first = norm_first;
    return options;
}

static void replace_norms(ht_module *module, int count, const char *const paths[])
{
    for (int i = 0; i < count; i++)
        assert_int_equal(ht_module_replace(module, paths[i], sync_norm()), HT_SUCCESS);
}

static ht_module *encoder_layer(bool norm_first)
{
    const ht_transformer_options options = options_of(norm_first);
    ht_module *layer = ht_nn_transformer_encoder_layer(FEATURES, 2, &options);

    replace_norms(layer, HT_LIST(const char *, "norm1", "norm2"));
    return layer;
}

static ht_module *decoder_layer(bool norm_first)
{
    const ht_transformer_options options = options_of(norm_first);
    ht_module *layer = ht_nn_transformer_decoder_layer(FEATURES, 2, &options);

    replace_norms(layer, HT_LIST(const char *, "norm1", "norm2", "norm3"));
    return layer;
}

static ht_module *encoder(bool norm_first)
{
    return ht_nn_transformer_encoder(encoder_layer(norm_first), 2, sync_norm());
}

static ht_module *decoder(bool norm_first)
{
    return ht_nn_transformer_decoder(decoder_layer(norm_first), 2, sync_norm());
}

static ht_module *transformer(bool norm_first)
{
    const ht_transformer_options options = options_of(norm_first);
    ht_module *module = ht_nn_transformer(FEATURES, 2, &options);

    replace_norms(ht_module_find(module, "encoder"), HT_LIST(const char *, "norm"));
    replace_norms(ht_module_find(module, "decoder"), HT_LIST(const char *, "norm"));
    return module;
}

static ht_module *attention(bool norm_first)
{
    ht_module *module = ht_nn_multihead_attention(FEATURES, 2);

    (void)norm_first;
    replace_norms(module, HT_LIST(const char *, "out_proj"));
    return module;
}

/* Its module, and how many tensors it takes before the first mask. */
static const struct model {
    const char *name;
    ht_module *(*make)(bool norm_first);
    int tensors;
} models[] = {
    {"encoder layer", encoder_layer, 1},
    {"decoder layer", decoder_layer, 2},
    {"encoder", encoder, 1},
    {"decoder", decoder, 2},
    {"transformer", transformer, 2},
    {"attention", attention, 3},
};

static ht_tensor *ones(int ndim, const int64_t shape[])
{
    return ht_full_ext(ndim, shape, HT_NUM(1), HT_FLOAT32, HT_NONE, ht_get_device(), HT_COMM_SELF);
}

static ht_value *inputs_of(const struct model *model, enum fault fault)
{
    const int64_t width = fault == WRONG_WIDTH ? FEATURES + 1 : FEATURES;
    ht_value *inputs = ht_value_list();

    for (int i = 0; i < model->tensors && fault != NO_INPUTS; i++)
        ht_value_append(inputs, ht_value_tensor(ones(HT_SHAPE(ROWS, CHANNELS, width))));
    if (fault == WRONG_MASK)
        ht_value_append(inputs, ht_value_tensor(ones(HT_SHAPE(7, 7))));
    return inputs;
}

static void check(const struct model *model, bool norm_first, enum fault fault)
{
    const bool fails = ht_test_rank == ht_test_size - 1;
    ht_module *module = model->make(norm_first);
    ht_status status;

    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    assert_null(ht_forward_value(module, inputs_of(model, fails ? fault : NO_FAULT)));
    status = ht_error_get(NULL);
    if (status != (!fails ? HT_ERR_STATE : fault == NO_INPUTS ? HT_ERR_ARGUMENT : HT_ERR_SHAPE))
        fail_msg("%s, fault %d: status %d", model->name, fault, status);
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    assert_non_null(ht_forward_value(module, inputs_of(model, NO_FAULT)));
    ht_release(module);
}

static void an_error_on_one_rank_is_told_to_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        for (enum fault fault = NO_INPUTS; fault < FAULTS; fault++) {
            check(&models[i], false, fault);
            check(&models[i], true, fault);
        }
    }
}

HT_TEST_SUITE(test_attention_errors, cmocka_unit_test(an_error_on_one_rank_is_told_to_all));
