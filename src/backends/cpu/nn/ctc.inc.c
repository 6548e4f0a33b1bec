/* SPDX-License-Identifier: MIT
 *
 * Template: paths of connectionist temporal classification, in double. x and dx are (steps, rows,
 * classes); those of one row are `stride` elements apart. */

#if HT_IS_FLOAT

/* alpha of a row, (steps, elements) with `width` elements a step. */
static void NAME(ctc_alpha)(const ht_sequence *s, const T *x, int64_t stride, double *alpha,
                            int64_t width)
{
    for (int64_t t = 0; t < s->steps; t++, x += stride, alpha += width) {
        const double *before = t > 0 ? alpha - width : NULL;

        for (int64_t e = 0; e < s->elements; e++)
            alpha[e] = ht__ctc_alpha(s, e, (double)LOAD(x[ht__class_of(s, e)]), before);
    }
}

HT_KERNEL(ctc_forward)
{
    const ht_ctc_call *r = (const ht_ctc_call *)call;
    const int64_t width = 2 * r->width + 1;

    (void)stream;
    for (int64_t row = 0; row < r->rows; row++) {
        const ht_sequence s = ht__sequence_of(r, row);
        double *alpha = (double *)r->alpha.data + row * r->steps * width, loss;

        for (int64_t i = 0; i < s.length; i++) {
            if (s.target[i] < 0 || s.target[i] >= r->classes)
                return ht__kernel_bad_target(row, s.target[i], r->classes);
        }
        NAME(ctc_alpha)
        (&s, (const T *)r->x.data + row * r->classes, r->rows * r->classes, alpha, width);
        loss = ht__ctc_loss(&s, alpha, width);
        ((T *)r->loss.data)[row] = STORE((C)(r->zero_infinity && loss == INFINITY ? 0 : loss));
    }
    return 0;
}

/* beta of one step from that of the step after it; NULL: this is the last one. */
static void NAME(ctc_beta)(const ht_sequence *s, const T *x, const double *after, double *beta)
{
    for (int64_t e = 0; e < s->elements; e++)
        beta[e] = ht__ctc_beta(s, e, (double)LOAD(x[ht__class_of(s, e)]), after);
}

/* dx of a row; scratch: two rows of beta and one of classes. */
static void NAME(ctc_row_backward)(const ht_ctc_call *r, const ht_sequence *s, const T *x,
                                   const double *alpha, double loss, double dloss, T *dx)
{
    const int64_t stride = r->rows * r->classes, width = 2 * r->width + 1;
    double *beta = r->scratch.data, *after = NULL, *classes = beta + 2 * width;

    for (int64_t t = s->steps - 1; t >= 0; t--) {
        NAME(ctc_beta)(s, x + t * stride, after, beta);
        for (int64_t c = 0; c < r->classes; c++)
            classes[c] = -INFINITY;
        for (int64_t e = 0; e < s->elements; e++) {
            double *sum = &classes[ht__class_of(s, e)];

            *sum = ht__log_sum(*sum, alpha[t * width + e] + beta[e], -INFINITY);
        }
        for (int64_t c = 0; c < r->classes; c++) {
            const double log_p = (double)LOAD(x[t * stride + c]);

            dx[t * stride + c] = STORE((C)ht__ctc_grad(dloss, log_p, classes[c], loss));
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
        const ht_sequence s = ht__sequence_of(r, row);
        const double *alpha = (const double *)r->alpha.data + row * r->steps * width;
        const double loss = ht__ctc_loss(&s, alpha, width);
        const double dloss = (double)LOAD(((const T *)r->dloss.data)[row]);
        const T *x = (const T *)r->x.data + row * r->classes;

        if (r->zero_infinity && loss == INFINITY)
            continue;
        NAME(ctc_row_backward)(r, &s, x, alpha, loss, dloss, (T *)r->dx.data + row * r->classes);
    }
    return 0;
}

#endif
