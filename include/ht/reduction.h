/* SPDX-License-Identifier: MIT
 *
 * Options of reductions. The functions that take them are ht_sum_ext, ht_prod_ext, ht_mean_ext,
 * ht_var_ext, ht_std_ext, ht_max_ext, ht_min_ext, ht_argmax_ext, ht_argmin_ext, ht_all_ext and
 * ht_any_ext. All take axes, count and keepdims. A field names the functions that take it.
 *
 *     ht_reduce_options o = ht_reduce_options_default();
 *     int axes[] = {0, 2};
 *
 *     o.count = 2, o.axes = axes, o.keepdims = true;
 *     y = ht_sum_ext(x, &o);
 *
 * NULL in place of options means the defaults. An option that is set for a function which does not
 * take it is HT_ERR_ARGUMENT. So is an axis that x lacks or that is given twice, and a count that
 * is negative, or not 0 without axes. */
#ifndef HT_REDUCTION_H
#define HT_REDUCTION_H

#include "ht/number.h"
#include "ht/tensor.h"

HT_BEGIN_DECLS

/* Each field begins with its default. */
typedef struct ht_reduce_options {
    size_t size;     /* set by ht_reduce_options_default */
    const int *axes; /* NULL: all axes. Negative ones count from the end; each once. Not kept */
    int count;       /* 0: the number of axes. With axes and count 0 nothing is reduced */
    bool keepdims;   /* false; true: reduced axes stay with length 1, and the result broadcasts */
    /* HT_DTYPE_COUNT: as in the short form. Otherwise x is first converted to dtype, and the result
     * has dtype, or the real one of its parts. sum, prod: not bool. mean, var, std: floating or
     * complex. Another dtype is HT_ERR_DTYPE. */
    ht_dtype dtype;
    int64_t ddof; /* 0. var, std: the divisor is max(number of elements - ddof, 0) */
    /* NULL: none. sum, prod: it is added or multiplied before the result is rounded. max, min: the
     * result is ht_maximum or ht_minimum of it and the elements, and x may be empty. HT_ERR_DTYPE
     * for a kind above that of the result: 0.5 or NaN for integers. HT_ERR_ARGUMENT for an integer
     * that the dtype of the result cannot hold. */
    const ht_number *initial;
    ht_tensor *where; /* NULL: all elements. A mask of bool that broadcasts to x: only elements
                         under true count. Another dtype is HT_ERR_DTYPE. Borrowed. sum, prod,
                         mean, var, std */
} ht_reduce_options;

/* Returns the default options, with size set. Not collective. */
HT_API ht_reduce_options ht_reduce_options_default(void);

HT_END_DECLS
#endif
