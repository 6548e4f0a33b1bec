/* SPDX-License-Identifier: MIT
 *
 * Other slabs along the split axis. Every rank knows both divisions, so ranks need not ask each
 * other. Rank r sends rank q the intersection of its old slab and q's new one, by one Alltoall
 * (resplit.c). Elements that stay are copied. No memory is used in addition to x and the result. */
#include <inttypes.h>

#include "core/ops/ops.h"
#include "ht/manipulations.h"

/* x in these slabs (NULL: the canonical ones), without memory; takes the bounds. Owned. */
static ht_body *in_slabs(const ht_body *x, ht_bounds *bounds)
{
    ht_body *body = ht__body_metadata(x);

    ht_release(body->bounds);
    body->bounds = bounds;
    return body;
}

/* NULL after an error. */
static ht_bounds *bounds_of(const char *what, const ht_body *x, const int64_t counts[])
{
    const int64_t length = x->shape[x->split];
    ht_bounds *bounds = ht__bounds_new(x->comm->size);

    bounds->start[0] = 0;
    for (int rank = 0; rank < x->comm->size; rank++) {
        const int64_t left = length - bounds->start[rank];

        if (counts[rank] < 0 || counts[rank] > left ||
            (rank == x->comm->size - 1 && counts[rank] < left)) {
            HT_FAIL(x->comm, HT_ERR_ARGUMENT,
                    "%s: the count is %" PRId64 " of axis %d on rank %d, after %" PRId64 " on "
                    "the ranks before it; expected counts of at least 0 that add up to %" PRId64,
                    what, counts[rank], x->split, rank, bounds->start[rank], length);
            ht_release(bounds);
            return NULL;
        }
        bounds->start[rank + 1] = bounds->start[rank] + counts[rank];
    }
    return bounds;
}

static ht_body *of_counts(const char *what, const ht_body *x, const void *counts)
{
    ht_bounds *bounds = NULL;

    if (x->split == HT_NONE)
        return ht__body_metadata(x);
    if (counts != NULL) {
        bounds = bounds_of(what, x, counts);
        if (bounds == NULL)
            return NULL;
    }
    return in_slabs(x, bounds);
}

static ht_body *of_rank(const char *what, const ht_body *x, const void *to)
{
    const int target = *(const int *)to, size = x->comm->size;
    ht_bounds *bounds;

    if (target < 0 || target >= size) {
        HT_FAIL(x->comm, HT_ERR_ARGUMENT, "%s: rank is %d, expected 0 to %d", what, target,
                size - 1);
        return NULL;
    }
    if (x->split == HT_NONE)
        return ht__body_metadata(x);
    bounds = ht__bounds_new(size);
    for (int rank = 0; rank <= size; rank++)
        bounds->start[rank] = rank <= target ? 0 : x->shape[x->split];
    return in_slabs(x, bounds);
}

static ht_tensor *moved(const char *what, ht_tensor *x, ht_slabs_fn *slabs, const void *to)
{
    ht_tensor *y;
    ht_body *body;

    if (HT_IS_NULL(x, what, "x"))
        return NULL;
    body = slabs(what, x->body, to);
    if (body == NULL)
        return NULL;
    y = ht__match_slabs(what, x, body);
    ht_release(body);
    return y;
}

ht_tensor *ht_redistribute(ht_tensor *x, const int64_t counts[])
{
    return moved("ht_redistribute", x, of_counts, counts);
}

ht_status ht_redistribute_(ht_tensor *x, const int64_t counts[])
{
    return ht__move_in_place("ht_redistribute_", x, of_counts, counts);
}

ht_tensor *ht_collect(ht_tensor *x, int rank)
{
    return moved("ht_collect", x, of_rank, &rank);
}

ht_status ht_collect_(ht_tensor *x, int rank)
{
    return ht__move_in_place("ht_collect_", x, of_rank, &rank);
}

ht_tensor *ht_balance(ht_tensor *x)
{
    return moved("ht_balance", x, of_counts, NULL);
}

ht_status ht_balance_(ht_tensor *x)
{
    return ht__move_in_place("ht_balance_", x, of_counts, NULL);
}
