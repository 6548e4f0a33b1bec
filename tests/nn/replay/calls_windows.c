/* SPDX-License-Identifier: MIT
 *
 * Convolution and pooling: the calls of PyTorch's functions. */
#include <string.h>

#include "replay.h"

#define IN(key)                replay_in(r, key)
#define NUMBER(key, otherwise) replay_number(r, key, otherwise)

/* The input as a batch: PyTorch also takes one sample, without the batch's axis. */
static ht_tensor *batch(replay_run *r, int axes)
{
    ht_tensor *x = IN("input");

    if (x != NULL && ht_tensor_ndim(x) != axes + 1 && ht_tensor_ndim(x) != axes + 2)
        replay_leave(r, "the axes of x choose among forms of pooling");
    return x != NULL && ht_tensor_ndim(x) == axes + 1 ? ht_expand_dims(x, 0) : x;
}

/* The result for the input as it is. */
static ht_tensor *as_given(replay_run *r, int axes, ht_tensor *y)
{
    return y != NULL && ht_tensor_ndim(IN("input")) == axes + 1 ? ht_squeeze(y, 0) : y;
}

static ht_conv_options conv_options(replay_run *r, int axes)
{
    ht_conv_options options = ht_conv_options_default();

    replay_list(r, "stride", axes, options.stride);
    replay_list(r, "padding", axes, options.padding);
    replay_list(r, "dilation", axes, options.dilation);
    replay_list(r, "output_padding", axes, options.output_padding);
    options.groups = (int64_t)NUMBER("groups", 1);
    options.same = strcmp(replay_word(r, "padding", "valid"), "same") == 0;
    return options;
}

/* The call of a convolution over `axes` axes. */
#define CONV(name, axes)                                                   \
    static ht_tensor *call_##name(replay_run *r)                           \
    {                                                                      \
        const ht_conv_options options = conv_options(r, axes);             \
                                                                           \
        return ht_##name(IN("input"), IN("weight"), IN("bias"), &options); \
    }
CONV(conv1d, 1)
CONV(conv2d_ext, 2)
CONV(conv3d, 3)
CONV(conv_transpose1d, 1)
CONV(conv_transpose2d, 2)
CONV(conv_transpose3d, 3)

static ht_pool_options pool_options(replay_run *r, int axes)
{
    ht_pool_options options = ht_pool_options_default();

    if (NUMBER("stride", 1) == 0 || NUMBER("divisor_override", 1) == 0)
        replay_leave(r, "0 stands for a default in ht_pool_options");
    NUMBER("return_indices", 0);
    replay_list(r, "kernel_size", axes, options.kernel);
    replay_list(r, "stride", axes, options.stride);
    replay_list(r, "padding", axes, options.padding);
    replay_list(r, "dilation", axes, options.dilation);
    options.ceil_mode = NUMBER("ceil_mode", 0) != 0;
    options.count_include_pad = NUMBER("count_include_pad", 1) != 0;
    options.divisor_override = (int64_t)NUMBER("divisor_override", 0);
    return options;
}

#define POOL(name, axes, function)                                    \
    static ht_tensor *call_##name(replay_run *r)                      \
    {                                                                 \
        const ht_pool_options options = pool_options(r, axes);        \
                                                                      \
        return as_given(r, axes, function(batch(r, axes), &options)); \
    }
POOL(max_pool1d, 1, ht_max_pool)
POOL(max_pool2d, 2, ht_max_pool)
POOL(max_pool3d, 3, ht_max_pool)
POOL(avg_pool1d, 1, ht_avg_pool)
POOL(avg_pool2d, 2, ht_avg_pool)
POOL(avg_pool3d, 3, ht_avg_pool)
POOL(unfold, 2, ht_unfold)

static ht_tensor *adaptive(replay_run *r, int axes,
                           ht_tensor *(*function)(ht_tensor *, const int64_t[]))
{
    int64_t length[3] = {-1, -1, -1};

    NUMBER("return_indices", 0);
    replay_list(r, "output_size", axes, length);
    return as_given(r, axes, function(batch(r, axes), length));
}
#define ADAPTIVE(name, axes, function)           \
    static ht_tensor *call_##name(replay_run *r) \
    {                                            \
        return adaptive(r, axes, function);      \
    }
ADAPTIVE(adaptive_avg_pool1d, 1, ht_adaptive_avg_pool)
ADAPTIVE(adaptive_avg_pool2d, 2, ht_adaptive_avg_pool)
ADAPTIVE(adaptive_avg_pool3d, 3, ht_adaptive_avg_pool)
ADAPTIVE(adaptive_max_pool1d, 1, ht_adaptive_max_pool)
ADAPTIVE(adaptive_max_pool2d, 2, ht_adaptive_max_pool)
ADAPTIVE(adaptive_max_pool3d, 3, ht_adaptive_max_pool)

const replay_function replay_windows[] = {
    {"conv1d", call_conv1d, NULL},
    {"conv2d", call_conv2d_ext, NULL},
    {"conv3d", call_conv3d, NULL},
    {"conv_transpose1d", call_conv_transpose1d, NULL},
    {"conv_transpose2d", call_conv_transpose2d, NULL},
    {"conv_transpose3d", call_conv_transpose3d, NULL},
    {"max_pool1d", call_max_pool1d, NULL},
    {"max_pool2d", call_max_pool2d, NULL},
    {"max_pool3d", call_max_pool3d, NULL},
    {"avg_pool1d", call_avg_pool1d, NULL},
    {"avg_pool2d", call_avg_pool2d, NULL},
    {"avg_pool3d", call_avg_pool3d, NULL},
    {"adaptive_avg_pool1d", call_adaptive_avg_pool1d, NULL},
    {"adaptive_avg_pool2d", call_adaptive_avg_pool2d, NULL},
    {"adaptive_avg_pool3d", call_adaptive_avg_pool3d, NULL},
    {"adaptive_max_pool1d", call_adaptive_max_pool1d, NULL},
    {"adaptive_max_pool2d", call_adaptive_max_pool2d, NULL},
    {"adaptive_max_pool3d", call_adaptive_max_pool3d, NULL},
    {"unfold", call_unfold, NULL},
    {.name = NULL},
};
