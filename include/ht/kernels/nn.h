/* SPDX-License-Identifier: MIT
 *
 * Products, convolutions and other kernels of layers. A row of the list has the name of a kernel
 * and the struct of its arguments. */
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
    X(SOFTMAX_FORWARD, ht_rows_call) X(SOFTMAX_BACKWARD, ht_rows_call) \
    X(LOG_SOFTMAX_FORWARD, ht_rows_call) X(LOG_SOFTMAX_BACKWARD, ht_rows_call) \
    X(NLL_FORWARD, ht_rows_call) X(NLL_BACKWARD, ht_rows_call) \
    X(DROPOUT_FORWARD, ht_dropout_call) X(DROPOUT_BACKWARD, ht_dropout_call) \
    X(ATTENTION_FORWARD, ht_attention_call) X(ATTENTION_BACKWARD, ht_attention_call) \
    X(CELL_FORWARD, ht_cell_call) X(CELL_BACKWARD, ht_cell_call) \
    X(CTC_FORWARD, ht_ctc_call) X(CTC_BACKWARD, ht_ctc_call) \
    X(ROW_NORM_FORWARD, ht_row_norm_call) X(ROW_NORM_BACKWARD, ht_row_norm_call) \
    X(CROSS_ENTROPY_FORWARD, ht_cross_entropy_call) X(CROSS_ENTROPY_BACKWARD, ht_cross_entropy_call)
/* clang-format on */

typedef enum ht_epilogue { HT_EPILOGUE_NONE, HT_EPILOGUE_RELU } ht_epilogue;

/* c_i (m, n) = epilogue(alpha op(a_i) op(b_i) + beta c_i + bias) for each i < batch.
 *
 * Matrices are row-major with leading dimensions lda, ldb and ldc. op transposes if trans_a or
 * trans_b is set. bias (n), unless absent, is added to every row of all c_i. Matrices of the batch
 * are *_step elements apart; with a step of 0 all use the same matrix.
 * Every dtype but bool has this kernel. Products are taken and summed in `compute`, which is at
 * least as wide as the dtype: HT_FLOAT32 for float16 and bfloat16, else the dtype itself. Integers
 * wrap around; they come with alpha 1, beta 0 or 1, and without bias and epilogue. */
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

/* Convolution over `spatial` axes, slowest first (height before width).
 *
 * x is (n, c, in...) and y (n, o, out...), with strides (row-major or channels-last). weight is
 * (o, c / groups, kernel...), row-major. bias is (o).
 *   FORWARD          writes y from x, weight and bias; bias may be absent;
 *   BACKWARD_DATA    writes the gradient x from the gradient y and weight;
 *   BACKWARD_WEIGHT  writes the gradients weight and bias from x and the gradient y; each of the
 *                    two may be absent. */
typedef struct ht_conv_call {
    ht_kernel_call call;
    ht_kernel_operand x, weight, bias, y;
    int spatial;
    int64_t n, c, o, groups;
    int64_t in[HT_SPATIAL], kernel[HT_SPATIAL], out[HT_SPATIAL];
    int64_t stride[HT_SPATIAL], padding[HT_SPATIAL], dilation[HT_SPATIAL];
    int64_t x_stride[2 + HT_SPATIAL], y_stride[2 + HT_SPATIAL];
} ht_conv_call;

/* Max pooling of x (n, c, in...) to y (n, c, out...) over `spatial` axes, with strides.
 *
 * Padding counts as -inf. NaN is greater than all numbers. `index` (n, c, out...) is int32,
 * row-major if y is row-major, and channels-last if y is. It has the row-major position in `in` of
 * the chosen element: the first one of equal elements.
 *   FORWARD   writes y and index from x;
 *   BACKWARD  writes the gradient x from the gradient y and index. */
typedef struct ht_pool_call {
    ht_kernel_call call;
    ht_kernel_operand x, y, index;
    int spatial;
    int64_t n, c;
    int64_t in[HT_SPATIAL], kernel[HT_SPATIAL], out[HT_SPATIAL];
    int64_t stride[HT_SPATIAL], padding[HT_SPATIAL], dilation[HT_SPATIAL];
    int64_t x_stride[2 + HT_SPATIAL], y_stride[2 + HT_SPATIAL];
} ht_pool_call;

/* Normalisation of each of `channels` channels of x over all other axes.
 *
 * x is contiguous as (outer, channels, inner). Row-major (n, c, ...) has inner = pixels;
 * channels-last images and (n, c) have inner = 1.
 * Values of channels are float64, in device memory:
 *   moments (2, channels)   mean, and M2 = sum (x - mean)^2; both 0 without elements;
 *   channel (4, channels)   mean, 1 / sqrt(variance + eps), scale, shift;
 *   sums (2, channels)      s1 = sum dy, s2 = sum dy (x - mean).
 * Kernels:
 *   MOMENTS   writes moments from x;
 *   FORWARD   writes y = (x - mean) scale + shift, from x and channel;
 *   SUMS      writes sums from x, y (dy) and channel;
 *   BACKWARD  writes dx from x, y (dy), channel and sums: scale dy if count is 0, else
 *             scale (dy - s1 / count - (x - mean) s2 / (count (variance + eps))). */
typedef struct ht_norm_call {
    ht_kernel_call call;
    ht_kernel_operand x, y, dx, moments, channel, sums;
    int64_t outer, channels, inner;
    double count;
} ht_norm_call;

/* NORM_PREPARE writes `channel` of ht_norm_call from moments, weight and bias.
 *
 * The moments are those of `count` values for each channel: the variance is M2 / count, or 1 if
 * count is 0. If moments is absent, the running statistics give mean and variance. An absent weight
 * counts as 1, and an absent bias as 0.
 * If `track` is set and count is not 0, running statistics that are present change by
 * r += momentum (batch - r). The batch's variance there is M2 / (count - 1).
 * Operands other than moments and channel are (channels), of the kernel's dtype. Values are
 * computed in float64 and rounded once. */
typedef struct ht_norm_channels_call {
    ht_kernel_call call;
    ht_kernel_operand moments, weight, bias, running_mean, running_var, channel;
    int64_t channels;
    double count, eps, momentum;
    bool track;
} ht_norm_channels_call;

/* Normalisation of each row of x, which is contiguous as (outer, groups, channels, inner): a row is
 * (channels, inner).
 *
 * weight and bias are (groups, channels), and may be absent; they are of the kernel's dtype. With
 * `root_mean_square` the mean counts as 0. Values of float64:
 *   stats (2, outer, groups)             mean, and 1 / sqrt(variance + eps);
 *   dweight and dbias (groups, channels) sums over outer and inner; each may be absent.
 * Kernels:
 *   ROW_NORM_FORWARD   writes stats and y = (x - mean) / sqrt(variance + eps) weight + bias, from x;
 *   ROW_NORM_BACKWARD  writes the gradients dx, which may be absent, dweight and dbias, from x, y
 *                      (dy), weight and stats. */
typedef struct ht_row_norm_call {
    ht_kernel_call call;
    ht_kernel_operand x, y, dx, weight, bias, stats, dweight, dbias;
    int64_t outer, groups, channels, inner;
    double eps;
    bool root_mean_square;
} ht_row_norm_call;
enum { HT_ROW_NORM_OPERANDS = 8 };

/* Functions of the rows of a row-major matrix (rows, columns); target is int64.
 *   SOFTMAX_FORWARD, LOG_SOFTMAX_FORWARD    write y from x;
 *   SOFTMAX_BACKWARD, LOG_SOFTMAX_BACKWARD  write the gradient x from y and dy;
 *   NLL_FORWARD           y[i] = -x[i][target[i]], or 0 if target[i] is `ignore`; another target
 *                         outside of the columns is an error in the data;
 *   NLL_BACKWARD          x[i][target[i]] = -dy[i]; other elements of x are 0. */
typedef struct ht_rows_call {
    ht_kernel_call call;
    ht_kernel_operand x, y, dy, target;
    int64_t rows, columns, ignore;
} ht_rows_call;

/* The negative log likelihood of the classes target (rows), int64, for logits x (rows, columns),
 * row-major.
 *   CROSS_ENTROPY_FORWARD   writes loss[i] = log(sum_j exp(x[i][j])) - x[i][target[i]], or 0 if
 *                           target[i] is `ignore`; another target outside of the columns is an error
 *                           in the data. Writes stats (2, rows), float64: the largest element m of
 *                           a row, and log(sum_j exp(x[i][j] - m)); not for ignored rows;
 *   CROSS_ENTROPY_BACKWARD  writes the gradient dx from x, stats, target and dloss. */
typedef struct ht_cross_entropy_call {
    ht_kernel_call call;
    ht_kernel_operand x, target, loss, stats, dloss, dx;
    int64_t rows, columns, ignore;
} ht_cross_entropy_call;
enum { HT_CROSS_ENTROPY_OPERANDS = 6 };

/* y = x mask / (1 - p) with p = draw.a, for draw.outer * draw.inner contiguous elements.
 *   DROPOUT_FORWARD   writes mask, uint8: 1 if the draw of the element is at least p, else 0;
 *   DROPOUT_BACKWARD  reads mask. */
typedef struct ht_dropout_call {
    ht_kernel_call call;
    ht_kernel_operand x, y, mask;
    ht_random_draw draw;
} ht_dropout_call;

/* y[b] = dropout(softmax(scale q[b] k[b / k_group]^T + mask)) v[b / v_group] for each b < batch.
 *
 * Matrices are contiguous: q (batch, l, e), k (batch / k_group, s, e), v (batch / v_group, s, ev),
 * and y (batch, l, ev). No kernel holds an (l, s) matrix: it works on tiles of it.
 * mask, unless absent, has the axes (lead..., l, s), with strides in mask_stride; the last one is
 * 1. The lengths of the `leads` axes before the last two are in `lead`; their product is batch.
 * mask has the kernel's dtype, or it is uint8 if mask_is_bool is set: 0 stands for -inf. `causal`:
 * position j > i of a row i stands for -inf, too. A row without other positions gives 0.
 * Dropout with probability draw.a: element (b, i, j) is number ((draw.start + b) l + i) s + j of
 * the draw.
 *   FORWARD   writes y and lse (batch, l), the logarithm of each row's sum of exponentials;
 *   BACKWARD  writes those gradients dq, dk and dv that are present, from dy, y and lse; and adds
 *             to dmask, if that is present. It has the strides of mask. */
typedef struct ht_attention_call {
    ht_kernel_call call;
    ht_kernel_operand q, k, v, mask, y, lse, dy, dq, dk, dv, dmask;
    ht_random_draw draw;
    int64_t batch, k_group, v_group, l, s, e, ev;
    int leads;
    int64_t lead[HT_MAX_NDIM], mask_stride[HT_MAX_NDIM + 1];
    bool mask_is_bool, causal;
    double scale;
} ht_attention_call;

/* HT_CELL_TANH and HT_CELL_RELU have one gate, LSTM has i, f, g, o, and GRU has r, z, n. */
typedef enum ht_cell { HT_CELL_TANH, HT_CELL_RELU, HT_CELL_LSTM, HT_CELL_GRU } ht_cell;

/* The pointwise part of one step of a recurrent network: `rows` rows of `hidden` units.
 *
 * Operands are row-major. gates, h_gates, dgates and dh_gates have `hidden` elements for each gate,
 * the others `hidden`. lengths (rows) is int64: a row with lengths[row] <= step keeps its hidden
 * state. If lengths is absent, all rows advance.
 *   FORWARD   reads gates (W x + b), h_gates (W h + b), and the hidden state before the step, h and
 *             c (LSTM).
 *             Writes y, the new h; c_new, for LSTM the new c and for GRU the third part of h_gates;
 *             gates, which become sigmoid and tanh of themselves (LSTM, GRU).
 *   BACKWARD  reads these, and the gradients dy, dh_in of y and dc_in of c_new (LSTM); an absent
 *             dh_in counts as 0. Writes dgates; dh_gates (GRU; those of the others are dgates); dh,
 *             the gradient of h except by way of h_gates; dc, that of c (LSTM). dh and dh_in may be
 *             the same memory, and dc and dc_in. */
typedef struct ht_cell_call {
    ht_kernel_call call;
    ht_kernel_operand gates, h_gates, h, c, y, c_new, lengths;
    ht_kernel_operand dy, dh_in, dc_in, dgates, dh_gates, dh, dc;
    ht_cell cell;
    int64_t rows, hidden, step;
} ht_cell_call;
enum { HT_CELL_OPERANDS = 14 };

/* Connectionist temporal classification of `rows` sequences; x is (steps, rows, classes), row-major,
 * and has the logarithms of probabilities.
 *
 * Row n has the first input_lengths[n] steps and the first target_lengths[n] of the target's
 * elements from starts[n] on, or from n `width` on if starts is absent. No target is longer than
 * `width`. Integers are int64. alpha is float64, (rows, steps, 2 width + 1): the logarithm of the
 * probability of all paths that are at this element, blanks included, after this step.
 *   FORWARD   writes loss (rows), which is inf where no path exists, and alpha. A class outside of
 *             the classes is an error in the data;
 *   BACKWARD  writes dx from x, alpha and dloss (rows): dloss (exp(x) - the probability that a path
 *             is at this class), NaN where no path exists. scratch is float64, (4 width + 2 +
 *             classes).
 * With zero_infinity, loss and dx are 0 where no path exists. */
typedef struct ht_ctc_call {
    ht_kernel_call call;
    ht_kernel_operand x, targets, starts, input_lengths, target_lengths;
    ht_kernel_operand loss, alpha, dloss, dx, scratch;
    int64_t steps, rows, classes, width, blank;
    bool zero_infinity;
} ht_ctc_call;
enum { HT_CTC_OPERANDS = 10 };

#define HT_KERNEL_ID(name, arguments) HT_KERNEL_##name,
enum { HT_KERNEL_BEFORE_NN = HT_KERNELS_NN - 1, HT_NN_KERNELS(HT_KERNEL_ID) HT_KERNELS_NN_END };
#undef HT_KERNEL_ID

#endif
