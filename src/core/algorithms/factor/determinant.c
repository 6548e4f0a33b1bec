/* SPDX-License-Identifier: MIT
 *
 * LU itself, and determinants: the products of u's diagonal and of the sign of the pivots. */
#include "core/algorithms/factor/decompositions.h"
#include "ht/arithmetics.h"
#include "ht/complex_math.h"
#include "ht/decompositions.h"
#include "ht/exponential.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "ht/relational.h"
#include "ht/rounding.h"
#include "ht/solvers.h"

/* l below the diagonal, u, in the split of a; pivots (..., k) on every rank that has the matrix. */
static ht_status factor(const char *what, ht_tensor *a, ht_tensor **lu, ht_tensor **pivots)
{
    const int64_t k = ht__order(a);
    int64_t *list, info;
    ht_status status;

    if (!ht__is_split_matrix(a))
        return ht__local_lu(what, a, lu, pivots, &info);
    *lu = ht__own_columns(what, a);
    if (*lu == NULL)
        return ht_error_get(NULL);
    list = ht__alloc((size_t)(k + 1) * sizeof *list);
    status = ht__lu_columns(what, *lu, NULL, list, &info);
    *pivots = status == HT_SUCCESS ? ht_array_ext(list, 1, &k, HT_INT64, HT_NONE,
                                                  a->body->storage->device, a->body->comm)
                                   : NULL;
    ht__free(list);
    return *pivots != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

/* ---- l, u and the permutation --------------------------------------------------------------- */

/* The order of m rows after they were exchanged by `count` pivots of each matrix. */
static ht_tensor *permutation_of(const char *what, const ht_tensor *a, ht_tensor *pivots)
{
    const int64_t m = ht__rows(a), k = ht__order(a);
    ht_tensor *host = ht__on_host(what, pivots, HT_INT64);
    ht_tensor *p = ht__batch_of(what, a, HT_INT64, 1, &m);
    const int64_t *swaps;
    int64_t *rows;
    ht_status status;

    if (host == NULL || p == NULL)
        return NULL;
    swaps = ht__body_data(host->body);
    rows = ht__alloc((size_t)(p->body->lsize + 1) * sizeof *rows);
    for (int64_t i = 0; m > 0 && i < p->body->lsize / m; i++) {
        for (int64_t row = 0; row < m; row++)
            rows[i * m + row] = row;
        for (int64_t row = 0; row < k; row++) {
            const int64_t other = swaps[i * k + row], kept = rows[i * m + row];

            rows[i * m + row] = rows[i * m + other];
            rows[i * m + other] = kept;
        }
    }
    status = p->body->lsize > 0 ? ht__set_local(what, p->body, rows) : HT_SUCCESS;
    ht__free(rows);
    return status == HT_SUCCESS ? p : NULL;
}

static ht_status lu(const char *what, ht_tensor *a, ht_tensor **p, ht_tensor **l, ht_tensor **u)
{
    const int rows = a->body->ndim - 2, split = a->body->split;
    const int64_t k = ht__order(a);
    ht_tensor *both, *pivots, *unit;
    ht_status status = factor(what, a, &both, &pivots);

    if (status != HT_SUCCESS)
        return status;
    *p = permutation_of(what, a, pivots);
    *u = ht_triu(ht_narrow(both, rows, 0, k), 0);
    *l = ht_tril(ht_narrow(both, rows + 1, 0, k), -1);
    unit = *l != NULL
               ? ht_eye_ext(ht__rows(a), k, a->body->dtype, rows == 0 ? (*l)->body->split : HT_NONE,
                            a->body->storage->device, (*l)->body->comm)
               : NULL;
    *l = ht_add(*l, unit);
    if (*p == NULL || *l == NULL || *u == NULL)
        return ht_error_get(NULL);
    if (rows == 0 && split != HT_NONE) {
        *l = ht_balance(ht_resplit(*l, split));
        *u = ht_balance(ht_resplit(*u, split));
    }
    return *l != NULL && *u != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

ht_status ht_lu(ht_tensor *a, ht_tensor **p, ht_tensor **l, ht_tensor **u)
{
    static const char what[] = "ht_lu";
    HT_NAMED(what);
    ht_tensor *found[3] = {NULL, NULL, NULL};
    ht_section section;
    ht_status status;

    a = ht__matrix_operand(what, "a", a, HT_MATRIX_ANY, HT_KERNEL_LU);
    if (a == NULL || HT_IS_NULL_ON(a->body->comm, p, what, "p") ||
        HT_IS_NULL_ON(a->body->comm, l, what, "l") || HT_IS_NULL_ON(a->body->comm, u, what, "u"))
        return ht_error_get(NULL);
    section = ht__section_begin(a);
    if (ht__is_split_batch(a))
        a = ht_resplit(a, 0);
    status = a != NULL ? lu(what, a, &found[0], &found[1], &found[2]) : ht_error_get(NULL);
    ht__section_end(section);
    if (status != HT_SUCCESS)
        return status;
    *p = found[0];
    *l = found[1];
    *u = found[2];
    return HT_SUCCESS;
}

/* ---- determinants --------------------------------------------------------------------------- */

/* -1 where an odd number of rows was exchanged, else 1. */
static ht_tensor *sign_of(ht_tensor *pivots, const ht_tensor *like)
{
    const int64_t k = pivots->body->shape[pivots->body->ndim - 1];
    ht_tensor *still = ht_arange_ext(HT_NUM(0), ht_number_integer(k), HT_NUM(1), HT_INT64, HT_NONE,
                                     pivots->body->storage->device, pivots->body->comm);
    ht_tensor *odd = ht_remainder(ht_sum(ht_ne(pivots, still), -1), ht_scalar(2));

    return ht_astype(ht_add_scalar(ht_mul_scalar(odd, -2), 1), like->body->dtype);
}

/* The diagonal of u and the sign before its product. */
static ht_status diagonal_and_sign(const char *what, ht_tensor *a, ht_tensor **diagonal,
                                   ht_tensor **sign)
{
    ht_tensor *both, *pivots;
    ht_status status = factor(what, a, &both, &pivots);

    if (status != HT_SUCCESS)
        return status;
    *diagonal = ht_diagonal(both, 0, -2, -1);
    *sign = *diagonal != NULL ? sign_of(pivots, *diagonal) : NULL;
    return *sign != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

/* a^-H; a singular a is an error of `what`. */
static ht_tensor *adjoint_of_inverse(const char *what, ht_tensor *a)
{
    HT_NAMED(what);
    ht_tensor *inverse = ht_inv(a);

    return ht__adjoint(inverse);
}

/* ga = g conj(y) a^-H. */
static void det_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *a = ht_node_saved(node, 0), *y = ht_node_saved(node, 1);
    ht_tensor *factor_ = ht_mul(g, ht__conj(y));

    factor_ = factor_ != NULL ? ht_expand_dims(ht_expand_dims(factor_, -1), -1) : NULL;
    gin[0] = ht_mul(adjoint_of_inverse("ht_det", a), factor_);
}

ht_tensor *ht_det(ht_tensor *a)
{
    static const char what[] = "ht_det";
    HT_NAMED(what);
    ht_tensor *diagonal, *sign, *y = NULL;
    ht_section section;
    ht_node *node;

    a = ht__matrix_operand(what, "a", a, HT_MATRIX_SQUARE, HT_KERNEL_LU);
    if (a == NULL)
        return NULL;
    if (ht__is_split_batch(a))
        return ht_det(ht_resplit(a, 0));
    section = ht__section_begin(a);
    if (diagonal_and_sign(what, a, &diagonal, &sign) == HT_SUCCESS)
        y = ht_mul(ht_prod(diagonal, -1), sign);
    ht__section_end(section);
    node = y != NULL ? ht_node_new(what, det_backward, 1, &a) : NULL;
    if (node == NULL)
        return y;
    ht_node_save(node, a);
    ht_node_save(node, y);
    return ht_node_set_output(node, y);
}

/* ga = g a^-H. */
static void logdet_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    g = ht_expand_dims(ht_expand_dims(g, -1), -1);
    gin[0] = ht_mul(adjoint_of_inverse("ht_slogdet", ht_node_saved(node, 0)), g);
}

static void record_logdet(ht_tensor *a, ht_tensor *logarithm)
{
    ht_node *node = ht_node_new("ht_slogdet", logdet_backward, 1, &a);

    if (node == NULL)
        return;
    ht_node_save(node, a);
    ht_node_set_output(node, logarithm);
}

ht_status ht_slogdet(ht_tensor *a, ht_tensor **sign, ht_tensor **logarithm)
{
    static const char what[] = "ht_slogdet";
    HT_NAMED(what);
    ht_tensor *diagonal, *turns, *s = NULL, *log = NULL;
    ht_section section;

    a = ht__matrix_operand(what, "a", a, HT_MATRIX_SQUARE, HT_KERNEL_LU);
    if (a == NULL || HT_IS_NULL_ON(a->body->comm, sign, what, "sign") ||
        HT_IS_NULL_ON(a->body->comm, logarithm, what, "logarithm"))
        return ht_error_get(NULL);
    if (ht__is_split_batch(a))
        return ht_slogdet(ht_resplit(a, 0), sign, logarithm);
    section = ht__section_begin(a);
    if (diagonal_and_sign(what, a, &diagonal, &turns) == HT_SUCCESS) {
        s = ht_mul(ht_prod(ht_sign(diagonal), -1), turns);
        log = ht_sum(ht_log(ht_abs(diagonal)), -1);
    }
    ht__section_end(section);
    if (s == NULL || log == NULL)
        return ht_error_get(NULL);
    record_logdet(a, log);
    *sign = s;
    *logarithm = log;
    return HT_SUCCESS;
}
