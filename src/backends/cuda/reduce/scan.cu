/* SPDX-License-Identifier: MIT
 *
 * The host's part of a scan. */
#include "backends/cuda/reduce/scan.h"
#include "backends/cuda/scratch.h"

/* Enough threads for any device; the elements of the shortest chunk. */
enum { WANTED = 1 << 17, SHORTEST = 64 };

static bool translate(ht_cuda_scan *to, const ht_cumulation *from, bool product)
{
    const ht_loop *loop = &from->loop;

    if (!ht_cuda_make_axes(&to->lines, loop->ndim, loop->shape))
        return false;
    for (int axis = 0; axis < loop->ndim; axis++) {
        to->y_stride[axis] = loop->stride[0][axis];
        to->x_stride[axis] = loop->stride[1][axis];
        to->start_stride[axis] = loop->stride[2][axis];
    }
    to->y = loop->operand[0].data;
    to->x = loop->operand[1].data;
    to->start = loop->operand[2].data;
    to->count = from->count;
    to->y_step = from->out_stride;
    to->x_step = from->in_stride;
    to->product = product;
    return true;
}

static void cut(ht_cuda_scan *s)
{
    const int64_t wanted = WANTED / s->lines.count, most = s->count / SHORTEST;
    const int64_t chunks = wanted < most ? wanted : most;

    s->chunk = chunks > 1 ? (s->count + chunks - 1) / chunks : s->count;
    s->chunks = (s->count + s->chunk - 1) / s->chunk;
}

/* The scan of `part` (lines, chunks of s) in its own place. */
static ht_cuda_scan scan_of_parts(const ht_cuda_scan *s, void *part)
{
    ht_cuda_scan to = {};

    to.lines.ndim = 1;
    to.lines.count = s->lines.count;
    to.y_stride[0] = to.x_stride[0] = to.count = s->chunks;
    to.y_step = to.x_step = 1;
    to.y = part;
    to.x = part;
    to.product = s->product;
    cut(&to);
    return to;
}

/* Bytes of the results of all chunks, and of the chunks of these, and so on. */
static size_t bytes_of(const ht_cuda_scan *s, size_t size)
{
    const size_t bytes = (size_t)(s->lines.count * s->chunks) * size;

    if (s->chunks <= 1)
        return 0;
    const ht_cuda_scan parts = scan_of_parts(s, NULL);

    return bytes + bytes_of(&parts, size);
}

static void launch(const ht_cuda_device *device, ht_cuda_scan *s,
                   const ht_cuda_scan_kernels *kernels, char *scratch, bool of_parts)
{
    const unsigned blocks = ht_cuda_blocks(device, s->lines.count * s->chunks);

    if (s->chunks > 1) {
        ht_cuda_scan parts = scan_of_parts(s, scratch);

        HT_CUDA_LAUNCH(of_parts ? kernels->fold_parts : kernels->fold, blocks, HT_CUDA_THREADS,
                       device->stream, *s, (void *)scratch);
        launch(device, &parts, kernels,
               scratch + (size_t)(s->lines.count * s->chunks) * kernels->size, true);
        s->before = scratch;
    }
    HT_CUDA_LAUNCH(of_parts ? kernels->walk_parts : kernels->walk, blocks, HT_CUDA_THREADS,
                   device->stream, *s);
}

/* Between ht_cuda_begin and ht_cuda_end. */
static int run(const ht_cuda_device *device, ht_cuda_scan *s, const ht_cuda_scan_kernels *kernels,
               bool of_parts, const char *what)
{
    void *scratch = NULL;

    cut(s);
    if (s->chunks > 1) {
        scratch = ht_cuda_scratch(device, bytes_of(s, kernels->size), what);
        if (scratch == NULL)
            return 1;
    }
    launch(device, s, kernels, static_cast<char *>(scratch), of_parts);
    ht_cuda_scratch_free(device, scratch);
    return 0;
}

int ht_cuda_run_scan(void *stream, const ht_kernel_call *call, bool product,
                     const ht_cuda_scan_kernels *kernels)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    ht_cuda_scan s = {};

    if (!translate(&s, (const ht_cumulation *)call, product))
        return HT_KERNEL_REFUSED;
    if (s.lines.count == 0 || s.count == 0)
        return 0;
    if (ht_cuda_begin(device, call) != 0 || run(device, &s, kernels, false, call->what) != 0)
        return 1;
    return ht_cuda_end(device, call);
}

int ht_cuda_scan_counts(ht_cuda_device *device, uint64_t *counts, int64_t n, const char *what)
{
    typedef ht_cuda_scan_parts<uint64_t> row;
    static const ht_cuda_scan_kernels kernels = {ht_cuda_scan_fold<row>, ht_cuda_scan_fold<row>,
                                                 ht_cuda_scan_walk<row>, ht_cuda_scan_walk<row>,
                                                 sizeof(uint64_t)};
    ht_cuda_scan line = {};

    line.lines.count = 1;
    line.chunks = n;
    ht_cuda_scan s = scan_of_parts(&line, counts);

    return run(device, &s, &kernels, true, what);
}
