/* SPDX-License-Identifier: MIT
 *
 * What the long forms of reductions take: ht_sum_ext, ht_prod_ext, ht_mean_ext, ht_var_ext,
 * ht_std_ext, ht_max_ext, ht_min_ext, ht_argmax_ext, ht_argmin_ext.
 *
 *     ht_reduce_options o = ht_reduce_options_default();
 *     int axes[] = {0, 2};
 *
 *     o.count = 2, o.axes = axes, o.keepdims = true;
 *     y = ht_sum_ext(x, &o);
 *
 * An option that a function does not know is HT_ERR_ARGUMENT where it is set. */
#ifndef HT_REDUCTION_H
#define HT_REDUCTION_H

#include "ht/number.h"
#include "ht/tensor.h"

HT_BEGIN_DECLS

typedef struct ht_reduce_options {
    size_t size;
    const int *axes; /* NULL: all; negative ones count from the end; each once; read in the call */
    int count;       /* 0; of axes: with axes and 0 none is reduced */
    bool keepdims;   /* false; reduced axes stay, with length 1, so that the result broadcasts */
    /* HT_DTYPE_COUNT: as in the short form. Else x is converted to it first, and the result has it,
     * or its real dtype. sum, prod: not bool; mean, var, std: floating or complex. */
    ht_dtype dtype;
    int64_t ddof; /* 0; var, std: the divisor is the number of elements - ddof, or 0 */
    /* NULL; sum, prod: added or multiplied before the result is rounded; max, min: the larger or
     * smaller of it and the result (ht_maximum), so that x may be empty. HT_ERR_DTYPE where its
     * kind is higher than the result's, as that of 0.5 or NaN is beside integers; HT_ERR_ARGUMENT
     * for an integer that the result's dtype does not hold. */
    const ht_number *initial;
    ht_tensor *where; /* NULL: all; bool, broadcasts to x: which elements count; borrowed.
                         sum, prod, mean, var, std */
} ht_reduce_options;

HT_API ht_reduce_options ht_reduce_options_default(void);

HT_END_DECLS
#endif
