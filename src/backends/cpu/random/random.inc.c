/* SPDX-License-Identifier: MIT
 *
 * Template: n elements of a draw from their random words. float64, and integers of any dtype, take
 * two words for each element; other dtypes take one (random/walk.h). */

#if HT_IS_FLOAT
/* The largest number below b, so that rounding cannot reach the open end of an interval. */
static T NAME(largest_below)(double b)
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
                                         : nextafter(x, -INFINITY));
#endif
}

static void NAME(uniform)(const ht_random_draw *draw, const uint32_t *word, int64_t n, void *out)
{
    const C a = (C)draw->a, width = (C)(draw->b - draw->a);
    const C last = draw->a < draw->b ? LOAD(NAME(largest_below)(draw->b)) : a;
    T *y = out;

    HT_VECTORIZE
    for (int64_t i = 0; i < n; i++) {
        C x = LOAD(STORE(a + width * RANDOM_UNIT(C, word, i)));

        y[i] = STORE(x < last ? x : last);
    }
}

static void NAME(normal)(const ht_random_draw *draw, const uint32_t *word, int64_t n, void *out)
{
    const C mean = (C)draw->a, deviation = (C)draw->b;
    T *y = out;

    HT_VECTORIZE
    for (int64_t i = 0; i < n; i++)
        y[i] = STORE(mean + deviation * RANDOM_NORMAL(C, word, i));
}

HT_KERNEL(random_uniform)
{
    (void)stream;
    return random_walk((const ht_random_call *)call, NAME(uniform), sizeof(C) / sizeof(float));
}

HT_KERNEL(random_normal)
{
    (void)stream;
    return random_walk((const ht_random_call *)call, NAME(normal), sizeof(C) / sizeof(float));
}
#endif

#if !HT_IS_COMPLEX
/* The high half of word times width: its bias is below width / 2^64. */
static void NAME(integer)(const ht_random_draw *draw, const uint32_t *word, int64_t n, void *out)
{
    const int64_t a = draw->low;
    const uint64_t width = (uint64_t)draw->high - (uint64_t)a;
    T *y = out;

    for (int64_t i = 0; i < n; i++) {
        unsigned __int128 product = (unsigned __int128)random_wide_word(word, i) * width;

        y[i] = STORE((int64_t)((uint64_t)a + (uint64_t)(product >> 64)));
    }
}

HT_KERNEL(random_integer)
{
    (void)stream;
    return random_walk((const ht_random_call *)call, NAME(integer), 2);
}
#endif
