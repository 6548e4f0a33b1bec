/* SPDX-License-Identifier: MIT
 *
 * Template: maximum and minimum. Floating numbers are compared by their keys (key.inc.c). So a
 * result does not depend on the order of its elements. */

#if !HT_IS_COMPLEX
#if HT_IS_FLOAT
#include "backends/cpu/reduce/key.inc.c"

#define EXTREME         KEY
#define GET_LARGEST(x)  NAME(key_of)(x, KEY_LARGEST)
#define GET_SMALLEST(x) NAME(key_of)(x, KEY_SMALLEST)
#define PUT_EXTREME     NAME(of_key)
#else
#define EXTREME         C
#define GET_LARGEST(x)  ((C)LOAD(x))
#define GET_SMALLEST(x) ((C)LOAD(x))
#define PUT_EXTREME     STORE
#endif

HT_INLINE EXTREME NAME(larger)(EXTREME best, EXTREME x)
{
    return x > best ? x : best;
}

HT_INLINE EXTREME NAME(smaller)(EXTREME best, EXTREME x)
{
    return x < best ? x : best;
}

#define FOLD(x) NAME(x##_largest)
#define ACC     EXTREME
#define OUT     T
#define GET     GET_LARGEST
#define PUT     PUT_EXTREME
#include "backends/cpu/reduce/fold.inc.c"

#define FOLD(x) NAME(x##_smallest)
#define ACC     EXTREME
#define OUT     T
#define GET     GET_SMALLEST
#define PUT     PUT_EXTREME
#include "backends/cpu/reduce/fold.inc.c"

HT_KERNEL(reduce_MAX)
{
    const ht_reduction *r = (const ht_reduction *)call;

    (void)stream;
    return NAME(fold_largest)(r, NAME(larger), false, 0);
}

HT_KERNEL(reduce_MIN)
{
    const ht_reduction *r = (const ht_reduction *)call;

    (void)stream;
    return NAME(fold_smallest)(r, NAME(smaller), false, 0);
}

#undef EXTREME
#undef GET_LARGEST
#undef GET_SMALLEST
#undef PUT_EXTREME
#undef KEY_LARGEST
#undef KEY_SMALLEST
#undef INFINITE
#endif

static void NAME(fill_extreme)(ht_kernel_table *k)
{
#if !HT_IS_COMPLEX
    k->at[HT_KERNEL_MAX][ID] = NAME(reduce_MAX);
    k->at[HT_KERNEL_MIN][ID] = NAME(reduce_MIN);
#else
    (void)k;
#endif
}
