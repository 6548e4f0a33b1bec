/* SPDX-License-Identifier: MIT
 *
 * The bin of each element, and the number of elements in each bin. No element travels. Split
 * boundaries are broadcast slab by slab: the place of an element among all boundaries is the sum of
 * its places in the slabs. Counts are added up over the ranks once. */
#include "core/collective/collective.h"
#include "core/ops/ops.h"
#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/kernels/order.h"
#include "ht/manipulations.h"
#include "ht/statistics.h"

/* ---- places among boundaries --------------------------------------------------------------- */

static bool check_boundaries(const char *what, const char *name, const ht_tensor *boundaries)
{
    if (boundaries->body->ndim == 1)
        return true;
    HT_FAIL(boundaries->body->comm, HT_ERR_SHAPE, "%s: %s have shape %s, expected one axis", what,
            name, ht__shape_str(boundaries->body->ndim, boundaries->body->shape));
    return false;
}

/* y <- the places of x, of the boundaries' dtype, among boundaries that all are here. */
static ht_status search(const char *what, const ht_tensor *y, const ht_tensor *x,
                        const ht_tensor *boundaries, bool right)
{
    const ht_operand operands[] = {ht__operand(y->body), ht__operand(x->body)};
    ht_search_call call = {.count = boundaries->body->lsize, .right = right};

    if (y->body->lsize == 0)
        return HT_SUCCESS;
    ht__loop_fill(&call.loop, y->body->ndim, y->body->lshape, 2, operands);
    ht__loop_reach(&call.loop, y->body->storage->device, 2, operands, NULL);
    call.loop.operand[2] = ht__operand_of(boundaries->body, HT_READ);
    return HT_RUN(x, HT_KERNEL_SEARCH, &call, what);
}

static ht_tensor *slab_of(ht_tensor *boundaries, int root)
{
    const ht_body *body = boundaries->body;
    const int64_t length = ht__body_start(body, root + 1) - ht__body_start(body, root);
    ht_tensor *slab = body->comm->rank == root
                          ? ht_contiguous(ht_tensor_local(boundaries))
                          : ht_empty_ext(1, &length, body->dtype, HT_NONE, body->storage->device,
                                         ht_comm_self());

    if (slab == NULL || ht__comm_bcast(body->comm, slab, root) != HT_SUCCESS)
        return NULL;
    return slab;
}

static ht_tensor *places_of(const char *what, ht_tensor *x, ht_tensor *boundaries, bool right)
{
    const ht_dtype dtype = ht_promote_types(x->body->dtype, boundaries->body->dtype);
    const int split = boundaries->body->split;
    ht_tensor *y = ht__empty(what, x->body, HT_INT64), *part = y;

    x = ht_astype(x, dtype);
    boundaries = ht_contiguous(ht_astype(boundaries, dtype));
    if (y == NULL || x == NULL || boundaries == NULL || !ht__has_kernel(what, x, HT_KERNEL_SEARCH))
        return NULL;
    if (split == HT_NONE)
        return search(what, y, x, boundaries, right) == HT_SUCCESS ? y : NULL;
    for (int root = 0; root < boundaries->body->comm->size; root++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *slab = slab_of(boundaries, root);
        ht_status status = slab != NULL ? HT_SUCCESS : ht_error_get(NULL);

        part = root > 0 ? ht__empty(what, x->body, HT_INT64) : y;
        if (status == HT_SUCCESS)
            status = part != NULL ? search(what, part, x, slab, right) : ht_error_get(NULL);
        if (status == HT_SUCCESS && root > 0)
            status = ht_add_(y, part, 1);
        ht_scope_close(scope);
        if (status != HT_SUCCESS)
            return NULL;
    }
    return y;
}

static ht_tensor *bucketize(const char *what, ht_tensor *x, ht_tensor *boundaries, bool right)
{
    HT_NAMED(what);
    ht_comm *outer = ht__together(x->body->comm);
    bool was = ht_set_grad_enabled(false);
    ht_tensor *y = places_of(what, x, boundaries, right);

    ht_set_grad_enabled(was);
    ht__together_end(outer);
    return y;
}

ht_tensor *ht_bucketize(ht_tensor *x, ht_tensor *boundaries, bool right)
{
    static const char what[] = "ht_bucketize";
    HT_NAMED(what);

    if (HT_IS_NULL(x, what, "x") || HT_IS_NULL(boundaries, what, "boundaries") ||
        (x = ht__as_tensor_like(what, x, boundaries)) == NULL ||
        !ht__check_together_as(what, "x", x, "boundaries", boundaries) ||
        !check_boundaries(what, "boundaries", boundaries))
        return NULL;
    return bucketize(what, x, boundaries, right);
}

ht_tensor *ht_searchsorted(ht_tensor *sorted, ht_tensor *x, bool right)
{
    static const char what[] = "ht_searchsorted";
    HT_NAMED(what);

    if (HT_IS_NULL(sorted, what, "sorted") || HT_IS_NULL(x, what, "x") ||
        (x = ht__as_tensor_like(what, x, sorted)) == NULL ||
        !ht__check_together_as(what, "sorted", sorted, "x", x) ||
        !check_boundaries(what, "the sorted elements", sorted))
        return NULL;
    return bucketize(what, x, sorted, right);
}

/* Whether bins go down: the first has its place behind the last. */
static ht_status go_down(const char *what, ht_tensor *bins, bool *down)
{
    const int64_t n = bins->body->shape[0];
    double place = 0;
    ht_status status = HT_SUCCESS;

    if (n > 1)
        status = ht__item(
            what, bucketize(what, ht_narrow(bins, 0, 0, 1), ht_narrow(bins, 0, n - 1, n), false),
            &place);
    *down = place > 0;
    return status;
}

ht_tensor *ht_digitize(ht_tensor *x, ht_tensor *bins, bool right)
{
    static const char what[] = "ht_digitize";
    HT_NAMED(what);
    ht_tensor *y;
    bool down, was;

    if (HT_IS_NULL(x, what, "x") || HT_IS_NULL(bins, what, "bins") ||
        (x = ht__as_tensor_like(what, x, bins)) == NULL ||
        !ht__check_together_as(what, "x", x, "bins", bins) ||
        !check_boundaries(what, "bins", bins) || go_down(what, bins, &down) != HT_SUCCESS)
        return NULL;
    if (!down)
        return bucketize(what, x, bins, !right);
    was = ht_set_grad_enabled(false);
    bins = ht__flip_axis(what, bins, 0);
    y = bins != NULL ? bucketize(what, x, bins, !right) : NULL;
    y = y != NULL ? ht_sub(ht__number(ht_number_integer(bins->body->shape[0])), y) : NULL;
    ht_set_grad_enabled(was);
    return y;
}

/* ---- counts -------------------------------------------------------------------------------- */

static bool check_counted(const char *what, const ht_tensor *x, const ht_tensor *weights,
                          int64_t minlength)
{
    const ht_body *body = x->body;

    if (minlength < 0 || body->ndim != 1) {
        HT_FAIL(body->comm, HT_ERR_ARGUMENT,
                "%s: x is %s and minlength is %lld, expected one axis and at least 0", what,
                ht__shape_str(body->ndim, body->shape), (long long)minlength);
        return false;
    }
    if (!ht_dtype_is_integer(body->dtype) && body->dtype != HT_BOOL) {
        HT_FAIL(body->comm, HT_ERR_DTYPE, "%s: x is %s, expected integers or bool", what,
                ht_dtype_name(body->dtype));
        return false;
    }
    if (weights == NULL)
        return true;
    if (!ht__body_same_shape(body, weights->body)) {
        HT_FAIL(body->comm, HT_ERR_SHAPE, "%s: x is %s and weights are %s, expected the same shape",
                what, ht__shape_str(1, body->shape),
                ht__shape_str(weights->body->ndim, weights->body->shape));
        return false;
    }
    if (ht_dtype_is_complex(weights->body->dtype)) {
        HT_FAIL(body->comm, HT_ERR_DTYPE, "%s: weights are %s, expected real numbers", what,
                ht_dtype_name(weights->body->dtype));
        return false;
    }
    return ht__check_together_as(what, "x", x, "weights", weights);
}

/* From 0 to the largest, at least minlength. */
static ht_status count_bins(const char *what, ht_tensor *x, int64_t minlength, int64_t *bins)
{
    ht_number low, high;
    ht_status status;

    *bins = minlength;
    if (ht_tensor_size(x) == 0)
        return HT_SUCCESS;
    x = ht_astype(x, HT_INT64);
    status = ht_tensor_item_ext(ht_min(x, HT_NONE), &low);
    if (status == HT_SUCCESS)
        status = ht_tensor_item_ext(ht_max(x, HT_NONE), &high);
    if (status != HT_SUCCESS)
        return status;
    if (low.integer < 0 || high.integer >= (int64_t)1 << 59)
        return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                       "%s: x has elements from %lld to %lld, expected 0 to 2^59 - 1", what,
                       (long long)low.integer, (long long)high.integer);
    *bins = high.integer + 1 > minlength ? high.integer + 1 : minlength;
    return HT_SUCCESS;
}

static ht_tensor *count(const char *what, ht_tensor *x, ht_tensor *weights, int64_t bins)
{
    ht_comm *comm = x->body->comm;
    ht_tensor *y = ht_zeros_ext(1, &bins, weights != NULL ? HT_FLOAT64 : HT_INT64, HT_NONE,
                                ht__device_cpu(), comm);
    ht_tensor *places = y != NULL ? ht__on_host(what, x, HT_INT64) : NULL;
    const int64_t *place;
    void *to;

    if (weights != NULL && places != NULL)
        weights = ht__on_host(what, ht__match_slabs(what, weights, x->body), HT_FLOAT64);
    if (places == NULL || (y->body->dtype == HT_FLOAT64 && weights == NULL))
        return NULL;
    place = ht__body_data(places->body);
    to = ht__body_data(y->body);
    for (int64_t i = 0; i < x->body->lsize && weights == NULL; i++)
        ((int64_t *)to)[place[i]]++;
    for (int64_t i = 0; i < x->body->lsize && weights != NULL; i++)
        ((double *)to)[place[i]] += ((double *)ht__body_data(weights->body))[i];
    if (x->body->split != HT_NONE && ht__comm_sum(comm, y, HT_SUM_ALL, 1, what) != HT_SUCCESS)
        return NULL;
    return y;
}

ht_tensor *ht_bincount(ht_tensor *x, ht_tensor *weights, int64_t minlength)
{
    static const char what[] = "ht_bincount";
    const ht_dtype dtype = weights == NULL                      ? HT_INT64
                           : weights->body->dtype == HT_FLOAT32 ? HT_FLOAT32
                                                                : HT_FLOAT64;
    ht_tensor *y = NULL;
    ht_comm *outer;
    int64_t bins;
    bool was;

    if (HT_IS_NULL(x, what, "x") || !check_counted(what, x, weights, minlength))
        return NULL;
    HT_NAMED(what);
    was = ht_set_grad_enabled(false);
    if (count_bins(what, x, minlength, &bins) == HT_SUCCESS) {
        outer = ht__together(x->body->comm);
        y = count(what, x, weights, bins);
        y = y != NULL ? ht_astype(ht_to_device(y, x->body->storage->device), dtype) : NULL;
        ht__together_end(outer);
    }
    ht_set_grad_enabled(was);
    return y;
}
