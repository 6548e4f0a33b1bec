/* SPDX-License-Identifier: MIT
 *
 * Template inside another: an element of SOURCE as DTYPE, by PAIR(convert_one). The file that includes
 * it undefines the names once it has used them. */

#define S           HT_JOIN(storage_, SOURCE)
#define SC          HT_JOIN(compute_, SOURCE)
#define SOURCE_LOAD HT_JOIN(LOAD_, SOURCE)
#define SOURCE_KIND HT_JOIN(HT_KIND_OF_, SOURCE)
#define PAIR(x)     HT_JOIN(HT_JOIN(NAME(x), _), SOURCE)

#if HT_IS_INTEGER && SOURCE_KIND >= HT_KIND_HALF
/* A number to the integer it can be nearest to, NaN to 0. C leaves that open, and machines differ;
 * so the number is brought into the range first, by selections that become vector code. */
#if SOURCE_KIND == HT_KIND_COMPLEX
#define REAL    double
#define PART(x) creal(x)
#else
#define REAL    SC
#define PART(x) (x)
#endif
HT_INLINE T PAIR(convert_one)(SC x)
{
    const REAL value = PART(x);
    const bool is_signed = (T)-1 < (T)0, is_float = sizeof(REAL) == sizeof(float);
    const T largest = (T)(is_signed ? ((uint64_t)1 << (8 * sizeof(T) - 1)) - 1 : UINT64_MAX);
    const T smallest = (T)(is_signed ? -largest - 1 : 0);
    const REAL low = (REAL)smallest; /* and the largest integers that REAL has: */
    const REAL high = (REAL)(sizeof(T) == 8   ? is_float ? 0x1.fffffep62 : 0x1.fffffffffffffp62
                             : sizeof(T) == 4 ? is_float ? 0x1.fffffep30 : 0x1.fffffffcp30
                                              : (double)largest);
    REAL inside = value > low ? value : low;
    T y;

    inside = inside < high ? inside : high;
    y = sizeof(T) < 4 ? (T)(int32_t)inside : (T)inside;
    y = value > high ? largest : y;
    return value == value ? y : 0;
}
#undef REAL
#undef PART
#else
/* A complex number loses its imaginary part, except that a bool asks whether either is not zero.
 * A value that float32 cannot hold is rounded to 16 bits once. */
HT_INLINE T PAIR(convert_one)(SC x)
{
#if SOURCE_KIND == HT_KIND_COMPLEX && HT_IS_HALF
    return TO_TOTAL(creal(x));
#elif SOURCE_KIND == HT_KIND_COMPLEX && !HT_IS_COMPLEX && !HT_IS_BOOL
    return STORE(creal(x));
#elif HT_IS_HALF && SOURCE_KIND == HT_KIND_INTEGER
    return sizeof(SC) < sizeof(int32_t) ? STORE(x) : STORE(ht__int64_to_odd_float(x));
#elif HT_IS_HALF && SOURCE_KIND == HT_KIND_FLOAT
    return sizeof(SC) == sizeof(double) ? TO_TOTAL(x) : STORE(x);
#else
    return STORE(x);
#endif
}
#endif
