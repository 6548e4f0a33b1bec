/* SPDX-License-Identifier: MIT
 *
 * Convolution by cuDNN, which has fast ways for tensors that are all row-major or all
 * channels-last. So the layout of y is that of all: x that has the other one, and weights, which
 * are always row-major, are turned on their way there or back. */
#include "backends/cuda/nn/conv/conv_dnn.h"

#include <string.h>

#include "backends/cuda/nn/conv/channels.h"

#define MOST_ELEMENTS INT32_MAX /* of a tensor */

/* A tensor with its second axis last, or not; with one channel or one pixel it is both. */
struct layout {
    bool first, last;
};

/* Neither, if it has gaps. */
static layout layout_of(int spatial, int64_t n, int64_t channels, const int64_t *shape,
                        const int64_t *stride)
{
    int64_t pixels = 1;
    layout is = {true, true};

    for (int axis = spatial - 1; axis >= 0; axis--) {
        is.first = is.first && (shape[axis] == 1 || stride[2 + axis] == pixels);
        is.last = is.last && (shape[axis] == 1 || stride[2 + axis] == pixels * channels);
        pixels *= shape[axis];
    }
    is.first = is.first && (channels == 1 || stride[1] == pixels);
    is.last = is.last && (channels == 1 || stride[1] == 1);
    if (n > 1 && stride[0] != pixels * channels)
        is.first = is.last = false;
    return is;
}

/* One axis becomes two. */
static bool fill_axes(const ht_conv_call *from, ht_cuda_conv *c)
{
    c->axes = from->spatial < 2 ? 2 : from->spatial;
    for (int axis = 0; axis < c->axes; axis++) {
        const int at = axis - (c->axes - from->spatial);

        c->in[axis] = c->kernel[axis] = c->out[axis] = c->stride[axis] = c->dilation[axis] = 1;
        if (at < 0)
            continue;
        const int64_t in = from->in[at], kernel = from->kernel[at], stride = from->stride[at];
        const int64_t padding = from->padding[at], dilation = from->dilation[at];
        const int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1;

        if (in > MOST_ELEMENTS || kernel > MOST_ELEMENTS || stride > MOST_ELEMENTS ||
            padding > MOST_ELEMENTS || dilation > MOST_ELEMENTS || room < 0 ||
            from->out[at] != room / stride + 1)
            return false;
        c->in[axis] = (int)in;
        c->kernel[axis] = (int)kernel;
        c->out[axis] = (int)from->out[at];
        c->stride[axis] = (int)stride;
        c->padding[axis] = (int)padding;
        c->dilation[axis] = (int)dilation;
    }
    return true;
}

/* The operands. */
enum { X, WEIGHT, Y, OPERANDS };

/* How many elements they have, and the pixels and taps of a channel. */
struct extent {
    int64_t area, taps, pixels, count[OPERANDS];
};

static extent extent_of(const ht_conv_call *from)
{
    extent e = {1, 1, 1, {0}};

    for (int axis = 0; axis < from->spatial; axis++) {
        e.area *= from->in[axis];
        e.taps *= from->kernel[axis];
        e.pixels *= from->out[axis];
    }
    e.count[X] = from->n * from->c * e.area;
    e.count[WEIGHT] = from->o * (from->c / from->groups) * e.taps;
    e.count[Y] = from->n * from->o * e.pixels;
    return e;
}

/* turns_x: x has the other layout. */
static bool describe(const ht_conv_call *from, const extent *e, int way, ht_cuda_conv *c,
                     bool *turns_x)
{
    const layout x = layout_of(from->spatial, from->n, from->c, from->in, from->x_stride);
    const layout y = layout_of(from->spatial, from->n, from->o, from->out, from->y_stride);

    memset(c, 0, sizeof *c);
    for (int k = 0; k < OPERANDS; k++)
        if (e->count[k] == 0 || e->count[k] > MOST_ELEMENTS)
            return false;
    if ((!x.first && !x.last) || (!y.first && !y.last) || !fill_axes(from, c))
        return false;
    c->last = y.first && y.last ? x.last : y.last;
    *turns_x = c->last ? !x.last : !x.first;
    c->dtype = from->call.dtype;
    c->way = way;
    c->n = (int)from->n;
    c->c = (int)from->c;
    c->o = (int)from->o;
    c->groups = (int)from->groups;
    return true;
}

/* A job: what the call has, and what of it cuDNN has elsewhere, since it is turned or not aligned. */
struct dnn_job {
    const ht_conv_call *call;
    ht_cuda_conv conv;
    extent size;
    void *own[OPERANDS];
    bool turns[OPERANDS], moves[OPERANDS];
    int result;
};

/* Kernels for tensor cores read 16 bytes at once. Which one cuDNN takes must not depend on addresses. */
static bool is_aligned(const void *memory)
{
    return (uintptr_t)memory % 16 == 0;
}

static dnn_job job_of(const ht_conv_call *call, int way)
{
    static const int results[] = {Y, X, WEIGHT}; /* HT_CUDA_FORWARD, ... */
    dnn_job j = {};

    j.call = call;
    j.size = extent_of(call);
    j.own[X] = call->x.data;
    j.own[WEIGHT] = call->weight.data;
    j.own[Y] = call->y.data;
    j.result = results[way];
    return j;
}

/* Bytes, each part aligned like separate memory. */
static size_t room_of(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* Between row-major and channels-last, where `forth` is the way from what the call has to what cuDNN
 * has. channels and pixels are those of x, or those of a weight and its taps. */
template <class word>
static void turn_between(const ht_cuda_device *device, const dnn_job *j, int operand, bool forth,
                         const void *from, void *to)
{
    const ht_conv_call *call = j->call;
    const bool to_last = forth == (j->conv.last != 0);
    const int64_t channels = operand == X ? call->c : call->c / call->groups;
    const int64_t pixels = operand == X ? j->size.area : j->size.taps;
    const int64_t count = j->size.count[operand];

    HT_CUDA_LAUNCH_EACH(device, turn<word>, count,
                        ht_cuda_length_of(to_last ? channels : pixels, count),
                        ht_cuda_length_of(to_last ? pixels : channels, count),
                        static_cast<const word *>(from), static_cast<word *>(to));
}

template <class word>
static int carry(const ht_cuda_device *device, const dnn_job *j, int operand, bool forth,
                 const void *from, void *to)
{
    const size_t bytes = (size_t)j->size.count[operand] * sizeof(word);

    if (!j->turns[operand])
        return ht_cuda_check(ht_cuda_copy(to, from, bytes, device->stream), device,
                             j->call->call.what);
    turn_between<word>(device, j, operand, forth, from, to);
    return 0;
}

/* With scratch memory for what moves, and for the plan. */
template <class word>
static int run_between(ht_cuda_device *device, const dnn_job *j, const ht_cuda_conv_memory *m)
{
    const ht_conv_call *call = j->call;
    const bool adds = j->conv.way == HT_CUDA_FORWARD && call->bias.data != NULL;
    void *const at[OPERANDS] = {m->x, m->weight, m->y};

    for (int k = 0; k < OPERANDS; k++)
        if (j->moves[k] && k != j->result && carry<word>(device, j, k, true, j->own[k], at[k]) != 0)
            return 1;
    if (adds)
        HT_CUDA_LAUNCH_EACH(device, put_channels<word>, j->size.count[Y],
                            ht_cuda_length_of(j->size.pixels, j->size.count[Y]),
                            ht_cuda_length_of(call->o, j->size.count[Y]), j->conv.last != 0,
                            static_cast<const word *>(call->bias.data), static_cast<word *>(m->y));
    const int answer = ht_cuda_plans_run(device, m, adds, call->call.what);

    if (answer != 0 || !j->moves[j->result])
        return answer;
    return carry<word>(device, j, j->result, false, at[j->result], j->own[j->result]);
}

template <class word>
static int run_plan(ht_cuda_device *device, const dnn_job *j, const ht_cuda_conv_plan *plan)
{
    size_t begin[OPERANDS], bytes = 0;

    for (int k = 0; k < OPERANDS; k++) {
        begin[k] = bytes;
        bytes += j->moves[k] ? room_of((size_t)j->size.count[k] * sizeof(word)) : 0;
    }
    char *memory = NULL;

    if (bytes + plan->bytes > 0) {
        memory = static_cast<char *>(
            ht_cuda_scratch(device, bytes + plan->bytes, j->call->call.what));
        if (memory == NULL)
            return 1;
    }
    const ht_cuda_conv_memory m = {j->moves[X] ? memory + begin[X] : j->own[X],
                                   j->moves[WEIGHT] ? memory + begin[WEIGHT] : j->own[WEIGHT],
                                   j->moves[Y] ? memory + begin[Y] : j->own[Y],
                                   plan->bytes > 0 ? memory + bytes : NULL};
    const int answer = run_between<word>(device, j, &m);

    ht_cuda_scratch_free(device, memory);
    return answer;
}

static int run_by_dtype(ht_cuda_device *device, const dnn_job *j, const ht_cuda_conv_plan *plan)
{
    switch (j->conv.dtype) {
    case HT_FLOAT16:
    case HT_BFLOAT16:
        return run_plan<uint16_t>(device, j, plan);
    case HT_FLOAT32:
        return run_plan<uint32_t>(device, j, plan);
    default:
        return run_plan<uint64_t>(device, j, plan);
    }
}

int ht_cuda_convolve(ht_cuda_device *device, const ht_conv_call *call, int way)
{
    dnn_job j = job_of(call, way);

    if (!describe(call, &j.size, way, &j.conv, &j.turns[X]))
        return HT_KERNEL_REFUSED;
    j.turns[WEIGHT] = j.conv.last != 0 && call->c > call->groups && j.size.taps > 1;
    for (int k = 0; k < OPERANDS; k++)
        j.moves[k] = j.turns[k] || !is_aligned(j.own[k]);
    if (ht_cuda_begin(device, &call->call) != 0)
        return 1;
    const ht_cuda_conv_plan *plan = ht_cuda_plans_take(device, &j.conv);

    if (plan == NULL)
        return HT_KERNEL_REFUSED;
    const int answer = run_by_dtype(device, &j, plan);

    ht_cuda_plans_let(device);
    return answer != 0 ? answer : ht_cuda_end(device, &call->call);
}
