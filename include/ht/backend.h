/* SPDX-License-Identifier: MIT
 *
 * For people who write a backend. Programs that use tensors do not need this header.
 *
 * A backend is one table: memory, copies, and kernels by operation and dtype. A module exports
 *     int ht_backend_open(uint32_t abi, const ht_backend_services *services, ht_backend *backend);
 * fills the table and returns 0. It links nothing of libht; what it needs of the core comes through
 * `services`. A NULL kernel is one the backend does not have: the caller gets HT_ERR_UNSUPPORTED.
 * Kernels return 0, or non-zero after services->fail told why. Strides and offsets are in elements.
 */
#ifndef HT_BACKEND_H
#define HT_BACKEND_H

#include "ht/types.h"

HT_BEGIN_DECLS

#define HT_BACKEND_ABI   3u
#define HT_LOOP_OPERANDS 4

/* An iteration over the local parts of up to four operands, merged to as few axes as strides allow;
 * the last axis is the innermost. ndim >= 1; a length may be 0. Operand 0 is the output. */
typedef struct ht_loop {
    int ndim;
    int64_t shape[HT_MAX_NDIM];
    int64_t stride[HT_LOOP_OPERANDS][HT_MAX_NDIM];
    void *data[HT_LOOP_OPERANDS];
} ht_loop;

typedef int (*ht_loop_fn)(void *stream, const ht_loop *loop);

/* Elementwise kernels: y = f(x), dtype of x; the output has the same dtype. */
#define HT_UNARY_LIST(X) X(NEG) X(EXP) X(LOG) X(SQRT) X(TANH) X(RELU) X(CONJ)

/* y = f(a, b), a and b of one dtype; comparisons give bool, the others that dtype.
 * RELU_GRAD(g, y) = y > 0 ? g : 0; TANH_GRAD(g, y) = g (1 - y^2). MINIMUM and MAXIMUM are NaN where
 * an operand is. */
/* clang-format off */
#define HT_BINARY_LIST(X) \
    X(ADD) X(SUB) X(MUL) X(DIV) X(EQ) X(NE) X(LT) X(LE) X(GT) X(GE) X(MINIMUM) X(MAXIMUM) \
    X(RELU_GRAD) X(TANH_GRAD)
/* clang-format on */

/* Reductions. `loop` runs over the output elements: operand 0 the output, 1 the input. The reduced
 * axes stand beside it; their lengths may be 0 for sums only. Sums of floating and complex numbers
 * are kept in float64 or complex128, called the accumulator's dtype here, and rounded once.
 *   SUM          in int64 for integers and bool, else in the input's dtype
 *   SUM_WIDE     in the accumulator's dtype, float64 for integers too, over `divisor`
 *   MEAN         that rounded to the input's dtype, float32 for integers and bool
 *   DEVIATIONS   float64: the sum of |x - operand 2|^2 over `divisor`; operand 2 is as SUM_WIDE's
 *   SUM_ABS, SUM_SQUARES   float64; of floating dtypes
 *   MAX, MIN     NaN where there is one; of zeros -0 is the smaller
 *   ARGMAX, ARGMIN   the extreme, and in operand 2 its int64 position: row-major inside the reduced
 *                axes, the first of equals, zeros being equal */
/* clang-format off */
#define HT_REDUCE_LIST(X) \
    X(SUM) X(SUM_WIDE) X(MEAN) X(DEVIATIONS) X(SUM_ABS) X(SUM_SQUARES) X(MAX) X(MIN) X(ARGMAX) \
    X(ARGMIN)
/* clang-format on */

typedef struct ht_reduction {
    ht_loop loop;
    int ndim; /* reduced axes, merged, innermost last; >= 1 */
    int64_t shape[HT_MAX_NDIM];
    int64_t stride[HT_MAX_NDIM]; /* of the input */
    double divisor;
} ht_reduction;

typedef int (*ht_reduce_fn)(void *stream, const ht_reduction *reduction);

/* Cumulative sums: for every element of `loop` (operand 0 output, 1 input, 2 start), along `count`
 * steps of the given strides: out[i] = start + in[0] + ... + in[i]. The output's dtype is that of
 * SUM; `start` is int64 for integers and bool, else of the accumulator's dtype; its data are NULL
 * where every line starts with 0. Strides of the axis are negative where it is walked from its end.
 */
#define HT_CUMULATIVE_LIST(X) X(CUMSUM)

typedef struct ht_cumulation {
    ht_loop loop;
    int64_t count, out_stride, in_stride;
} ht_cumulation;

typedef int (*ht_cumulative_fn)(void *stream, const ht_cumulation *cumulation);

#define HT_KERNEL_ID(name) HT_UNARY_##name,
typedef enum ht_unary_kernel { HT_UNARY_LIST(HT_KERNEL_ID) HT_UNARY_COUNT } ht_unary_kernel;
#undef HT_KERNEL_ID
#define HT_KERNEL_ID(name) HT_BINARY_##name,
typedef enum ht_binary_kernel { HT_BINARY_LIST(HT_KERNEL_ID) HT_BINARY_COUNT } ht_binary_kernel;
#undef HT_KERNEL_ID
#define HT_KERNEL_ID(name) HT_REDUCE_##name,
typedef enum ht_reduce_kernel { HT_REDUCE_LIST(HT_KERNEL_ID) HT_REDUCE_COUNT } ht_reduce_kernel;
#undef HT_KERNEL_ID
#define HT_KERNEL_ID(name) HT_CUMULATIVE_##name,
typedef enum ht_cumulative_kernel {
    HT_CUMULATIVE_LIST(HT_KERNEL_ID) HT_CUMULATIVE_COUNT
} ht_cumulative_kernel;
#undef HT_KERNEL_ID

/* c (m, n) = alpha op(a) op(b) + beta c + bias, row-major with leading dimensions; op transposes
 * when asked; bias (n) or NULL is added to every row. Floating and complex dtypes. */
typedef struct ht_gemm {
    ht_dtype dtype;
    bool trans_a, trans_b;
    int64_t m, n, k, lda, ldb, ldc;
    double alpha, beta;
    const void *a, *b, *bias;
    void *c;
} ht_gemm;

/* 2-d convolution: x (n, c, h, w), weight (o, c / groups, kh, kw) row-major, y (n, o, oh, ow); x
 * and y by strides (row-major or channels-last). Pairs are (height, width). */
typedef struct ht_conv {
    ht_dtype dtype;
    int64_t n, c, o, groups, in[2], kernel[2], out[2], stride[2], padding[2], dilation[2];
    int64_t x_stride[4], y_stride[4];
} ht_conv;

/* 2-d max pooling, x (n, c, h, w) to y (n, c, oh, ow), by strides; padding counts as -inf. `index`
 * is row-major (n, c, oh, ow) when y is row-major and channels-last when y is; it holds h * W + w
 * of the chosen element, the first of equals; NaN wins. */
typedef struct ht_pool {
    ht_dtype dtype;
    int64_t n, c, in[2], kernel[2], out[2], stride[2], padding[2], dilation[2];
    int64_t x_stride[4], y_stride[4];
} ht_pool;

/* Normalisation of `channels` over the rest of x, which is contiguous as (outer, channels, inner):
 * row-major (n, c, ...) has inner = pixels; channels-last images and (n, c) have inner = 1.
 * Statistics and coefficients are doubles in host memory, one per channel. */
typedef struct ht_norm {
    ht_dtype dtype;
    int64_t outer, channels, inner;
} ht_norm;

/* Row-wise kernels: `rows` rows of `columns`, row-major. */
typedef struct ht_rows {
    ht_dtype dtype;
    int64_t rows, columns;
} ht_rows;

/* Where a slab's elements stand in the global tensor: element (o, i) of (outer, inner) is global
 * element o * inner_global + start + i. A process-local draw has outer 1 and start 0. */
typedef struct ht_random {
    ht_dtype dtype;
    uint64_t seed, draw;
    int64_t outer, inner, inner_global, start;
    double a, b;       /* uniform: [a, b); normal: mean a, deviation b; dropout: probability a */
    int64_t low, high; /* integers: low <= value < high */
} ht_random;

typedef enum ht_random_kernel {
    HT_RANDOM_UNIFORM,
    HT_RANDOM_NORMAL,
    HT_RANDOM_INTEGER,
    HT_RANDOM_COUNT
} ht_random_kernel;

/* One pass of an optimizer over n contiguous parameters of one dtype (float32, float64). `grad` is
 * multiplied by grad_scale first, and negated when maximize is set. Hyperparameters by optimizer:
 *   SGD       lr, momentum, dampening, weight_decay, nesterov, first; state: buf (NULL: momentum 0)
 *   ADAM      lr, beta1, beta2, eps, weight_decay, step, decoupled (AdamW); state: m, v
 *   ADADELTA  lr, rho (beta1), eps, weight_decay; state: square average, accumulated delta
 *   RMSPROP   lr, alpha (beta1), eps, weight_decay, momentum, centered; state: square average, then
 *             the average where centered, then the buffer where momentum is not 0 */
typedef enum ht_update_kernel {
    HT_UPDATE_SGD,
    HT_UPDATE_ADAM,
    HT_UPDATE_ADADELTA,
    HT_UPDATE_RMSPROP,
    HT_UPDATE_COUNT
} ht_update_kernel;

typedef struct ht_update {
    ht_dtype dtype;
    int64_t n;
    void *param;
    const void *grad;
    void *state[3];
    double lr, beta1, beta2, eps, weight_decay, momentum, dampening, grad_scale;
    int64_t step; /* counted from 1 */
    bool nesterov, first, maximize, decoupled, centered;
} ht_update;

typedef struct ht_kernels {
    ht_loop_fn unary[HT_UNARY_COUNT][HT_DTYPE_COUNT];
    ht_loop_fn binary[HT_BINARY_COUNT][HT_DTYPE_COUNT];
    ht_reduce_fn reduce[HT_REDUCE_COUNT][HT_DTYPE_COUNT];
    ht_cumulative_fn cumulative[HT_CUMULATIVE_COUNT][HT_DTYPE_COUNT];
    ht_loop_fn convert[HT_DTYPE_COUNT][HT_DTYPE_COUNT]; /* [from][to]; the same dtype copies */
    int (*random[HT_RANDOM_COUNT])(void *stream, const ht_random *draw, void *out);
    int (*update[HT_UPDATE_COUNT])(void *stream, const ht_update *update);
    /* y = a x + b y; n contiguous elements, of float32 or float64; x may be y */
    int (*axpby)(void *stream, ht_dtype dtype, int64_t n, double a, const void *x, double b,
                 void *y);

    int (*gemm)(void *stream, const ht_gemm *gemm);
    int (*conv_forward)(void *stream, const ht_conv *conv, const void *x, const void *weight,
                        const void *bias, void *y);
    int (*conv_backward_data)(void *stream, const ht_conv *conv, const void *dy, const void *weight,
                              void *dx);
    int (*conv_backward_weight)(void *stream, const ht_conv *conv, const void *x, const void *dy,
                                void *dweight, void *dbias);
    int (*max_pool_forward)(void *stream, const ht_pool *pool, const void *x, void *y,
                            int32_t *index);
    int (*max_pool_backward)(void *stream, const ht_pool *pool, const void *dy,
                             const int32_t *index, void *dx);
    /* mean, and m2 = sum (x - mean)^2; both 0 where there is no element */
    int (*norm_moments)(void *stream, const ht_norm *norm, const void *x, double *mean, double *m2);
    /* y = (x - mean) scale + shift */
    int (*norm_forward)(void *stream, const ht_norm *norm, const void *x, const double *mean,
                        const double *scale, const double *shift, void *y);
    /* s1 = sum dy, s2 = sum dy (x - mean) */
    int (*norm_sums)(void *stream, const ht_norm *norm, const void *dy, const void *x,
                     const double *mean, double *s1, double *s2);
    /* dx = scale (dy - c1 - (x - mean) c2) */
    int (*norm_backward)(void *stream, const ht_norm *norm, const void *dy, const void *x,
                         const double *mean, const double *scale, const double *c1,
                         const double *c2, void *dx);
    int (*log_softmax_forward)(void *stream, const ht_rows *rows, const void *x, void *y);
    int (*log_softmax_backward)(void *stream, const ht_rows *rows, const void *dy, const void *y,
                                void *dx);
    /* loss[i] = -x[i][target[i]], 0 where target is ignore; non-zero with services->fail when a
     * target is outside the columns. backward: dx = 0 but dx[i][target[i]] = -dloss[i]. */
    int (*nll_forward)(void *stream, const ht_rows *rows, const void *x, const int64_t *target,
                       int64_t ignore, void *loss);
    int (*nll_backward)(void *stream, const ht_rows *rows, const void *dloss, const int64_t *target,
                        int64_t ignore, void *dx);
    /* mask = draw of the element >= p; y = x mask / (1 - p), outer * inner contiguous elements.
     * backward: dx = dy mask / (1 - p), of n. */
    int (*dropout_forward)(void *stream, const ht_random *draw, const void *x, void *y,
                           uint8_t *mask);
    int (*dropout_backward)(void *stream, ht_dtype dtype, int64_t n, double p, const void *dy,
                            const uint8_t *mask, void *dx);
} ht_kernels;

typedef enum ht_copy_kind {
    HT_COPY_HOST_TO_DEVICE,
    HT_COPY_DEVICE_TO_HOST,
    HT_COPY_ON_DEVICE
} ht_copy_kind;

typedef struct ht_backend {
    uint32_t abi; /* HT_BACKEND_ABI it was compiled with */
    size_t size;  /* sizeof(ht_backend) it was compiled with */
    const char *name;
    bool host_memory;          /* the host may read and write device memory */
    bool prefer_channels_last; /* convolutions want (and give) channels-last images */
    int (*device_count)(void);
    int (*device_open)(int index, void **stream); /* what kernels receive as `stream` */
    void (*device_close)(void *stream);
    void *(*memory_alloc)(void *stream, size_t bytes); /* NULL when there is none left */
    void (*memory_free)(void *stream, void *memory);
    int (*memory_copy)(void *stream, void *to, const void *from, size_t bytes, ht_copy_kind kind);
    int (*synchronize)(void *stream); /* NULL: nothing is ever left to wait for */
    /* bytes of memory and number of cores of a device; NULL: its devices are alike */
    void (*device_properties)(int index, size_t *memory, int *cores);
    ht_kernels kernels;
} ht_backend;

/* What a backend may ask of the core. `fail` records the cause of a non-zero return. */
typedef struct ht_backend_services {
    uint32_t abi;
    size_t size;
    void (*log)(int level, const char *format, ...) HT_PRINTF(2, 3);
    void (*fail)(const char *format, ...) HT_PRINTF(1, 2);
} ht_backend_services;

typedef int ht_backend_open_fn(uint32_t abi, const ht_backend_services *services,
                               ht_backend *backend);

HT_END_DECLS
#endif
