/* SPDX-License-Identifier: MIT
 *
 * Template: c = a b + beta c, modulo 2^bits. */
#if HT_IS_INTEGER

#define MODULAR NAME(modular)

typedef struct NAME(panel) {
    const T *at;
    int64_t rows, columns, leading;
} NAME(panel);

/* c[0 ... columns) += a (1, rows) b (rows, columns): four rows of b at a time, as c travels. */
static void NAME(add_row)(T *restrict c, const T *a, int64_t a_step, const NAME(panel) * b)
{
    const int64_t n = b->columns, ld = b->leading;
    int64_t p = 0;

    for (; p + 4 <= b->rows; p += 4) {
        const MODULAR a0 = (MODULAR)a[p * a_step], a1 = (MODULAR)a[(p + 1) * a_step];
        const MODULAR a2 = (MODULAR)a[(p + 2) * a_step], a3 = (MODULAR)a[(p + 3) * a_step];
        const T *restrict r = b->at + p * ld;

        HT_VECTORIZE
        for (int64_t j = 0; j < n; j++)
            c[j] = (T)((MODULAR)c[j] + a0 * (MODULAR)r[j] + a1 * (MODULAR)r[ld + j] +
                       a2 * (MODULAR)r[2 * ld + j] + a3 * (MODULAR)r[3 * ld + j]);
    }
    for (; p < b->rows; p++) {
        const MODULAR a0 = (MODULAR)a[p * a_step];
        const T *restrict r = b->at + p * ld;

        HT_VECTORIZE
        for (int64_t j = 0; j < n; j++)
            c[j] = (T)((MODULAR)c[j] + a0 * (MODULAR)r[j]);
    }
}

/* Rows `row` ... and columns `column` ... of op(b); where b is transposed, as a copy. */
static NAME(panel)
    NAME(panel_of)(const ht_gemm_call *g, const T *b, int64_t row, int64_t column, T *scratch)
{
    NAME(panel) panel = {.rows = g->k - row, .columns = g->n - column, .leading = g->ldb};

    panel.rows = panel.rows < PANEL_ROWS ? panel.rows : PANEL_ROWS;
    panel.columns = panel.columns < PANEL_COLUMNS ? panel.columns : PANEL_COLUMNS;
    panel.at = b + row * g->ldb + column;
    if (!g->trans_b)
        return panel;
    for (int64_t j = 0; j < panel.columns; j++) {
        for (int64_t i = 0; i < panel.rows; i++)
            scratch[i * panel.columns + j] = b[(column + j) * g->ldb + row + i];
    }
    panel.at = scratch;
    panel.leading = panel.columns;
    return panel;
}

/* The product `index` of the batch. */
static void NAME(multiply)(const ht_gemm_call *g, int64_t index, T *scratch)
{
    const int64_t a_row = g->trans_a ? 1 : g->lda, a_step = g->trans_a ? g->lda : 1;
    const T *a = (const T *)g->a.data + index * g->a_step,
            *b = (const T *)g->b.data + index * g->b_step;
    T *c = (T *)g->c.data + index * g->c_step;

    for (int64_t i = 0; g->beta == 0 && i < g->m; i++)
        memset(c + i * g->ldc, 0, (size_t)g->n * sizeof *c);
    for (int64_t column = 0; column < g->n; column += PANEL_COLUMNS) {
        for (int64_t row = 0; row < g->k; row += PANEL_ROWS) {
            const NAME(panel) panel = NAME(panel_of)(g, b, row, column, scratch);
            const T *from = a + row * a_step;
            T *to = c + column;

            for (int64_t i = 0; i < g->m; i++, from += a_row, to += g->ldc)
                NAME(add_row)(to, from, a_step, &panel);
        }
    }
}

HT_KERNEL(gemm)
{
    const ht_gemm_call *g = (const ht_gemm_call *)call;
    T *scratch = NULL;

    (void)stream;
    if (g->compute != ID || g->alpha != 1 || (g->beta != 0 && g->beta != 1) ||
        g->bias.data != NULL || g->epilogue != HT_EPILOGUE_NONE)
        return HT_KERNEL_REFUSED;
    if (g->trans_b) {
        scratch = ht__cpu_scratch(PANEL_ROWS * PANEL_COLUMNS * sizeof *scratch);
        if (scratch == NULL)
            return 1;
    }
    for (int64_t i = 0; i < g->batch; i++)
        NAME(multiply)(g, i, scratch);
    return 0;
}

#undef MODULAR

#endif
