/* SPDX-License-Identifier: MIT
 *
 * Template: paths of connectionist temporal classification, in double. x and dx are (steps, rows,
 * classes); those of one row are `stride` elements apart. */

#if HT_IS_FLOAT

/* alpha of a row, (steps, elements) with `width` elements a step. */
static void NAME(ctc_alpha)(const sequence *s, const T *x, int64_t stride, double *alpha,
                            int64_t width)
{
    for (int64_t t = 0; t < s->steps; t++, x += stride, alpha += width) {
        const double *before = t > 0 ? alpha - width : NULL;

        for (int64_t e = 0; e < s->elements; e++) {
            const double here = (double)LOAD(x[class_of(s, e)]);

            if (t == 0) {
                alpha[e] = e < 2 ? here : -INFINITY;
                continue;
            }
            alpha[e] = here + log_sum(before[e], e > 0 ? before[e - 1] : -INFINITY,
                                      e > 1 && may_skip(s, e - 2) ? before[e - 2] : -INFINITY);
        }
    }
}

HT_KERNEL(ctc_forward)
{
    const ht_ctc_call *r = (const ht_ctc_call *)call;
    const int64_t width = 2 * r->width + 1;

    (void)stream;
    for (int64_t row = 0; row < r->rows; row++) {
        const sequence s = sequence_of(r, row);
        double *alpha = (double *)r->alpha.data + row * r->steps * width, loss;

        for (int64_t i = 0; i < s.length; i++) {
            if (s.target[i] < 0 || s.target[i] >= r->classes)
                return ht__kernel_bad_target(row, s.target[i], r->classes);
        }
        NAME(ctc_alpha)
        (&s, (const T *)r->x.data + row * r->classes, r->rows * r->classes, alpha, width);
        loss = loss_of(&s, alpha, width);
        ((T *)r->loss.data)[row] = STORE((C)(r->zero_infinity && loss == INFINITY ? 0 : loss));
    }
    return 0;
}

/* beta of one step from that of the step after it; NULL: this is the last one. */
static void NAME(ctc_beta)(const sequence *s, const T *x, const double *after, double *beta)
{
    for (int64_t e = 0; e < s->elements; e++) {
        const double here = (double)LOAD(x[class_of(s, e)]);

        if (after == NULL) {
            beta[e] = e >= s->elements - 2 ? here : -INFINITY;
            continue;
        }
        beta[e] = here + log_sum(after[e], e + 1 < s->elements ? after[e + 1] : -INFINITY,
                                 may_skip(s, e) ? after[e + 2] : -INFINITY);
    }
}

/* dx of a row; scratch: two rows of beta and one of classes. */
static void NAME(ctc_row_backward)(const ht_ctc_call *r, const sequence *s, const T *x,
                                   const double *alpha, double loss, double dloss, T *dx)
{
    const int64_t stride = r->rows * r->classes, width = 2 * r->width + 1;
    double *beta = r->scratch.data, *after = NULL, *classes = beta + 2 * width;

    for (int64_t t = s->steps - 1; t >= 0; t--) {
        NAME(ctc_beta)(s, x + t * stride, after, beta);
        for (int64_t c = 0; c < r->classes; c++)
            classes[c] = -INFINITY;
        for (int64_t e = 0; e < s->elements; e++) {
            double *sum = &classes[class_of(s, e)];

            *sum = log_sum(*sum, alpha[t * width + e] + beta[e], -INFINITY);
        }
        for (int64_t c = 0; c < r->classes; c++) {
            const double log_p = (double)LOAD(x[t * stride + c]);

            dx[t * stride + c] = STORE((C)(dloss * (exp(log_p) - exp(classes[c] + loss - log_p))));
        }
        after = beta;
        beta = beta == r->scratch.data ? beta + width : r->scratch.data;
    }
}

HT_KERNEL(ctc_backward)
{
    const ht_ctc_call *r = (const ht_ctc_call *)call;
    const int64_t width = 2 * r->width + 1;

    (void)stream;
    memset(r->dx.data, 0, (size_t)(r->steps * r->rows * r->classes) * sizeof(T));
    for (int64_t row = 0; row < r->rows; row++) {
        const sequence s = sequence_of(r, row);
        const double *alpha = (const double *)r->alpha.data + row * r->steps * width;
        const double loss = loss_of(&s, alpha, width);
        const double dloss = (double)LOAD(((const T *)r->dloss.data)[row]);
        const T *x = (const T *)r->x.data + row * r->classes;

        if (r->zero_infinity && loss == INFINITY)
            continue;
        NAME(ctc_row_backward)(r, &s, x, alpha, loss, dloss, (T *)r->dx.data + row * r->classes);
    }
    return 0;
}

#endif
