/* SPDX-License-Identifier: MIT
 *
 * Template: n elements of a draw from their random words. float64, and integers of any dtype, take
 * two words for each element; other dtypes take one (random/walk.h). */

#if !HT_IS_COMPLEX
#include "backends/cpu/random/element.inc.c"
#endif

#if HT_IS_FLOAT
static void NAME(uniform)(const ht_random_draw *draw, const uint32_t *word, int64_t n, void *out)
{
    const C a = (C)draw->a, width = (C)(draw->b - draw->a);
    const C last = draw->a < draw->b ? LOAD(NAME(largest_below)(draw->b)) : a;
    T *y = out;

    HT_VECTORIZE
    for (int64_t i = 0; i < n; i++)
        y[i] = NAME(uniform_of)(RANDOM_UNIT(C, word, i), a, width, last);
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
static void NAME(integer)(const ht_random_draw *draw, const uint32_t *word, int64_t n, void *out)
{
    const int64_t a = draw->low;
    const uint64_t width = (uint64_t)draw->high - (uint64_t)a;
    T *y = out;

    for (int64_t i = 0; i < n; i++)
        y[i] = NAME(integer_of)(random_wide_word(word, i), a, width);
}

HT_KERNEL(random_integer)
{
    (void)stream;
    return random_walk((const ht_random_call *)call, NAME(integer), 2);
}
#endif
