/* SPDX-License-Identifier: MIT
 *
 * Operands of factorisations, and the tensors for their results. */
#include "core/algorithms/factor/decompositions.h"

#include <math.h>

#include "ht/arithmetics.h"
#include "ht/complex_math.h"
#include "ht/exponential.h"
#include "ht/factories.h"
#include "ht/logical.h"
#include "ht/manipulations.h"
#include "ht/rounding.h"

ht_dtype ht__operands_dtype(int count, ht_tensor *const x[])
{
    ht_dtype dtype = HT_BOOL; /* promotes to whatever it meets */

    for (int i = 0; i < count; i++)
        dtype = x[i] != NULL ? ht_promote_types(dtype, x[i]->body->dtype) : dtype;
    return ht__dtype_is_exact(dtype) ? HT_FLOAT32 : dtype;
}

ht_tensor *ht__matrix_operand(const char *what, const char *name, ht_tensor *x,
                              ht_matrix_shape shape, ht_kernel kernel)
{
    return ht__matrix_operand_as(what, name, x, shape, kernel, ht__operands_dtype(1, &x));
}

ht_tensor *ht__matrix_operand_as(const char *what, const char *name, ht_tensor *x,
                                 ht_matrix_shape shape, ht_kernel kernel, ht_dtype dtype)
{
    const ht_body *body;

    if (HT_IS_NULL(x, what, name))
        return NULL;
    body = x->body;
    if (body->ndim < 2 || (shape == HT_MATRIX_SQUARE && ht__rows(x) != ht__columns(x))) {
        HT_FAIL(body->comm, HT_ERR_SHAPE, "%s: %s is %s, expected %s", what, name,
                ht__shape_str(body->ndim, body->shape),
                shape == HT_MATRIX_SQUARE ? "a square matrix" : "a matrix");
        return NULL;
    }
    x = ht__wide_operand(what, name, x, dtype);
    return x != NULL && ht__has_kernel(what, x, kernel) ? x : NULL;
}

ht_tensor *ht__wide_operand(const char *what, const char *name, ht_tensor *x, ht_dtype dtype)
{
    const ht_body *body = x->body;

    if (body->dtype == HT_FLOAT16 || body->dtype == HT_BFLOAT16) {
        HT_FAIL(body->comm, HT_ERR_DTYPE, "%s: %s is %s, expected float32 or wider (ht_astype)",
                what, name, ht_dtype_name(body->dtype));
        return NULL;
    }
    return ht_astype(x, dtype);
}

ht_tensor *ht__batch_of(const char *what, const ht_tensor *x, ht_dtype dtype, int tail,
                        const int64_t lengths[])
{
    const ht_body *body = x->body;
    const int batch = body->ndim - 2;
    const bool is_split = body->split >= 0 && body->split < batch;
    int64_t shape[HT_MAX_NDIM];

    for (int i = 0; i < batch; i++)
        shape[i] = body->shape[i];
    for (int i = 0; i < tail; i++)
        shape[batch + i] = lengths[i];
    return ht__tensor_new(ht__body_new(what, body->comm, body->storage->device, dtype, batch + tail,
                                       shape, is_split ? body->split : HT_NONE,
                                       is_split ? body->bounds : NULL));
}

ht_tensor *ht__own_matrix(const char *what, const ht_tensor *x, int64_t rows, int64_t columns)
{
    const int64_t shape[2] = {rows, columns};

    return ht__tensor_new(ht__body_new(what, ht_comm_self(), x->body->storage->device,
                                       x->body->dtype, 2, shape, HT_NONE, NULL));
}

ht_tensor *ht__own_columns(const char *what, ht_tensor *x)
{
    ht_scope *step = ht_scope_open();
    ht_tensor *moved = ht_balance(ht_resplit(x, 1)), *own = NULL;

    if (moved != NULL)
        own = ht__tensor_new(ht__body_new(what, moved->body->comm, moved->body->storage->device,
                                          moved->body->dtype, 2, moved->body->shape, 1, NULL));
    if (own != NULL && ht__copy_local(what, own->body, moved->body) != HT_SUCCESS)
        own = NULL;
    return ht_scope_return(step, own);
}

ht_tensor *ht__panel_of(const char *what, ht_tensor *x, int root, int64_t from)
{
    const ht_body *body = x->body;
    const int64_t width = ht__body_start(body, root + 1) - ht__body_start(body, root);
    ht_tensor *panel = body->comm->rank == root
                           ? ht_narrow(ht_tensor_local(x), 0, from, body->shape[0])
                           : ht__own_matrix(what, x, body->shape[0] - from, width);

    if (panel == NULL || ht__comm_bcast(body->comm, panel, root) != HT_SUCCESS)
        return NULL;
    return panel;
}

ht_tensor *ht__adjoint(ht_tensor *x)
{
    if (x == NULL)
        return NULL;
    return ht_transpose(ht__conj(x), x->body->ndim - 2, x->body->ndim - 1);
}

ht_tensor *ht__owned(ht_tensor *x)
{
    return x != NULL && x->view ? ht_copy(x) : x;
}

ht_tensor *ht__identity_like(const char *what, const ht_tensor *x)
{
    const ht_body *body = x->body;
    ht_tensor *eye = ht_eye_ext(ht__rows(x), ht__columns(x), body->dtype,
                                body->ndim == 2 ? body->split : HT_NONE, body->storage->device,
                                body->comm);
    ht_tensor *all;

    if (body->ndim == 2 || eye == NULL)
        return eye;
    all = ht__empty(what, body, body->dtype);
    eye = ht_broadcast_to(eye, body->ndim, body->shape);
    return all != NULL && eye != NULL && ht_copy_(all, eye) == HT_SUCCESS ? all : NULL;
}

ht_status ht__check_finite(const char *what, ht_tensor *x)
{
    double finite;

    if (ht_tensor_size(x) == 0)
        return HT_SUCCESS;
    if (ht_tensor_item(ht_all(ht_isfinite(x), HT_NONE), &finite) != HT_SUCCESS)
        return ht_error_get(NULL);
    if (finite == 0)
        return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                       "%s: an operand has a NaN or an infinity, expected finite elements", what);
    return HT_SUCCESS;
}

ht_status ht__first_info(const char *what, const ht_tensor *x, int64_t *mine)
{
    int64_t first = *mine > 0 ? *mine : INT64_MAX;
    ht_status status;

    if (x->body->split == HT_NONE)
        return HT_SUCCESS;
    status = ht__comm_allreduce_i64(x->body->comm, &first, 1, HT_OP_MIN, what);
    *mine = first < INT64_MAX ? first : 0;
    return status;
}

/* ---- systems -------------------------------------------------------------------------------- */

/* The same lengths but for those of the matrices. */
static bool same_batches(const ht_body *a, const ht_body *b)
{
    return ht__same_shape(a->ndim - 2, a->shape, b->ndim - 2, b->shape);
}

static bool check_system(const char *what, const ht_tensor *a, const ht_tensor *b)
{
    const bool fits = ht__columns(a) == ht__rows(b) &&
                      (same_batches(a->body, b->body) || a->body->ndim == 2 || b->body->ndim == 2);

    if (!fits)
        HT_FAIL(a->body->comm, HT_ERR_SHAPE,
                "%s: a is %s, b is %s, expected as many rows in b as columns in a, and the same "
                "batch axes",
                what, ht__shape_str(a->body->ndim, a->body->shape),
                ht__shape_str(b->body->ndim, b->body->shape));
    return fits;
}

/* x once for each matrix of `like`. */
static ht_tensor *for_each(ht_tensor *x, const ht_body *like)
{
    int64_t shape[HT_MAX_NDIM];

    if (x == NULL || x->body->ndim == like->ndim)
        return x;
    for (int i = 0; i < like->ndim; i++)
        shape[i] = like->shape[i];
    shape[like->ndim - 2] = ht__rows(x);
    shape[like->ndim - 1] = ht__columns(x);
    return ht_broadcast_to(x, like->ndim, shape);
}

/* Batches have the same slabs along their first axis. */
static bool bring_together(ht_tensor **a, ht_tensor **b)
{
    if (*a == NULL || *b == NULL)
        return false;
    if ((*a)->body->ndim == 2 || (!ht__is_split_batch(*a) && !ht__is_split_batch(*b) &&
                                  ht__body_same_slabs((*a)->body, (*b)->body)))
        return true;
    *a = ht_balance(ht_resplit(*a, 0));
    *b = ht_balance(ht_resplit(*b, 0));
    return *a != NULL && *b != NULL;
}

bool ht__system_operands(const char *what, ht_tensor **a, ht_tensor **b, bool *is_vector)
{
    const ht_dtype dtype = ht__operands_dtype(2, (ht_tensor *[]){*a, *b});

    *a = ht__matrix_operand_as(what, "a", *a, HT_MATRIX_SQUARE, HT_KERNEL_SOLVE_TRIANGULAR, dtype);
    if (*a == NULL || HT_IS_NULL(*b, what, "b") || !ht__check_together_as(what, "a", *a, "b", *b))
        return false;
    *is_vector = (*b)->body->ndim == 1 || ((*b)->body->ndim == (*a)->body->ndim - 1 &&
                                           ht__same_shape((*b)->body->ndim, (*b)->body->shape,
                                                          (*a)->body->ndim - 1, (*a)->body->shape));
    if (*is_vector)
        *b = ht_expand_dims(*b, -1);
    *b = ht__matrix_operand_as(what, "b", *b, HT_MATRIX_ANY, HT_KERNEL_SOLVE_TRIANGULAR, dtype);
    if (*b == NULL || !check_system(what, *a, *b))
        return false;
    *a = for_each(*a, (*a)->body->ndim > 2 ? (*a)->body : (*b)->body);
    *b = for_each(*b, *a != NULL ? (*a)->body : NULL);
    return bring_together(a, b);
}

ht_tensor *ht__as_solved_for(ht_tensor *x, bool is_vector, const ht_tensor *b)
{
    if (x != NULL && is_vector)
        x = ht__without_base(ht_squeeze(x, -1));
    if (x == NULL || x->body->ndim != b->body->ndim || b->body->split == HT_NONE)
        return x;
    return ht_resplit(x, b->body->split);
}

ht_status ht__length(ht_tensor *x, double *length)
{
    const ht_status status = ht_tensor_item(ht_sum(ht_square(ht_abs(x)), HT_NONE), length);

    *length = sqrt(*length);
    return status;
}
