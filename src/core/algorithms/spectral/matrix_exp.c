/* SPDX-License-Identifier: MIT
 *
 * The exponential of square matrices by scaling and squaring with the diagonal Pade approximant of
 * degree 13 (Higham 2005). It takes six products, one solution and a square for each halving of
 * the largest, in the split of a. Data move like in these. The gradient is a part of the
 * exponential of a matrix of twice the size. */
#include "core/algorithms/factor/decompositions.h"

#include <math.h>

#include "ht/arithmetics.h"
#include "ht/exponential.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/logical.h"
#include "ht/manipulations.h"
#include "ht/reduction.h"
#include "ht/relational.h"
#include "ht/rounding.h"
#include "ht/solvers.h"
#include "ht/statistics.h"

static const char what[] = "ht_matrix_exp";

static const double pade[14] = {64764752532480000.,
                                32382376266240000.,
                                7771770303897600.,
                                1187353796428800.,
                                129060195264000.,
                                10559470521600.,
                                670442572800.,
                                33522128640.,
                                1323241920.,
                                40840800.,
                                960960.,
                                16380.,
                                182.,
                                1.};

/* How often each matrix is halved until its norm is one that the approximant is for, (..., 1, 1) of
 * float64. One with NaN or an infinity never is. *most: the largest count. */
static ht_tensor *halvings(ht_tensor *a, double *most)
{
    const double largest = 5.371920351148152;
    ht_reduce_options along = ht_reduce_options_default();
    ht_tensor *norms, *counts;

    along.keepdims = true;
    along.count = 1;
    along.dtype = HT_FLOAT64;
    along.axes = (int[]){-2};
    norms = ht_sum_ext(ht_abs(a), &along);
    along.dtype = HT_DTYPE_COUNT;
    along.axes = (int[]){-1};
    norms = norms != NULL ? ht_max_ext(norms, &along) : NULL;
    if (norms == NULL)
        return NULL;
    counts = ht_clip(ht_ceil(ht_log2(ht_div_scalar(norms, largest))), 0, INFINITY);
    counts = counts != NULL ? ht_where(ht_isfinite(norms), counts, ht_scalar(0)) : NULL;
    if (counts == NULL || ht_tensor_item(ht_max(counts, HT_NONE), most) != HT_SUCCESS)
        return NULL;
    return counts;
}

/* The squares of matrices that were halved more than `done` times; the others stay. */
static ht_tensor *squared(ht_tensor *y, ht_tensor *counts, double done)
{
    ht_tensor *square = ht__batch_product(what, y, y);

    if (square == NULL || y->body->ndim == 2)
        return square;
    return ht_where(ht_gt(counts, ht_scalar(done)), square, y);
}

static ht_tensor *scaled(ht_tensor *x, int power)
{
    return ht_mul_scalar_ext(x, ht_number_real(pade[power]));
}

/* p[high] x6 + p[high - 2] x4 + p[high - 4] x2 */
static ht_tensor *combine(ht_tensor *const x[], int high)
{
    return ht_add(scaled(x[2], high), ht_add(scaled(x[1], high - 2), scaled(x[0], high - 4)));
}

/* x: its powers 2, 4, 6; the sum of the powers of one parity. */
static ht_tensor *half_of(ht_tensor *const x[], ht_tensor *one, int high)
{
    ht_tensor *upper = ht__batch_product(what, x[2], combine(x, high));

    return ht_add(upper, ht_add(combine(x, high - 6), scaled(one, high - 12)));
}

static ht_tensor *exponential(ht_tensor *a)
{
    ht_tensor *x[3], *one, *odd, *even, *y, *counts = NULL;
    double most = 0;

    if (ht_tensor_size(a) > 0) {
        counts = halvings(a, &most);
        a = counts != NULL ? ht_mul(a, ht_astype(ht_exp2(ht_neg(counts)), a->body->dtype)) : NULL;
    }
    one = a != NULL ? ht__identity_like(what, a) : NULL;
    x[0] = ht__batch_product(what, a, a);
    x[1] = ht__batch_product(what, x[0], x[0]);
    x[2] = ht__batch_product(what, x[0], x[1]);
    if (one == NULL || x[2] == NULL)
        return NULL;
    odd = ht__batch_product(what, a, half_of(x, one, 13));
    even = half_of(x, one, 12);
    /* The solution with even + odd has rounding errors in elements that are 1 exactly, and each
     * square doubles them. */
    y = ht_add(one, ht_mul_scalar(ht_solve(ht_sub(even, odd), odd), 2));
    for (int i = 0; i < most && y != NULL; i++)
        y = squared(y, counts, i);
    return y;
}

static ht_tensor *exponential_quietly(ht_tensor *a)
{
    const int split = a->body->split;
    ht_section section = ht__section_begin(a);
    ht_tensor *y;

    if (ht__is_split_batch(a))
        a = ht_resplit(a, 0);
    y = a != NULL ? ht_resplit(exponential(a), split) : NULL;
    ht__section_end(section);
    return y;
}

/* (a^H, g; 0, a^H), whose exponential has the gradient of a in the place of g. */
static ht_tensor *block_matrix(ht_tensor *a, ht_tensor *g)
{
    ht_tensor *upper = ht_concatenate(2, (ht_tensor *[]){a, ht_resplit(g, a->body->split)}, -1);
    ht_tensor *lower = ht_concatenate(2, (ht_tensor *[]){ht_zeros_like(a), a}, -1);

    return ht_concatenate(2, (ht_tensor *[]){upper, lower}, -2);
}

static void matrix_exp_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *a = ht__adjoint(ht_node_saved(node, 0)), *y;
    int64_t n;
    int exponent; /* a large g would have all of the block halved more often, and lose digits of a */

    if (a == NULL)
        return;
    n = a->body->shape[a->body->ndim - 1];
    y = ht_matrix_exp(block_matrix(a, ht__near_one(g, &exponent)));
    gin[0] = ht__times_power(ht_narrow(ht_narrow(y, -2, 0, n), -1, n, 2 * n), exponent);
}

ht_tensor *ht_matrix_exp(ht_tensor *a)
{
    HT_NAMED(what);
    ht_node *node;
    ht_tensor *y;

    a = ht__matrix_operand(what, "a", a, HT_MATRIX_SQUARE, HT_KERNEL_LU);
    if (a == NULL)
        return NULL;
    y = exponential_quietly(a);
    node = y != NULL ? ht_node_new(what, matrix_exp_backward, 1, &a) : NULL;
    ht_node_save(node, a);
    return ht_node_set_output(node, y);
}
