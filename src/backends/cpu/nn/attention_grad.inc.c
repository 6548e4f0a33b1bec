/* SPDX-License-Identifier: MIT
 *
 * Template: attention, backward. The weights p of a tile are recomputed from the scores and lse: dv
 * = p^T dy, ds = p (dy v^T - sum(dy y)), dq = scale ds k, dk = scale ds^T q. */

#if HT_IS_FLOAT && !HT_IS_HALF

/* sum(x y) */
static C NAME(dot)(const C *x, const C *y, int64_t n)
{
    C lane[LANES] = {0}, sum = 0;
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        HT_VECTORIZE
        for (int j = 0; j < LANES; j++)
            lane[j] += x[i + j] * y[i + j];
    }
    for (; i < n; i++)
        lane[i % LANES] += x[i] * y[i];
    for (int j = 0; j < LANES; j++)
        sum += lane[j];
    return sum;
}

/* Row i of a tile: s, the scores, become the weights after dropout, and ds, dy v^T, the gradient of
 * the scores. */
static void NAME(row_grad)(const ht_attention_call *a, const attention_tile *t, int64_t i, C *s,
                           C *ds)
{
    const int64_t row = t->b * a->l + t->row + i;
    const C *y = (const C *)a->y.data + row * a->ev, *dy = (const C *)a->dy.data + row * a->ev;
    const C lse = ((const C *)a->lse.data)[row], shift = lse == -(C)INFINITY ? 0 : lse;
    const C sum = NAME(dot)(dy, y, a->ev), scale = (C)ht__keep_scale(&a->draw);
    uint8_t keep[TILE_COLUMNS];

    NAME(mask_scores)(a, t, i, s);
    NAME(exponentials)(s, padded(t->columns), shift);
    if (a->draw.a > 0) {
        draw_keep(a, t, i, keep);
        HT_VECTORIZE
        for (int64_t j = 0; j < t->columns; j++) {
            ds[j] = s[j] * ((keep[j] != 0 ? ds[j] * scale : 0) - sum);
            s[j] = keep[j] != 0 ? s[j] * scale : 0;
        }
    } else {
        HT_VECTORIZE
        for (int64_t j = 0; j < t->columns; j++)
            ds[j] = s[j] * (ds[j] - sum);
    }
    if (a->dmask.data != NULL) {
        C *dmask = (C *)a->dmask.data + ht__mask_offset(a, t->b, t->row + i) + t->column;

        HT_VECTORIZE
        for (int64_t j = 0; j < t->columns; j++)
            dmask[j] += ds[j];
    }
}

/* A gradient of `columns` columns += factor tile (or its transpose) times x, unless it is absent.
 */
static void NAME(add_product)(const attention_tile *t, bool transposed, int64_t columns,
                              double factor, C *tile, const ht_kernel_operand *x, int64_t x_row,
                              const ht_kernel_operand *to, int64_t row, bool first)
{
    if (to->data == NULL)
        return;
    multiply(&(ht_gemm_call){.call.dtype = ID,
                             .trans_a = transposed,
                             .m = transposed ? t->columns : t->rows,
                             .n = columns,
                             .k = transposed ? t->rows : t->columns,
                             .lda = TILE_COLUMNS,
                             .ldb = columns,
                             .ldc = columns,
                             .alpha = factor,
                             .beta = !first,
                             .a.data = tile,
                             .b.data = (C *)x->data + x_row * columns,
                             .c.data = (C *)to->data + row * columns});
}

static void NAME(tile_grad)(const ht_attention_call *a, const attention_tile *t, C *s, C *ds)
{
    const int64_t q = t->b * a->l + t->row;
    const int64_t k = t->b / a->k_group * a->s + t->column;
    const int64_t v = t->b / a->v_group * a->s + t->column;

    NAME(make_scores)(a, t, s);
    multiply(&(ht_gemm_call){.call.dtype = ID,
                             .trans_b = true,
                             .m = t->rows,
                             .n = t->columns,
                             .k = a->ev,
                             .lda = a->ev,
                             .ldb = a->ev,
                             .ldc = TILE_COLUMNS,
                             .alpha = 1,
                             .a.data = (C *)a->dy.data + q * a->ev,
                             .b.data = (C *)a->v.data + v * a->ev,
                             .c.data = ds});
    for (int64_t i = 0; i < t->rows; i++)
        NAME(row_grad)(a, t, i, s + i * TILE_COLUMNS, ds + i * TILE_COLUMNS);
    NAME(add_product)(t, true, a->ev, 1, s, &a->dy, q, &a->dv, v, false);
    NAME(add_product)(t, true, a->e, a->scale, ds, &a->q, q, &a->dk, k, false);
    NAME(add_product)(t, false, a->e, a->scale, ds, &a->k, k, &a->dq, q, t->column == 0);
}

static void NAME(clear)(const ht_kernel_operand *x, int64_t count)
{
    if (x->data != NULL && count > 0)
        memset(x->data, 0, (size_t)count * sizeof(C));
}

HT_KERNEL(attention_backward)
{
    const ht_attention_call *a = (const ht_attention_call *)call;
    C *s = ht__cpu_scratch(2 * TILE * sizeof *s);

    (void)stream;
    if (!fits_int(a))
        return HT_KERNEL_REFUSED;
    if (s == NULL)
        return 1;
    NAME(clear)(&a->dk, a->batch / a->k_group * a->s * a->e);
    NAME(clear)(&a->dv, a->batch / a->v_group * a->s * a->ev);
    if (a->s == 0)
        NAME(clear)(&a->dq, a->batch * a->l * a->e);
    for (int64_t b = 0; b < a->batch; b++) {
        for (int64_t row = 0; row < a->l; row += TILE_ROWS) {
            attention_tile t = tiles_of_rows(a, b, row);

            while (next_tile(a, &t))
                NAME(tile_grad)(a, &t, s, s + TILE);
        }
    }
    return 0;
}

#endif
