/* SPDX-License-Identifier: MIT
 *
 * Attention of float32 and float64, by tiles of the scores: some rows of queries at a time, with
 * all keys. Products are those of other layers (product.h). */
#include "backends/cuda/kernels.h"
#include "backends/cuda/nn/product.h"
#include "backends/cuda/nn/softmax.h"
#include "backends/cuda/random/philox.h"
#include "backends/cpu/nn/attention.h"

#include "backends/cuda/dtypes.h"

/* A row of scores of more bytes than a tile is taken alone, up to this limit. */
#define MOST_BYTES ((int64_t)1 << 30)

/* Scores (batches, rows, s), from matrix b and row `row` on: several complete matrices, or some
 * rows of one. */
struct attention_tile {
    int64_t b, batches, row, rows;
};

static int64_t at_most(int64_t limit, int64_t n)
{
    return n < limit ? n : limit;
}

/* The first tile; false: a row of scores is too large, a matrix is empty, or there are too many. */
static bool first_tile(const ht_attention_call *a, int64_t size, attention_tile *t)
{
    const int64_t row_bytes = a->s * size;

    *t = {};
    if (a->batch == 0 || a->l == 0 || a->s == 0 || a->e == 0 || a->ev == 0 ||
        a->batch > INT32_MAX || row_bytes > MOST_BYTES)
        return false;
    t->rows = at_most(a->l, HT_CUDA_ATTENTION_TILE / row_bytes);
    t->rows = t->rows > 1 ? t->rows : 1;
    t->batches = t->rows < a->l ? 1
                                : at_most(a->batch, HT_CUDA_ATTENTION_TILE / (row_bytes * a->l));
    t->batches = t->batches > 1 ? t->batches : 1;
    return true;
}

/* The tile after t, where complete tiles have the size of `first`; false: it was the last. */
static bool next_tile(const ht_attention_call *a, const attention_tile *first, attention_tile *t)
{
    t->row += t->rows;
    if (t->row == a->l) {
        t->row = 0;
        t->b += t->batches;
    }
    t->rows = at_most(first->rows, a->l - t->row);
    t->batches = at_most(first->batches, a->batch - t->b);
    return t->batches > 0;
}

static int64_t scores_of(const ht_attention_call *a, const attention_tile *t)
{
    return t->batches * t->rows * a->s;
}

/* Finds the position of a score in its tile, and in the mask. */
struct score_axes {
    ht_cuda_length columns, rows;
    ht_cuda_axes leads;
};

static score_axes score_axes_of(const ht_attention_call *a, const attention_tile *t)
{
    const int64_t scores = scores_of(a, t), alone = 1;
    score_axes axes = {ht_cuda_length_of(a->s, scores), ht_cuda_length_of(t->rows, scores), {}};

    ht_cuda_make_axes(&axes.leads, a->leads > 0 ? a->leads : 1, a->leads > 0 ? a->lead : &alone);
    return axes;
}

/* As ht__mask_offset. */
static __forceinline__ __device__ int64_t mask_offset(const ht_attention_call &a,
                                                      const score_axes &axes, int64_t b,
                                                      int64_t row)
{
    return ht_cuda_offset(axes.leads, a.mask_stride, b) + row * a.mask_stride[a.leads];
}

/* c (m, n) = alpha op(a) op(b), row-major and without gaps. */
static ht_gemm_call product_of(const ht_attention_call *a, int64_t m, int64_t n, int64_t k)
{
    ht_gemm_call g = {};

    g.call = a->call;
    g.alpha = 1;
    g.m = m;
    g.n = g.ldb = g.ldc = n;
    g.k = g.lda = k;
    return g;
}

/* The numbers of the tile's elements in the draw follow one another. */
static ht_cuda_draw<1> draw_of(const ht_attention_call *a, const attention_tile *t)
{
    ht_random_draw draw = a->draw;

    draw.outer = 1;
    draw.inner = scores_of(a, t);
    draw.inner_global = 0;
    draw.start = ((a->draw.start + t->b) * a->l + t->row) * a->s;
    return ht_cuda_make_draw<1>(&draw);
}

#define DTYPE HT_FLOAT32
#include "backends/cuda/nn/attention.inc.cu"
#undef DTYPE
#define DTYPE HT_FLOAT64
#include "backends/cuda/nn/attention.inc.cu"
#undef DTYPE

void ht_cuda_add_attention(ht_backend *backend)
{
    add_attention_HT_FLOAT32(backend);
    add_attention_HT_FLOAT64(backend);
}
