/* SPDX-License-Identifier: MIT
 *
 * Windows over the last 1 to 3 axes of x (N, C, ...): the geometry of convolution and pooling. */
#ifndef HT_NN_FUNCTIONAL_WINDOW_H
#define HT_NN_FUNCTIONAL_WINDOW_H

#include <string.h>

#include "core/tensor/tensor.h"
#include "ht/kernels/nn.h"
#include "ht/padding.h"

typedef struct ht_window {
    int spatial; /* axes */
    int64_t in[HT_SPATIAL], kernel[HT_SPATIAL], out[HT_SPATIAL];
    int64_t stride[HT_SPATIAL], padding[HT_SPATIAL], dilation[HT_SPATIAL];
} ht_window;

typedef enum ht_window_use {
    HT_WINDOW_CONVOLUTION, /* the kernel is a weight's */
    HT_WINDOW_COLUMNS,     /* of any padding, with or without channels */
    HT_WINDOW_POOLING,     /* each window has an element of x: padding is at most half the kernel */
    HT_WINDOW_POOLING_CEIL /* and the last one may end outside */
} ht_window_use;

/* Windows of kernel[i] elements along spatial axis i, at distances of dilation[i], that begin at
 * every stride[i]-th place, with padding[i] on either side. A part of a window at the end is
 * dropped. False after HT_ERR_ARGUMENT for values out of range, and HT_ERR_SHAPE where no window
 * fits or 64 bits do not hold its reach; both are the same on all ranks. */
bool ht__window_make(const char *what, const ht_tensor *x, ht_window_use use,
                     const int64_t kernel[], const int64_t stride[], const int64_t padding[],
                     const int64_t dilation[], ht_window *window);

/* Whether x (N, C, ...) has channels; PyTorch's pooling refuses images without. */
bool ht__has_channels(const char *what, const ht_tensor *x);

/* x with the padding of a convolution that its windows cannot have: another than zeros, or `same`,
 * which keeps lengths, if it differs between the two sides. padding[] receives what they have. */
ht_tensor *ht__window_pad(const char *what, ht_tensor *x, const int64_t kernel[],
                          const int64_t dilation[], int64_t padding[], bool same, ht_pad_mode mode);

/* The geometry of a kernel's call, an ht_conv_call or an ht_pool_call. */
#define HT_SET_WINDOW(job, window)                                          \
    do {                                                                    \
        (job)->spatial = (window)->spatial;                                 \
        memcpy((job)->in, (window)->in, sizeof(job)->in);                   \
        memcpy((job)->kernel, (window)->kernel, sizeof(job)->kernel);       \
        memcpy((job)->out, (window)->out, sizeof(job)->out);                \
        memcpy((job)->stride, (window)->stride, sizeof(job)->stride);       \
        memcpy((job)->padding, (window)->padding, sizeof(job)->padding);    \
        memcpy((job)->dilation, (window)->dilation, sizeof(job)->dilation); \
    } while (0)

#endif
