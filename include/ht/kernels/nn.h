/* SPDX-License-Identifier: MIT
 *
 * Products, convolutions and what layers need. A row: name, and the struct that it is given. */
#ifndef HT_KERNELS_NN_H
#define HT_KERNELS_NN_H

#include "ht/kernels/random.h"

/* clang-format off */
#define HT_NN_KERNELS(X) \
    X(GEMM, ht_gemm_call) \
    X(CONV_FORWARD, ht_conv_call) X(CONV_BACKWARD_DATA, ht_conv_call) X(CONV_BACKWARD_WEIGHT, ht_conv_call) \
    X(MAX_POOL_FORWARD, ht_pool_call) X(MAX_POOL_BACKWARD, ht_pool_call) \
    X(NORM_MOMENTS, ht_norm_call) X(NORM_PREPARE, ht_norm_channels_call) X(NORM_FORWARD, ht_norm_call) \
    X(NORM_SUMS, ht_norm_call) X(NORM_BACKWARD, ht_norm_call) \
    X(LOG_SOFTMAX_FORWARD, ht_rows_call) X(LOG_SOFTMAX_BACKWARD, ht_rows_call) \
    X(NLL_FORWARD, ht_rows_call) X(NLL_BACKWARD, ht_rows_call) \
    X(DROPOUT_FORWARD, ht_dropout_call) X(DROPOUT_BACKWARD, ht_dropout_call)
/* clang-format on */

typedef enum ht_epilogue { HT_EPILOGUE_NONE, HT_EPILOGUE_RELU } ht_epilogue;

/* For each i < batch: c_i (m, n) = epilogue(alpha op(a_i) op(b_i) + beta c_i + bias), row-major
 * with leading dimensions; op transposes when asked; bias (n), unless absent, is added to every row
 * of all. `batch` products are *_step elements apart; a step of 0 is the same matrix for all. Every
 * dtype but bool. compute: the dtype in which products are taken and summed, at least as wide as
 * the operands'; of float16 and bfloat16 HT_FLOAT32, else the dtype itself. Integers wrap around,
 * with alpha 1, beta 0 or 1, and neither bias nor epilogue. */
typedef struct ht_gemm_call {
    ht_kernel_call call;
    ht_kernel_operand a, b, bias, c;
    ht_dtype compute;
    ht_epilogue epilogue;
    bool trans_a, trans_b;
    int64_t m, n, k, lda, ldb, ldc;
    int64_t batch, a_step, b_step, c_step;
    double alpha, beta;
} ht_gemm_call;

enum { HT_SPATIAL = 3 };

/* Convolution over `spatial` axes, slowest first (height before width): x (n, c, in...), weight
 * (o, c / groups, kernel...) row-major, bias (o), y (n, o, out...); x and y by strides (row-major
 * or channels-last). FORWARD writes y from x, weight, bias (or none); BACKWARD_DATA x from y and
 * weight; BACKWARD_WEIGHT weight and bias (each unless absent) from x and y: all as gradients. */
typedef struct ht_conv_call {
    ht_kernel_call call;
    ht_kernel_operand x, weight, bias, y;
    int spatial;
    int64_t n, c, o, groups;
    int64_t in[HT_SPATIAL], kernel[HT_SPATIAL], out[HT_SPATIAL];
    int64_t stride[HT_SPATIAL], padding[HT_SPATIAL], dilation[HT_SPATIAL];
    int64_t x_stride[2 + HT_SPATIAL], y_stride[2 + HT_SPATIAL];
} ht_conv_call;

/* Max pooling over `spatial` axes, x (n, c, in...) to y (n, c, out...), by strides; padding counts
 * as -inf. `index` is int32, row-major (n, c, out...) when y is row-major and channels-last when y
 * is; it holds the row-major position in `in` of the chosen element, the first of equals; NaN wins.
 * FORWARD writes y and index from x, BACKWARD x from y and index, as gradients. */
typedef struct ht_pool_call {
    ht_kernel_call call;
    ht_kernel_operand x, y, index;
    int spatial;
    int64_t n, c;
    int64_t in[HT_SPATIAL], kernel[HT_SPATIAL], out[HT_SPATIAL];
    int64_t stride[HT_SPATIAL], padding[HT_SPATIAL], dilation[HT_SPATIAL];
    int64_t x_stride[2 + HT_SPATIAL], y_stride[2 + HT_SPATIAL];
} ht_pool_call;

/* Normalisation of `channels` over the rest of x, which is contiguous as (outer, channels, inner):
 * row-major (n, c, ...) has inner = pixels; channels-last images and (n, c) have inner = 1.
 *
 * What is kept of channels is float64, in device memory. `moments` (2, channels): mean, and
 * M2 = sum (x - mean)^2, both 0 without an element. `channel` (4, channels): mean,
 * 1 / sqrt(variance + eps), scale, shift. `sums` (2, channels): s1 = sum dy,
 * s2 = sum dy (x - mean).
 *
 *   MOMENTS   moments from x
 *   FORWARD   y = (x - mean) scale + shift, from x and channel
 *   SUMS      sums from x, y (dy) and channel
 *   BACKWARD  dx = scale (dy - s1 / count - (x - mean) s2 / (count (variance + eps))), or
 *             scale dy if count is 0; from x, y (dy), channel and sums */
typedef struct ht_norm_call {
    ht_kernel_call call;
    ht_kernel_operand x, y, dx, moments, channel, sums;
    int64_t outer, channels, inner;
    double count;
} ht_norm_call;

/* PREPARE: `channel` of ht_norm_call from moments over `count` values each, with variance M2 /
 * count (1 where count is 0), or where moments is absent from the running statistics; weight, bias:
 * absent is 1, 0. Where `track`, the running statistics that are there follow: r += momentum
 * (batch's - r), the variance's being M2 / (count - 1); not where count is 0. Everything but
 * moments and channel is (channels) of the kernel's dtype; computed in float64, rounded once. */
typedef struct ht_norm_channels_call {
    ht_kernel_call call;
    ht_kernel_operand moments, weight, bias, running_mean, running_var, channel;
    int64_t channels;
    double count, eps, momentum;
    bool track;
} ht_norm_channels_call;

/* `rows` rows of `columns`, row-major; target is int64. LOG_SOFTMAX_FORWARD writes y from x;
 * BACKWARD x from y and dy. NLL_FORWARD: y[i] = -x[i][target[i]], 0 where target is ignore; a
 * target outside of the columns is an error in the data. BACKWARD: x = 0 but x[i][target[i]] =
 * -dy[i]. */
typedef struct ht_rows_call {
    ht_kernel_call call;
    ht_kernel_operand x, y, dy, target;
    int64_t rows, columns, ignore;
} ht_rows_call;

/* mask = the draw of an element >= draw.a = p; y = x mask / (1 - p), draw.outer * draw.inner
 * contiguous elements; mask is uint8. BACKWARD: the same from the mask that there is. */
typedef struct ht_dropout_call {
    ht_kernel_call call;
    ht_kernel_operand x, y, mask;
    ht_random_draw draw;
} ht_dropout_call;

#define HT_KERNEL_ID(name, arguments) HT_KERNEL_##name,
enum { HT_KERNEL_BEFORE_NN = HT_KERNELS_NN - 1, HT_NN_KERNELS(HT_KERNEL_ID) HT_KERNELS_NN_END };
#undef HT_KERNEL_ID

#endif
