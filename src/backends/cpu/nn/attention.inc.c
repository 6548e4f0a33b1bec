/* SPDX-License-Identifier: MIT
 *
 * Template: attention, forward. A row's maximum and sum follow the tiles: where a tile has a larger
 * maximum, the sum and the output so far shrink. 16 bits come as float32. */

#if HT_IS_FLOAT && !HT_IS_HALF

/* s <- scale q k^T of the tile, with rows of TILE_COLUMNS. */
static void NAME(make_scores)(const ht_attention_call *a, const attention_tile *t, C *s)
{
    const int64_t q = (t->b * a->l + t->row) * a->e;
    const int64_t k = (t->b / a->k_group * a->s + t->column) * a->e;

    multiply(&(ht_gemm_call){.call.dtype = ID,
                             .trans_b = true,
                             .m = t->rows,
                             .n = t->columns,
                             .k = a->e,
                             .lda = a->e,
                             .ldb = a->e,
                             .ldc = TILE_COLUMNS,
                             .alpha = a->scale,
                             .a.data = (C *)a->q.data + q,
                             .b.data = (C *)a->k.data + k,
                             .c.data = s});
}

/* Masks row i of the tile; columns up to a multiple of LANES become -inf. */
static void NAME(mask_scores)(const ht_attention_call *a, const attention_tile *t, int64_t i, C *s)
{
    int64_t n = t->columns;

    if (a->causal && t->row + i - t->column + 1 < n)
        n = t->row + i < t->column ? 0 : t->row + i - t->column + 1;
    if (a->mask.data != NULL) {
        const int64_t first = ht__mask_offset(a, t->b, t->row + i) + t->column;
        const uint8_t *keep = (const uint8_t *)a->mask.data + first;
        const C *add = (const C *)a->mask.data + first;

        if (a->mask_is_bool) {
            HT_VECTORIZE
            for (int64_t j = 0; j < n; j++)
                s[j] = keep[j] != 0 ? s[j] : -(C)INFINITY;
        } else {
            HT_VECTORIZE
            for (int64_t j = 0; j < n; j++)
                s[j] += add[j];
        }
    }
    for (int64_t j = n; j < padded(t->columns); j++)
        s[j] = -(C)INFINITY;
}

/* NaN is left out: it comes back with the sum. */
static C NAME(row_of_scores_max)(const C *s, int64_t n)
{
    C lane[LANES], max;

    for (int j = 0; j < LANES; j++)
        lane[j] = s[j];
    for (int64_t i = LANES; i < n; i += LANES) {
        HT_VECTORIZE
        for (int j = 0; j < LANES; j++)
            lane[j] = s[i + j] > lane[j] ? s[i + j] : lane[j];
    }
    max = -(C)INFINITY;
    for (int j = 0; j < LANES; j++)
        max = lane[j] > max ? lane[j] : max;
    return max;
}

/* s <- exp(s - shift); returns the sum. */
static C NAME(exponentials)(C *s, int64_t n, C shift)
{
    C lane[LANES] = {0}, sum = 0;

    for (int64_t i = 0; i < n; i += LANES) {
        HT_VECTORIZE
        for (int j = 0; j < LANES; j++) {
            s[i + j] = HT_EXP_BELOW(s[i + j] - shift);
            lane[j] += s[i + j];
        }
    }
    for (int j = 0; j < LANES; j++)
        sum += lane[j];
    return sum;
}

static void NAME(scale_row)(C *y, int64_t n, C factor)
{
    HT_VECTORIZE
    for (int64_t j = 0; j < n; j++)
        y[j] *= factor;
}

/* The weights of the tile, which are still to be divided by the row's sum. */
static void NAME(make_weights)(const ht_attention_call *a, const attention_tile *t, C *s, C *max,
                               C *sum, C *y, uint8_t *keep)
{
    for (int64_t i = 0; i < t->rows; i++, s += TILE_COLUMNS) {
        const C old = max[i];
        C above, shift, shrink;

        NAME(mask_scores)(a, t, i, s);
        above = NAME(row_of_scores_max)(s, padded(t->columns));
        max[i] = above > old ? above : old;
        shift = max[i] == -(C)INFINITY ? 0 : max[i];
        shrink = t->column > 0 ? HT_MATH(exp, old - shift) : 0;
        sum[i] = sum[i] * shrink + NAME(exponentials)(s, padded(t->columns), shift);
        if (t->column > 0 && shrink != 1)
            NAME(scale_row)(y + i * a->ev, a->ev, shrink);
        if (a->draw.a > 0) {
            draw_keep(a, t, i, keep);
            HT_VECTORIZE
            for (int64_t j = 0; j < t->columns; j++)
                s[j] = keep[j] != 0 ? s[j] : 0;
        }
    }
}

static void NAME(attend)(const ht_attention_call *a, attention_tile t, C *s)
{
    C *y = (C *)a->y.data + (t.b * a->l + t.row) * a->ev;
    C *lse = (C *)a->lse.data + t.b * a->l + t.row;
    C max[TILE_ROWS], sum[TILE_ROWS];
    uint8_t keep[TILE_COLUMNS];

    for (int64_t i = 0; i < t.rows; i++) {
        max[i] = -(C)INFINITY;
        sum[i] = 0;
    }
    if (a->s == 0 && a->ev > 0)
        memset(y, 0, (size_t)(t.rows * a->ev) * sizeof *y);
    while (next_tile(a, &t)) {
        const int64_t v = (t.b / a->v_group * a->s + t.column) * a->ev;

        NAME(make_scores)(a, &t, s);
        NAME(make_weights)(a, &t, s, max, sum, y, keep);
        multiply(&(ht_gemm_call){.call.dtype = ID,
                                 .m = t.rows,
                                 .n = a->ev,
                                 .k = t.columns,
                                 .lda = TILE_COLUMNS,
                                 .ldb = a->ev,
                                 .ldc = a->ev,
                                 .alpha = 1,
                                 .beta = t.column > 0,
                                 .a.data = s,
                                 .b.data = (C *)a->v.data + v,
                                 .c.data = y});
    }
    for (int64_t i = 0; i < t.rows; i++) {
        NAME(scale_row)
        (y + i * a->ev, a->ev, sum[i] == 0 ? 0 : (C)ht__keep_scale(&a->draw) / sum[i]);
        lse[i] = sum[i] == 0 ? -(C)INFINITY : max[i] + HT_MATH(log, sum[i]);
    }
}

HT_KERNEL(attention_forward)
{
    const ht_attention_call *a = (const ht_attention_call *)call;
    C *s = ht__cpu_scratch(TILE * sizeof *s);

    (void)stream;
    if (!fits_int(a))
        return HT_KERNEL_REFUSED;
    if (s == NULL)
        return 1;
    for (int64_t b = 0; b < a->batch; b++) {
        for (int64_t row = 0; row < a->l; row += TILE_ROWS)
            NAME(attend)(a, tiles_of_rows(a, b, row), s);
    }
    return 0;
}

#endif
