/* SPDX-License-Identifier: MIT
 *
 * Template inside arg.inc.c and rows.inc.c: which of two numbers is the larger, with NaN. */

HT_INLINE int NAME(is_nan)(C x)
{
#if HT_IS_FLOAT
    return isnan(x) != 0;
#else
    (void)x;
    return 0;
#endif
}

/* Whether x takes the place of the best so far: NaN beats every number, and nothing beats NaN. */
HT_INLINE bool NAME(above)(C x, C best)
{
    return x > best || (NAME(is_nan)(x) && !NAME(is_nan)(best));
}

HT_INLINE bool NAME(below)(C x, C best)
{
    return x < best || (NAME(is_nan)(x) && !NAME(is_nan)(best));
}

HT_INLINE C NAME(max_step)(C best, C x)
{
    return NAME(above)(x, best) ? x : best;
}
