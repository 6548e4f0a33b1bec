/* SPDX-License-Identifier: MIT
 *
 * Template: attention of a dtype. The weights p of a tile replace its scores. The backward pass
 * recomputes them from the scores and lse: dv = p^T dy, ds = p (dy v^T - sum(dy y)), dq = scale ds
 * k, dk = scale ds^T q. */
#include "backends/cuda/nn/softmax.inc.cu"

/* Each matrix of the tile in `g.a` times its matrix of `shared`, which is one for `group` batches and
 * has `size` elements. */
static int NAME(multiply_by)(const ht_cuda_device *device, const attention_tile *t, ht_gemm_call g,
                             const ht_kernel_operand *shared, int64_t group, int64_t size)
{
    C *a = static_cast<C *>(g.a.data), *c = static_cast<C *>(g.c.data);
    const int64_t end = t->b + t->batches;
    int failed = 0;

    for (int64_t b = t->b, next; b < end && failed == 0; b = next) {
        next = group == 1 ? end : at_most(end, (b / group + 1) * group);
        g.batch = next - b;
        g.b_step = group == 1 ? size : 0;
        g.a.data = a + (b - t->b) * g.a_step;
        g.b.data = static_cast<C *>(shared->data) + b / group * size;
        g.c.data = c + (b - t->b) * g.c_step;
        failed = ht_cuda_multiply(device, &g);
    }
    return failed;
}

/* Adds x^T y to the matrices of `shared`, unless it is absent, with x of the tile; those that nothing
 * was added to are written. */
static int NAME(add_transposed)(const ht_cuda_device *device, const attention_tile *t,
                                const ht_attention_call *a, const C *x, const ht_kernel_operand *y,
                                int64_t columns, double factor, const ht_kernel_operand *shared,
                                int64_t group)
{
    ht_gemm_call g = product_of(a, a->s, columns, t->rows);
    const int64_t step = group == 1 ? t->batches : 1;
    int failed = 0;

    g.trans_a = true;
    g.alpha = factor;
    g.lda = a->s;
    g.batch = step;
    g.a_step = t->rows * a->s;
    g.b_step = a->l * columns;
    g.c_step = a->s * columns;
    for (int64_t i = 0; i < t->batches && failed == 0 && shared->data != NULL; i += step) {
        const int64_t b = t->b + i;

        g.beta = t->row > 0 || b % group > 0 ? 1 : 0;
        g.a.data = const_cast<C *>(x) + i * g.a_step;
        g.b.data = static_cast<C *>(y->data) + (b * a->l + t->row) * columns;
        g.c.data = static_cast<C *>(shared->data) + b / group * g.c_step;
        failed = ht_cuda_multiply(device, &g);
    }
    return failed;
}

/* tile = factor x y^T: rows of x (batch, l, columns) and all of y (.., s, columns). */
static int NAME(multiply_transposed)(const ht_cuda_device *device, const attention_tile *t,
                                     const ht_attention_call *a, const ht_kernel_operand *x,
                                     const ht_kernel_operand *y, int64_t columns, int64_t group,
                                     double factor, C *tile)
{
    ht_gemm_call g = product_of(a, t->rows, a->s, columns);

    g.trans_b = true;
    g.alpha = factor;
    g.ldb = columns;
    g.a.data = static_cast<C *>(x->data) + (t->b * a->l + t->row) * columns;
    g.a_step = a->l * columns;
    g.c.data = tile;
    g.c_step = t->rows * a->s;
    return NAME(multiply_by)(device, t, g, y, group, a->s * columns);
}

/* Rows of z (batch, l, columns) = factor tile y. */
static int NAME(multiply_tile)(const ht_cuda_device *device, const attention_tile *t,
                               const ht_attention_call *a, C *tile, const ht_kernel_operand *y,
                               int64_t columns, int64_t group, double factor,
                               const ht_kernel_operand *z)
{
    ht_gemm_call g = product_of(a, t->rows, columns, a->s);

    g.alpha = factor;
    g.a.data = tile;
    g.a_step = t->rows * a->s;
    g.c.data = static_cast<C *>(z->data) + (t->b * a->l + t->row) * columns;
    g.c_step = a->l * columns;
    return NAME(multiply_by)(device, t, g, y, group, a->s * columns);
}

static __global__ void NAME(mask_scores)(int64_t work, ht_attention_call a, attention_tile t,
                                         score_axes axes, C *scores)
{
    const uint8_t *keep = static_cast<const uint8_t *>(a.mask.data);
    const C *add = static_cast<const C *>(a.mask.data);

    HT_CUDA_EACH(i, work)
    {
        int64_t column, in_tile;
        const int64_t line = ht_cuda_divide(i, axes.columns, &column);
        const int64_t b = t.b + ht_cuda_divide(line, axes.rows, &in_tile), row = t.row + in_tile;
        const int64_t at = a.mask.data != NULL ? mask_offset(a, axes, b, row) + column : 0;

        if ((a.causal && column > row) || (a.mask.data != NULL && a.mask_is_bool && keep[at] == 0))
            scores[i] = -(C)INFINITY;
        else if (a.mask.data != NULL && !a.mask_is_bool)
            scores[i] += add[at];
    }
}

/* The masked scores of a tile. */
static int NAME(make_scores)(const ht_cuda_device *device, const attention_tile *t,
                             const ht_attention_call *a, C *scores)
{
    if (NAME(multiply_transposed)(device, t, a, &a->q, &a->k, a->e, a->k_group, a->scale, scores) !=
        0)
        return 1;
    if (a->causal || a->mask.data != NULL)
        HT_CUDA_LAUNCH_EACH(device, NAME(mask_scores), scores_of(a, t), *a, *t, score_axes_of(a, t),
                            scores);
    return 0;
}

/* exp(score - shift) / sum, by the row; rows with a shift of -inf have no positions. sum NULL: 1 */
static __global__ void NAME(make_weights)(int64_t work, ht_cuda_length columns, const C *shift,
                                          const C *sum, C *scores)
{
    HT_CUDA_EACH(i, work)
    {
        const int64_t row = ht_cuda_quotient(i, columns);
        const C m = shift[row], total = sum != NULL ? sum[row] : 1;

        scores[i] = m == -(C)INFINITY ? 0 : HT_MATH(exp, scores[i] - m) / total;
    }
}

static __global__ void NAME(put_lse)(int64_t rows, const C *max, const C *sum, C *lse)
{
    HT_CUDA_EACH(row, rows)
    {
        lse[row] = max[row] + HT_MATH(log, sum[row]);
    }
}

static __global__ void NAME(drop)(int64_t work, ht_cuda_draw<1> d, C *x)
{
    const C scale = (C)ht__keep_scale(&d.draw);

    HT_CUDA_EACH(i, work)
    {
        ht_cuda_each_drawn(d, i, [&](int64_t e, const ht_cuda_words &words, int at) {
            x[e] = ht_cuda_keeps(words.at[at], d.draw.a) ? x[e] * scale : 0;
        });
    }
}

static void NAME(drop_out)(const ht_cuda_device *device, const attention_tile *t,
                           const ht_attention_call *a, C *x)
{
    const ht_cuda_draw<1> d = draw_of(a, t);

    if (a->draw.a > 0)
        HT_CUDA_LAUNCH_EACH(device, NAME(drop), d.blocks.by, d, x);
}

static int NAME(attend)(const ht_cuda_device *device, const attention_tile *t,
                        const ht_attention_call *a, C *scores, C *max)
{
    const int64_t rows = t->batches * t->rows, work = scores_of(a, t);
    C *sum = max + rows;

    if (NAME(make_scores)(device, t, a, scores) != 0 ||
        NAME(row_statistics)(device, HT_CUDA_SUM, rows, a->s, scores, max, sum, a->call.what) != 0)
        return 1;
    HT_CUDA_LAUNCH_EACH(device, NAME(put_lse), rows, static_cast<const C *>(max),
                        static_cast<const C *>(sum),
                        static_cast<C *>(a->lse.data) + t->b * a->l + t->row);
    HT_CUDA_LAUNCH_EACH(device, NAME(make_weights), work, ht_cuda_length_of(a->s, work),
                        static_cast<const C *>(max), static_cast<const C *>(sum), scores);
    NAME(drop_out)(device, t, a, scores);
    return NAME(multiply_tile)(device, t, a, scores, &a->v, a->ev, a->v_group, 1, &a->y);
}

static int NAME(attention_forward)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_attention_call *a = (const ht_attention_call *)call;
    attention_tile first;

    if (!first_tile(a, sizeof(C), &first))
        return HT_KERNEL_REFUSED;
    const int64_t scores = scores_of(a, &first), rows = first.batches * first.rows;

    return ht_cuda_with_scratch<C>(device, call, (size_t)(scores + 2 * rows), [=](C *tile) {
        attention_tile t = first;
        int failed;

        do
            failed = NAME(attend)(device, &t, a, tile, tile + scores);
        while (failed == 0 && next_tile(a, &first, &t));
        return failed;
    });
}

/* The sum of x times `also`, over a row. */
struct NAME(row_dot) : ht_cuda_sum_fold<double>, ht_cuda_two_inputs<C> {
    static __forceinline__ __device__ void step(acc &a, const ht_cuda_reduction &, const item &x,
                                                int64_t)
    {
        a += (double)x.x * (double)x.also;
    }
    static __forceinline__ __device__ void put(const ht_cuda_reduction &r, int64_t o, const acc &a)
    {
        static_cast<C *>(r.y)[o] = (C)a;
    }
};

/* ds <- p (ds - dot), with the dots of all rows. */
static __global__ void NAME(score_grad)(int64_t work, ht_cuda_length columns, const C *p,
                                        const C *dot, C *ds)
{
    HT_CUDA_EACH(i, work)
    {
        ds[i] = p[i] * (ds[i] - dot[ht_cuda_quotient(i, columns)]);
    }
}

/* dmask += ds. Batches, and rows if there is one of the mask for all, may share an element: one
 * thread adds what belongs to it. */
static __global__ void NAME(add_to_mask)(int64_t work, ht_attention_call a, attention_tile t,
                                         score_axes axes, const C *ds)
{
    const bool shared = a.mask_stride[a.leads] == 0;
    C *dmask = static_cast<C *>(a.dmask.data);

    HT_CUDA_EACH(i, work)
    {
        int64_t column;
        const int64_t first = ht_cuda_divide(i, axes.columns, &column);
        const int64_t end = shared ? t.rows : first + 1;

        for (int64_t b = 0; b < t.batches; b++)
            for (int64_t row = first; row < end; row++)
                dmask[mask_offset(a, axes, t.b + b, t.row + row) + column] +=
                    ds[(b * t.rows + row) * a.s + column];
    }
}

/* p and ds: tiles; dot (batch, l). */
static int NAME(attend_grad)(const ht_cuda_device *device, const attention_tile *t,
                             const ht_attention_call *a, C *p, C *ds, const C *dot)
{
    const int64_t work = scores_of(a, t), row = t->b * a->l + t->row;
    const ht_cuda_length columns = ht_cuda_length_of(a->s, work);

    if (NAME(make_scores)(device, t, a, p) != 0 ||
        NAME(multiply_transposed)(device, t, a, &a->dy, &a->v, a->ev, a->v_group, 1, ds) != 0)
        return 1;
    HT_CUDA_LAUNCH_EACH(device, NAME(make_weights), work, columns,
                        static_cast<const C *>(a->lse.data) + row, (const C *)NULL, p);
    NAME(drop_out)(device, t, a, ds);
    HT_CUDA_LAUNCH_EACH(device, NAME(score_grad), work, columns, static_cast<const C *>(p),
                        dot + row, ds);
    if (a->dmask.data != NULL)
        HT_CUDA_LAUNCH_EACH(device, NAME(add_to_mask),
                            a->mask_stride[a->leads] == 0 ? a->s : t->rows * a->s, *a, *t,
                            score_axes_of(a, t), static_cast<const C *>(ds));
    NAME(drop_out)(device, t, a, p);
    if (NAME(add_transposed)(device, t, a, p, &a->dy, a->ev, 1, &a->dv, a->v_group) != 0 ||
        NAME(add_transposed)(device, t, a, ds, &a->q, a->e, a->scale, &a->dk, a->k_group) != 0)
        return 1;
    return a->dq.data == NULL
               ? 0
               : NAME(multiply_tile)(device, t, a, ds, &a->k, a->e, a->k_group, a->scale, &a->dq);
}

static int NAME(attention_backward)(void *stream, const ht_kernel_call *call)
{
    ht_cuda_device *device = static_cast<ht_cuda_device *>(stream);
    const ht_attention_call *a = (const ht_attention_call *)call;
    const int64_t rows = a->batch * a->l;
    attention_tile first;

    if (!first_tile(a, sizeof(C), &first))
        return HT_KERNEL_REFUSED;
    const int64_t scores = scores_of(a, &first);

    return ht_cuda_with_scratch<C>(device, call, (size_t)(2 * scores + rows), [=](C *tile) {
        C *dot = tile + 2 * scores;
        ht_cuda_reduction r = ht_cuda_over_columns(rows, a->ev, a->dy.data, dot);
        attention_tile t = first;
        int failed;

        r.also = a->y.data;
        failed = ht_cuda_launch_reduction(device, &r, ht_cuda_fold_kernels<NAME(row_dot)>(),
                                          call->what);
        for (bool more = failed == 0; more; more = failed == 0 && next_tile(a, &first, &t))
            failed = NAME(attend_grad)(device, &t, a, tile, tile + scores, dot);
        return failed;
    });
}

static void NAME(add_attention)(ht_backend *backend)
{
    ht_cuda_add(backend, "ATTENTION_FORWARD", ID, NAME(attention_forward));
    ht_cuda_add(backend, "ATTENTION_BACKWARD", ID, NAME(attention_backward));
}
