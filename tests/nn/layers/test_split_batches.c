/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* A batch on several ranks does not meet the process-local parameters of a layer, whatever its
 * split; the part of this rank does. */
#include <string.h>

#include "ht/recurrent.h"
#include "ht/windows.h"
#include "nn/nn_test.h"
#include "tensor_check.h"

enum { CHANNELS = 4 };

static ht_module *linear(void)
{
    return ht_nn_linear(CHANNELS, 3);
}

static ht_module *normed_linear(void)
{
    ht_module *layer = linear();

    assert_int_equal(ht_nn_weight_norm(layer, "weight", 0), HT_SUCCESS);
    return layer;
}

static ht_module *conv1d(void)
{
    return ht_nn_conv1d(CHANNELS, 3, 2, NULL, true);
}

static ht_module *conv2d(void)
{
    return ht_nn_conv2d(CHANNELS, 3, 2);
}

static ht_module *conv3d(void)
{
    return ht_nn_conv3d(CHANNELS, 3, 2, NULL, false);
}

static ht_module *conv_transpose1d(void)
{
    return ht_nn_conv_transpose1d(CHANNELS, 3, 2, NULL, true);
}

static ht_module *conv_transpose2d(void)
{
    return ht_nn_conv_transpose2d(CHANNELS, 3, 2, NULL, true);
}

static ht_module *conv_transpose3d(void)
{
    return ht_nn_conv_transpose3d(CHANNELS, 3, 2, NULL, true);
}

static ht_module *batch_norm1d(void)
{
    return ht_nn_batch_norm1d(CHANNELS, NULL);
}

static ht_module *batch_norm_of_buffers(void)
{
    ht_batch_norm_options options = ht_batch_norm_options_default();

    options.affine = false;
    return ht_nn_batch_norm1d(CHANNELS, &options);
}

static ht_module *batch_norm2d(void)
{
    return ht_nn_batch_norm2d(CHANNELS, NULL);
}

static ht_module *group_norm(void)
{
    return ht_nn_group_norm(2, CHANNELS);
}

static ht_module *instance_norm1d(void)
{
    ht_instance_norm_options options = ht_instance_norm_options_default();

    options.affine = true;
    return ht_nn_instance_norm1d(CHANNELS, &options);
}

static ht_module *layer_norm(void)
{
    return ht_nn_layer_norm(HT_SHAPE(CHANNELS));
}

static ht_module *rms_norm(void)
{
    return ht_nn_rms_norm(HT_SHAPE(CHANNELS));
}

static ht_module *prelu(void)
{
    return ht_nn_prelu(CHANNELS, 0.25);
}

static ht_module *embedding(void)
{
    return ht_nn_embedding(9, CHANNELS);
}

static ht_module *embedding_bag(void)
{
    return ht_nn_embedding_bag(9, CHANNELS, NULL);
}

static ht_module *rnn(void)
{
    return ht_nn_rnn(CHANNELS, 3);
}

static ht_module *lstm(void)
{
    ht_recurrent_options options = ht_recurrent_options_default();

    options.batch_first = true;
    return ht_nn_lstm_ext(CHANNELS, 3, &options);
}

static ht_module *gru(void)
{
    return ht_nn_gru(CHANNELS, 3);
}

static ht_module *rnn_cell(void)
{
    return ht_nn_rnn_cell(CHANNELS, 3, true, HT_RNN_TANH);
}

static ht_module *gru_cell(void)
{
    return ht_nn_gru_cell(CHANNELS, 3, false);
}

static ht_module *multihead_attention(void)
{
    return ht_nn_multihead_attention(CHANNELS, 2);
}

static ht_module *encoder_layer(void)
{
    return ht_nn_transformer_encoder_layer(CHANNELS, 2, NULL);
}

#define ROW(make, dtype, ...)                                                                      \
    {                                                                                              \
#make, make, sizeof(int64_t[]){__VA_ARGS__ } / sizeof(int64_t), {__VA_ARGS__ }, HT_##dtype \
    }

static const struct row {
    const char *name;
    ht_module *(*make)(void);
    int ndim;
    int64_t shape[5];
    ht_dtype dtype;
} rows[] = {
    ROW(linear, FLOAT32, 6, 4),
    ROW(linear, FLOAT32, 4),
    ROW(normed_linear, FLOAT32, 6, 4),
    ROW(conv1d, FLOAT32, 6, 4, 5),
    ROW(conv1d, FLOAT32, 4, 5),
    ROW(conv2d, FLOAT32, 6, 4, 5, 5),
    ROW(conv2d, FLOAT32, 4, 5, 5),
    ROW(conv3d, FLOAT32, 6, 4, 3, 3, 3),
    ROW(conv3d, FLOAT32, 4, 3, 3, 3),
    ROW(conv_transpose1d, FLOAT32, 6, 4, 5),
    ROW(conv_transpose1d, FLOAT32, 4, 5),
    ROW(conv_transpose2d, FLOAT32, 6, 4, 5, 5),
    ROW(conv_transpose3d, FLOAT32, 6, 4, 3, 3, 3),
    ROW(batch_norm1d, FLOAT32, 6, 4),
    ROW(batch_norm1d, FLOAT32, 6, 4, 5),
    ROW(batch_norm_of_buffers, FLOAT32, 6, 4),
    ROW(batch_norm2d, FLOAT32, 6, 4, 2, 2),
    ROW(group_norm, FLOAT32, 6, 4, 3),
    ROW(instance_norm1d, FLOAT32, 6, 4, 3),
    ROW(layer_norm, FLOAT32, 6, 4),
    ROW(rms_norm, FLOAT32, 6, 4),
    ROW(prelu, FLOAT32, 6, 4),
    ROW(embedding, INT64, 6),
    ROW(embedding_bag, INT64, 6, 3),
    ROW(rnn, FLOAT32, 5, 6, 4),
    ROW(rnn, FLOAT32, 5, 4),
    ROW(lstm, FLOAT32, 6, 5, 4),
    ROW(gru, FLOAT32, 5, 6, 4),
    ROW(rnn_cell, FLOAT32, 6, 4),
    ROW(rnn_cell, FLOAT32, 4),
    ROW(gru_cell, FLOAT32, 6, 4),
    ROW(multihead_attention, FLOAT32, 5, 6, 4),
    ROW(encoder_layer, FLOAT32, 5, 6, 4),
};

static void expect_refused(const struct row *row, ht_module *layer, int split)
{
    const char *message;

    assert_null(ht_forward(layer, ht_ones(row->ndim, row->shape, row->dtype, split)));
    if (ht_error_get(&message) != HT_ERR_COMM || strstr(message, "pass ht_tensor_local(") == NULL)
        fail_msg("%s, %d axes, split %d: %s", row->name, row->ndim, split, message);
    ht_error_clear();
}

static void any_split_is_of_other_ranks(void **state)
{
    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof rows / sizeof *rows && ht_test_size > 1; i++) {
        ht_module *layer = rows[i].make();

        for (int training = 0; training < 2; training++) {
            if (training == 0)
                ht_module_eval(layer);
            else
                ht_module_train(layer);
            for (int split = 0; split < rows[i].ndim; split++)
                expect_refused(&rows[i], layer, split);
            expect_refused(&rows[i], layer, HT_NONE);
        }
        ht_release(layer);
    }
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
}

static void the_part_of_this_rank_is_taken(void **state)
{
    ht_module *layer = linear();
    ht_tensor *x = ht_ones(HT_SHAPE(8, CHANNELS), HT_FLOAT32, 0);

    (void)state;
    assert_non_null(ht_forward(layer, ht_tensor_local(x)));
    ht_release(layer);
}

HT_TEST_SUITE(test_split_batches, cmocka_unit_test(any_split_is_of_other_ranks),
              cmocka_unit_test(the_part_of_this_rank_is_taken));
