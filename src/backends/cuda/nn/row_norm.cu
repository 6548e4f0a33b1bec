/* SPDX-License-Identifier: MIT
 *
 * Normalisation of rows (channels, inner) of x. Sums are reductions (reduce/fold.h): over a row, and
 * for the gradients of the parameters over all rows. */
#include "backends/cuda/kernels.h"
#include "backends/cuda/reduce/fold.h"
#include "ht/kernels/nn.h"

#include "backends/cuda/dtypes.h"

#include "backends/cuda/reduce/moments.h"

enum { ABOUT_MEAN, ABOUT_ZERO };

static int64_t rows_of(const ht_row_norm_call *norm)
{
    return norm->outer * norm->groups;
}

static int64_t row_length(const ht_row_norm_call *norm)
{
    return norm->channels * norm->inner;
}

/* A call, and what finds the row and the parameter of an element. */
struct row_norm_job {
    ht_row_norm_call call;
    ht_cuda_length inner, channels, parameters;
};

/* For a call with elements. */
static row_norm_job job_of(const ht_row_norm_call *norm)
{
    const int64_t work = rows_of(norm) * row_length(norm);

    return {*norm, ht_cuda_length_of(norm->inner, work), ht_cuda_length_of(norm->channels, work),
            ht_cuda_length_of(norm->groups * norm->channels, work)};
}

static __forceinline__ __device__ int64_t find_parameter(const row_norm_job &job, int64_t i,
                                                         int64_t *row)
{
    if (!job.inner.is_narrow) {
        *row = i / job.inner.by / job.channels.by;
        return i / job.inner.by % job.parameters.by;
    }
    /* The others are narrow, too: one branch for all takes fewer registers. */
    const uint32_t channel = ht_cuda_quotient((uint32_t)i, job.inner.narrow);
    uint32_t parameter;

    *row = ht_cuda_quotient(channel, job.channels.narrow);
    ht_cuda_divide(channel, job.parameters.narrow, &parameter);
    return parameter;
}

/* Each row of x is one output. */
static ht_cuda_reduction over_rows(const ht_row_norm_call *norm, const void *x, void *y)
{
    ht_cuda_reduction r = {};

    r.outputs.ndim = r.reduced.ndim = 1;
    r.outputs.count = rows_of(norm);
    r.reduced.count = r.x_stride[0] = row_length(norm);
    r.stride[0] = 1;
    r.x = x;
    r.y = y;
    r.kind = norm->root_mean_square ? ABOUT_ZERO : ABOUT_MEAN;
    return r;
}

/* Each channel of each group of x is one output; false: too many elements. */
static bool over_parameters(const ht_row_norm_call *norm, const void *x, ht_cuda_reduction *r)
{
    const int64_t reduced[2] = {norm->outer, norm->inner};

    *r = {};
    r->outputs.ndim = 1;
    r->outputs.count = norm->groups * norm->channels;
    r->x_stride[0] = norm->inner;
    r->stride[0] = norm->groups * row_length(norm);
    r->stride[1] = 1;
    r->x = x;
    return ht_cuda_make_axes(&r->reduced, 2, reduced);
}

#define HT_TEMPLATE "backends/cuda/nn/row_norm.inc.cu"
#include "backends/cuda/foreach_floating.h"

#define ADD(dtype) add_row_norm_##dtype(backend);

void ht_cuda_add_row_norm(ht_backend *backend)
{
    HT_FLOATING_LIST(ADD)
}
