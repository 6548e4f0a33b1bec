/* SPDX-License-Identifier: MIT
 *
 * Convolutions of float32 by oneDNN. */
#ifndef HT_BACKENDS_CPU_NN_CONV_ONEDNN_H
#define HT_BACKENDS_CPU_NN_CONV_ONEDNN_H

#include "ht/kernels/nn.h"

typedef enum ht_onednn_answer {
    HT_ONEDNN_DONE,
    HT_ONEDNN_NONE,  /* it does not serve this job: nothing was written, and plain code does it */
    HT_ONEDNN_FAILED /* the error is recorded */
} ht_onednn_answer;

ht_onednn_answer ht__cpu_onednn_conv_forward(const ht_conv_call *conv, const float *x,
                                             const float *weight, const float *bias, float *y);
ht_onednn_answer ht__cpu_onednn_conv_backward_data(const ht_conv_call *conv, const float *dy,
                                                   const float *weight, float *dx);
/* dbias may be NULL. */
ht_onednn_answer ht__cpu_onednn_conv_backward_weight(const ht_conv_call *conv, const float *x,
                                                     const float *dy, float *dweight, float *dbias);

/* Convolutions that oneDNN did in the calling thread. */
int64_t ht__cpu_onednn_calls(void);

#endif
