/* SPDX-License-Identifier: MIT
 *
 * Refusals of test_operands.c: convolution and pooling. */
#ifndef HT_NN_FUNCTIONAL_REFUSALS_WINDOW_H
#define HT_NN_FUNCTIONAL_REFUSALS_WINDOW_H

/* clang-format off */
/* Operands of a convolution: x with one axis more, its axes and the last one; the same of the weight. */
#define REFUSED_CONV(name, x_more, x_axes, x_last, w_more, w_axes, w_last) \
    {name, "x", ONE_MORE, "x is " x_more ", expected " x_axes}, \
    {name, "x", SPLIT, "x is split along axis " x_last "; only the batch axis (0) may be split"}, \
    {name, "weight", OTHER_DTYPE, "x is float64, weight is float32"}, \
    {name, "weight", ONE_MORE, "weight is " w_more ", expected " w_axes}, \
    {name, "weight", SPLIT, "weight is split along axis " w_last ", expected a replicated tensor"}, \
    {name, "bias", OTHER_DTYPE, "x is float64, bias is float32"}, \
    {name, "bias", SPLIT, "bias is split along axis 0, expected a replicated tensor"}
/* Lengths of the first axes of weight and bias, plain and transposed. */
#define REFUSED_CONV_LENGTHS(name, weight, longer, axes, bias, bias_longer, bias_more) \
    {name, "weight", LONGER, "weight is " longer ", bias is " bias ", expected " axes " and (O)"}, \
    {name, "bias", ONE_MORE, "bias is " bias_more ", expected (O)"}, \
    {name, "bias", LONGER, "weight is " weight ", bias is " bias_longer ", expected " axes " and (O)"}
#define REFUSED_TRANSPOSED_LENGTHS(name, x, weight, longer, x_axes, axes, bias_longer, bias_more) \
    {name, "weight", LONGER, "x is " x ", weight is " longer ", expected " x_axes " and " axes}, \
    {name, "bias", ONE_MORE, "bias is " bias_more ", expected (O)"}, \
    {name, "bias", LONGER, "bias is " bias_longer ", weight is " weight ": channels"}
#define REFUSED_POOL(name) \
    {name, "x", SPLIT, "x is split along axis 2; only the batch axis (0) may be split"}
#define WINDOW_REFUSALS \
    REFUSED_CONV("ht_conv1d", "(4, 3, 5, 1)", "(N, C, L)", "2", "(2, 3, 2, 1)", "(O, C / groups, kw)", "2"), \
    REFUSED_CONV_LENGTHS("ht_conv1d", "(2, 3, 2)", "(3, 3, 2)", "(O, C / groups, kw)", "(2,)", "(3,)", "(2, 1)"), \
    REFUSED_CONV("ht_conv2d_ext", "(4, 2, 3, 3, 1)", "(N, C, H, W)", "3", "(2, 2, 2, 1, 1)", "(O, C / groups, kh, kw)", "3"), \
    REFUSED_CONV_LENGTHS("ht_conv2d_ext", "(2, 2, 2, 1)", "(3, 2, 2, 1)", "(O, C / groups, kh, kw)", "(2,)", "(3,)", "(2, 1)"), \
    REFUSED_CONV("ht_conv3d", "(3, 2, 3, 2, 2, 1)", "(N, C, D, H, W)", "4", "(3, 2, 2, 2, 1, 1)", "(O, C / groups, kd, kh, kw)", "4"), \
    REFUSED_CONV_LENGTHS("ht_conv3d", "(3, 2, 2, 2, 1)", "(4, 2, 2, 2, 1)", "(O, C / groups, kd, kh, kw)", "(3,)", "(4,)", "(3, 1)"), \
    REFUSED_CONV("ht_conv_transpose1d", "(4, 2, 3, 1)", "(N, C, L)", "2", "(2, 3, 2, 1)", "(C, O / groups, kw)", "2"), \
    REFUSED_TRANSPOSED_LENGTHS("ht_conv_transpose1d", "(4, 2, 3)", "(2, 3, 2)", "(3, 3, 2)", "(N, C, L)", "(C, O / groups, kw)", "(4,)", "(3, 1)"), \
    REFUSED_CONV("ht_conv_transpose2d", "(4, 2, 2, 3, 1)", "(N, C, H, W)", "3", "(2, 3, 2, 1, 1)", "(C, O / groups, kh, kw)", "3"), \
    REFUSED_TRANSPOSED_LENGTHS("ht_conv_transpose2d", "(4, 2, 2, 3)", "(2, 3, 2, 1)", "(3, 3, 2, 1)", "(N, C, H, W)", "(C, O / groups, kh, kw)", "(4,)", "(3, 1)"), \
    REFUSED_CONV("ht_conv_transpose3d", "(3, 2, 2, 2, 1, 1)", "(N, C, D, H, W)", "4", "(2, 2, 2, 1, 2, 1)", "(C, O / groups, kd, kh, kw)", "4"), \
    REFUSED_TRANSPOSED_LENGTHS("ht_conv_transpose3d", "(3, 2, 2, 2, 1)", "(2, 2, 2, 1, 2)", "(3, 2, 2, 1, 2)", "(N, C, D, H, W)", "(C, O / groups, kd, kh, kw)", "(3,)", "(2, 1)"), \
    REFUSED_POOL("ht_avg_pool"), REFUSED_POOL("ht_max_pool"), REFUSED_POOL("ht_lp_pool"), \
    REFUSED_POOL("ht_adaptive_avg_pool"), REFUSED_POOL("ht_adaptive_max_pool"), \
    {"ht_avg_pool", "x", ONE_MORE, "x is (4, 2, 5, 1): a window of (2, 2) does not fit"}, \
    {"ht_max_pool", "x", ONE_MORE, "x is (4, 2, 5, 1): a window of (2, 2) does not fit"}, \
    REFUSED_POOL("ht_max_pool_ext"), \
    {"ht_max_pool_ext", "x", ONE_MORE, "x is (4, 2, 5, 1): a window of (2, 2) does not fit"}, \
    REFUSED_POOL("ht_max_unpool"), \
    {"ht_max_unpool", "x", ONE_MORE, "x is (4, 2, 3, 1), indices is (4, 2, 3), expected the same shape"}, \
    {"ht_max_unpool", "x", LONGER, "x is (5, 2, 3), indices is (4, 2, 3), expected (N, C, L, ...) and (N, C, L, ...)"}, \
    {"ht_max_unpool", "indices", OTHER_DTYPE, "indices is float32, expected an integer dtype"}, \
    {"ht_max_unpool", "indices", ONE_MORE, "x is (4, 2, 3), indices is (4, 2, 3, 1), expected the same shape"}, \
    {"ht_max_unpool", "indices", LONGER, "x is (4, 2, 3), indices is (5, 2, 3), expected (N, C, L, ...) and (N, C, L, ...)"}, \
    {"ht_fractional_max_pool", "x", ONE_MORE, "x is (3, 2, 5, 4, 1): 2 windows of 2 do not begin at different elements of axis 4"}, \
    {"ht_fractional_max_pool", "x", LONGER, "x is (4, 2, 5, 4), samples is (3, 2, 2), expected (N, C, L, ...) and (N, C, S)"}, \
    {"ht_fractional_max_pool", "x", SPLIT, "x is split along axis 3; only the batch axis (0) may be split"}, \
    {"ht_fractional_max_pool", "samples", ONE_MORE, "samples is (3, 2, 2, 1), expected (N, C, S)"}, \
    {"ht_fractional_max_pool", "samples", LONGER, "x is (3, 2, 5, 4), samples is (4, 2, 2), expected (N, C, L, ...) and (N, C, S)"}, \
    {"ht_lp_pool", "x", ONE_MORE, "x is (4, 2, 5, 1): a window of (2, 2) does not fit"}, \
    {"ht_unfold", "x", ONE_MORE, "x is (3, 2, 3, 4, 1), expected (N, C, H, W)"}, \
    {"ht_unfold", "x", SPLIT, "x is split along axis 3; only the batch axis (0) may be split"}, \
    REFUSED_POOL("ht_fold"), \
    {"ht_fold", "x", ONE_MORE, "x is (3, 8, 6, 1), expected (N, C, L)"}
/* clang-format on */

#endif
