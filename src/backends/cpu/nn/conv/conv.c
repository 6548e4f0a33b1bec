/* SPDX-License-Identifier: MIT
 *
 * Convolutions: float32 by oneDNN if the build has it and it supports the job, all others by plain
 * code. */
#include "config.h"

#include "backends/cpu/nn/conv/plain.h"
#include "backends/cpu/nn/kernels.h"

#ifdef HT_HAVE_ONEDNN
#include "backends/cpu/nn/conv/onednn.h"

/* Whether oneDNN has answered for a job: done, or failed. */
static bool is_answered(ht_onednn_answer answer, int *result)
{
    *result = answer == HT_ONEDNN_FAILED;
    return answer != HT_ONEDNN_NONE;
}

/* The gradient of the bias alone is a plain sum. */
static bool by_onednn(const ht_conv_call *v, int *result)
{
    if (v->call.dtype != HT_FLOAT32)
        return false;
    if (v->call.kernel == HT_KERNEL_CONV_FORWARD)
        return is_answered(
            ht__cpu_onednn_conv_forward(v, v->x.data, v->weight.data, v->bias.data, v->y.data),
            result);
    if (v->call.kernel == HT_KERNEL_CONV_BACKWARD_DATA)
        return is_answered(
            ht__cpu_onednn_conv_backward_data(v, v->y.data, v->weight.data, v->x.data), result);
    return v->weight.data != NULL &&
           is_answered(ht__cpu_onednn_conv_backward_weight(v, v->x.data, v->y.data, v->weight.data,
                                                           v->bias.data),
                       result);
}
#else
static bool by_onednn(const ht_conv_call *v, int *result)
{
    (void)v;
    (void)result;
    return false;
}
#endif

static int convolve(void *stream, const ht_kernel_call *call)
{
    const ht_conv_call *v = (const ht_conv_call *)call;
    int result;

    (void)stream;
    if (v->spatial != 2)
        return HT_KERNEL_REFUSED;
    if (by_onednn(v, &result))
        return result;
    if (call->kernel == HT_KERNEL_CONV_FORWARD)
        return ht__cpu_conv_plain_forward(v, v->x.data, v->weight.data, v->bias.data, v->y.data);
    if (call->kernel == HT_KERNEL_CONV_BACKWARD_DATA)
        return ht__cpu_conv_plain_backward_data(v, v->y.data, v->weight.data, v->x.data);
    return ht__cpu_conv_plain_backward_weight(v, v->x.data, v->y.data, v->weight.data,
                                              v->bias.data);
}

void ht__cpu_fill_conv(ht_kernel_table *k)
{
    static const ht_dtype dtypes[] = {HT_FLOAT16, HT_BFLOAT16, HT_FLOAT32, HT_FLOAT64};

    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        k->at[HT_KERNEL_CONV_FORWARD][dtypes[i]] = convolve;
        k->at[HT_KERNEL_CONV_BACKWARD_DATA][dtypes[i]] = convolve;
        k->at[HT_KERNEL_CONV_BACKWARD_WEIGHT][dtypes[i]] = convolve;
    }
}
