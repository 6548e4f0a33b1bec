/* SPDX-License-Identifier: MIT
 *
 * Padding, upsampling, and shuffles of pixels and channels, as functions and as layers. Source:
 * torch.nn, torch.nn.functional.
 *
 * All are differentiable. Logically collective; nothing is sent if x is split along the batch (axis
 * 0). Collective if an axis that is padded, resized or shuffled is the split axis. Padding by a
 * constant is collective for any unbalanced x (ht_balance). Results are scoped.
 * Layers have no parameters, and take what their functions take. They are owned, and their
 * constructors are not collective.
 * Errors: HT_ERR_SHAPE for operands that do not fit, HT_ERR_ARGUMENT for a setting out of range.
 * Constructors check the count of widths, and that factor and groups are at least 1. The forward
 * pass checks the rest. */
#ifndef HT_PADDING_H
#define HT_PADDING_H

#include "ht/module.h"

HT_BEGIN_DECLS

/* The values around a padded tensor: a constant; x in a mirror, without the element at the border;
 * the element at the border; or x from its other end on. */
typedef enum ht_pad_mode {
    HT_PAD_CONSTANT,
    HT_PAD_REFLECT,
    HT_PAD_REPLICATE,
    HT_PAD_CIRCULAR
} ht_pad_mode;

/* Returns x with elements around it; ht_pad is the case HT_PAD_CONSTANT.
 *
 * widths: count numbers, a pair for each of the last count / 2 axes: widths[2 i] elements go before
 *   x and widths[2 i + 1] after it. Negative ones cut elements off. torch.nn.functional.pad takes
 *   the pairs from the last axis on.
 * mode: HT_PAD_REFLECT is at most the length less 1 on a side, HT_PAD_CIRCULAR at most the length
 *   that negative widths leave.
 * value: the constant, converted to the dtype of x like a number that fills it (ht/number.h).
 * Result: a copy, split as x. The slabs are those of x, or balanced ones (ht_balance) if the split
 * axis is padded. If HT_PAD_CONSTANT or HT_PAD_CIRCULAR only cut elements off there, each rank
 * keeps its own.
 * Errors: HT_ERR_ARGUMENT for widths that are not in pairs, outnumber the axes or are out of range,
 * and for an integer value that the dtype of x cannot hold.
 * Source: torch.nn.functional.pad. */
HT_API ht_tensor *ht_pad_ext(ht_tensor *x, int count, const int64_t widths[], ht_pad_mode mode,
                             ht_number value);

/* Returns (..., C, H r, W r) for x (..., C r^2, H, W): the r^2 channels of a pixel become r x r
 * pixels.
 *
 * x: 3 to 6 axes.
 * factor: r, at least 1.
 * Result: a copy, or a view of x where strides allow it (factor 1). It is split as x. But if x is
 * split along C, H or W and factor is above 1, ht_reshape moves the split to axis 0. If that has
 * length 1, one rank then has all elements.
 * Source: torch.nn.functional.pixel_shuffle. */
HT_API ht_tensor *ht_pixel_shuffle(ht_tensor *x, int64_t factor);

/* Returns (..., C r^2, H, W) for x (..., C, H r, W r): the inverse of ht_pixel_shuffle with the
 * same factor, whose comment describes x and the result. */
HT_API ht_tensor *ht_pixel_unshuffle(ht_tensor *x, int64_t factor);

/* Returns x (N, C, ...) with channel c = i C / groups + j at index j groups + i.
 *
 * x: 3 to 6 axes.
 * groups: a divisor of C.
 * Result: a copy, or a view of x where strides allow it (1 or C groups). It is split as x. But if x
 * is split along C, and groups is neither 1 nor C, ht_reshape moves the split to axis 0.
 * Errors: HT_ERR_SHAPE for groups that do not divide C, also below 1.
 * Source: torch.nn.functional.channel_shuffle. */
HT_API ht_tensor *ht_channel_shuffle(ht_tensor *x, int64_t groups);

/* How ht_upsample finds a value: the element at floor(i / scale), the one at floor((i + 1/2) /
 * scale), linear interpolation (bilinear, trilinear), or cubic interpolation (bicubic) along each
 * axis. */
typedef enum ht_upsample_mode {
    HT_UPSAMPLE_NEAREST,
    HT_UPSAMPLE_NEAREST_EXACT,
    HT_UPSAMPLE_LINEAR,
    HT_UPSAMPLE_CUBIC
} ht_upsample_mode;

/* Options of ht_upsample. Each field begins with its default. Give lengths or scales. */
typedef struct ht_upsample_options {
    size_t size;           /* set by ht_upsample_options_default */
    int64_t length[3];     /* 0: of the result, for each axis after the channels */
    double scale[3];       /* 0: the length is floor(length of x * scale) */
    ht_upsample_mode mode; /* HT_UPSAMPLE_NEAREST */
    bool align_corners;    /* false; true: the outer elements of both meet. Linear, cubic */
} ht_upsample_options;

/* Returns the default options, with size set. Not collective. */
HT_API ht_upsample_options ht_upsample_options_default(void);

/* Returns x with the axes after the channels resized.
 *
 * PyTorch's HT_UPSAMPLE_NEAREST differs for (N, C, H, W) and a scale that is not the ratio of the
 * lengths: it copies an axis of equal lengths, and doubles each element for twice the length.
 * x: (N, C, L), (N, C, H, W) or (N, C, D, H, W), floating.
 * options: the length or the scale of each axis after the channels, and the mode; not NULL.
 * Result: split as x; balanced along a split axis that is resized.
 * Errors: HT_ERR_ARGUMENT for an axis with both or neither, one below 0 or from 2^31 on, another
 * mode, and align_corners with another mode than linear and cubic. HT_ERR_DTYPE unless x is
 * floating. HT_ERR_SHAPE also if an axis after the channels is empty, or would be, or would be
 * longer than that.
 * Source: torch.nn.functional.interpolate. */
HT_API ht_tensor *ht_upsample(ht_tensor *x, const ht_upsample_options *options);

/* A layer of ht_pad_ext with HT_PAD_REFLECT along the last axis. Its x is (C, L) or (N, C, L), else
 * HT_ERR_SHAPE of the forward pass.
 *
 * count, widths: 1 number for all sides, or a pair for each axis, in their order: HT_SHAPE(1),
 *   HT_SHAPE(1, 2). torch.nn takes the pairs from the last axis on. They are copied. */
HT_API ht_module *ht_nn_reflection_pad1d(int count, const int64_t widths[]);
/* ht_pad_ext of (C, H, W) or (N, C, H, W), with a count of 1 or 4 widths. */
HT_API ht_module *ht_nn_reflection_pad2d(int count, const int64_t widths[]);
/* ht_pad_ext of (C, D, H, W) or (N, C, D, H, W), with a count of 1 or 6 widths. */
HT_API ht_module *ht_nn_reflection_pad3d(int count, const int64_t widths[]);

/* ht_nn_reflection_pad1d with HT_PAD_REPLICATE and its count of 1 or 2 widths. */
HT_API ht_module *ht_nn_replication_pad1d(int count, const int64_t widths[]);
/* ht_nn_reflection_pad2d with HT_PAD_REPLICATE and its count of 1 or 4 widths. */
HT_API ht_module *ht_nn_replication_pad2d(int count, const int64_t widths[]);
/* ht_nn_reflection_pad3d with HT_PAD_REPLICATE and its count of 1 or 6 widths. */
HT_API ht_module *ht_nn_replication_pad3d(int count, const int64_t widths[]);

/* ht_nn_reflection_pad1d with HT_PAD_CIRCULAR and its count of 1 or 2 widths. */
HT_API ht_module *ht_nn_circular_pad1d(int count, const int64_t widths[]);
/* ht_nn_reflection_pad2d with HT_PAD_CIRCULAR and its count of 1 or 4 widths. */
HT_API ht_module *ht_nn_circular_pad2d(int count, const int64_t widths[]);
/* ht_nn_reflection_pad3d with HT_PAD_CIRCULAR and its count of 1 or 6 widths. */
HT_API ht_module *ht_nn_circular_pad3d(int count, const int64_t widths[]);

/* A layer of ht_pad_ext with 0 along the last axis, with a count of 1 or 2 widths. x may have any
 * axes before it; fewer axes than are padded are HT_ERR_SHAPE of the forward pass. */
HT_API ht_module *ht_nn_zero_pad1d(int count, const int64_t widths[]);
/* ht_nn_zero_pad1d along the last 2 axes, with a count of 1 or 4 widths. */
HT_API ht_module *ht_nn_zero_pad2d(int count, const int64_t widths[]);
/* ht_nn_zero_pad1d along the last 3 axes, with a count of 1 or 6 widths. */
HT_API ht_module *ht_nn_zero_pad3d(int count, const int64_t widths[]);

/* ht_nn_zero_pad1d with value instead of 0, and a count of 1 or 2 widths. value is a real that is
 * brought into the range of integers (ht/number.h). */
HT_API ht_module *ht_nn_constant_pad1d(int count, const int64_t widths[], double value);
/* ht_nn_constant_pad1d along the last 2 axes, with value and a count of 1 or 4 widths. */
HT_API ht_module *ht_nn_constant_pad2d(int count, const int64_t widths[], double value);
/* ht_nn_constant_pad1d along the last 3 axes, with value and a count of 1 or 6 widths. */
HT_API ht_module *ht_nn_constant_pad3d(int count, const int64_t widths[], double value);

/* ht_pixel_shuffle by factor as a layer. */
HT_API ht_module *ht_nn_pixel_shuffle(int64_t factor);
/* ht_pixel_unshuffle by factor as a layer. */
HT_API ht_module *ht_nn_pixel_unshuffle(int64_t factor);
/* ht_channel_shuffle of groups as a layer; groups below 1 are HT_ERR_ARGUMENT here. */
HT_API ht_module *ht_nn_channel_shuffle(int64_t groups);

/* A layer of ht_upsample with these options, which are copied; NULL is HT_ERR_ARGUMENT. The forward
 * pass checks the rest. */
HT_API ht_module *ht_nn_upsample(const ht_upsample_options *options);

HT_END_DECLS
#endif
