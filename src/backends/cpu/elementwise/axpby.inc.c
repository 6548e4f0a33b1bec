/* SPDX-License-Identifier: MIT
 *
 * Template: y = a x + b y, rounded after each of its three operations. */

#if HT_KIND == HT_KIND_FLOAT

static void NAME(axpby)(int64_t n, double a, const void *from, double b, void *to)
{
    const T by_x = (T)a, by_y = (T)b;
    const T *x = from;
    T *y = to;

    HT_VECTORIZE
    for (int64_t i = 0; i < n; i++)
        y[i] = by_x * x[i] + by_y * y[i];
}

#endif
