/* SPDX-License-Identifier: MIT
 *
 * Convolutions of the emulated runtime, as cuDNN has them: of dense tensors, by the definition. It has
 * none over 3 axes, and finds out late that it has none of float64 with groups. */
#include <stdio.h>
#include <stdlib.h>

#include <vector>

#include "backends/cuda/nn/conv/dnn.h"
#include "emulated_runtime.h"

struct emulated_plan {
    ht_cuda_conv conv;
};

static int plans[MAX_DEVICES];

int ht_cuda_dnn_new(void **dnn, void *handle, char *)
{
    ALONE;
    *dnn = NULL;
    if (emulated_is("EMULATED_DNN", "no"))
        return 0;
    if (!emulated_take(static_cast<stream *>(handle)->device,
                       (size_t)emulated_setting("EMULATED_HANDLE", 0)))
        return NO_MEMORY;
    *dnn = handle;
    return 0;
}

void ht_cuda_dnn_free(void *)
{
}

void ht_cuda_dnn_plan(void *handle, const ht_cuda_conv *conv, ht_cuda_conv_plan *plan)
{
    ALONE;
    int *count = &plans[static_cast<stream *>(handle)->device];

    if (emulated_is("EMULATED_PLANS", "old")) {
        fprintf(stderr, "emulated: a convolution is planned again\n");
        abort();
    }
    plan->handle = NULL;
    if (conv->axes > 2)
        return;
    plan->handle = new emulated_plan{*conv};
    plan->bytes = conv->way == HT_CUDA_FORWARD ? 0 : 64;
    if (++*count > HT_CUDA_PLANS) {
        fprintf(stderr, "emulated: there are more plans than %d\n", HT_CUDA_PLANS);
        abort();
    }
}

void ht_cuda_dnn_plan_free(void *handle, ht_cuda_conv_plan *plan)
{
    ALONE;
    plans[static_cast<stream *>(handle)->device]--;
    delete static_cast<emulated_plan *>(plan->handle);
}

/* The place of an element, whose second axis has `channels` places. */
static int64_t place(const ht_cuda_conv &c, int64_t first, int64_t channels, int64_t channel,
                     const int *shape, int64_t h, int64_t w)
{
    const int64_t pixels = (int64_t)shape[0] * shape[1], pixel = h * shape[1] + w;

    return c.last ? (first * pixels + pixel) * channels + channel
                  : (first * channels + channel) * pixels + pixel;
}

/* A product's places in x, weight and y. */
struct term {
    int64_t x, weight, y;
};

/* Calls visit(term) for all products of a convolution. */
template <class function> static void each_term(const ht_cuda_conv &c, const function &visit)
{
    const int64_t width = c.c / c.groups, outputs = (int64_t)c.n * c.o * c.out[0] * c.out[1];
    const int64_t taps = (int64_t)c.kernel[0] * c.kernel[1];

    for (int64_t i = 0; i < outputs * width * taps; i++) {
        const int64_t tap = i % taps, channel = i / taps % width, at = i / taps / width;
        const int64_t out_w = at % c.out[1], out_h = at / c.out[1] % c.out[0];
        const int64_t o = at / c.out[1] / c.out[0] % c.o, n = at / c.out[1] / c.out[0] / c.o;
        const int64_t tap_w = tap % c.kernel[1], tap_h = tap / c.kernel[1];
        const int64_t h = out_h * c.stride[0] - c.padding[0] + tap_h * c.dilation[0];
        const int64_t w = out_w * c.stride[1] - c.padding[1] + tap_w * c.dilation[1];

        if (h >= 0 && h < c.in[0] && w >= 0 && w < c.in[1])
            visit(term{place(c, n, c.c, o / (c.o / c.groups) * width + channel, c.in, h, w),
                       place(c, o, width, channel, c.kernel, tap_h, tap_w),
                       place(c, n, c.o, o, c.out, out_h, out_w)});
    }
}

static void run(const ht_cuda_conv &c, const ht_cuda_conv_memory &m, bool adds)
{
    const ht_dtype dtype = (ht_dtype)c.dtype;
    const int64_t x = (int64_t)c.n * c.c * c.in[0] * c.in[1];
    const int64_t y = (int64_t)c.n * c.o * c.out[0] * c.out[1];
    const int64_t weight = (int64_t)c.o * (c.c / c.groups) * c.kernel[0] * c.kernel[1];
    const int64_t count = c.way == HT_CUDA_FORWARD         ? y
                          : c.way == HT_CUDA_BACKWARD_DATA ? x
                                                           : weight;
    void *result = c.way == HT_CUDA_FORWARD ? m.y : c.way == HT_CUDA_BACKWARD_DATA ? m.x : m.weight;
    std::vector<double> sum((size_t)count, 0);

    for (int64_t i = 0; i < count && adds; i++)
        sum[(size_t)i] = emulated_element(dtype, result, i);
    each_term(c, [&](const term &t) {
        if (c.way == HT_CUDA_FORWARD)
            sum[(size_t)t.y] += emulated_element(dtype, m.x, t.x) *
                                emulated_element(dtype, m.weight, t.weight);
        else if (c.way == HT_CUDA_BACKWARD_DATA)
            sum[(size_t)t.x] += emulated_element(dtype, m.y, t.y) *
                                emulated_element(dtype, m.weight, t.weight);
        else
            sum[(size_t)t.weight] += emulated_element(dtype, m.y, t.y) *
                                     emulated_element(dtype, m.x, t.x);
    });
    for (int64_t i = 0; i < count; i++)
        emulated_set_element(dtype, result, i, sum[(size_t)i]);
}

int ht_cuda_dnn_run(void *handle, const ht_cuda_conv_plan *plan, const ht_cuda_conv_memory *memory,
                    bool adds, bool *done)
{
    ALONE;
    const ht_cuda_conv c = static_cast<emulated_plan *>(plan->handle)->conv;
    const ht_cuda_conv_memory m = *memory;

    for (const void *operand : {m.x, m.weight, m.y})
        if ((uintptr_t)operand % 16 != 0) {
            fprintf(stderr, "emulated: an operand of a convolution is not aligned\n");
            abort();
        }
    *done = c.groups == 1 || c.dtype != HT_FLOAT64;
    if (!*done)
        return 0;
    if (static_cast<stream *>(handle)->device != emulated_current)
        return BAD_STREAM;
    emulated_give(static_cast<stream *>(handle), [=] { run(c, m, adds); });
    return emulated_error_now();
}
