/* SPDX-License-Identifier: MIT
 *
 * The places of elements that are not 0, in row-major order. Each rank finds those of its slab of
 * the first axis. If the tensor has another split, its mask, a byte for each element, is brought
 * into these slabs first (one Alltoall). One Allgather tells all ranks the counts. */
#include "core/collective/collective.h"
#include "core/ops/indexing/rows.h"
#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/kernels/index.h"
#include "ht/manipulations.h"
#include "ht/relational.h"

static ht_tensor *mask_of(ht_tensor *x)
{
    ht_tensor *mask = x->body->dtype == HT_BOOL ? x : ht_ne(x, ht_scalar(0));

    return mask != NULL && mask->body->split > 0 ? ht_resplit(mask, 0) : mask;
}

/* Slabs of the result, by what each rank found. */
static ht_bounds *bounds_of(const char *what, ht_comm *comm, int64_t count)
{
    ht_bounds *bounds = ht__bounds_new(comm->size);

    bounds->start[0] = 0;
    if (ht__comm_allgather_i64(comm, &count, 1, bounds->start + 1, what) != HT_SUCCESS) {
        ht_release(bounds);
        return NULL;
    }
    for (int rank = 0; rank < comm->size; rank++)
        bounds->start[rank + 1] += bounds->start[rank];
    return bounds;
}

static ht_status find(const char *what, const ht_body *mask, const ht_body *places)
{
    ht_nonzero_call call = {.call.operands = 2, .ndim = mask->ndim, .count = places->lshape[0]};

    if (call.count == 0)
        return HT_SUCCESS;
    call.mask = ht__operand_of(mask, HT_READ);
    call.at = ht__operand_of(places, HT_WRITE);
    for (int i = 0; i < mask->ndim; i++) {
        call.shape[i] = mask->lshape[i];
        call.stride[i] = mask->stride[i];
        call.start[i] = i == mask->split ? mask->split_start : 0;
    }
    return HT_LAUNCH(mask->comm, mask->storage->device, HT_KERNEL_NONZERO, HT_BOOL, &call, what);
}

static ht_tensor *places_of(const char *what, ht_tensor *mask)
{
    const ht_body *body = mask->body;
    ht_bounds *bounds = NULL;
    ht_tensor *places;
    double count;

    if (ht__item(what, ht_sum(ht_tensor_local(mask), HT_NONE), &count) != HT_SUCCESS)
        return NULL;
    if (body->split != HT_NONE) {
        bounds = bounds_of(what, body->comm, (int64_t)count);
        if (bounds == NULL)
            return NULL;
    }
    places = ht__tensor_new(ht__body_new(
        what, body->comm, body->storage->device, HT_INT64, 2,
        (int64_t[]){bounds != NULL ? bounds->start[body->comm->size] : (int64_t)count, body->ndim},
        bounds != NULL ? 0 : HT_NONE, bounds));
    ht_release(bounds);
    return places != NULL && find(what, body, places->body) == HT_SUCCESS ? places : NULL;
}

ht_tensor *ht__nonzero(const char *what, ht_tensor *x)
{
    const bool was = ht_set_grad_enabled(false);
    ht_comm *outer = ht__together(x->body->comm);
    ht_tensor *mask = mask_of(x);
    ht_tensor *places = mask != NULL ? places_of(what, mask) : NULL;

    ht__together_end(outer);
    ht_set_grad_enabled(was);
    return places;
}

ht_tensor *ht_nonzero(ht_tensor *x)
{
    static const char what[] = "ht_nonzero";
    HT_NAMED(what);
    ht_tensor *places;

    if (HT_IS_NULL(x, what, "x"))
        return NULL;
    if (x->body->ndim == 0) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE, "%s: x is a scalar, expected at least one axis", what);
        return NULL;
    }
    places = ht__nonzero(what, x);
    return places != NULL && x->body->ndim == 1 ? ht__without_base(ht_squeeze(places, 1)) : places;
}
