/* SPDX-License-Identifier: MIT
 *
 * Template: the smaller of two numbers, the larger, and clipping between bounds. The comparisons
 * are written so that NaN in either operand gives NaN. */

/* clang-format off */
#if HT_IS_INTEGER || HT_IS_FLOAT
#define ROWS(X) X(Sss, MINIMUM, (a, b)) X(Sss, MAXIMUM, (a, b)) X(Ssss, CLIP, (a, b, c))
#else
#define ROWS(X)
#endif
/* clang-format on */

#if HT_IS_INTEGER || HT_IS_FLOAT
HT_INLINE C NAME(MINIMUM)(C a, C b)
{
    return a < b || (HT_IS_FLOAT && isnan((double)a)) ? a : b;
}

HT_INLINE C NAME(MAXIMUM)(C a, C b)
{
    return a > b || (HT_IS_FLOAT && isnan((double)a)) ? a : b;
}

HT_INLINE C NAME(CLIP)(C x, C low, C high)
{
    C y = low > x || (HT_IS_FLOAT && isnan((double)low)) ? low : x;

    return high < y || (HT_IS_FLOAT && isnan((double)high)) ? high : y;
}
#endif

#include HT_ROWS_TEMPLATE
