/* SPDX-License-Identifier: MIT
 *
 * Template: dropout of n elements. A dropped element is 0 even if x is not finite there. */

#if HT_IS_FLOAT

/* y = x mask / (1 - p), forward and backward. */
static void NAME(dropout_apply)(int64_t n, double p, const void *from, const uint8_t *mask,
                                void *to)
{
    const C scale = (C)(1 / (1 - p));
    const T *x = from;
    T *y = to;

    HT_VECTORIZE
    for (int64_t i = 0; i < n; i++)
        y[i] = STORE(mask[i] != 0 ? LOAD(x[i]) * scale : 0);
}

HT_KERNEL(dropout_forward)
{
    const ht_dropout_call *job = (const ht_dropout_call *)call;
    const ht_random_draw *draw = &job->draw;

    (void)stream;
    for (int64_t o = 0; o < draw->outer; o++)
        random_run(draw, (uint64_t)(o * draw->inner_global + draw->start), draw->inner,
                   dropout_mask, 1, (char *)job->mask.data + o * draw->inner, 1);
    NAME(dropout_apply)
    (draw->outer * draw->inner, draw->a, job->x.data, job->mask.data, job->y.data);
    return 0;
}

HT_KERNEL(dropout_backward)
{
    const ht_dropout_call *job = (const ht_dropout_call *)call;
    const ht_random_draw *draw = &job->draw;

    (void)stream;
    NAME(dropout_apply)
    (draw->outer * draw->inner, draw->a, job->x.data, job->mask.data, job->y.data);
    return 0;
}

#endif
