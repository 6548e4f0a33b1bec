/* SPDX-License-Identifier: MIT
 *
 * All elements of a tensor as a plain array in host memory, on every rank or on one.
 *
 * The ranks first agree on their arguments by one small message, or by two if one rank is named.
 * Then a split x travels once, in its own dtype: an Allgather (resplit.c), or one exchange that
 * leaves all slabs on the rank that wants them (redistribute.c). A rank that receives converts and
 * copies: for a moment it holds the elements twice. */
#include <inttypes.h>
#include <string.h>

#include "core/comm/comm.h"
#include "core/ops/ops.h"
#include "ht/array.h"
#include "ht/autograd.h"
#include "ht/manipulations.h"

/* The array of the caller. */
typedef struct array_place {
    void *array;
    int64_t count;
    ht_dtype dtype;
    int rank; /* HT_NONE: every rank receives */
} array_place;

static bool receives(const ht_tensor *x, const array_place *to)
{
    return to->rank == HT_NONE || to->rank == x->body->comm->rank;
}

static ht_status check(const char *what, const ht_tensor *x, const array_place *to)
{
    ht_comm *comm = x->body->comm;

    if (to->rank != HT_NONE && (to->rank < 0 || to->rank >= comm->size))
        return HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: rank is %d, expected 0 to %d or HT_NONE", what,
                       to->rank, comm->size - 1);
    if ((unsigned)to->dtype >= HT_DTYPE_COUNT)
        return HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: dtype is %d, expected an ht_dtype", what,
                       (int)to->dtype);
    if (!receives(x, to))
        return HT_SUCCESS;
    if (to->count != ht_tensor_size(x))
        return HT_FAIL(comm, HT_ERR_SHAPE,
                       "%s: count is %" PRId64 ", expected %" PRId64 " for x of shape %s", what,
                       to->count, ht_tensor_size(x), ht__shape_str(x->body->ndim, x->body->shape));
    if (to->count > 0 && to->array == NULL)
        return HT_FAIL(comm, HT_ERR_ARGUMENT,
                       "%s: array is NULL, expected room for %" PRId64 " elements of %s", what,
                       to->count, ht_dtype_name(to->dtype));
    return HT_SUCCESS;
}

/* HT_ERR_ARGUMENT on all ranks unless they name one rank. */
static ht_status compare_rank(const char *what, ht_comm *comm, int rank)
{
    int64_t ends[2] = {rank, -(int64_t)rank};
    ht_status status = ht__comm_allreduce_i64(comm, ends, 2, HT_OP_MAX, what);

    if (status != HT_SUCCESS || ends[0] == -ends[1])
        return status;
    return HT_FAIL(comm, HT_ERR_ARGUMENT,
                   "%s: rank is %s on one rank and %s on another, expected the same on all ranks",
                   what, ht__int_str((int)-ends[1]), ht__int_str((int)ends[0]));
}

/* For a split x, all ranks get the error of one. */
static ht_status agree(const char *what, const ht_tensor *x, const array_place *to, bool compared)
{
    ht_comm *comm = x->body->comm;
    ht_status status;
    bool begun;

    if (x->body->split == HT_NONE)
        return check(what, x, to);
    begun = ht__agree_begin();
    status = check(what, x, to);
    status = ht__agree_end(what, comm, begun, status);
    return status == HT_SUCCESS && compared ? compare_rank(what, comm, to->rank) : status;
}

static ht_status gather(const char *what, ht_tensor *x, const array_place *to)
{
    ht_tensor *whole = to->rank == HT_NONE ? ht_resplit(x, HT_NONE) : ht_collect(x, to->rank);

    if (whole == NULL)
        return ht_error_get(NULL);
    if (!receives(x, to) || to->count == 0)
        return HT_SUCCESS;
    whole = ht__on_host(what, ht_tensor_local(whole), to->dtype);
    if (whole == NULL)
        return ht_error_get(NULL);
    memcpy(to->array, ht_tensor_data(whole), (size_t)to->count * ht_dtype_size(to->dtype));
    return HT_SUCCESS;
}

static ht_status to_array(const char *what, ht_tensor *x, array_place to, bool compared)
{
    ht_comm *outer;
    ht_scope *scope;
    ht_status status;
    bool was;

    if (HT_IS_NULL(x, what, "x"))
        return ht_error_get(NULL);
    status = agree(what, x, &to, compared);
    if (status != HT_SUCCESS)
        return status;
    HT_NAMED(what);
    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    outer = ht__together(x->body->comm);
    status = gather(what, x, &to);
    ht__together_end(outer);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}

ht_status ht_tensor_to_array(ht_tensor *x, void *array, int64_t count, ht_dtype dtype)
{
    return to_array("ht_tensor_to_array", x, (array_place){array, count, dtype, HT_NONE}, false);
}

ht_status ht_tensor_to_array_ext(ht_tensor *x, void *array, int64_t count, ht_dtype dtype, int rank)
{
    return to_array("ht_tensor_to_array_ext", x, (array_place){array, count, dtype, rank}, true);
}
