/* SPDX-License-Identifier: MIT
 *
 * Rows of the table of functionals: convolution and pooling. mode: which of the options below. */
#ifndef HT_NN_FUNCTIONALS_WINDOW_H
#define HT_NN_FUNCTIONALS_WINDOW_H

#include "nn/functionals.h"

/* 0: defaults; 1: stride 2, padding 1, two groups; 2: same; 3: circular padding of 1; 4: dilation 2.
 * 1 with an output padding for the transposed form. */
static inline ht_conv_options nn_conv_options(int mode, bool transposed)
{
    ht_conv_options o = ht_conv_options_default();

    o.groups = mode == 1 ? 2 : 1;
    o.same = mode == 2;
    o.padding_mode = mode == 3 ? HT_PAD_CIRCULAR : HT_PAD_CONSTANT;
    for (int i = 0; i < 3; i++) {
        o.stride[i] = mode == 1 ? 2 : 1;
        o.padding[i] = mode == 1 || mode == 3;
        o.dilation[i] = mode == 4 ? 2 : 1;
        o.output_padding[i] = mode == 1 && transposed;
    }
    return o;
}

#define NN_CONV_CALL(call, function, transposed)                                       \
    static inline ht_tensor *nn_call_##call(ht_tensor *in[], const nn_functional *row) \
    {                                                                                  \
        const ht_conv_options options = nn_conv_options(row->mode, transposed);        \
                                                                                       \
        return function(in[0], in[1], in[2], row->mode == 0 ? NULL : &options);        \
    }
NN_CONV_CALL(conv1d, ht_conv1d, false)
NN_CONV_CALL(conv2d_ext, ht_conv2d_ext, false)
NN_CONV_CALL(conv3d, ht_conv3d, false)
NN_CONV_CALL(conv_transpose1d, ht_conv_transpose1d, true)
NN_CONV_CALL(conv_transpose2d, ht_conv_transpose2d, true)
NN_CONV_CALL(conv_transpose3d, ht_conv_transpose3d, true)

/* 0: kernel 2; 1: kernel 3, stride 2, padding 1; 2: that in ceil mode without padding in means; 3:
 * kernel 2, stride 3 in ceil mode; 4: kernel 2, divisor 3; 5: kernel 2, stride 1, dilation 2. */
static inline ht_pool_options nn_pool_options(int mode)
{
    ht_pool_options o = ht_pool_options_default();

    o.ceil_mode = mode == 2 || mode == 3;
    o.count_include_pad = mode != 2;
    o.divisor_override = mode == 4 ? 3 : 0;
    for (int i = 0; i < 3; i++) {
        o.kernel[i] = mode == 1 || mode == 2 ? 3 : 2;
        o.stride[i] = mode == 1 || mode == 2 ? 2 : mode == 3 ? 3 : mode == 5 ? 1 : 0;
        o.padding[i] = mode == 1 || mode == 2;
        o.dilation[i] = mode == 5 ? 2 : 1;
    }
    return o;
}

#define NN_POOL_CALL(call, function, ...)                                              \
    static inline ht_tensor *nn_call_##call(ht_tensor *in[], const nn_functional *row) \
    {                                                                                  \
        const ht_pool_options options = nn_pool_options(row->mode);                    \
                                                                                       \
        return function(in[0], __VA_ARGS__ & options);                                 \
    }
#define NN_TWO_ARGUMENTS(a) a,
NN_POOL_CALL(avg_pool, ht_avg_pool, )
NN_POOL_CALL(max_pool, ht_max_pool, )
NN_POOL_CALL(lp_pool, ht_lp_pool, NN_TWO_ARGUMENTS(row->number))
NN_POOL_CALL(unfold, ht_unfold, )
NN_POOL_CALL(fold, ht_fold, NN_TWO_ARGUMENTS(((int64_t[2]){3, 4})))

static inline ht_tensor *nn_call_adaptive_avg_pool(ht_tensor *in[], const nn_functional *row)
{
    (void)row;
    return ht_adaptive_avg_pool(in[0], (int64_t[]){2, 3, 0});
}

static inline ht_tensor *nn_call_adaptive_max_pool(ht_tensor *in[], const nn_functional *row)
{
    (void)row;
    return ht_adaptive_max_pool(in[0], (int64_t[]){2, 3, 0});
}

/* The result; test_pooling.c looks at the places. */
static inline ht_tensor *nn_call_max_pool_ext(ht_tensor *in[], const nn_functional *row)
{
    const ht_pool_options options = nn_pool_options(row->mode);
    ht_tensor *indices;

    return ht_max_pool_ext(in[0], &options, &indices);
}

/* With the usual lengths, or with those of (2, 6). */
static inline ht_tensor *nn_call_max_unpool(ht_tensor *in[], const nn_functional *row)
{
    const ht_pool_options options = nn_pool_options(row->mode);

    return ht_max_unpool(in[0], in[1], &options, row->number != 0 ? (int64_t[]){2, 6} : NULL);
}

/* Two windows of two elements along each axis, or a ratio of them. */
static inline ht_tensor *nn_call_fractional_max_pool(ht_tensor *in[], const nn_functional *row)
{
    ht_fractional_options options = ht_fractional_options_default();
    ht_tensor *samples = in[1] != NULL ? ht_abs(in[1]) : NULL;

    for (int i = 0; i < 3; i++) {
        options.kernel[i] = 2;
        options.length[i] = row->number == 0 ? 2 : 0;
        options.ratio[i] = row->number;
    }
    if (in[1] != NULL && samples == NULL)
        return NULL;
    return ht_fractional_max_pool(in[0], samples, &options, NULL);
}

/* clang-format off */
#define NN_CONV(call, m, x, weight, bias) {"ht_" #call, nn_call_##call, 3, 2, .operands = {x, weight, bias}, .mode = m, .variant = (m) != 0}
#define NN_POOL(call, m, ...) {"ht_" #call, nn_call_##call, 1, 1, .operands = {FIRST("x", __VA_ARGS__)}, 2, .mode = m, .variant = (m) != 0}
#define NN_ADAPTIVE(call, v, ...) {"ht_" #call, nn_call_##call, 1, 1, .operands = {FIRST("x", __VA_ARGS__)}, .variant = v}
#define NN_UNPOOL(m, number, v, ndim, ...) {"ht_max_unpool", nn_call_max_unpool, 2, 2, .operands = {FIRST("x", ndim, __VA_ARGS__), \
    {"indices", HT_INT32, ndim, {__VA_ARGS__}, NN_SPLITS}}, number, .mode = m, .variant = v}
#define NN_FRACTIONAL(ratio, v, x, n, c, axes) {"ht_fractional_max_pool", nn_call_fractional_max_pool, 2, 1, \
    .operands = {x, {"samples", HT_FLOAT64, 3, {n, c, axes}, NN_SPLITS}}, ratio, .variant = v}
#define NN_WINDOW_ROWS \
    NN_CONV(conv1d, 0, FIRST("x", 3, 4, 3, 5), OTHER("weight", 3, 2, 3, 2), OTHER("bias", 1, 2)), \
    NN_CONV(conv1d, 1, FIRST("x", 3, 3, 4, 6), OTHER("weight", 3, 4, 2, 3), OTHER("bias", 1, 4)), \
    NN_CONV(conv1d, 2, FIRST("x", 3, 3, 2, 4), OTHER("weight", 3, 2, 2, 2), OTHER("bias", 1, 2)), \
    NN_CONV(conv1d, 3, FIRST("x", 3, 3, 2, 4), OTHER("weight", 3, 2, 2, 3), OTHER("bias", 1, 2)), \
    NN_CONV(conv2d_ext, 0, FIRST("x", 4, 4, 2, 3, 3), OTHER("weight", 4, 2, 2, 2, 1), OTHER("bias", 1, 2)), \
    NN_CONV(conv2d_ext, 2, FIRST("x", 4, 3, 2, 3, 4), OTHER("weight", 4, 2, 2, 3, 2), OTHER("bias", 1, 2)), \
    NN_CONV(conv2d_ext, 3, FIRST("x", 4, 3, 2, 3, 4), OTHER("weight", 4, 2, 2, 3, 2), OTHER("bias", 1, 2)), \
    NN_CONV(conv3d, 0, FIRST("x", 5, 3, 2, 3, 2, 2), OTHER("weight", 5, 3, 2, 2, 2, 1), OTHER("bias", 1, 3)), \
    NN_CONV(conv3d, 1, FIRST("x", 5, 2, 4, 3, 2, 3), OTHER("weight", 5, 2, 2, 3, 2, 2), OTHER("bias", 1, 2)), \
    NN_CONV(conv3d, 4, FIRST("x", 5, 2, 1, 4, 3, 3), OTHER("weight", 5, 2, 1, 2, 2, 2), OTHER("bias", 1, 2)), \
    NN_CONV(conv_transpose1d, 0, FIRST("x", 3, 4, 2, 3), OTHER("weight", 3, 2, 3, 2), OTHER("bias", 1, 3)), \
    NN_CONV(conv_transpose1d, 1, FIRST("x", 3, 3, 4, 3), OTHER("weight", 3, 4, 1, 3), OTHER("bias", 1, 2)), \
    NN_CONV(conv_transpose2d, 0, FIRST("x", 4, 4, 2, 2, 3), OTHER("weight", 4, 2, 3, 2, 1), OTHER("bias", 1, 3)), \
    NN_CONV(conv_transpose2d, 1, FIRST("x", 4, 3, 4, 2, 3), OTHER("weight", 4, 4, 1, 3, 2), OTHER("bias", 1, 2)), \
    NN_CONV(conv_transpose2d, 4, FIRST("x", 4, 3, 2, 2, 2), OTHER("weight", 4, 2, 2, 2, 2), OTHER("bias", 1, 2)), \
    NN_CONV(conv_transpose3d, 0, FIRST("x", 5, 3, 2, 2, 2, 1), OTHER("weight", 5, 2, 2, 2, 1, 2), OTHER("bias", 1, 2)), \
    NN_CONV(conv_transpose3d, 1, FIRST("x", 5, 2, 2, 2, 2, 2), OTHER("weight", 5, 2, 1, 2, 3, 2), OTHER("bias", 1, 2)), \
    NN_POOL(avg_pool, 0, 3, 4, 2, 5), NN_POOL(avg_pool, 1, 4, 3, 2, 4, 5), NN_POOL(avg_pool, 2, 4, 3, 2, 4, 5), \
    NN_POOL(avg_pool, 3, 5, 3, 1, 3, 4, 5), NN_POOL(avg_pool, 4, 4, 3, 2, 4, 5), \
    NN_POOL(max_pool, 0, 3, 4, 2, 5), NN_POOL(max_pool, 2, 4, 3, 2, 4, 5), NN_POOL(max_pool, 1, 5, 3, 1, 3, 4, 3), \
    NN_POOL(max_pool, 5, 5, 3, 2, 3, 3, 3), \
    NN_POOL(max_pool_ext, 0, 3, 4, 2, 5), NN_POOL(max_pool_ext, 2, 5, 3, 1, 3, 4, 3), \
    NN_UNPOOL(0, 0, false, 3, 4, 2, 3), NN_UNPOOL(1, 0, true, 4, 3, 2, 1, 3), \
    NN_UNPOOL(1, 1, true, 4, 3, 2, 1, 3), NN_UNPOOL(0, 0, true, 5, 3, 1, 1, 1, 3), \
    NN_FRACTIONAL(0, false, FIRST("x", 4, 3, 2, 5, 4), 3, 2, 2), NN_FRACTIONAL(0.5, true, FIRST("x", 4, 3, 2, 5, 6), 3, 2, 2), \
    NN_FRACTIONAL(0, true, FIRST("x", 5, 3, 1, 4, 4, 5), 3, 1, 3), \
    NN_POOL(lp_pool, 0, 3, 4, 2, 5), NN_POOL(lp_pool, 3, 4, 3, 2, 4, 5), \
    NN_ADAPTIVE(adaptive_avg_pool, false, 3, 4, 2, 5), NN_ADAPTIVE(adaptive_avg_pool, true, 4, 3, 2, 3, 5), \
    NN_ADAPTIVE(adaptive_avg_pool, true, 5, 3, 1, 3, 4, 2), \
    NN_ADAPTIVE(adaptive_max_pool, false, 3, 4, 2, 5), NN_ADAPTIVE(adaptive_max_pool, true, 4, 3, 2, 3, 5), \
    NN_ADAPTIVE(adaptive_max_pool, true, 5, 3, 1, 3, 4, 2), \
    NN_POOL(unfold, 0, 4, 3, 2, 3, 4), NN_POOL(unfold, 1, 4, 3, 2, 3, 4), \
    NN_POOL(fold, 0, 3, 3, 8, 6), NN_POOL(fold, 1, 3, 3, 9, 4)
/* clang-format on */

#endif
