/* SPDX-License-Identifier: MIT
 *
 * Rows of the table of functionals: padding, shuffles, upsampling. mode: of the function, or its
 * factor; number: the scale, below 0 with align_corners. */
#ifndef HT_NN_FUNCTIONALS_SHAPE_H
#define HT_NN_FUNCTIONALS_SHAPE_H

#include "nn/functionals.h"

static inline ht_tensor *nn_call_pad(ht_tensor *in[], const nn_functional *row)
{
    return ht_pad_ext(in[0], HT_SHAPE(1, 2, 2, (int64_t)row->number), (ht_pad_mode)row->mode,
                      HT_NUM(0.5));
}

static inline ht_tensor *nn_call_pixel_shuffle(ht_tensor *in[], const nn_functional *row)
{
    return ht_pixel_shuffle(in[0], row->mode);
}

static inline ht_tensor *nn_call_pixel_unshuffle(ht_tensor *in[], const nn_functional *row)
{
    return ht_pixel_unshuffle(in[0], row->mode);
}

static inline ht_tensor *nn_call_channel_shuffle(ht_tensor *in[], const nn_functional *row)
{
    return ht_channel_shuffle(in[0], row->mode);
}

static inline ht_tensor *nn_call_upsample(ht_tensor *in[], const nn_functional *row)
{
    ht_upsample_options options = ht_upsample_options_default();

    options.mode = (ht_upsample_mode)row->mode;
    options.align_corners = row->number < 0;
    for (int i = 0; i < 3; i++) {
        if (row->number == 0)
            options.length[i] = 3 + i;
        else
            options.scale[i] = row->number < 0 ? -row->number : row->number;
    }
    return ht_upsample(in[0], &options);
}

/* clang-format off */
#define NN_PAD(number, mode) {"ht_pad_ext", nn_call_pad, 1, 1, .operands = {FIRST("x", 3, 4, 4, 5)}, number, mode, \
                              .variant = (mode) != HT_PAD_CONSTANT || (number) < 0}
#define NN_UPSAMPLE(number, mode, ndim, ...) {"ht_upsample", nn_call_upsample, 1, 1, \
    .operands = {FIRST("x", ndim, __VA_ARGS__)}, number, mode, .variant = (ndim) != 3}
#define NN_SHAPE_ROWS \
    NN_PAD(1, HT_PAD_CONSTANT), NN_PAD(-2, HT_PAD_CONSTANT), \
    NN_PAD(1, HT_PAD_REFLECT), NN_PAD(-1, HT_PAD_REFLECT), \
    NN_PAD(1, HT_PAD_REPLICATE), NN_PAD(-1, HT_PAD_REPLICATE), \
    NN_PAD(4, HT_PAD_CIRCULAR), NN_PAD(-1, HT_PAD_CIRCULAR), \
    {"ht_pixel_shuffle", nn_call_pixel_shuffle, 1, 1, .operands = {FIRST("x", 4, 3, 8, 3, 2)}, .mode = 2}, \
    {"ht_pixel_unshuffle", nn_call_pixel_unshuffle, 1, 1, .operands = {FIRST("x", 4, 3, 2, 4, 6)}, .mode = 2}, \
    {"ht_channel_shuffle", nn_call_channel_shuffle, 1, 1, .operands = {FIRST("x", 3, 4, 6, 2)}, .mode = 3}, \
    NN_UPSAMPLE(2, HT_UPSAMPLE_NEAREST, 3, 4, 2, 3), \
    NN_UPSAMPLE(0, HT_UPSAMPLE_NEAREST, 4, 4, 2, 2, 5), \
    NN_UPSAMPLE(1.7, HT_UPSAMPLE_NEAREST_EXACT, 4, 4, 2, 2, 3), \
    NN_UPSAMPLE(2, HT_UPSAMPLE_LINEAR, 4, 3, 2, 2, 3), \
    NN_UPSAMPLE(-2, HT_UPSAMPLE_LINEAR, 4, 3, 2, 2, 3), \
    NN_UPSAMPLE(0, HT_UPSAMPLE_LINEAR, 5, 3, 1, 2, 2, 3), \
    NN_UPSAMPLE(1.5, HT_UPSAMPLE_CUBIC, 4, 3, 1, 4, 3), \
    NN_UPSAMPLE(-2, HT_UPSAMPLE_CUBIC, 4, 3, 1, 3, 2)
/* clang-format on */

#endif
