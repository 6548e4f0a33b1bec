/* SPDX-License-Identifier: MIT
 *
 * Template: dropout of n elements. What is dropped is 0 even where x is not finite. */

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

#endif
