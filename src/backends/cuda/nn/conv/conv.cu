/* SPDX-License-Identifier: MIT
 *
 * Convolution by cuDNN (conv_dnn.cu), or else by im2col and matrix products, for as many images at
 * a time as there is room for. That of 16 bits is then one of float32, whose results are rounded
 * once.
 *
 *     cols (images * p, k)   the windows of p pixels of y; k = c / groups * taps
 *
 * y is channels-last, (images * p, o), or row-major, (images, o, p). Both give products of the
 * matrices as they lie. */
#include "backends/cuda/axes.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/nn/conv/channels.h"
#include "backends/cuda/nn/conv/conv_dnn.h"
#include "backends/cuda/nn/product.h"
#include "backends/cuda/reduce/fold.h"
#include "backends/cuda/scratch.h"

#include "backends/cuda/dtypes.h"

/* For cols of several images; a larger one is taken alone, up to the second limit. */
#define COLUMN_BYTES ((size_t)64 << 20)
#define MOST_BYTES   ((size_t)1 << 30)

/* A convolution over three axes; those that are missing have length 1. */
struct conv {
    int64_t n, c, o, groups; /* c and o of one group */
    int64_t in[HT_SPATIAL], kernel[HT_SPATIAL], out[HT_SPATIAL];
    int64_t stride[HT_SPATIAL], padding[HT_SPATIAL], dilation[HT_SPATIAL];
    int64_t x_image, x_channel, x_step[HT_SPATIAL]; /* strides of x */
    int64_t pixels, taps, k, area; /* of y, of a window, k = c taps; of a channel of x */
    bool last;                     /* y is channels-last */
    struct {
        ht_cuda_divisor k, taps, pixels, area, c;
        ht_cuda_divisor in[HT_SPATIAL], kernel[HT_SPATIAL], out[HT_SPATIAL], stride[HT_SPATIAL];
    } by;
};

/* Whether kernels count with 32 bits what they have of one image. */
static bool is_countable(const conv *v)
{
    const int64_t most = INT64_C(1) << 31;

    for (int axis = 0; axis < HT_SPATIAL; axis++)
        if (v->in[axis] + 2 * v->padding[axis] + v->stride[axis] >= most ||
            v->dilation[axis] >= most)
            return false;
    return v->area > 0 && v->k < most && v->pixels < most && v->c * v->area < most;
}

static void set_divisors(conv *v)
{
    v->by.k = ht_cuda_divisor_of((uint32_t)v->k);
    v->by.taps = ht_cuda_divisor_of((uint32_t)v->taps);
    v->by.pixels = ht_cuda_divisor_of((uint32_t)v->pixels);
    v->by.area = ht_cuda_divisor_of((uint32_t)v->area);
    v->by.c = ht_cuda_divisor_of((uint32_t)v->c);
    for (int axis = 0; axis < HT_SPATIAL; axis++) {
        v->by.in[axis] = ht_cuda_divisor_of((uint32_t)v->in[axis]);
        v->by.kernel[axis] = ht_cuda_divisor_of((uint32_t)v->kernel[axis]);
        v->by.out[axis] = ht_cuda_divisor_of((uint32_t)v->out[axis]);
        v->by.stride[axis] = ht_cuda_divisor_of((uint32_t)v->stride[axis]);
    }
}

static bool make_conv(const ht_conv_call *from, conv *v)
{
    const int64_t *ys = from->y_stride;
    int64_t pixels = 1;
    bool dense_last = true, dense = true;

    *v = {};
    v->n = from->n;
    v->groups = from->groups;
    v->c = from->c / from->groups;
    v->o = from->o / from->groups;
    v->x_image = from->x_stride[0];
    v->x_channel = from->x_stride[1];
    v->pixels = v->taps = v->area = 1;
    for (int axis = 0; axis < HT_SPATIAL; axis++) {
        const int at = axis - (HT_SPATIAL - from->spatial);

        v->in[axis] = at < 0 ? 1 : from->in[at];
        v->kernel[axis] = at < 0 ? 1 : from->kernel[at];
        v->out[axis] = at < 0 ? 1 : from->out[at];
        v->stride[axis] = at < 0 ? 1 : from->stride[at];
        v->padding[axis] = at < 0 ? 0 : from->padding[at];
        v->dilation[axis] = at < 0 ? 1 : from->dilation[at];
        v->x_step[axis] = at < 0 ? 0 : from->x_stride[2 + at];
        v->pixels *= v->out[axis];
        v->taps *= v->kernel[axis];
        v->area *= v->in[axis];
    }
    v->k = v->c * v->taps;
    for (int at = from->spatial - 1; at >= 0; at--) {
        dense_last = dense_last && (from->out[at] == 1 || ys[2 + at] == pixels * from->o);
        dense = dense && (from->out[at] == 1 || ys[2 + at] == pixels);
        pixels *= from->out[at];
    }
    v->last = dense_last && (from->o == 1 || ys[1] == 1);
    return (v->last || (dense && (from->o == 1 || ys[1] == pixels))) &&
           (from->n == 1 || ys[0] == pixels * from->o);
}

/* Whether an image is too large for this way. */
static bool is_too_large(const conv *v, size_t size)
{
    return !is_countable(v) || v->pixels * v->k > (int64_t)(MOST_BYTES / size);
}

/* How many images at a time: of their windows, and of y where it is turned. */
static int64_t images_of(const conv *v, size_t size)
{
    const int64_t wider = v->k > v->o ? v->k : v->o;
    const int64_t columns = (int64_t)(COLUMN_BYTES / size) / (v->pixels * wider);
    const int64_t counted = INT32_MAX / (v->c * v->area);
    const int64_t most = columns < counted ? columns : counted;

    return most < 1 ? 1 : most < v->n ? most : v->n;
}

/* The products of one group for some images, with y or its gradient from these images on. */
static ht_gemm_call product_of(const conv *v, const ht_conv_call *call, int64_t images)
{
    ht_gemm_call g = {};

    g.call = call->call;
    g.call.dtype = call->call.dtype;
    g.alpha = 1;
    g.batch = v->last ? 1 : images;
    return g;
}

/* Pixels of y in a row, of which a thread has the same tap: so it divides once for all of them. */
static constexpr uint32_t STRIP = 8;

/* The window of a pixel of y, seen from one of its taps. */
struct conv_window {
    uint32_t image, place[HT_SPATIAL];
    int32_t shift[HT_SPATIAL]; /* of the tap, from the stride times the place */
};

static __forceinline__ __device__ conv_window window_of(const conv &v, uint32_t row, uint32_t tap)
{
    conv_window w = {};
    uint32_t pixel, along;

    w.image = ht_cuda_divide(row, v.by.pixels, &pixel);

    HT_CUDA_UNROLL
    for (int axis = HT_SPATIAL - 1; axis >= 0; axis--) {
        pixel = ht_cuda_divide(pixel, v.by.out[axis], &w.place[axis]);
        tap = ht_cuda_divide(tap, v.by.kernel[axis], &along);
        w.shift[axis] = (int32_t)(along * v.dilation[axis] - v.padding[axis]);
    }
    return w;
}

/* The position in a channel of x; false: in the padding. */
static __forceinline__ __device__ bool find_tap(const conv &v, const conv_window &w,
                                                int64_t *offset)
{
    bool is_there = true;

    *offset = w.image * v.x_image;
    HT_CUDA_UNROLL
    for (int axis = 0; axis < HT_SPATIAL; axis++) {
        const int32_t at = (int32_t)(w.place[axis] * v.by.stride[axis].by) + w.shift[axis];

        is_there = is_there && (uint32_t)at < v.by.in[axis].by;
        *offset += at * v.x_step[axis];
    }
    return is_there;
}

static __forceinline__ __device__ void next_window(const conv &v, conv_window *w)
{
    HT_CUDA_UNROLL
    for (int axis = HT_SPATIAL - 1; axis >= 0; axis--) {
        if (++w->place[axis] < v.by.out[axis].by)
            return;
        w->place[axis] = 0;
    }
    w->image++;
}

/* Adds to *out the place along an axis of the window that has place `in` of x at a tap; false: none
 * has. */
static __forceinline__ __device__ bool find_window(const conv &v, int axis, uint32_t in,
                                                   uint32_t tap, uint32_t *out)
{
    const int32_t begin = (int32_t)(in + v.padding[axis] - tap * v.dilation[axis]);
    const uint32_t window = ht_cuda_quotient((uint32_t)begin, v.by.stride[axis]);

    *out = *out * v.by.out[axis].by + window;
    return begin >= 0 && window < v.by.out[axis].by &&
           window * v.by.stride[axis].by == (uint32_t)begin;
}

typedef int conv_run(ht_cuda_device *device, const ht_kernel_call *call);

static int run_either(void *stream, const ht_kernel_call *call, conv_run *first, conv_run *second)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const int answer = first(device, call);

    return answer == HT_KERNEL_REFUSED ? second(device, call) : answer;
}

#define DTYPE HT_FLOAT32
#include "backends/cuda/nn/conv/conv_bias.inc.cu"
#include "backends/cuda/nn/conv/conv.inc.cu"
#include "backends/cuda/nn/conv/conv_calls.inc.cu"
#undef DTYPE
#define DTYPE HT_FLOAT64
#include "backends/cuda/nn/conv/conv_bias.inc.cu"
#include "backends/cuda/nn/conv/conv.inc.cu"
#include "backends/cuda/nn/conv/conv_calls.inc.cu"
#undef DTYPE

/* The operands that a convolution writes, of x, weight, bias and y. */
enum { PUTS_X = 1, PUTS_WEIGHT = 2, PUTS_BIAS = 4, PUTS_Y = 8, OPERANDS = 4 };

/* The operands in this order, and how many elements they have. */
static void operands_of(ht_conv_call *call, ht_kernel_operand *operand[], int64_t count[])
{
    int64_t pixels = 1, taps = 1, area = 1;

    for (int axis = 0; axis < call->spatial; axis++) {
        pixels *= call->out[axis];
        taps *= call->kernel[axis];
        area *= call->in[axis];
    }
    operand[0] = &call->x;
    operand[1] = &call->weight;
    operand[2] = &call->bias;
    operand[3] = &call->y;
    count[0] = call->n * call->c * area;
    count[1] = call->o * (call->c / call->groups) * taps;
    count[2] = call->o;
    count[3] = call->n * call->o * pixels;
}

/* The elements from one copy of float32 to the next: each is aligned like separate memory. */
static int64_t room_of(int64_t count)
{
    return (count + 63) / 64 * 64;
}

#define DTYPE HT_FLOAT16
#include "backends/cuda/nn/conv/conv_bias.inc.cu"
#include "backends/cuda/nn/conv/conv_half.inc.cu"
#include "backends/cuda/nn/conv/conv_calls.inc.cu"
#undef DTYPE
#define DTYPE HT_BFLOAT16
#include "backends/cuda/nn/conv/conv_bias.inc.cu"
#include "backends/cuda/nn/conv/conv_half.inc.cu"
#include "backends/cuda/nn/conv/conv_calls.inc.cu"
#undef DTYPE

void ht_cuda_add_conv(ht_backend *backend)
{
    add_conv_HT_FLOAT16(backend);
    add_conv_HT_BFLOAT16(backend);
    add_conv_HT_FLOAT32(backend);
    add_conv_HT_FLOAT64(backend);
}
