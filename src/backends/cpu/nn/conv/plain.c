/* SPDX-License-Identifier: MIT
 *
 * The plain convolutions of every floating dtype: the plan for the template, and the choice of the
 * dtype. */
#include "backends/cpu/nn/conv/plain.h"

#include "config.h"

#include <string.h>

#include "backends/cpu/dtypes.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/nn/kernels.h"
#include "backends/cpu/scratch.h"

/* The windows that are worked on at a time: a part of the second-level cache. */
#define COLS_BYTES (512 << 10)

typedef struct conv_plan {
    const ht_conv_call *conv;
    int64_t c, o;   /* channels of a group */
    int64_t window; /* kh * kw */
    int64_t k;      /* c * window */
    int64_t area;   /* h * w of x */
    int64_t rows;   /* output rows at a time */
} conv_plan;

typedef struct conv_parts {
    void *cols, *flat, *weight, *bias, *extra;
} conv_parts;

static conv_plan make_plan(const ht_conv_call *v)
{
    conv_plan p = {.conv = v,
                   .c = v->c / v->groups,
                   .o = v->o / v->groups,
                   .window = v->kernel[0] * v->kernel[1],
                   .area = v->in[0] * v->in[1]};
    int64_t row_bytes;

    p.k = p.c * p.window;
    row_bytes = v->out[1] * p.k * (int64_t)sizeof(double);
    p.rows = row_bytes < COLS_BYTES ? COLS_BYTES / (row_bytes > 0 ? row_bytes : 1) : 1;
    p.rows = p.rows < v->out[0] ? p.rows : v->out[0];
    return p;
}

static int64_t rows_from(const conv_plan *p, int64_t first)
{
    const int64_t left = p->conv->out[0] - first;

    return left < p->rows ? left : p->rows;
}

/* The parts of the working memory; `extra` elements of the last. */
static bool cut_scratch(const conv_plan *p, size_t element, int64_t extra, conv_parts *parts)
{
    const int64_t m = p->rows * p->conv->out[1];
    const int64_t counts[5] = {m * p->k, m * p->o, p->conv->o * p->k, p->conv->o, extra};
    void **const at[5] = {&parts->cols, &parts->flat, &parts->weight, &parts->bias, &parts->extra};
    size_t offsets[6] = {0};
    char *memory;

    for (int i = 0; i < 5; i++)
        offsets[i + 1] = offsets[i] + ht__cpu_scratch_part((size_t)counts[i] * element);
    memory = ht__cpu_scratch(offsets[5]);
    if (memory == NULL)
        return false;
    for (int i = 0; i < 5; i++)
        *at[i] = memory + offsets[i];
    return true;
}

#define HT_TEMPLATE "backends/cpu/nn/conv/plain.inc.c"
#include "backends/cpu/foreach_dtype.h"

/* One row for each dtype that convolutions have. */
#define CONV_DTYPES(X) X(HT_FLOAT16) X(HT_BFLOAT16) X(HT_FLOAT32) X(HT_FLOAT64)

int ht__cpu_conv_plain_forward(const ht_conv_call *conv, const void *x, const void *weight,
                               const void *bias, void *y)
{
    const conv_plan plan = make_plan(conv);

    switch (conv->call.dtype) {
#define FORWARD(dtype) \
    case dtype:        \
        return conv_forward_##dtype(&plan, x, weight, bias, y);
        CONV_DTYPES(FORWARD)
    default:
        return ht__kernel_bad_dtype("ht_conv2d", conv->call.dtype);
    }
}

int ht__cpu_conv_plain_backward_data(const ht_conv_call *conv, const void *dy, const void *weight,
                                     void *dx)
{
    const conv_plan plan = make_plan(conv);

    switch (conv->call.dtype) {
#define BACKWARD_DATA(dtype) \
    case dtype:              \
        return conv_backward_data_##dtype(&plan, dy, weight, dx);
        CONV_DTYPES(BACKWARD_DATA)
    default:
        return ht__kernel_bad_dtype("ht_conv2d", conv->call.dtype);
    }
}

int ht__cpu_conv_plain_backward_weight(const ht_conv_call *conv, const void *x, const void *dy,
                                       void *dweight, void *dbias)
{
    const conv_plan plan = make_plan(conv);

    switch (conv->call.dtype) {
#define BACKWARD_WEIGHT(dtype)                           \
    case dtype:                                          \
        if (dbias != NULL)                               \
            conv_backward_bias_##dtype(conv, dy, dbias); \
        return dweight != NULL ? conv_backward_weight_##dtype(&plan, x, dy, dweight) : 0;
        CONV_DTYPES(BACKWARD_WEIGHT)
    default:
        return ht__kernel_bad_dtype("ht_conv2d", conv->call.dtype);
    }
}
