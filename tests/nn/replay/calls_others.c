/* SPDX-License-Identifier: MIT
 *
 * Linear layers, embeddings, attention, padding, upsampling and shuffles: the calls of PyTorch's
 * functions. */
#include <math.h>
#include <string.h>

#include "replay.h"

#define IN(key)                replay_in(r, key)
#define NUMBER(key, otherwise) replay_number(r, key, otherwise)
#define FLAG(key)              (replay_number(r, key, 0) != 0)
#define CALL(name, call)                         \
    static ht_tensor *call_##name(replay_run *r) \
    {                                            \
        return call;                             \
    }
CALL(linear, ht_linear(IN("input"), IN("weight"), IN("bias")))
CALL(bilinear, ht_bilinear(IN("input"), IN("input2"), IN("weight"), IN("bias")))
CALL(cosine,
     ht_cosine_similarity(IN("input"), IN("x2"), (int)NUMBER("dim", 1), NUMBER("eps", 1e-8)))
CALL(pairwise, ht_pairwise_distance(IN("input"), IN("x2"), NUMBER("p", 2), NUMBER("eps", 1e-6),
                                    FLAG("keepdim")))
CALL(pixel_shuffle, ht_pixel_shuffle(IN("input"), (int64_t)NUMBER("upscale_factor", 1)))
CALL(pixel_unshuffle, ht_pixel_unshuffle(IN("input"), (int64_t)NUMBER("downscale_factor", 1)))
CALL(channel_shuffle, ht_channel_shuffle(IN("input"), (int64_t)NUMBER("groups", 1)))

static ht_tensor *call_embedding(replay_run *r)
{
    ht_embedding_options options = ht_embedding_options_default();

    options.padding_idx = (int64_t)NUMBER("padding_idx", (double)HT_NO_PADDING);
    options.max_norm = NUMBER("max_norm", INFINITY);
    options.norm_type = NUMBER("norm_type", 2);
    options.scale_grad_by_freq = FLAG("scale_grad_by_freq");
    return ht_embedding_ext(IN("indices"), IN("input"), &options);
}

static ht_tensor *call_embedding_bag(replay_run *r)
{
    ht_embedding_bag_options options = ht_embedding_bag_options_default();
    const char *mode = replay_word(r, "mode", "mean");

    options.mode = strcmp(mode, "sum") == 0   ? HT_BAG_SUM
                   : strcmp(mode, "max") == 0 ? HT_BAG_MAX
                                              : HT_BAG_MEAN;
    options.per_sample_weights = IN("per_sample_weights");
    options.include_last_offset = FLAG("include_last_offset");
    options.padding_idx = (int64_t)NUMBER("padding_idx", (double)HT_NO_PADDING);
    options.max_norm = NUMBER("max_norm", INFINITY);
    options.norm_type = NUMBER("norm_type", 2);
    options.scale_grad_by_freq = FLAG("scale_grad_by_freq");
    return ht_embedding_bag(IN("indices"), IN("input"), IN("offsets"), &options);
}

static ht_tensor *call_attention(replay_run *r)
{
    ht_attention_options options = ht_attention_options_default();

    options.attn_mask = IN("attn_mask");
    options.dropout_p = NUMBER("dropout_p", 0);
    options.is_causal = FLAG("is_causal");
    options.scale = NUMBER("scale", NAN);
    options.enable_gqa = FLAG("enable_gqa");
    if (options.dropout_p > 0)
        return replay_leave(r, "random numbers");
    return ht_scaled_dot_product_attention_ext(IN("input"), IN("key"), IN("value"), &options);
}

/* PyTorch's pairs begin with that of the last axis. */
static ht_tensor *call_pad(replay_run *r)
{
    static const char *const names[] = {"constant", "reflect", "replicate", "circular"};
    const char *mode = replay_word(r, "mode", "constant");
    int64_t given[REPLAY_NUMBERS], widths[REPLAY_NUMBERS];
    const int count = replay_list(r, "pad", REPLAY_NUMBERS, given);
    int m = 0;

    while (m < 3 && strcmp(names[m], mode) != 0)
        m++;
    for (int i = 0; i < count; i++)
        widths[i] = given[count - 2 - i / 2 * 2 + i % 2];
    return ht_pad_ext(IN("input"), count, widths, (ht_pad_mode)m,
                      ht_number_real(NUMBER("value", 0)));
}

/* Replaces scales by the lengths that they give. */
static void scaled(ht_upsample_options *options, const ht_tensor *x)
{
    for (int i = 0; i + 2 < ht_tensor_ndim(x); i++)
        if (options->scale[i] > 0) {
            options->length[i] = (int64_t)floor((double)ht_tensor_shape(x)[i + 2] *
                                                options->scale[i]);
            options->scale[i] = 0;
        }
}

static ht_tensor *upsample(replay_run *r, const char *mode, bool align_corners)
{
    ht_upsample_options options = ht_upsample_options_default();
    ht_tensor *x = IN("input");
    const double scale = NUMBER("scale_factor", 0);
    const int axes = ht_tensor_ndim(x) - 2;

    if (replay_list(r, "size", axes, options.length) == 0)
        for (int i = 0; i < axes; i++)
            options.scale[i] = scale;
    if (FLAG("recompute_scale_factor") || strcmp(mode, "area") == 0)
        scaled(&options, x);
    if (strcmp(mode, "area") == 0)
        return ht_adaptive_avg_pool(x, options.length);
    options.mode = strcmp(mode, "nearest") == 0         ? HT_UPSAMPLE_NEAREST
                   : strcmp(mode, "nearest-exact") == 0 ? HT_UPSAMPLE_NEAREST_EXACT
                   : strcmp(mode, "bicubic") == 0       ? HT_UPSAMPLE_CUBIC
                                                        : HT_UPSAMPLE_LINEAR;
    options.align_corners = align_corners;
    return ht_upsample(x, &options);
}
CALL(interpolate, upsample(r, replay_word(r, "mode", "nearest"), FLAG("align_corners")))
CALL(upsample_nearest, upsample(r, "nearest", false))
CALL(upsample_bilinear, upsample(r, "bilinear", true))

const replay_function replay_others[] = {
    {"linear", call_linear, NULL},
    {"bilinear", call_bilinear, NULL},
    {"cosine_similarity", call_cosine, NULL},
    {"pairwise_distance", call_pairwise, NULL},
    {"embedding", call_embedding, NULL},
    {"embedding_bag", call_embedding_bag, NULL},
    {"scaled_dot_product_attention", call_attention, NULL},
    {"pad", call_pad, NULL},
    {"interpolate", call_interpolate, NULL},
    {"upsample_nearest", call_upsample_nearest, NULL},
    {"upsample_bilinear", call_upsample_bilinear, NULL},
    {"pixel_shuffle", call_pixel_shuffle, NULL},
    {"pixel_unshuffle", call_pixel_unshuffle, NULL},
    {"channel_shuffle", call_channel_shuffle, NULL},
    {.name = NULL},
};
