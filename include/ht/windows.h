/* SPDX-License-Identifier: MIT
 *
 * Convolution and pooling over 1 to 3 axes, as functions and as layers. ht_conv2d and ht_max_pool2d
 * are in ht/functional.h. Source: torch.nn, torch.nn.functional.
 *
 * Parameters that many functions share:
 *     x: (N, C, L), (N, C, H, W) or (N, C, D, H, W), floating; it may be split along the batch
 *     (axis 0). Convolutions and layers also take one sample, an x without N that is not split.
 *     options: NULL means the defaults. Arrays have a number for each axis after the channels, the
 *     slowest first; the others are not read.
 *
 * Differentiable. Logically collective; gradients of weights are summed over the ranks of a split
 * x.
 * Result: scoped, with the dtype and the split of x, in its slabs or in canonical ones. If x is
 * unbalanced, a call may thus be collective.
 * Layers are owned, with process-local float32 parameters. Those that have parameters take
 * process-local batches (ht/nn.h). Constructors are not collective.
 * Errors: HT_ERR_SHAPE for operands that do not fit. HT_ERR_DTYPE for another dtype.
 * HT_ERR_ARGUMENT for a setting out of range or an operand with another split. HT_ERR_COMM for
 * operands on different communicators. Groups that do not divide the channels, or below 1, are
 * HT_ERR_SHAPE of a function and HT_ERR_ARGUMENT of a constructor. A constructor checks channels,
 * kernels, lengths, ratios and groups. Other settings are checked in the forward pass at the
 * latest. Constructors copy options and lengths. */
#ifndef HT_WINDOWS_H
#define HT_WINDOWS_H

#include "ht/module.h"
#include "ht/padding.h"

HT_BEGIN_DECLS

/* Options of convolutions. Each field begins with its default. */
typedef struct ht_conv_options {
    size_t size;               /* set by ht_conv_options_default */
    int64_t stride[3];         /* 1; at least 1 */
    int64_t padding[3];        /* 0; at least 0 */
    int64_t dilation[3];       /* 1; at least 1 */
    int64_t output_padding[3]; /* 0. Transposed only, else HT_ERR_ARGUMENT: more elements after the
                                  others, fewer than the larger one of stride and dilation */
    int64_t groups;            /* 1; divides the channels of x and of the result */
    bool same;                 /* false; true: the padding that keeps lengths, in place of
                                  `padding`; an odd element goes after x. Only for a stride of 1,
                                  and not transposed */
    ht_pad_mode padding_mode;  /* HT_PAD_CONSTANT, with 0. Not transposed */
} ht_conv_options;

/* Returns the default options, with size set. Not collective. */
HT_API ht_conv_options ht_conv_options_default(void);

/* Convolution over one axis: x (N, C, L), weight (O, C / groups, k), bias (O) or NULL, options ->
 * (N, O, L').
 *
 *     L' = floor((L + 2 padding - dilation (k - 1) - 1) / stride) + 1
 *
 * Errors: HT_ERR_SHAPE also if no window fits. */
HT_API ht_tensor *ht_conv1d(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                            const ht_conv_options *options);

/* ht_conv2d with all options: x (N, C, H, W), weight (O, C / groups, kh, kw), bias (O) or NULL.
 *
 * Errors: those of ht_conv1d. */
HT_API ht_tensor *ht_conv2d_ext(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                                const ht_conv_options *options);

/* Convolution over three axes: x (N, C, D, H, W), weight (O, C / groups, kd, kh, kw), bias (O) or
 * NULL, options -> (N, O, D', H', W'). The windows along D are copied.
 *
 * Errors: those of ht_conv1d. */
HT_API ht_tensor *ht_conv3d(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                            const ht_conv_options *options);

/* The gradient of ht_conv1d with respect to its input: (N, C, L) -> (N, O, L').
 *
 *     L' = (L - 1) stride - 2 padding + dilation (k - 1) + output_padding + 1
 *
 * It is a convolution of x with stride - 1 zeros between its elements.
 * x: (N, C, L).
 * weight: (C, O / groups, k).
 * bias: (O) or NULL.
 * options: NULL takes the defaults. same and padding_mode are HT_ERR_ARGUMENT.
 * Errors: HT_ERR_SHAPE also if L' is below 1. */
HT_API ht_tensor *ht_conv_transpose1d(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                                      const ht_conv_options *options);

/* ht_conv_transpose1d over two axes of x (N, C, H, W), with weight (C, O / groups, kh, kw), bias
 * and options. */
HT_API ht_tensor *ht_conv_transpose2d(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                                      const ht_conv_options *options);

/* ht_conv_transpose1d over three axes of x (N, C, D, H, W), with weight (C, O / groups, kd, kh,
 * kw), bias and options. */
HT_API ht_tensor *ht_conv_transpose3d(ht_tensor *x, ht_tensor *weight, ht_tensor *bias,
                                      const ht_conv_options *options);

/* Options of pooling. Each field begins with its default. */
typedef struct ht_pool_options {
    size_t size;              /* set by ht_pool_options_default */
    int64_t kernel[3];        /* 1; at least 1 */
    int64_t stride[3];        /* 0: that of the kernel */
    int64_t padding[3];       /* 0; at most half the kernel. Not LP pooling */
    int64_t dilation[3];      /* 1; at least 1. Maxima; the other pooling takes 1 only */
    bool ceil_mode;           /* false; true: a window that begins inside may end outside */
    bool count_include_pad;   /* true: padding counts in means, as 0 */
    int64_t divisor_override; /* 0: the number of elements of a window. The divisor of means,
                                 of any sign */
    bool return_indices;      /* false; true: a layer of maxima gives a list, result and indices */
} ht_pool_options;

/* Returns the default options, with size set. Not collective. */
HT_API ht_pool_options ht_pool_options_default(void);

/* Means of x over windows: (N, C, L) -> (N, C, L'), and likewise over two and three axes.
 *
 *     L' = floor((L + 2 padding - dilation (kernel - 1) - 1) / stride) + 1
 *
 * With ceil_mode it rounds up, unless the last window would begin in the padding after x.
 * options: the windows.
 * Errors: HT_ERR_SHAPE also if no window fits, or without channels.
 * Source: torch.nn.functional.avg_pool1d, avg_pool2d, avg_pool3d. */
HT_API ht_tensor *ht_avg_pool(ht_tensor *x, const ht_pool_options *options);

/* Maxima of x over windows, and NaN where a window has one; the gradient goes to the first of equal
 * elements.
 *
 * options: the windows. Shapes and errors are those of ht_avg_pool.
 * Source: torch.nn.functional.max_pool1d, max_pool2d, max_pool3d. */
HT_API ht_tensor *ht_max_pool(ht_tensor *x, const ht_pool_options *options);

/* ht_max_pool of x with options, and where each maximum stands.
 *
 * indices: receives int64 in the shape and slabs of the result, not differentiable: the index in
 * the input plane, x[n, c, ...] in row-major order, of the first largest element. NULL: not wanted.
 * Errors: HT_ERR_SHAPE also if indices are wanted and a window has padding alone.
 * Source: torch.nn.functional.max_pool1d, max_pool2d, max_pool3d with return_indices. */
HT_API ht_tensor *ht_max_pool_ext(ht_tensor *x, const ht_pool_options *options,
                                  ht_tensor **indices);

/* The inverse of ht_max_pool_ext: zeros, and the elements of x at indices.
 *
 * If indices name a position several times, the last element of x stays, and the others have a
 * gradient of 0.
 * x: (N, C, L').
 * indices: integers in the shape of x, from 0 to the length of a plane of the result - 1.
 * options: kernel, stride and padding of the pooling; others are not read.
 * length: L for each axis after the channels, less than a stride away from the usual length. NULL
 * or 0: the usual length, (L' - 1) stride - 2 padding + kernel.
 * Collective if x or indices is split.
 * Result: (N, C, L), in the slabs of x.
 * Errors: HT_ERR_ARGUMENT also for an index out of range, HT_ERR_SHAPE also for another length.
 * Source: torch.nn.functional.max_unpool1d, max_unpool2d, max_unpool3d. */
HT_API ht_tensor *ht_max_unpool(ht_tensor *x, ht_tensor *indices, const ht_pool_options *options,
                                const int64_t length[]);

/* Options of fractional pooling. Each field begins with its default. */
typedef struct ht_fractional_options {
    size_t size;         /* set by ht_fractional_options_default */
    int64_t kernel[3];   /* 1; at least 1 */
    int64_t length[3];   /* 0: by ratio; at most L - kernel + 1 */
    double ratio[3];     /* 0; between 0 and 1: the length is floor(ratio L) */
    uint64_t seed, draw; /* 0; another draw of the same seed gives other windows. Not layers */
    bool return_indices; /* false; true: a layer gives a list, the result and its indices */
} ht_fractional_options;

/* Returns the default options, with size set. Not collective. */
HT_API ht_fractional_options ht_fractional_options_default(void);

/* Maxima of x over L' windows that begin at random steps, other ones in each plane x[n, c].
 *
 * Window j begins at floor((j + s) a) - floor(s a), where a = (L - kernel) / (L' - 1) and s is a
 * sample; the last one begins at L - kernel. Computed in float64 for a float64 x, else in float32.
 * samples: (N, C, axes), floating, of any split, in [0, 1), which is not checked: s along D, H, W,
 * or W, H, or L. NULL: drawn from seed, draw and the global index.
 * options: the windows. The defaults have neither length nor ratio, so NULL is an error.
 * indices: as for ht_max_pool_ext.
 * Collective if samples have another split or other slabs than x.
 * Errors: HT_ERR_SHAPE for a kernel, length or ratio out of range, and if length is 0 without a
 * ratio.
 * Source: torch.nn.functional.fractional_max_pool2d, fractional_max_pool3d. */
HT_API ht_tensor *ht_fractional_max_pool(ht_tensor *x, ht_tensor *samples,
                                         const ht_fractional_options *options, ht_tensor **indices);

/* (mean x^p times the elements of a kernel)^(1 / p) over windows of x: (sum x^p)^(1 / p), unless
 * ceil_mode makes a window end outside. A fractional power of a negative number is NaN.
 *
 * The gradient is 0 where the mean is 0.
 * p: neither 0 nor NaN.
 * options: the windows, without padding; those of means are not read.
 * Errors: those of ht_avg_pool.
 * Source: torch.nn.functional.lp_pool1d, lp_pool2d, lp_pool3d. */
HT_API ht_tensor *ht_lp_pool(ht_tensor *x, double p, const ht_pool_options *options);

/* Means of x over windows from floor(j L / L') to ceil((j + 1) L / L').
 *
 * length: L' for each axis after the channels, up to 2^31 - 1; 0 keeps that of x. Not NULL.
 * Result: x itself if no length changes.
 * Errors: HT_ERR_SHAPE also if an axis after the channels is empty, even one that is kept.
 * Source: torch.nn.functional.adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d. */
HT_API ht_tensor *ht_adaptive_avg_pool(ht_tensor *x, const int64_t length[]);

/* Maxima of x over the windows of ht_adaptive_avg_pool with this length, without their indices. NaN
 * and gradients as for ht_max_pool.
 *
 * Result: x itself if no length changes.
 * Errors: those of ht_adaptive_avg_pool; HT_ERR_SHAPE also without channels. */
HT_API ht_tensor *ht_adaptive_max_pool(ht_tensor *x, const int64_t length[]);

/* Returns the windows of images x (N, C, H, W) as columns: (N, C kh kw, windows).
 *
 * options: kernel; stride, where 0 means 1; padding, of any length; and dilation. Others keep their
 * defaults.
 * Result: a copy, or a view of x where strides allow it (adjacent windows that cover x).
 * Errors: HT_ERR_SHAPE also if no window fits. HT_ERR_ARGUMENT also for another option than these.
 * Source: torch.nn.functional.unfold. */
HT_API ht_tensor *ht_unfold(ht_tensor *x, const ht_pool_options *options);

/* Returns images (N, C, H, W): each element is the sum of the elements of x (N, C kh kw, windows)
 * that ht_unfold would take from it, or 0.
 *
 * It is the gradient of ht_unfold. Elements of the padding are left out.
 * length: H, W, of images in which at least one window fits; not NULL.
 * options: those of the ht_unfold.
 * Result: a copy.
 * Errors: those of ht_unfold. HT_ERR_SHAPE also if images of this length have another number of
 * windows.
 * Source: torch.nn.functional.fold. */
HT_API ht_tensor *ht_fold(ht_tensor *x, const int64_t length[2], const ht_pool_options *options);

/* A layer of ht_conv1d, (N, in_channels, L) -> (N, out_channels, L'), with all settings.
 *
 * Parameters are uniform in +-1 / sqrt((in_channels / groups) kernel_size).
 * in_channels, out_channels, kernel_size: at least 1.
 * options: NULL takes the defaults. groups divides in_channels and out_channels.
 * bias: false leaves out the bias. */
HT_API ht_module *ht_nn_conv1d(int64_t in_channels, int64_t out_channels, int64_t kernel_size,
                               const ht_conv_options *options, bool bias);

/* A layer of ht_conv3d, (N, in_channels, D, H, W) -> (N, out_channels, D', H', W'), with cubic
 * kernels.
 *
 * Parameters are uniform in +-1 / sqrt((in_channels / groups) kernel_size^3).
 * in_channels, out_channels, kernel_size, options, bias: as for ht_nn_conv1d. */
HT_API ht_module *ht_nn_conv3d(int64_t in_channels, int64_t out_channels, int64_t kernel_size,
                               const ht_conv_options *options, bool bias);

/* A layer of ht_conv_transpose1d, (N, in_channels, L) -> (N, out_channels, L'), with all settings.
 *
 * Parameters are uniform in +-1 / sqrt((out_channels / groups) kernel_size).
 * in_channels, out_channels, kernel_size, options, bias: as for ht_nn_conv1d. */
HT_API ht_module *ht_nn_conv_transpose1d(int64_t in_channels, int64_t out_channels,
                                         int64_t kernel_size, const ht_conv_options *options,
                                         bool bias);

/* A layer of ht_conv_transpose2d, (N, in_channels, H, W) -> (N, out_channels, H', W'), with square
 * kernels.
 *
 * Parameters are uniform in +-1 / sqrt((out_channels / groups) kernel_size^2).
 * in_channels, out_channels, kernel_size, options, bias: as for ht_nn_conv1d. */
HT_API ht_module *ht_nn_conv_transpose2d(int64_t in_channels, int64_t out_channels,
                                         int64_t kernel_size, const ht_conv_options *options,
                                         bool bias);

/* A layer of ht_conv_transpose3d, (N, in_channels, D, H, W) -> (N, out_channels, D', H', W'), with
 * cubic kernels.
 *
 * Parameters are uniform in +-1 / sqrt((out_channels / groups) kernel_size^3).
 * in_channels, out_channels, kernel_size, options, bias: as for ht_nn_conv1d. */
HT_API ht_module *ht_nn_conv_transpose3d(int64_t in_channels, int64_t out_channels,
                                         int64_t kernel_size, const ht_conv_options *options,
                                         bool bias);

/* A layer of ht_avg_pool for x (N, C, L), with options. */
HT_API ht_module *ht_nn_avg_pool1d(const ht_pool_options *options);

/* A layer of ht_avg_pool for x (N, C, H, W), with options. */
HT_API ht_module *ht_nn_avg_pool2d(const ht_pool_options *options);

/* A layer of ht_avg_pool for x (N, C, D, H, W), with options. */
HT_API ht_module *ht_nn_avg_pool3d(const ht_pool_options *options);

/* A layer of ht_max_pool_ext for x (N, C, L), with options. */
HT_API ht_module *ht_nn_max_pool1d(const ht_pool_options *options);

/* A layer of ht_max_pool_ext for x (N, C, H, W), with options. */
HT_API ht_module *ht_nn_max_pool2d_ext(const ht_pool_options *options);

/* A layer of ht_max_pool_ext for x (N, C, D, H, W), with options. */
HT_API ht_module *ht_nn_max_pool3d(const ht_pool_options *options);

/* A layer of ht_max_unpool for a list of x (N, C, L') and its indices, with options and length;
 * NULL: the usual length. */
HT_API ht_module *ht_nn_max_unpool1d(const ht_pool_options *options, const int64_t length[1]);

/* A layer of ht_max_unpool for a list of x (N, C, H', W') and its indices, with options and length.
 */
HT_API ht_module *ht_nn_max_unpool2d(const ht_pool_options *options, const int64_t length[2]);

/* A layer of ht_max_unpool for a list of x (N, C, D', H', W') and its indices, with options and
 * length. */
HT_API ht_module *ht_nn_max_unpool3d(const ht_pool_options *options, const int64_t length[3]);

/* A layer of ht_fractional_max_pool for x (N, C, H, W), or a list of x and samples, with options.
 *
 * It draws samples in training and in evaluation, from ht_nn_seed as dropout does.
 * options: not NULL; a length or a ratio for each axis.
 * Errors: HT_ERR_ARGUMENT for other options. */
HT_API ht_module *ht_nn_fractional_max_pool2d(const ht_fractional_options *options);

/* A layer of ht_fractional_max_pool for x (N, C, D, H, W), or a list of x and samples, with
 * options: drawn as for ht_nn_fractional_max_pool2d. */
HT_API ht_module *ht_nn_fractional_max_pool3d(const ht_fractional_options *options);

/* A layer of ht_lp_pool for x (N, C, L), with p and options. */
HT_API ht_module *ht_nn_lp_pool1d(double p, const ht_pool_options *options);

/* A layer of ht_lp_pool for x (N, C, H, W), with p and options. */
HT_API ht_module *ht_nn_lp_pool2d(double p, const ht_pool_options *options);

/* A layer of ht_lp_pool for x (N, C, D, H, W), with p and options. */
HT_API ht_module *ht_nn_lp_pool3d(double p, const ht_pool_options *options);

/* A layer of ht_adaptive_avg_pool for x (N, C, L), to length, which is copied; not NULL. */
HT_API ht_module *ht_nn_adaptive_avg_pool1d(const int64_t length[1]);

/* A layer of ht_adaptive_avg_pool for x (N, C, H, W), to length. */
HT_API ht_module *ht_nn_adaptive_avg_pool2d(const int64_t length[2]);

/* A layer of ht_adaptive_avg_pool for x (N, C, D, H, W), to length. */
HT_API ht_module *ht_nn_adaptive_avg_pool3d(const int64_t length[3]);

/* A layer of ht_adaptive_max_pool for x (N, C, L), to length. */
HT_API ht_module *ht_nn_adaptive_max_pool1d(const int64_t length[1]);

/* A layer of ht_adaptive_max_pool for x (N, C, H, W), to length. */
HT_API ht_module *ht_nn_adaptive_max_pool2d(const int64_t length[2]);

/* A layer of ht_adaptive_max_pool for x (N, C, D, H, W), to length. */
HT_API ht_module *ht_nn_adaptive_max_pool3d(const int64_t length[3]);

/* A layer of ht_unfold, with options. */
HT_API ht_module *ht_nn_unfold(const ht_pool_options *options);

/* A layer of ht_fold to length, with options. length is copied; not NULL. */
HT_API ht_module *ht_nn_fold(const int64_t length[2], const ht_pool_options *options);

HT_END_DECLS
#endif
