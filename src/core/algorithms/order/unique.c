/* SPDX-License-Identifier: MIT
 *
 * The distinct values of a tensor. Each rank sorts its elements and keeps one of each value. All
 * ranks sort these together (sort_samples.c), and each rank drops values that equal the last one of
 * the slab before. So repeated values travel once from each rank, and no rank stores more than its
 * share. For the inverse, each slab sends the numbers of its values back to where they came from
 * (scatter.c). For counts, each rank sends its count of a value to the owner of the value.
 *
 * Each step keeps the tensors that later steps read. In the worst case all elements of a rank
 * differ. Then the rank stores for each element, in addition to x, at most 4 values, a number of 64
 * bits and a bool. With inverse and counts these are 4 values and 6 numbers, including the
 * results. */
#include <string.h>

#include "core/algorithms/order/order.h"
#include "core/collective/collective.h"
#include "core/ops/ops.h"
#include "ht/factories.h"
#include "ht/kernels/order.h"
#include "ht/manipulations.h"
#include "ht/relational.h"
#include "ht/sorting.h"

static const char what[] = "ht_unique";

/* Local elements that are in order: one of each value, and of each element which of these it is. */
typedef struct runs {
    ht_tensor *values, *ids; /* on the host */
} runs;

static ht_tensor *new_local(ht_dtype dtype, int64_t n)
{
    return ht_empty_ext(1, &n, dtype, HT_NONE, ht__device_cpu(), ht_comm_self());
}

/* Where elements differ from those before: one less. NaN differs from NaN. */
static ht_tensor *changes_of(ht_tensor *x, int64_t n)
{
    return ht__on_host(what, ht_ne(ht_narrow(x, 0, 1, n), ht_narrow(x, 0, 0, n - 1)), HT_BOOL);
}

/* x: n elements. begins: whether the first is another value than the last one of the rank before;
 * if not, the elements that equal it are number -1. */
static bool find_runs(ht_tensor *x, int64_t n, bool begins, runs *found)
{
    const size_t bytes = ht_dtype_size(x->body->dtype);
    ht_tensor *changes = n > 1 ? changes_of(x, n) : NULL,
              *host = ht__on_host(what, x, x->body->dtype);
    const bool *changed;
    int64_t *id, last = begins && n > 0 ? 0 : -1;
    const char *from;

    found->ids = new_local(HT_INT64, n);
    if (found->ids == NULL || host == NULL || (n > 1 && changes == NULL))
        return false;
    id = ht__body_data(found->ids->body);
    changed = changes != NULL ? ht__body_data(changes->body) : NULL;
    for (int64_t i = 0; i < n; i++) {
        last += i > 0 && changed[i - 1];
        id[i] = last;
    }
    found->values = new_local(x->body->dtype, last + 1);
    if (found->values == NULL)
        return false;
    from = ht__body_data(host->body);
    for (int64_t i = 0, at = -1; i < n; i++) {
        if (id[i] == at)
            continue;
        at = id[i];
        memcpy((char *)ht__body_data(found->values->body) + at * (int64_t)bytes,
               from + i * (int64_t)bytes, bytes);
    }
    return true;
}

/* Local parts as a tensor of one axis, split if those of all ranks are joined. */
static ht_tensor *put_together(ht_tensor *local, ht_comm *comm, bool is_split)
{
    int64_t total = local->body->lsize;
    ht_bounds *bounds = is_split ? ht__bounds_new(comm->size) : NULL;
    ht_tensor *y = NULL;

    if (is_split) {
        bounds->start[0] = 0;
        if (ht__comm_allgather_i64(comm, &total, 1, bounds->start + 1, what) != HT_SUCCESS)
            goto out;
        for (int rank = 0; rank < comm->size; rank++)
            bounds->start[rank + 1] += bounds->start[rank];
        total = bounds->start[comm->size];
    }
    y = ht__tensor_new(ht__body_new(what, comm, ht__device_cpu(), local->body->dtype, 1, &total,
                                    is_split ? 0 : HT_NONE, bounds));
    if (y != NULL && ht__copy_local(what, y->body, local->body) != HT_SUCCESS)
        y = NULL;
out:
    ht_release(bounds);
    return y;
}

/* ---- of all ranks -------------------------------------------------------------------------- */

/* The distinct values of one rank, and of all; owned. */
typedef struct distinct {
    int64_t count;     /* of this rank's values */
    ht_tensor *own;    /* these, until all ranks' are known */
    ht_tensor *ids;    /* which of these each of this rank's elements is, in order */
    ht_tensor *places; /* where the elements stood in the local part */
    ht_tensor *values; /* of all ranks, split as the result is; not yet on x's device */
    ht_tensor *global; /* int64: which of these each of this rank's values is */
} distinct;

static void drop(ht_tensor **x)
{
    ht_release(*x);
    *x = NULL;
}

static void release_all(distinct *d)
{
    drop(&d->own);
    drop(&d->ids);
    drop(&d->places);
    drop(&d->values);
    drop(&d->global);
}

/* Whether the first element of this rank's slab is another than the last one before it. */
static bool slab_begins(ht_tensor *sorted, bool *begins)
{
    ht_body *body = sorted->body;
    const int64_t n = body->lsize,
                  ranks = body->shape[0] < body->comm->size ? body->shape[0] : body->comm->size;
    ht_tensor *local = ht_tensor_local(sorted), *last;
    const int64_t before = body->comm->rank - 1;

    *begins = true;
    last = ht_empty_ext(1, &ranks, body->dtype, HT_NONE, body->storage->device, ht_comm_self());
    if (last == NULL ||
        ht_allgather(body->comm, ht_narrow(local, 0, n > 0 ? n - 1 : 0, n), last) != HT_SUCCESS)
        return false;
    if (n == 0 || before < 0)
        return true;
    last = ht_ne(ht_narrow(last, 0, before, before + 1), ht_narrow(local, 0, 0, 1));
    last = ht__on_host(what, last, HT_BOOL);
    if (last == NULL)
        return false;
    *begins = *(const bool *)ht__body_data(last->body);
    return true;
}

/* Numbers of the values of one slab -> those of all. */
static ht_tensor *number_all(ht_tensor *ids, const ht_body *sorted, const ht_body *values)
{
    ht_tensor *y = ht__tensor_new(ht__body_new(what, sorted->comm, ht__device_cpu(), HT_INT64, 1,
                                               sorted->shape, 0, sorted->bounds));
    const int64_t *id = ht__body_data(ids->body);
    int64_t *to = y != NULL ? ht__body_data(y->body) : NULL;

    for (int64_t i = 0; y != NULL && i < sorted->lsize; i++)
        to[i] = id[i] + values->split_start;
    return y;
}

/* The values of all ranks in order, and where they stood; owned. */
static bool sort_all(ht_tensor *all, bool numbered, ht_sorted *sorted)
{
    const ht_order order = {what, false, numbered, HT_KEEP_ALL};
    ht_scope *step = ht_scope_open();
    const bool good = ht__sort_axis(&order, all, 0, sorted);

    *sorted = good ? (ht_sorted){ht_retain(sorted->values), ht_retain(sorted->indices)}
                   : (ht_sorted){NULL, NULL};
    ht_scope_close(step);
    return good;
}

/* One of each value in this rank's slab, and *ids, owned: which of these each element is. */
static bool keep_one_of_each(distinct *d, ht_tensor *sorted, bool numbered, ht_tensor **ids)
{
    ht_scope *step = ht_scope_open();
    runs slab = {NULL, NULL};
    bool begins;

    if (slab_begins(sorted, &begins) &&
        find_runs(ht_tensor_local(sorted), sorted->body->lsize, begins, &slab)) {
        d->values = ht_retain(put_together(slab.values, sorted->body->comm, true));
        *ids = numbered ? ht_retain(slab.ids) : NULL;
    }
    ht_scope_close(step);
    return d->values != NULL;
}

static bool merge_ranks(ht_comm *comm, distinct *d, bool numbered)
{
    ht_tensor *all = NULL, *ids = NULL;
    ht_sorted sorted = {NULL, NULL};
    bool good;

    HT_STEP(all, put_together(d->own, comm, true));
    drop(&d->own);
    good = all != NULL && sort_all(all, numbered, &sorted) &&
           keep_one_of_each(d, sorted.values, numbered, &ids);
    drop(&sorted.values);
    if (good && numbered) {
        HT_STEP(ids, number_all(ids, sorted.indices->body, d->values->body));
        HT_STEP(ids, ht__scatter_axis(what, ids, sorted.indices, 0, all->body));
        drop(&sorted.indices);
        HT_STEP(ids, ids != NULL ? ht__on_host(what, ht_tensor_local(ids), HT_INT64) : NULL);
        d->global = ids;
        good = ids != NULL;
        ids = NULL;
    }
    ht_release(ids);
    ht_release(sorted.indices);
    ht_release(all);
    return good;
}

/* ---- inverse and counts -------------------------------------------------------------------- */

static ht_tensor *inverse_of(const ht_tensor *x, const distinct *d)
{
    ht_tensor *y = ht__tensor_new(ht__body_new(what, x->body->comm, ht__device_cpu(), HT_INT64,
                                               x->body->ndim, x->body->shape, x->body->split,
                                               x->body->bounds));
    const int64_t *place = ht__body_data(d->places->body), *id = ht__body_data(d->ids->body);
    const int64_t *global = d->global != NULL ? ht__body_data(d->global->body) : NULL;
    int64_t *to = y != NULL ? ht__body_data(y->body) : NULL;

    for (int64_t i = 0; y != NULL && i < x->body->lsize; i++)
        to[place[i]] = global != NULL ? global[id[i]] : id[i];
    return y;
}

/* How often each of this rank's values is here. */
static ht_tensor *count_own(const distinct *d)
{
    ht_tensor *y = ht_zeros_ext(1, &d->count, HT_INT64, HT_NONE, ht__device_cpu(), ht_comm_self());
    const int64_t *id = ht__body_data(d->ids->body);

    for (int64_t i = 0; y != NULL && i < d->ids->body->lsize; i++)
        ((int64_t *)ht__body_data(y->body))[id[i]]++;
    return y;
}

/* y[numbers[i]] += counts[i] */
static void add_counts(ht_tensor *y, const ht_tensor *numbers, const ht_tensor *counts)
{
    const int64_t *at = ht__body_data(numbers->body), *more = ht__body_data(counts->body);
    int64_t *to = ht__body_data(y->body);

    for (int64_t i = 0; i < numbers->body->lsize; i++)
        to[at[i] - y->body->split_start] += more[i];
}

/* Numbers go up along this rank's values, so that those on one rank are adjacent. Releases counts,
 * which are owned. */
static ht_tensor *count_all(distinct *d, ht_tensor *counts)
{
    const ht_body *values = d->values->body;
    const int size = values->comm->size;
    const int64_t *global = ht__body_data(d->global->body), n = d->global->body->lsize;
    int64_t *edges = ht__alloc(2 * ((size_t)size + 1) * sizeof *edges), *came = edges + size + 1;
    ht_tensor *y = NULL;

    for (int rank = 0; rank < size; rank++) {
        edges[rank + 1] = edges[rank];
        while (edges[rank + 1] < n && global[edges[rank + 1]] < ht__body_start(values, rank + 1))
            edges[rank + 1]++;
    }
    if (ht__comm_ask_edges(values->comm, edges, came, what) != HT_SUCCESS)
        drop(&counts);
    if (counts != NULL)
        HT_STEP(counts, ht__comm_deal(values->comm, counts, edges, came, what));
    if (counts != NULL) {
        HT_STEP(d->global, ht__comm_deal(values->comm, d->global, edges, came, what));
        y = ht__tensor_new(ht__body_new(what, values->comm, ht__device_cpu(), HT_INT64, 1,
                                        values->shape, 0, values->bounds));
    }
    if (y != NULL && d->global != NULL && ht__fill_local(what, y->body, HT_NUM(0)) == HT_SUCCESS)
        add_counts(y, d->global, counts);
    else
        y = NULL;
    ht_release(counts);
    ht__free(edges);
    return y;
}

/* The last to read d. */
static ht_tensor *counts_of(const ht_tensor *x, distinct *d)
{
    ht_tensor *own = NULL;

    HT_STEP(own, count_own(d));
    drop(&d->places);
    drop(&d->ids);
    if (own == NULL || d->global != NULL)
        return own != NULL ? count_all(d, own) : NULL;
    HT_STEP(own, put_together(own, x->body->comm, x->body->split != HT_NONE));
    return ht_scope_adopt(own);
}

/* ---- the public function ------------------------------------------------------------------- */

/* This rank's elements in order. */
static bool sort_own(ht_tensor *x, distinct *d, bool inverse, bool numbered)
{
    const ht_order order = {what, false, inverse, HT_KEEP_ALL};
    ht_scope *step = ht_scope_open();
    ht_sorted sorted = {NULL, NULL};
    runs found = {NULL, NULL};
    ht_tensor *local = ht_contiguous(ht_tensor_local(x));
    bool good;

    local = local != NULL ? ht_reshape(local, 1, &x->body->lsize) : NULL;
    good = local != NULL && ht__sort_local(&order, local, 0, 0, &sorted) &&
           find_runs(sorted.values, x->body->lsize, true, &found);
    if (good) {
        d->count = found.values->body->lsize;
        d->own = ht_retain(found.values);
        d->ids = numbered ? ht_retain(found.ids) : NULL;
        d->places = inverse ? ht_retain(ht__on_host(what, sorted.indices, HT_INT64)) : NULL;
    }
    ht_scope_close(step);
    return good && (!inverse || d->places != NULL);
}

static bool find_values(ht_tensor *x, distinct *d, bool inverse, bool counts)
{
    const bool many = x->body->split != HT_NONE && x->body->comm->size > 1;

    if (!sort_own(x, d, inverse, inverse || counts))
        return false;
    if (many)
        return merge_ranks(x->body->comm, d, inverse || counts);
    HT_STEP(d->values, put_together(d->own, x->body->comm, x->body->split != HT_NONE));
    drop(&d->own);
    return d->values != NULL;
}

static ht_status unique(ht_tensor *x, ht_tensor **values, ht_tensor **inverse, ht_tensor **counts)
{
    ht_device *device = x->body->storage->device;
    distinct d = {.count = 0};
    bool good = ht__has_kernel(what, x, HT_KERNEL_SORT) &&
                find_values(x, &d, inverse != NULL, counts != NULL);

    if (good) {
        *values = ht_to_device(d.values, device);
        good = *values != NULL;
    }
    if (good && inverse != NULL) {
        *inverse = inverse_of(x, &d);
        *inverse = *inverse != NULL ? ht_to_device(*inverse, device) : NULL;
        good = *inverse != NULL;
    }
    if (good && counts != NULL) {
        *counts = counts_of(x, &d);
        *counts = *counts != NULL ? ht_to_device(*counts, device) : NULL;
        good = *counts != NULL;
    }
    if (good && *values == d.values)
        *values = ht_scope_adopt(ht_retain(d.values));
    release_all(&d);
    return good ? HT_SUCCESS : ht_error_get(NULL);
}

ht_status ht_unique(ht_tensor *x, ht_tensor **values, ht_tensor **inverse, ht_tensor **counts)
{
    HT_NAMED(what);
    ht_tensor *found = NULL, *places = NULL, *numbers = NULL;
    ht_comm *outer;
    ht_status status;
    bool was;

    if (HT_IS_NULL(x, what, "x") || HT_IS_NULL_ON(x->body->comm, values, what, "values"))
        return ht_error_get(NULL);
    was = ht_set_grad_enabled(false);
    outer = ht__together(x->body->comm);
    status = unique(x, &found, inverse != NULL ? &places : NULL, counts != NULL ? &numbers : NULL);
    ht__together_end(outer);
    ht_set_grad_enabled(was);
    if (status != HT_SUCCESS)
        return status;
    *values = found;
    if (inverse != NULL)
        *inverse = places;
    if (counts != NULL)
        *counts = numbers;
    return HT_SUCCESS;
}
