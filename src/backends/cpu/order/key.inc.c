/* SPDX-License-Identifier: MIT
 *
 * Template: keys of a dtype's numbers, and their order. WORD has room for a key, or for the key of
 * one part of a complex number. */

#define WORD      HT_JOIN(order_word_, DTYPE)
#define WORD_BITS ((int)(8 * sizeof(T) / (HT_KIND == HT_KIND_COMPLEX ? 2 : 1)))

#if HT_KIND == HT_KIND_FLOAT || HT_KIND == HT_KIND_COMPLEX
#define PART_KEY(x) _Generic(x, float : order_key_32, double : order_key_64)(x)
#endif

#if HT_KIND == HT_KIND_FLOAT
HT_INLINE WORD NAME(order_key)(T x)
{
    return PART_KEY(x);
}

HT_INLINE T NAME(order_number)(WORD key)
{
    return _Generic((T)0, float : order_number_32, double : order_number_64)(key);
}

HT_INLINE bool NAME(order_less)(T a, T b)
{
    return (a < b) | ((b != b) & (a == a));
}
#elif HT_KIND == HT_KIND_COMPLEX
HT_INLINE bool NAME(order_less)(T a, T b)
{
    const WORD p = PART_KEY(HT_JOIN(order_real_, DTYPE)(a));
    const WORD q = PART_KEY(HT_JOIN(order_real_, DTYPE)(b));

    return p != q ? p < q
                  : PART_KEY(HT_JOIN(order_imag_, DTYPE)(a)) <
                        PART_KEY(HT_JOIN(order_imag_, DTYPE)(b));
}
#else
#if HT_KIND == HT_KIND_HALF
HT_INLINE WORD NAME(order_key)(T x)
{
    return order_key_16(x, (uint16_t)HT_JOIN(INFINITE_, DTYPE));
}

HT_INLINE T NAME(order_number)(WORD key)
{
    return order_number_16(key);
}
#else
#define SIGN (!HT_IS_BOOL && (T)-1 < 0 ? (WORD)1 << (WORD_BITS - 1) : 0)
#define MASK ((WORD)-1 >> (8 * sizeof(WORD) - WORD_BITS))
HT_INLINE WORD NAME(order_key)(T x)
{
    return ((WORD)LOAD(x) & MASK) ^ SIGN;
}

HT_INLINE T NAME(order_number)(WORD key)
{
    return (T)(key ^ SIGN);
}
#undef SIGN
#undef MASK
#endif

HT_INLINE bool NAME(order_less)(T a, T b)
{
    return NAME(order_key)(a) < NAME(order_key)(b);
}
#endif

/* The key of an element as ht/kernels/order.h has it. */
HT_INLINE order_words NAME(order_words)(T x, bool descending)
{
#if HT_KIND == HT_KIND_COMPLEX
    const WORD real = PART_KEY(HT_JOIN(order_real_, DTYPE)(x));
    const WORD imag = PART_KEY(HT_JOIN(order_imag_, DTYPE)(x));
    const order_words words = WORD_BITS == 64
                                  ? (order_words){real, imag}
                                  : (order_words){(uint64_t)real << 32 | (uint32_t)imag, 0};
#else
    const order_words words = {(uint64_t)NAME(order_key)(x) << (64 - WORD_BITS), 0};
#endif
    const uint64_t first = sizeof(T) >= 8 ? UINT64_MAX : ~(UINT64_MAX >> (8 * sizeof(T) & 63));

    if (!descending)
        return words;
    return (order_words){words.high ^ first, sizeof(T) == 16 ? ~words.low : 0};
}
