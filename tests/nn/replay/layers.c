/* SPDX-License-Identifier: MIT
 *
 * Layers: the constructors of PyTorch's. */
#include <math.h>
#include <string.h>

#include "replay.h"

#define NUMBER(key, otherwise)  replay_number(r, key, otherwise)
#define INTEGER(key, otherwise) ((int64_t)replay_number(r, key, otherwise))
#define FLAG(key, otherwise)    (replay_number(r, key, otherwise) != 0)
#define LAYER(name, make)                         \
    static ht_module *layer_##name(replay_run *r) \
    {                                             \
        return make;                              \
    }

/* ---- Normalisation ---- */

static ht_batch_norm_options batch_options(replay_run *r)
{
    ht_batch_norm_options options = ht_batch_norm_options_default();

    options.eps = NUMBER("eps", options.eps);
    options.momentum = NUMBER("momentum", options.momentum);
    options.cumulative_average = FLAG("cumulative_average", false);
    options.affine = FLAG("affine", true);
    options.bias = FLAG("bias", true);
    options.track_running_stats = FLAG("track_running_stats", true);
    return options;
}

static ht_instance_norm_options instance_options(replay_run *r)
{
    ht_instance_norm_options options = ht_instance_norm_options_default();

    options.eps = NUMBER("eps", options.eps);
    options.momentum = NUMBER("momentum", options.momentum);
    if (FLAG("cumulative_average", false))
        replay_leave(r, "no cumulative averages of instance normalisation");
    options.affine = FLAG("affine", false);
    options.bias = FLAG("bias", true);
    options.track_running_stats = FLAG("track_running_stats", false);
    return options;
}

#define NORM(name, kind)                                      \
    static ht_module *layer_##name(replay_run *r)             \
    {                                                         \
        const ht_##kind##_norm_options o = kind##_options(r); \
                                                              \
        return ht_nn_##name(INTEGER("num_features", 0), &o);  \
    }
NORM(batch_norm1d, batch)
NORM(batch_norm2d, batch)
NORM(batch_norm3d, batch)
NORM(instance_norm1d, instance)
NORM(instance_norm2d, instance)
NORM(instance_norm3d, instance)
LAYER(group_norm,
      ht_nn_group_norm_ext(INTEGER("num_groups", 0), INTEGER("num_channels", 0),
                           NUMBER("eps", 1e-5), FLAG("affine", true), FLAG("bias", true)))
LAYER(local_response_norm, ht_nn_local_response_norm_ext(INTEGER("size", 0), NUMBER("alpha", 1e-4),
                                                         NUMBER("beta", 0.75), NUMBER("k", 1)))

static ht_module *layer_layer_norm(replay_run *r)
{
    int64_t shape[REPLAY_AXES];
    const int ndim = replay_list(r, "normalized_shape", REPLAY_AXES, shape);

    return ht_nn_layer_norm_ext(ndim, shape, NUMBER("eps", 1e-5), FLAG("elementwise_affine", true),
                                FLAG("bias", true));
}

static ht_module *layer_rms_norm(replay_run *r)
{
    int64_t shape[REPLAY_AXES];
    const int ndim = replay_list(r, "normalized_shape", REPLAY_AXES, shape);

    return ht_nn_rms_norm_ext(ndim, shape, NUMBER("eps", -1), FLAG("elementwise_affine", true));
}

/* ---- Linear layers and convolution ---- */

LAYER(linear,
      ht_nn_linear_ext(INTEGER("in_features", 0), INTEGER("out_features", 0), FLAG("bias", true)))
LAYER(bilinear, ht_nn_bilinear(INTEGER("in1_features", 0), INTEGER("in2_features", 0),
                               INTEGER("out_features", 0), FLAG("bias", true)))
LAYER(embedding, ht_nn_embedding(INTEGER("num_embeddings", 0), INTEGER("embedding_dim", 0)))
LAYER(prelu, ht_nn_prelu(INTEGER("num_parameters", 1), NUMBER("init", 0.25)))
LAYER(softmax2d, ((void)r, ht_nn_softmax2d()))

static ht_tensor *call_bilinear(replay_run *r)
{
    ht_tensor *const in[] = {replay_in(r, "input"), replay_in(r, "input2")};

    return ht_value_as_tensor(ht_forward_value(r->layer, ht_value_tensors(2, in)));
}

static ht_conv_options conv_options(replay_run *r)
{
    ht_conv_options options = ht_conv_options_default();

    options.same = strcmp(replay_word(r, "padding", "valid"), "same") == 0;
    return options;
}

#define CONV(name)                                                                 \
    static ht_module *layer_##name(replay_run *r)                                  \
    {                                                                              \
        const ht_conv_options o = conv_options(r);                                 \
                                                                                   \
        return ht_nn_##name(INTEGER("in_channels", 0), INTEGER("out_channels", 0), \
                            INTEGER("kernel_size", 0), &o, FLAG("bias", true));    \
    }
CONV(conv1d)
CONV(conv3d)
CONV(conv_transpose1d)
CONV(conv_transpose2d)
CONV(conv_transpose3d)

static ht_module *layer_conv2d(replay_run *r)
{
    ht_conv2d_options options = ht_conv2d_options_default();

    options.same = conv_options(r).same;
    return ht_nn_conv2d_ext(INTEGER("in_channels", 0), INTEGER("out_channels", 0),
                            INTEGER("kernel_size", 0), &options, FLAG("bias", true));
}

/* The output for one sample, without the batch's axis, which PyTorch's layers take, too. */
static ht_tensor *unbatched(replay_run *r, int axes)
{
    ht_tensor *x = replay_in(r, "input");

    if (x == NULL || ht_tensor_ndim(x) != axes + 1)
        return ht_forward(r->layer, x);
    return ht_squeeze(ht_forward(r->layer, ht_expand_dims(x, 0)), 0);
}
#define UNBATCHED(axes)                                \
    static ht_tensor *call_images##axes(replay_run *r) \
    {                                                  \
        return unbatched(r, axes);                     \
    }
UNBATCHED(1)
UNBATCHED(2)
UNBATCHED(3)

static ht_module *lp_pool(replay_run *r, int axes,
                          ht_module *(*make)(double, const ht_pool_options *))
{
    ht_pool_options options = ht_pool_options_default();

    replay_list(r, "kernel_size", axes, options.kernel);
    replay_list(r, "stride", axes, options.stride);
    return make(NUMBER("norm_type", 0), &options);
}
LAYER(lp_pool1d, lp_pool(r, 1, ht_nn_lp_pool1d))
LAYER(lp_pool2d, lp_pool(r, 2, ht_nn_lp_pool2d))
LAYER(lp_pool3d, lp_pool(r, 3, ht_nn_lp_pool3d))

/* ---- Padding ---- */

/* PyTorch's pairs begin with that of the last axis. Returns the count. */
static int widths(replay_run *r, int64_t to[REPLAY_NUMBERS])
{
    int64_t given[REPLAY_NUMBERS];
    const int count = replay_list(r, "padding", REPLAY_NUMBERS, given);

    to[0] = given[0];
    for (int i = 0; i < count && count > 1; i++)
        to[i] = given[count - 2 - i / 2 * 2 + i % 2];
    return count;
}

#define PAD(name, ...)                              \
    static ht_module *layer_##name(replay_run *r)   \
    {                                               \
        int64_t to[REPLAY_NUMBERS];                 \
        const int count = widths(r, to);            \
                                                    \
        return ht_nn_##name(count, to __VA_ARGS__); \
    }
#define VALUE , NUMBER("value", 0)
PAD(reflection_pad1d)
PAD(reflection_pad2d)
PAD(reflection_pad3d)
PAD(replication_pad1d)
PAD(replication_pad2d)
PAD(replication_pad3d)
PAD(circular_pad1d)
PAD(circular_pad2d)
PAD(circular_pad3d)
PAD(zero_pad1d)
PAD(zero_pad2d)
PAD(zero_pad3d)
PAD(constant_pad1d, VALUE)
PAD(constant_pad2d, VALUE)
PAD(constant_pad3d, VALUE)

const replay_function replay_layers[] = {
    {"BatchNorm1d", NULL, layer_batch_norm1d},
    {"BatchNorm2d", NULL, layer_batch_norm2d},
    {"BatchNorm3d", NULL, layer_batch_norm3d},
    {"InstanceNorm1d", call_images1, layer_instance_norm1d},
    {"InstanceNorm2d", call_images2, layer_instance_norm2d},
    {"InstanceNorm3d", call_images3, layer_instance_norm3d},
    {"GroupNorm", NULL, layer_group_norm},
    {"LayerNorm", NULL, layer_layer_norm},
    {"RMSNorm", NULL, layer_rms_norm},
    {"LocalResponseNorm", NULL, layer_local_response_norm},
    {"Linear", NULL, layer_linear},
    {"Bilinear", call_bilinear, layer_bilinear},
    {"Embedding", NULL, layer_embedding},
    {"PReLU", NULL, layer_prelu},
    {"Softmax2d", call_images2, layer_softmax2d},
    {"Conv1d", call_images1, layer_conv1d},
    {"Conv2d", call_images2, layer_conv2d},
    {"Conv3d", call_images3, layer_conv3d},
    {"ConvTranspose1d", call_images1, layer_conv_transpose1d},
    {"ConvTranspose2d", call_images2, layer_conv_transpose2d},
    {"ConvTranspose3d", call_images3, layer_conv_transpose3d},
    {"LPPool1d", call_images1, layer_lp_pool1d},
    {"LPPool2d", call_images2, layer_lp_pool2d},
    {"LPPool3d", call_images3, layer_lp_pool3d},
    {"ReflectionPad1d", NULL, layer_reflection_pad1d},
    {"ReflectionPad2d", NULL, layer_reflection_pad2d},
    {"ReflectionPad3d", NULL, layer_reflection_pad3d},
    {"ReplicationPad1d", NULL, layer_replication_pad1d},
    {"ReplicationPad2d", NULL, layer_replication_pad2d},
    {"ReplicationPad3d", NULL, layer_replication_pad3d},
    {"CircularPad1d", NULL, layer_circular_pad1d},
    {"CircularPad2d", NULL, layer_circular_pad2d},
    {"CircularPad3d", NULL, layer_circular_pad3d},
    {"ZeroPad1d", NULL, layer_zero_pad1d},
    {"ZeroPad2d", NULL, layer_zero_pad2d},
    {"ZeroPad3d", NULL, layer_zero_pad3d},
    {"ConstantPad1d", NULL, layer_constant_pad1d},
    {"ConstantPad2d", NULL, layer_constant_pad2d},
    {"ConstantPad3d", NULL, layer_constant_pad3d},
    {.name = NULL},
};
