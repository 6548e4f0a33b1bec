/* SPDX-License-Identifier: MIT
 *
 * Template: weighted sums along one axis of x (outer, in, inner). Elements behind the axis are the
 * lanes; if the axis is the last one, each element is taken by its index. */

#if HT_IS_FLOAT

/* y (n) = weight x, or y += weight x. */
HT_INLINE void NAME(resample_line)(T *y, const T *x, int64_t n, C weight, bool first)
{
    if (first) {
        HT_VECTORIZE
        for (int64_t k = 0; k < n; k++)
            y[k] = STORE(weight * LOAD(x[k]));
        return;
    }
    HT_VECTORIZE
    for (int64_t k = 0; k < n; k++)
        y[k] = STORE(LOAD(y[k]) + weight * LOAD(x[k]));
}

/* One tap of all values of y (out, inner). */
static void NAME(resample_tap)(T *y, const T *x, int64_t out, int64_t inner, const int64_t *at,
                               const double *weight, bool first)
{
    if (inner > 1) {
        for (int64_t j = 0; j < out; j++)
            NAME(resample_line)(y + j * inner, x + at[j] * inner, inner, (C)weight[j], first);
    } else if (first) {
        for (int64_t j = 0; j < out; j++)
            y[j] = STORE((C)weight[j] * LOAD(x[at[j]]));
    } else {
        for (int64_t j = 0; j < out; j++)
            y[j] = STORE(LOAD(y[j]) + (C)weight[j] * LOAD(x[at[j]]));
    }
}

HT_KERNEL(resample_forward)
{
    const ht_resample_call *r = (const ht_resample_call *)call;
    const int64_t *at = r->at.data;
    const double *weight = r->weight.data;
    const T *x = r->x.data;
    T *y = r->y.data;

    (void)stream;
    for (int64_t o = 0; o < r->outer; o++, x += r->in * r->inner, y += r->out * r->inner)
        for (int64_t t = 0; t < r->taps; t++)
            NAME(resample_tap)
    (y, x, r->out, r->inner, at + t * r->out, weight + t * r->out, t == 0);
    return 0;
}

HT_KERNEL(resample_backward)
{
    const ht_resample_call *r = (const ht_resample_call *)call;
    const int64_t inner = r->inner, taps = r->taps * r->out, *at = r->at.data;
    const double *weight = r->weight.data;
    T *dx = r->x.data;
    const T *dy = r->y.data;

    (void)stream;
    memset(dx, 0, (size_t)(r->outer * r->in * inner) * sizeof *dx);
    for (int64_t o = 0; o < r->outer; o++, dx += r->in * inner, dy += r->out * inner)
        for (int64_t j = 0; j < taps; j++) {
            T *to = dx + at[j] * inner;
            const T *from = dy + j % r->out * inner;

            if (inner == 1)
                *to = STORE(LOAD(*to) + (C)weight[j] * LOAD(*from));
            else
                NAME(resample_line)(to, from, inner, (C)weight[j], false);
        }
    return 0;
}

#endif
