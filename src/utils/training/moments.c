/* SPDX-License-Identifier: MIT
 *
 * Means of losses, and mean and variance of a stream. The sums of one batch are merged with those
 * before, then with those of other ranks in rank order, so that all ranks have the same bits. */
#include <math.h>

#include "ht/statistics.h"
#include "utils/training/metric.h"

/* The mean of both where their distance is not a finite number: an infinity and a number have the
 * mean infinity, where the infinite distance would make it NaN. */
static double distant_mean(ht_moments a, ht_moments b)
{
    const double share = b.count / (a.count + b.count);

    if (!isfinite(a.mean) || !isfinite(b.mean))
        return a.mean + b.mean;
    return a.mean * (1 - share) + b.mean * share;
}

/* Chan, Golub, LeVeque: Updating formulae and a pairwise algorithm for computing sample variances.
 */
ht_moments ht__moments_merge(ht_moments a, ht_moments b)
{
    double count = a.count + b.count, delta = b.mean - a.mean;

    if (b.count == 0)
        return a;
    if (a.count == 0)
        return b;
    return (ht_moments){
        .count = count,
        .mean = isfinite(delta) ? a.mean + delta * (b.count / count) : distant_mean(a, b),
        .m2 = a.m2 + b.m2 + delta * delta * (a.count * b.count / count),
    };
}

ht_status ht__metric_merge_moments(ht_metric *metric, ht_moments *all)
{
    const ht_moments *mine = &metric->moments;
    double part[3] = {mine->count, mine->mean, mine->m2};
    double *parts = ht__alloc((size_t)metric->comm->size * sizeof part);
    ht_status status = ht__comm_allgather_f64(metric->comm, part, 3, parts, "ht_metric_compute");

    *all = (ht_moments){0};
    for (int i = 0; i < metric->comm->size && status == HT_SUCCESS; i++)
        *all = ht__moments_merge(
            *all,
            (ht_moments){.count = parts[3 * i], .mean = parts[3 * i + 1], .m2 = parts[3 * i + 2]});
    ht__free(parts);
    return status;
}

static ht_status add(ht_metric *metric, double value, double weight)
{
    if (!(weight >= 0) || isinf(weight))
        return ht__error_set(HT_ERR_ARGUMENT,
                             "ht_metric_add: weight is %g, expected a finite value of at least 0",
                             weight);
    metric->moments = ht__moments_merge(metric->moments,
                                        (ht_moments){.count = weight, .mean = value});
    return HT_SUCCESS;
}

static ht_status compute_mean(ht_metric *metric, ht_value *result)
{
    ht_moments all;
    ht_status status = ht__metric_merge_moments(metric, &all);

    ht__metric_put(result, "mean", all.count > 0 ? all.mean : NAN);
    ht__metric_put(result, "count", all.count);
    return status;
}

static ht_status update(ht_metric *metric, ht_tensor *x, ht_tensor *target)
{
    ht_status status = ht__metric_check_batch("ht_metric_moments", x, HT_NONE, target);
    ht_moments batch = {.count = (double)x->body->lsize};

    if (status != HT_SUCCESS || x->body->lsize == 0)
        return status;
    x = ht_astype(x, HT_FLOAT64);
    if (ht_tensor_item(ht_mean(x, HT_NONE), &batch.mean) != HT_SUCCESS ||
        ht_tensor_item(ht_var(x, HT_NONE), &batch.m2) != HT_SUCCESS)
        return ht_error_get(NULL);
    batch.m2 *= batch.count;
    metric->moments = ht__moments_merge(metric->moments, batch);
    return HT_SUCCESS;
}

static ht_status compute_moments(ht_metric *metric, ht_value *result)
{
    ht_moments all;
    ht_status status = ht__metric_merge_moments(metric, &all);
    double variance = all.count > 0 ? all.m2 / all.count : NAN;

    ht__metric_put(result, "mean", all.count > 0 ? all.mean : NAN);
    ht__metric_put(result, "variance", variance);
    ht__metric_put(result, "std", sqrt(variance));
    ht__metric_put(result, "count", all.count);
    return status;
}

ht_metric *ht_metric_mean(ht_comm *comm)
{
    static const ht_metric_type type = {
        .name = "a mean", .what = "ht_metric_mean", .add = add, .compute = compute_mean};

    return ht__metric_new(&type, comm, 0);
}

ht_metric *ht_metric_moments(ht_comm *comm)
{
    static const ht_metric_type type = {.name = "moments",
                                        .what = "ht_metric_moments",
                                        .update = update,
                                        .compute = compute_moments};

    return ht__metric_new(&type, comm, 0);
}
