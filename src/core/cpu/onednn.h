/* SPDX-License-Identifier: MIT
 *
 * Convolutions of float32 by oneDNN. A return of false means that oneDNN does not serve this job:
 * nothing was written, and plain code does it. */
#ifndef HT_CORE_CPU_ONEDNN_H
#define HT_CORE_CPU_ONEDNN_H

#include "ht/backend.h"

bool ht__cpu_onednn_conv_forward(const ht_conv *conv, const float *x, const float *weight,
                                 const float *bias, float *y);
bool ht__cpu_onednn_conv_backward_data(const ht_conv *conv, const float *dy, const float *weight,
                                       float *dx);
bool ht__cpu_onednn_conv_backward_weight(const ht_conv *conv, const float *x, const float *dy,
                                         float *dweight, float *dbias); /* dbias may be NULL */

/* Convolutions that oneDNN did in the calling thread. */
int64_t ht__cpu_onednn_calls(void);

#endif
