/* SPDX-License-Identifier: MIT
 *
 * Template: kernels over rows: log-softmax, the negative log likelihood, and cross entropy, which is
 * both in one. x, y, dx and dy are (rows, columns). A row's sum is kept in double, over lanes, so that its inner loop becomes vector
 * code. */

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

/* The sum of exp(x - shift), or of x when `plain` is set. */
HT_INLINE double NAME(row_sum)(const T *x, int64_t n, C shift, bool plain)
{
    double lane[HT_REDUCE_LANES], sum = 0;
    const int64_t lanes = n < HT_REDUCE_LANES ? n : HT_REDUCE_LANES;

    for (int64_t j = 0; j < lanes; j++)
        lane[j] = 0;
    for (int64_t i = 0; i < n; i += lanes) {
        const int64_t m = n - i < lanes ? n - i : lanes;

        HT_VECTORIZE
        for (int64_t j = 0; j < m; j++)
            lane[j] += (double)(plain ? LOAD(x[i + j]) : HT_MATH(exp, LOAD(x[i + j]) - shift));
    }
    for (int64_t j = 0; j < lanes; j++)
        sum += lane[j];
    return sum;
}

static void NAME(log_softmax_forward)(const ht_rows_call *r, const void *from, void *to)
{
    const int64_t n = r->columns;
    const T *x = from;
    T *y = to;

    for (int64_t row = 0; n > 0 && row < r->rows; row++, x += n, y += n) {
        const C max = NAME(row_max)(x, n);
        const C log_sum = (C)log(NAME(row_sum)(x, n, max, false));

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
        const C sum = (C)NAME(row_sum)(dy, n, 0, true);

        HT_VECTORIZE
        for (int64_t j = 0; j < n; j++)
            dx[j] = STORE(LOAD(dy[j]) - HT_MATH(exp, LOAD(y[j])) * sum);
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
        log_sum[row] = (double)(C)log(NAME(row_sum)(x, n, (C)max[row], false));
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
            dx[j] = STORE(HT_MATH(exp, LOAD(x[j]) - max - log_sum) * g);
        dx[t] = STORE(HT_MATH(exp, LOAD(x[t]) - max - log_sum) * g - g);
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
