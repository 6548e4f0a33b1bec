/* SPDX-License-Identifier: MIT
 *
 * Template: products. */

#define FOLD(x) NAME(x##_product)
#define NEUTRAL 1
#if HT_IS_INTEGER || HT_IS_BOOL
#define ACC    SUM
#define PUT(x) TO_TOTAL(x)
#define OUT    TOTAL
#else
#define ACC    WIDE
#define PUT(x) (x)
#define OUT    WIDE
#endif
#define GET(x) ((ACC)LOAD(x))

HT_INLINE ACC NAME(product_step)(ACC product, ACC x)
{
    return product * x;
}
#include "backends/cpu/reduce/fold.inc.c"

HT_KERNEL(reduce_PROD)
{
    const ht_reduction *r = (const ht_reduction *)call;

    (void)stream;
    return NAME(fold_product)(r, NAME(product_step), true, 0);
}

static void NAME(fill_prod)(ht_kernel_table *k)
{
    k->at[HT_KERNEL_PROD][ID] = NAME(reduce_PROD);
}
