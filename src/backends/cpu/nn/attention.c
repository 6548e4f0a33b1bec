/* SPDX-License-Identifier: MIT
 *
 * Attention by tiles of the scores: some rows of queries and some keys at a time. */
#include <cblas.h>

#include "backends/cpu/level.h"
#include "backends/cpu/nn/attention.h"
#include "backends/cpu/random/walk.h"
#include "backends/cpu/scratch.h"

/* A tile of scores, which stays in the second-level cache. Lanes: sums and maxima along a row have
 * the same order at each SIMD level. */
enum { TILE_ROWS = 128, TILE_COLUMNS = 256, TILE = TILE_ROWS * TILE_COLUMNS, LANES = 32 };

/* Row `row` of matrix b, and column `column`, are the first ones of a tile. */
typedef struct attention_tile {
    int64_t b, row, rows, column, columns;
} attention_tile;

static int64_t at_most(int64_t limit, int64_t n)
{
    return n < limit ? n : limit;
}

static int64_t padded(int64_t columns)
{
    return (columns + LANES - 1) / LANES * LANES;
}

/* The tile after `tile` in the same rows; false at their end. Tiles above the diagonal are skipped.
 */
static bool next_tile(const ht_attention_call *a, attention_tile *tile)
{
    const int64_t end = a->causal ? at_most(a->s, tile->row + tile->rows) : a->s;

    tile->column += tile->columns;
    tile->columns = at_most(TILE_COLUMNS, end - tile->column);
    return tile->columns > 0;
}

static attention_tile tiles_of_rows(const ht_attention_call *a, int64_t b, int64_t row)
{
    return (attention_tile){.b = b, .row = row, .rows = at_most(TILE_ROWS, a->l - row)};
}

/* 1 where the element is kept, by the rule of dropout.c. */
static void keep_word(const ht_random_draw *draw, const uint32_t *word, int64_t n, void *out)
{
    const int32_t threshold = (int32_t)ceil(draw->a * 0x1p24);
    uint8_t *keep = out;

    HT_VECTORIZE
    for (int64_t i = 0; i < n; i++)
        keep[i] = (int32_t)(word[i] >> 8) >= threshold;
}

static void draw_keep(const ht_attention_call *a, const attention_tile *tile, int64_t i,
                      uint8_t *keep)
{
    const int64_t row = (a->draw.start + tile->b) * a->l + tile->row + i;

    random_run(&a->draw, (uint64_t)(row * a->s + tile->column), tile->columns, keep_word, 1,
               (char *)keep, 1);
}

/* BLAS counts in int. Tiles are small, but rows may be longer. */
static bool fits_int(const ht_attention_call *a)
{
    return a->e <= INT32_MAX && a->ev <= INT32_MAX;
}

/* A leading dimension is at least 1, also of a matrix without columns. */
static int leading(int64_t columns)
{
    return columns > 0 ? (int)columns : 1;
}

/* One product of a tile. */
static void multiply(const ht_gemm_call *g)
{
    const CBLAS_TRANSPOSE a = g->trans_a ? CblasTrans : CblasNoTrans;
    const CBLAS_TRANSPOSE b = g->trans_b ? CblasTrans : CblasNoTrans;
    const int m = (int)g->m, n = (int)g->n, k = (int)g->k;

    if (m == 0 || n == 0)
        return;
    if (g->call.dtype == HT_FLOAT32)
        cblas_sgemm(CblasRowMajor, a, b, m, n, k, (float)g->alpha, g->a.data, leading(g->lda),
                    g->b.data, leading(g->ldb), (float)g->beta, g->c.data, leading(g->ldc));
    else
        cblas_dgemm(CblasRowMajor, a, b, m, n, k, g->alpha, g->a.data, leading(g->lda), g->b.data,
                    leading(g->ldb), g->beta, g->c.data, leading(g->ldc));
}

#define HT_TEMPLATE "backends/cpu/nn/attention.inc.c"
#include "backends/cpu/foreach_dtype.h"
#define HT_TEMPLATE "backends/cpu/nn/attention_grad.inc.c"
#include "backends/cpu/foreach_dtype.h"

void HT_LEVEL_NAME(ht__fill_attention)(ht_kernel_table *k)
{
#define FILL(dtype)                                                        \
    k->at[HT_KERNEL_ATTENTION_FORWARD][dtype] = attention_forward_##dtype; \
    k->at[HT_KERNEL_ATTENTION_BACKWARD][dtype] = attention_backward_##dtype;
    FILL(HT_FLOAT32)
    FILL(HT_FLOAT64)
}
