/* SPDX-License-Identifier: MIT
 *
 * Attention, ResNet-18 and a Transformer as modules. bench/peers/nn.py has the same in PyTorch. */
#include "nn_models.h"

static ht_tensor *attention_forward(ht_module *self, ht_tensor *x)
{
    (void)self;
    return ht_scaled_dot_product_attention(x, x, x);
}

static const ht_module_type attention_type = {.name = "Attention", .forward = attention_forward};

ht_module *bench_attention(void)
{
    return ht_module_new(0, &attention_type);
}

typedef struct block {
    ht_module *first, *second, *shortcut; /* shortcut: NULL where the shape stays */
} block;

static ht_tensor *block_forward(ht_module *self, ht_tensor *x)
{
    block *b = ht_module_data(self);
    ht_tensor *y = ht_forward(b->second, ht_relu(ht_forward(b->first, x)));

    return ht_relu(ht_add(y, b->shortcut != NULL ? ht_forward(b->shortcut, x) : x));
}

static const ht_module_type block_type = {.name = "BasicBlock", .forward = block_forward};

/* A convolution without bias, and its normalisation. */
static ht_module *conv_norm(int64_t in, int64_t out, int64_t kernel, int64_t stride)
{
    ht_conv2d_options o = ht_conv2d_options_default();

    for (int i = 0; i < 2; i++) {
        o.stride[i] = stride;
        o.padding[i] = kernel / 2;
    }
    return ht_nn_sequential(HT_LIST(ht_module *, ht_nn_conv2d_ext(in, out, kernel, &o, false),
                                    ht_nn_batch_norm2d(out, NULL)));
}

static ht_module *new_block(int64_t in, int64_t out, int64_t stride)
{
    ht_module *self = ht_module_new(sizeof(block), &block_type);
    block *b = ht_module_data(self);

    ht_module_add(self, "first", &b->first, conv_norm(in, out, 3, stride));
    ht_module_add(self, "second", &b->second, conv_norm(out, out, 3, 1));
    if (in != out)
        ht_module_add(self, "shortcut", &b->shortcut, conv_norm(in, out, 1, stride));
    return self;
}

ht_module *bench_resnet18(void)
{
    ht_module *net = ht_nn_sequential(HT_LIST(ht_module *, conv_norm(3, 64, 3, 1), ht_nn_relu()));
    int64_t in = 64;

    for (int64_t out = 64; out <= 512; out *= 2) {
        ht_nn_module_list_append(net, new_block(in, out, in == out ? 1 : 2));
        ht_nn_module_list_append(net, new_block(out, out, 1));
        in = out;
    }
    ht_nn_module_list_append(net, ht_nn_adaptive_avg_pool2d((int64_t[]){1, 1}));
    ht_nn_module_list_append(net, ht_nn_flatten(1));
    ht_nn_module_list_append(net, ht_nn_linear(512, 10));
    return net;
}

ht_module *bench_transformer(void)
{
    ht_transformer_options o = ht_transformer_options_default();

    o.dim_feedforward = 1024;
    o.dropout = 0;
    o.batch_first = true;
    return ht_nn_transformer_encoder(ht_nn_transformer_encoder_layer(256, 8, &o), 4, NULL);
}
