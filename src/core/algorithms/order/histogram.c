/* SPDX-License-Identifier: MIT
 *
 * Histograms of a tensor of any split. No element travels: each rank counts its own elements, in
 * host memory as float64. One Allreduce of an int64 for each bin adds the counts of all ranks. Two
 * more Allreduces find the range if it is not given. */
#include "core/collective/collective.h"
#include "core/ops/ops.h"
#include "ht/statistics.h"

#include <math.h>

#include "ht/autograd.h"
#include "ht/devices.h"

static const char what[] = "ht_histogram";

#define MOST_EDGES ((int64_t)1 << 59) /* as of elements of any tensor */

typedef struct bin_range {
    int64_t bins;
    double low, high;
} bin_range;

/* Bin i begins with edge i, and the last one ends with the edge of index `bins`. */
static double edge(const bin_range *r, int64_t i)
{
    return i == r->bins ? r->high : r->low + (double)i * ((r->high - r->low) / (double)r->bins);
}

static ht_status settle_range(ht_tensor *x, bin_range *r)
{
    const bool is_given = r->low != 0 || r->high != 0, is_empty = ht_tensor_size(x) == 0;
    ht_status status = HT_SUCCESS;

    if (!is_given && is_empty)
        r->high = 1; /* as NumPy has it */
    if (!is_given && !is_empty) {
        status = ht__item(what, ht_min(x, HT_NONE), &r->low);
        if (status == HT_SUCCESS)
            status = ht__item(what, ht_max(x, HT_NONE), &r->high);
    }
    if (status != HT_SUCCESS)
        return status;
    if (r->low == r->high && isfinite(r->low)) {
        const double centre = r->low;

        r->low -= 0.5;
        r->high += 0.5;
        if (!(r->low < r->high)) /* neighbouring doubles near a large centre differ by more */
            return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                           "%s: the range %g to %g is too narrow for %lld bins", what, centre,
                           centre, (long long)r->bins);
    }
    if (isfinite(r->low) && isfinite(r->high) && isinf(r->high - r->low))
        return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                       "%s: the range %g to %g is wider than the largest double", what, r->low,
                       r->high);
    if (!(r->low < r->high) || !isfinite(r->high - r->low))
        return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                       "%s: the range is %g to %g, expected finite numbers in ascending order",
                       what, r->low, r->high);
    return HT_SUCCESS;
}

/* Adds up n elements. The quotient is off by a bin next to an edge, by more where edges of a range
 * of few numbers are equal. */
static void count_elements(const bin_range *r, const double *x, int64_t n, int64_t *counts)
{
    const double range = r->high - r->low, bins = (double)r->bins;

    for (int64_t i = 0; i < n; i++) {
        int64_t bin;

        if (!(x[i] >= r->low && x[i] <= r->high)) /* NaN is in no bin */
            continue;
        bin = (int64_t)fmin((x[i] - r->low) / range * bins, bins - 1);
        while (bin > 0 && x[i] < edge(r, bin))
            bin--;
        while (bin < r->bins - 1 && x[i] >= edge(r, bin + 1))
            bin++;
        counts[bin]++;
    }
}

static ht_tensor *new_on_host(const ht_tensor *x, ht_dtype dtype, int64_t length)
{
    return ht__tensor_new(
        ht__body_new(what, x->body->comm, ht__device_cpu(), dtype, 1, &length, HT_NONE, NULL));
}

/* This rank's counts, then those of all, in host memory. */
static ht_tensor *count_all(ht_tensor *x, const bin_range *r)
{
    ht_comm *comm = x->body->comm;
    ht_tensor *counts = new_on_host(x, HT_INT64, r->bins);
    ht_tensor *local = counts != NULL ? ht__on_host(what, x, HT_FLOAT64) : NULL;

    if (local == NULL || ht__fill_local(what, counts->body, HT_NUM(0)) != HT_SUCCESS)
        return NULL;
    ht__storage_touch(counts->body->storage);
    count_elements(r, ht__body_data(local->body), x->body->lsize, ht__body_data(counts->body));
    if (x->body->split != HT_NONE &&
        ht__comm_allreduce(comm, counts, counts, HT_OP_SUM) != HT_SUCCESS)
        return NULL;
    return ht_to_device(counts, x->body->storage->device);
}

static ht_tensor *edges_of(const ht_tensor *x, const bin_range *r)
{
    const int64_t count = r->bins + 1;
    ht_tensor *edges = new_on_host(x, HT_FLOAT64, count);

    for (int64_t i = 0; edges != NULL && i < count; i++)
        ((double *)ht__body_data(edges->body))[i] = edge(r, i);
    return ht_to_device(edges, x->body->storage->device);
}

static ht_status histogram(ht_tensor *x, bin_range r, ht_tensor **counts, ht_tensor **edges)
{
    ht_status status = settle_range(x, &r);
    ht_comm *outer;

    if (status != HT_SUCCESS)
        return status;
    outer = ht__together(x->body->comm);
    *counts = count_all(x, &r);
    if (edges != NULL)
        *edges = *counts != NULL ? edges_of(x, &r) : NULL;
    ht__together_end(outer);
    return *counts != NULL && (edges == NULL || *edges != NULL) ? HT_SUCCESS : ht_error_get(NULL);
}

ht_status ht_histogram(ht_tensor *x, int64_t bins, double low, double high, ht_tensor **counts,
                       ht_tensor **edges)
{
    ht_tensor *found = NULL, *ends = NULL;
    ht_status status;
    bool was;

    if (HT_IS_NULL(x, what, "x") || HT_IS_NULL_ON(x->body->comm, counts, what, "counts"))
        return ht_error_get(NULL);
    if (bins < 1 || bins >= MOST_EDGES)
        return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: bins is %lld, expected 1 to 2^59 - 1",
                       what, (long long)bins);
    if (ht_dtype_is_complex(x->body->dtype))
        return HT_FAIL(x->body->comm, HT_ERR_DTYPE, "%s: not defined for %s", what,
                       ht_dtype_name(x->body->dtype));
    HT_NAMED(what);
    was = ht_set_grad_enabled(false);
    status = histogram(x, (bin_range){bins, low, high}, &found, edges != NULL ? &ends : NULL);
    ht_set_grad_enabled(was);
    if (status != HT_SUCCESS)
        return status;
    *counts = found;
    if (edges != NULL)
        *edges = ends;
    return HT_SUCCESS;
}
