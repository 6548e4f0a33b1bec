/* SPDX-License-Identifier: MIT
 *
 * Convolutions as the cpu table has them: float32 by oneDNN where the build has it and it serves
 * the job, all else plain. */
#include "config.h"

#include "backends/cpu/nn/conv_plain.h"
#include "backends/cpu/nn/kernels.h"

#ifdef HT_HAVE_ONEDNN
#include "backends/cpu/nn/onednn.h"

static int forward(void *stream, const ht_conv *conv, const void *x, const void *weight,
                   const void *bias, void *y)
{
    ht__onednn_answer answer = HT_ONEDNN_NONE;

    if (conv->dtype == HT_FLOAT32)
        answer = ht__cpu_onednn_conv_forward(conv, x, weight, bias, y);
    return answer != HT_ONEDNN_NONE ? answer == HT_ONEDNN_FAILED
                                    : ht__cpu_conv_plain_forward(stream, conv, x, weight, bias, y);
}

static int backward_data(void *stream, const ht_conv *conv, const void *dy, const void *weight,
                         void *dx)
{
    ht__onednn_answer answer = HT_ONEDNN_NONE;

    if (conv->dtype == HT_FLOAT32)
        answer = ht__cpu_onednn_conv_backward_data(conv, dy, weight, dx);
    return answer != HT_ONEDNN_NONE
               ? answer == HT_ONEDNN_FAILED
               : ht__cpu_conv_plain_backward_data(stream, conv, dy, weight, dx);
}

/* The gradient of the bias alone is a plain sum. */
static int backward_weight(void *stream, const ht_conv *conv, const void *x, const void *dy,
                           void *dweight, void *dbias)
{
    ht__onednn_answer answer = HT_ONEDNN_NONE;

    if (conv->dtype == HT_FLOAT32 && dweight != NULL)
        answer = ht__cpu_onednn_conv_backward_weight(conv, x, dy, dweight, dbias);
    return answer != HT_ONEDNN_NONE
               ? answer == HT_ONEDNN_FAILED
               : ht__cpu_conv_plain_backward_weight(stream, conv, x, dy, dweight, dbias);
}

#else
#define forward         ht__cpu_conv_plain_forward
#define backward_data   ht__cpu_conv_plain_backward_data
#define backward_weight ht__cpu_conv_plain_backward_weight
#endif

void ht__cpu_fill_conv(ht_kernels *kernels)
{
    kernels->conv_forward = forward;
    kernels->conv_backward_data = backward_data;
    kernels->conv_backward_weight = backward_weight;
}
