/* SPDX-License-Identifier: MIT
 *
 * Template inside others: one element of a draw. */

#if HT_IS_FLOAT
/* The largest number below b, so that rounding cannot reach the open end of an interval. */
HT_INLINE T NAME(largest_below)(double b)
{
    T x = STORE(b);

    if ((double)LOAD(x) < b)
        return x;
#if HT_IS_HALF
    if ((x & 0x7fff) == 0)
        return 0x8001; /* from zero to the smallest negative number */
    return (T)(x & 0x8000 ? x + 1 : x - 1);
#else
    return (T)(sizeof x == sizeof(float) ? nextafterf((float)x, -INFINITY)
                                         : nextafter((double)x, -(double)INFINITY));
#endif
}

/* unit: in [0, 1). last: the largest value. */
HT_INLINE T NAME(uniform_of)(C unit, C a, C width, C last)
{
    const C x = LOAD(STORE(a + width * unit));

    return STORE(x < last ? x : last);
}
#endif

/* The high half of word times width: its bias is below width / 2^64. */
HT_INLINE T NAME(integer_of)(uint64_t word, int64_t a, uint64_t width)
{
    const unsigned __int128 product = (unsigned __int128)word * width;

    return STORE((int64_t)((uint64_t)a + (uint64_t)(product >> 64)));
}
