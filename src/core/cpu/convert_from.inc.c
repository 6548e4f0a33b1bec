/* SPDX-License-Identifier: MIT
 *
 * Template inside convert.inc.c: conversion to DTYPE from SOURCE, two operands of any strides. */

#define S           HT_JOIN(storage_, SOURCE)
#define SC          HT_JOIN(compute_, SOURCE)
#define SOURCE_LOAD HT_JOIN(LOAD_, SOURCE)
#define SOURCE_KIND HT_JOIN(HT_KIND_OF_, SOURCE)
#define PAIR(x)     HT_JOIN(HT_JOIN(NAME(x), _), SOURCE)

/* A complex number loses its imaginary part, except that a bool asks whether either is not zero. A
 * fraction goes to the narrow integers through int32, so that values out of their range wrap alike
 * wherever they stand. What is wider than float32 is rounded to 16 bits once. */
HT_INLINE T PAIR(convert_one)(SC x)
{
#if SOURCE_KIND == HT_KIND_COMPLEX && HT_IS_HALF
    return TO_TOTAL(creal(x));
#elif SOURCE_KIND == HT_KIND_COMPLEX && !HT_IS_COMPLEX && !HT_IS_BOOL
    return STORE(creal(x));
#elif HT_IS_HALF && SOURCE_KIND == HT_KIND_FLOAT
    return sizeof(SC) == sizeof(double) ? TO_TOTAL(x) : STORE(x);
#elif HT_IS_INTEGER && (SOURCE_KIND == HT_KIND_FLOAT || SOURCE_KIND == HT_KIND_HALF)
    return sizeof(T) < 4 ? STORE((int32_t)x) : STORE(x);
#else
    return STORE(x);
#endif
}

static int PAIR(convert)(void *stream, const ht_loop *loop)
{
    const int64_t n = row_length(loop), ys = row_stride(loop, 0), xs = row_stride(loop, 1);
    const size_t sizes[] = {sizeof(T), sizeof(S)};
    row_walk walk;

    (void)stream;
    for (bool more = row_walk_begin(&walk, loop); more; more = row_walk_next(&walk, 2, sizes)) {
        T *y = (T *)walk.at[0];
        const S *x = (const S *)walk.at[1];

        if (ys == 1 && xs == 1) {
            HT_VECTORIZE
            for (int64_t i = 0; i < n; i++)
                y[i] = PAIR(convert_one)(SOURCE_LOAD(x[i]));
        } else {
            for (int64_t i = 0; i < n; i++)
                y[i * ys] = PAIR(convert_one)(SOURCE_LOAD(x[i * xs]));
        }
    }
    return 0;
}

#undef S
#undef SC
#undef SOURCE_LOAD
#undef SOURCE_KIND
#undef PAIR
