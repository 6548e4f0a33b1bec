/* SPDX-License-Identifier: MIT
 *
 * The host's part of a reduction: how many threads fold an output, and the launches. */
#include "backends/cuda/reduce/fold.h"
#include "backends/cuda/scratch.h"

/* Enough threads for any device. A thread folds at least SHORTEST elements, and joins accumulators of
 * up to JOINED bytes. TOGETHER adjacent threads read adjacent elements of a row, so that they use
 * complete lines of the memory; that takes up to MOST accumulators. */
enum { WANTED = 1 << 17, MOST = 1 << 24, SHORTEST = 32, JOINED = 512, TOGETHER = 32 };

static int64_t distance(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

/* How many accumulators a thread joins: small ones are read in few turns (ht_cuda_depth). */
static int64_t joined_of(const ht_cuda_fold *fold)
{
    const int64_t joined = JOINED / (int64_t)fold->size;

    return joined > 64 ? 64 : joined < 8 ? 8 : joined;
}

static int64_t fewer_of(const ht_cuda_reduction *r, const ht_cuda_fold *fold)
{
    const int64_t joined = joined_of(fold);

    return (r->segments + joined - 1) / joined;
}

/* Longer segments, where these save a launch. */
static int64_t segments_of(const ht_cuda_reduction *r, int64_t joined)
{
    const int64_t most = r->reduced.count / SHORTEST;
    const int64_t together = !r->across ? 1 : joined < TOGETHER ? joined : (int64_t)TOGETHER;
    int64_t segments = WANTED / r->outputs.count;

    if (segments < together)
        segments = together < MOST / r->outputs.count ? together : MOST / r->outputs.count;
    segments = segments < most ? segments : most;
    if (segments > joined && r->reduced.count <= 2 * SHORTEST * joined)
        segments = joined;
    return segments > 1 ? segments : 1;
}

static bool translate(ht_cuda_reduction *to, const ht_reduction *from, int kind)
{
    const ht_loop *loop = &from->loop;

    if (!ht_cuda_make_axes(&to->outputs, loop->ndim, loop->shape) ||
        !ht_cuda_make_axes(&to->reduced, from->ndim, from->shape))
        return false;
    for (int axis = 0; axis < loop->ndim; axis++) {
        to->y_stride[axis] = loop->stride[0][axis];
        to->x_stride[axis] = loop->stride[1][axis];
        to->at_stride[axis] = loop->stride[2][axis];
    }
    for (int axis = 0; axis < from->ndim; axis++)
        to->stride[axis] = from->stride[axis];
    to->y = loop->operand[0].data;
    to->x = loop->operand[1].data;
    to->at = static_cast<int64_t *>(loop->operand[2].data);
    to->kind = kind;
    to->divisor = from->divisor;
    return true;
}

static void launch(const ht_cuda_device *device, ht_cuda_reduction *r, const ht_cuda_fold *fold,
                   char *part)
{
    const int64_t outputs = r->outputs.count;
    char *from = part, *to = part + (size_t)(outputs * r->segments) * fold->size;

    HT_CUDA_LAUNCH(
        fold->fold,
        ht_cuda_blocks_up_to(device, outputs * r->segments, HT_CUDA_SHORT_BLOCKS_PER_CORE),
        HT_CUDA_THREADS, device->stream, *r, part);
    while (r->segments > 1) {
        const int64_t fewer = fewer_of(r, fold);

        HT_CUDA_LAUNCH(fold->join, ht_cuda_blocks(device, outputs * fewer), HT_CUDA_THREADS,
                       device->stream, *r, (const void *)from,
                       fewer > 1 ? (void *)to : (void *)NULL, fewer);
        r->segments = fewer;
        char *last = from;
        from = to;
        to = last;
    }
}

/* Two reduced axes that are one: its elements have the same order. */
static void merge_reduced(ht_cuda_reduction *r)
{
    if (r->reduced.ndim != 2 || r->reduced.count == 0)
        return;
    const int64_t outer = r->reduced.length[0].by, inner = r->reduced.length[1].by;

    if (inner > 1 && outer > 1 && r->stride[0] != r->stride[1] * inner)
        return;
    r->reduced.ndim = 1;
    if (inner > 1)
        r->stride[0] = r->stride[1];
}

int ht_cuda_launch_reduction(const ht_cuda_device *device, ht_cuda_reduction *r,
                             const ht_cuda_fold *fold, const char *what)
{
    merge_reduced(r);
    const int64_t outer = r->x_stride[r->outputs.ndim - 1], inner = r->stride[r->reduced.ndim - 1];
    char *part = NULL;

    r->across = r->outputs.count == 1 || distance(inner) < distance(outer);
    r->segments = segments_of(r, joined_of(fold));
    if (r->segments > 1) {
        const int64_t accumulators = r->segments + fewer_of(r, fold);
        const size_t bytes = (size_t)(r->outputs.count * accumulators) * fold->size;

        part = static_cast<char *>(ht_cuda_scratch(device, bytes, what));
        if (part == NULL)
            return 1;
    }
    launch(device, r, fold, part);
    ht_cuda_scratch_free(device, part);
    return 0;
}

int ht_cuda_run_reduction(void *stream, const ht_kernel_call *call, int kind,
                          const ht_cuda_fold *fold)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    ht_cuda_reduction r = {};

    if (!translate(&r, (const ht_reduction *)call, kind))
        return HT_KERNEL_REFUSED;
    if (r.outputs.count == 0)
        return 0;
    if (ht_cuda_begin(device, call) != 0 ||
        ht_cuda_launch_reduction(device, &r, fold, call->what) != 0)
        return 1;
    return ht_cuda_end(device, call);
}
