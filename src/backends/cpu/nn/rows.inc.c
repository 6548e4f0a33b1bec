/* SPDX-License-Identifier: MIT
 *
 * Template: kernels over rows: softmax, log-softmax, the negative log likelihood, and cross entropy,
 * which is both in one. x, y, dx and dy are (rows, columns). A row's sum is kept in double, over
 * lanes, so that its inner loop becomes vector code. */

#if HT_IS_FLOAT
#include "backends/cpu/reduce/better.inc.c"

static C NAME(row_max)(const T *x, int64_t n)
{
    C lane[HT_REDUCE_LANES], max;
    const int64_t lanes = n < HT_REDUCE_LANES ? n : HT_REDUCE_LANES;

    lane[0] = LOAD(x[0]);
    for (int64_t j = 1; j < lanes; j++)
        lane[j] = LOAD(x[j]);
    for (int64_t i = lanes; i < n; i += lanes) {
        const int64_t m = n - i < lanes ? n - i : lanes;

        HT_VECTORIZE
        for (int64_t j = 0; j < m; j++)
            lane[j] = NAME(max_step)(lane[j], LOAD(x[i + j]));
    }
    max = lane[0];
    for (int64_t j = 1; j < lanes; j++)
        max = NAME(max_step)(max, lane[j]);
    return max;
}

enum { NAME(ROW_LANES) = 32, NAME(ROW_BLOCK) = 256 };

/* The terms that row_sum adds. */
enum { NAME(ELEMENTS), NAME(EXPONENTIALS), NAME(PRODUCTS) };

/* The terms of n elements: x, exp(x - shift), or x y. */
HT_INLINE void NAME(row_terms)(int kind, const T *x, const T *y, int64_t n, C shift, C *term)
{
    HT_VECTORIZE
    for (int64_t j = 0; j < n; j++)
        term[j] = kind == NAME(EXPONENTIALS) ? HT_EXP_BELOW(LOAD(x[j]) - shift)
                  : kind == NAME(PRODUCTS)   ? LOAD(x[j]) * LOAD(y[j])
                                             : LOAD(x[j]);
}

/* Each lane += its term, for as many lanes as there are terms. */
HT_INLINE void NAME(row_add)(const C *term, int64_t lanes, double *lane)
{
    HT_VECTORIZE
    for (int64_t j = 0; j < lanes; j++)
        lane[j] += (double)term[j];
}

/* The sum of a row's terms, which are also written to `kept` unless that is NULL. */
HT_INLINE double NAME(row_sum)(int kind, const T *x, const T *y, int64_t n, C shift, T *kept)
{
    enum { LANES = NAME(ROW_LANES), BLOCK = NAME(ROW_BLOCK) };
    double lane[LANES] = {0};
    C term[BLOCK];

    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t m = n - i < BLOCK ? n - i : BLOCK;
        int64_t j = 0;

        NAME(row_terms)(kind, x + i, kind == NAME(PRODUCTS) ? y + i : NULL, m, shift, term);
        for (; j + LANES <= m; j += LANES)
            NAME(row_add)(term + j, LANES, lane);
        NAME(row_add)(term + j, m - j, lane);
        for (j = 0; kept != NULL && j < m; j++)
            kept[i + j] = STORE(term[j]);
    }
    HT_UNROLL
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int j = 0; j < half; j++)
            lane[j] += lane[j + half];
    return lane[0];
}

static double NAME(row_exponentials)(const T *x, int64_t n, C shift, T *kept)
{
    return NAME(row_sum)(NAME(EXPONENTIALS), x, NULL, n, shift, kept);
}

/* y = exp(x - max) / sum. A y of 16 bits would round what the sum has: it is computed again. */
static void NAME(softmax_row)(const T *x, T *y, int64_t n)
{
    const bool keeps = sizeof(T) == sizeof(C);
    const C max = NAME(row_max)(x, n);
    const C sum = (C)NAME(row_exponentials)(x, n, max, keeps ? y : NULL);

    HT_VECTORIZE
    for (int64_t j = 0; j < n; j++)
        y[j] = STORE((keeps ? LOAD(y[j]) : HT_EXP_BELOW(LOAD(x[j]) - max)) / sum);
}

/* dx = y (dy - sum(dy y)) */
static void NAME(softmax_row_backward)(const T *dy, const T *y, T *dx, int64_t n)
{
    const C sum = (C)NAME(row_sum)(NAME(PRODUCTS), dy, y, n, 0, NULL);

    HT_VECTORIZE
    for (int64_t j = 0; j < n; j++)
        dx[j] = STORE(LOAD(y[j]) * (LOAD(dy[j]) - sum));
}

HT_KERNEL(rows_softmax_forward)
{
    const ht_rows_call *r = (const ht_rows_call *)call;
    const int64_t n = r->columns;

    (void)stream;
    for (int64_t row = 0; n > 0 && row < r->rows; row++)
        NAME(softmax_row)((const T *)r->x.data + row * n, (T *)r->y.data + row * n, n);
    return 0;
}

HT_KERNEL(rows_softmax_backward)
{
    const ht_rows_call *r = (const ht_rows_call *)call;
    const int64_t n = r->columns;
    const T *dy = r->dy.data, *y = r->y.data;
    T *dx = r->x.data;

    (void)stream;
    for (int64_t row = 0; row < r->rows; row++)
        NAME(softmax_row_backward)(dy + row * n, y + row * n, dx + row * n, n);
    return 0;
}

static void NAME(log_softmax_forward)(const ht_rows_call *r, const void *from, void *to)
{
    const int64_t n = r->columns;
    const T *x = from;
    T *y = to;

    for (int64_t row = 0; n > 0 && row < r->rows; row++, x += n, y += n) {
        const C max = NAME(row_max)(x, n);
        const C log_sum = (C)log(NAME(row_exponentials)(x, n, max, NULL));

        HT_VECTORIZE
        for (int64_t j = 0; j < n; j++)
            y[j] = STORE(LOAD(x[j]) - max - log_sum);
    }
}

/* dx = dy - exp(y) sum(dy) */
static void NAME(log_softmax_backward)(const ht_rows_call *r, const void *dy_rows,
                                       const void *y_rows, void *dx_rows)
{
    const int64_t n = r->columns;
    const T *dy = dy_rows, *y = y_rows;
    T *dx = dx_rows;

    for (int64_t row = 0; row < r->rows; row++, dy += n, y += n, dx += n) {
        const C sum = (C)NAME(row_sum)(NAME(ELEMENTS), dy, NULL, n, 0, NULL);

        HT_VECTORIZE
        for (int64_t j = 0; j < n; j++)
            dx[j] = STORE(LOAD(dy[j]) - HT_EXP_BELOW(LOAD(y[j])) * sum);
    }
}

static int NAME(nll_forward)(const ht_rows_call *r, const void *x, const int64_t *target,
                             int64_t ignore, void *loss)
{
    for (int64_t row = 0; row < r->rows; row++) {
        const int64_t t = target[row];

        if (t != ignore && (t < 0 || t >= r->columns))
            return ht__kernel_bad_target(row, t, r->columns);
        ((T *)loss)[row] = STORE(t == ignore ? 0 : -LOAD(((const T *)x)[row * r->columns + t]));
    }
    return 0;
}

/* Targets outside of the columns are an error of the forward pass, which may come to light later.
 */
static void NAME(nll_backward)(const ht_rows_call *r, const void *dloss, const int64_t *target,
                               int64_t ignore, void *dx)
{
    memset(dx, 0, (size_t)(r->rows * r->columns) * sizeof(T));
    for (int64_t row = 0; row < r->rows; row++)
        if (target[row] != ignore && target[row] >= 0 && target[row] < r->columns)
            ((T *)dx)[row * r->columns + target[row]] = STORE(-LOAD(((const T *)dloss)[row]));
}

HT_KERNEL(rows_cross_entropy_forward)
{
    const ht_cross_entropy_call *r = (const ht_cross_entropy_call *)call;
    const int64_t n = r->columns, *target = r->target.data;
    const T *x = r->x.data;
    T *loss = r->loss.data;
    double *max = r->stats.data, *log_sum = max + r->rows;

    (void)stream;
    for (int64_t row = 0; row < r->rows; row++, x += n) {
        const int64_t t = target[row];

        loss[row] = STORE(0);
        if (t == r->ignore)
            continue;
        if (t < 0 || t >= n)
            return ht__kernel_bad_target(row, t, n);
        max[row] = (double)NAME(row_max)(x, n);
        log_sum[row] = (double)(C)log(NAME(row_exponentials)(x, n, (C)max[row], NULL));
        loss[row] = STORE(-(LOAD(x[t]) - (C)max[row] - (C)log_sum[row]));
    }
    return 0;
}

/* dx = dloss (softmax(x) - 1 at the target) */
HT_KERNEL(rows_cross_entropy_backward)
{
    const ht_cross_entropy_call *r = (const ht_cross_entropy_call *)call;
    const int64_t n = r->columns, *target = r->target.data;
    const T *x = r->x.data;
    const double *stats = r->stats.data;
    T *dx = r->dx.data;

    (void)stream;
    for (int64_t row = 0; row < r->rows; row++, x += n, dx += n) {
        const int64_t t = target[row];
        const C max = (C)stats[row], log_sum = (C)stats[r->rows + row];
        const C g = LOAD(((const T *)r->dloss.data)[row]);

        if (t == r->ignore || t < 0 || t >= n) {
            memset(dx, 0, (size_t)n * sizeof *dx);
            continue;
        }
        HT_VECTORIZE
        for (int64_t j = 0; j < n; j++)
            dx[j] = STORE(HT_EXP_BELOW(LOAD(x[j]) - max - log_sum) * g);
        dx[t] = STORE(HT_EXP_BELOW(LOAD(x[t]) - max - log_sum) * g - g);
    }
    return 0;
}

HT_KERNEL(rows_log_softmax_forward)
{
    const ht_rows_call *rows = (const ht_rows_call *)call;

    (void)stream;
    NAME(log_softmax_forward)(rows, rows->x.data, rows->y.data);
    return 0;
}

HT_KERNEL(rows_log_softmax_backward)
{
    const ht_rows_call *rows = (const ht_rows_call *)call;

    (void)stream;
    NAME(log_softmax_backward)(rows, rows->dy.data, rows->y.data, rows->x.data);
    return 0;
}

HT_KERNEL(rows_nll_forward)
{
    const ht_rows_call *rows = (const ht_rows_call *)call;

    (void)stream;
    return NAME(nll_forward)(rows, rows->x.data, rows->target.data, rows->ignore, rows->y.data);
}

HT_KERNEL(rows_nll_backward)
{
    const ht_rows_call *rows = (const ht_rows_call *)call;

    (void)stream;
    NAME(nll_backward)(rows, rows->dy.data, rows->target.data, rows->ignore, rows->x.data);
    return 0;
}

#endif
