/* SPDX-License-Identifier: MIT
 *
 * Other slabs along the split axis. Every rank knows both divisions, so ranks need not ask each
 * other. Rank r sends rank q the intersection of its old slab and q's new one, by one Alltoall
 * (resplit.c). Elements that stay are copied. No memory is used in addition to x and the result. */
#include <inttypes.h>

#include "core/ops/ops.h"
#include "ht/manipulations.h"

/* x in these slabs (NULL: the canonical ones); takes the bounds. */
static ht_tensor *in_slabs(const char *what, ht_tensor *x, ht_bounds *bounds)
{
    ht_body *to = ht__body_metadata(x->body);
    ht_tensor *y;

    ht_release(to->bounds);
    to->bounds = bounds;
    y = ht__match_slabs(what, x, to);
    ht_release(to);
    return y;
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

static ht_tensor *to_counts(const char *what, ht_tensor *x, const void *counts)
{
    ht_bounds *bounds = NULL;

    if (HT_IS_NULL(x, what, "x") || x->body->split == HT_NONE)
        return x;
    if (counts != NULL) {
        bounds = bounds_of(what, x->body, counts);
        if (bounds == NULL)
            return NULL;
    }
    return in_slabs(what, x, bounds);
}

static ht_tensor *to_rank(const char *what, ht_tensor *x, const void *to)
{
    const int target = *(const int *)to;
    ht_bounds *bounds;
    int size;

    if (HT_IS_NULL(x, what, "x"))
        return NULL;
    size = x->body->comm->size;
    if (target < 0 || target >= size) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: rank is %d, expected 0 to %d", what, target,
                size - 1);
        return NULL;
    }
    if (x->body->split == HT_NONE)
        return x;
    bounds = ht__bounds_new(size);
    for (int rank = 0; rank <= size; rank++)
        bounds->start[rank] = rank <= target ? 0 : x->body->shape[x->body->split];
    return in_slabs(what, x, bounds);
}

ht_tensor *ht_redistribute(ht_tensor *x, const int64_t counts[])
{
    return to_counts("ht_redistribute", x, counts);
}

ht_status ht_redistribute_(ht_tensor *x, const int64_t counts[])
{
    return ht__move_in_place("ht_redistribute_", x, to_counts, counts);
}

ht_tensor *ht_collect(ht_tensor *x, int rank)
{
    return to_rank("ht_collect", x, &rank);
}

ht_status ht_collect_(ht_tensor *x, int rank)
{
    return ht__move_in_place("ht_collect_", x, to_rank, &rank);
}

ht_tensor *ht_balance(ht_tensor *x)
{
    return to_counts("ht_balance", x, NULL);
}

ht_status ht_balance_(ht_tensor *x)
{
    return ht__move_in_place("ht_balance_", x, to_counts, NULL);
}
