/* SPDX-License-Identifier: MIT
 *
 * The life of a metric: made, filled, computed. Errors in between may have occurred on one rank
 * only. */
#include "utils/training/metric.h"

#include <math.h>
#include <string.h>

#include "ht/autograd.h"

static void destroy(void *object)
{
    ht_metric *metric = object;

    ht_release(metric->comm);
    ht__free(metric->counts);
    ht__free(metric->message);
    ht__object_fini(metric);
    ht__free(metric);
}

static ht_kind kind = {.name = "metric", .destroy = destroy};

ht_metric *ht__metric_new(const ht_metric_type *type, ht_comm *comm, int counts)
{
    ht_metric *metric;

    if (comm == NULL) {
        if (ht_error_get(NULL) == HT_SUCCESS)
            HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: comm is NULL", type->what);
        return NULL;
    }
    metric = ht__alloc(sizeof *metric);
    ht__object_init(metric, &kind);
    metric->type = type;
    metric->comm = ht_retain(comm);
    metric->counts = ht__alloc((size_t)counts * sizeof *metric->counts + 1);
    metric->counts_length = counts;
    return metric;
}

void ht_metric_reset(ht_metric *metric)
{
    if (metric == NULL)
        return;
    memset(metric->counts, 0, (size_t)metric->counts_length * sizeof *metric->counts);
    metric->moments = (ht_moments){0};
    metric->status = HT_SUCCESS;
}

/* Keeps the first error for compute, which other ranks will call as if nothing had happened. */
static ht_status keep_error(ht_metric *metric, ht_status status)
{
    const char *message;

    if (status == HT_SUCCESS)
        return status;
    ht__error_last(&message);
    if (metric->status == HT_SUCCESS) {
        metric->status = status;
        ht__free(metric->message);
        metric->message = ht__strdup(message);
    }
    return HT_FAIL(metric->comm, status, "%s", message);
}

static ht_status not_this_way(ht_metric *metric, const char *what, const char *other)
{
    return keep_error(metric, ht__error_set(HT_ERR_ARGUMENT, "%s: metric is %s; use %s", what,
                                            metric->type->name, other));
}

ht_status ht_metric_update(ht_metric *metric, ht_tensor *x, ht_tensor *target)
{
    static const char what[] = "ht_metric_update";
    ht_scope *scope;
    ht_status status;
    bool was;

    if (HT_IS_NULL(metric, what, "metric"))
        return ht_error_get(NULL);
    if (HT_IS_NULL(x, what, "x"))
        return keep_error(metric, ht_error_get(NULL));
    if (metric->type->update == NULL)
        return not_this_way(metric, what, "ht_metric_add");
    HT_NAMED(what);
    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    status = metric->type->update(metric, x, target);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return keep_error(metric, status);
}

ht_status ht_metric_add(ht_metric *metric, double value, double weight)
{
    if (HT_IS_NULL(metric, "ht_metric_add", "metric"))
        return ht_error_get(NULL);
    if (metric->type->add == NULL)
        return not_this_way(metric, "ht_metric_add", "ht_metric_update");
    return keep_error(metric, metric->type->add(metric, value, weight));
}

ht_value *ht_metric_compute(ht_metric *metric)
{
    ht_value *result = ht_value_map();

    if (HT_IS_NULL(metric, "ht_metric_compute", "metric"))
        return NULL;
    if (metric->status != HT_SUCCESS)
        ht__error_set(metric->status, "%s", metric->message);
    if (ht__agree("ht_metric_compute", metric->comm, metric->status) != HT_SUCCESS)
        return NULL;
    return metric->type->compute(metric, result) == HT_SUCCESS ? result : NULL;
}

double ht_metric_result(ht_metric *metric)
{
    ht_scope *scope;
    ht_value *result;
    double first;

    if (HT_IS_NULL(metric, "ht_metric_result", "metric"))
        return NAN;
    scope = ht_scope_open();
    result = ht_metric_compute(metric);
    first = result != NULL ? ht_value_as_number(ht_value_at(result, 0)) : NAN;
    ht_scope_close(scope);
    return first;
}

int64_t *ht__metric_sum_counts(ht_metric *metric)
{
    size_t bytes = (size_t)metric->counts_length * sizeof *metric->counts;
    int64_t *all = ht__alloc(bytes + 1);

    memcpy(all, metric->counts, bytes);
    if (ht__comm_allreduce_i64(metric->comm, all, metric->counts_length, HT_OP_SUM,
                               "ht_metric_compute") == HT_SUCCESS)
        return all;
    ht__free(all);
    return NULL;
}

void ht__metric_put(ht_value *map, const char *name, double number)
{
    ht_value_set(map, name, ht_value_number(number));
}
