/* SPDX-License-Identifier: MIT
 *
 * The values that a metric has seen, in a state, so that a run that is interrupted within an epoch
 * counts all of it. Integers are added up: their sum does not depend on the ranks. Moments keep the
 * rank that they come from, because the order in which they are merged decides their last bits. */
#include <math.h>
#include <string.h>

#include "core/ops/ops.h"
#include "ht/factories.h"
#include "utils/training/metric.h"

enum { FIELDS = 3 }; /* of moments */

static const char saving[] = "ht_metric_state_dict", loading[] = "ht_metric_load_state_dict";

static ht_tensor *counts_tensor(const ht_metric *metric, const int64_t *sums)
{
    int64_t length = metric->counts_length;
    ht_tensor *x = ht_empty_ext(1, &length, HT_INT64, HT_NONE, ht__device_cpu(), ht_comm_self());

    if (x != NULL && length > 0)
        memcpy(ht__body_data(x->body), sums, (size_t)length * sizeof *sums);
    return x;
}

static ht_tensor *moments_tensor(const ht_metric *metric)
{
    const ht_moments *mine = &metric->moments;
    const double row[FIELDS] = {mine->count, mine->mean, mine->m2};
    const int64_t shape[2] = {metric->comm->size, FIELDS};
    ht_tensor *x = ht_empty_ext(2, shape, HT_FLOAT64, 0, ht__device_cpu(), metric->comm);

    if (x != NULL)
        memcpy(ht__body_data(x->body), row, sizeof row);
    return x;
}

static ht_status fill(ht_metric *metric, ht_value *map)
{
    int64_t *sums = ht__metric_sum_counts(metric);
    ht_value *name = ht_value_map();
    ht_tensor *counts, *moments;

    if (sums == NULL)
        return ht_error_get(NULL);
    counts = counts_tensor(metric, sums);
    ht__free(sums);
    moments = moments_tensor(metric);
    if (counts == NULL || moments == NULL)
        return ht_error_get(NULL);
    ht__metric_put(name, metric->type->what, metric->k);
    ht_value_set(map, "metric", name);
    ht_value_set(map, "counts", ht_value_tensor(counts));
    return ht_value_set(map, "moments", ht_value_tensor(moments));
}

ht_value *ht_metric_state_dict(ht_metric *metric)
{
    ht_value *map = ht_value_map();

    if (HT_IS_NULL(metric, saving, "metric"))
        return NULL;
    if (metric->status != HT_SUCCESS)
        ht__error_set(metric->status, "%s", metric->message);
    if (ht__agree(saving, metric->comm, metric->status) != HT_SUCCESS ||
        fill(metric, map) != HT_SUCCESS)
        return NULL;
    return map;
}

/* The rows of moments from which this rank resumes: its own, or in a job with other ranks those of
 * its part. Rows that all hold go to rank 0 alone. */
static void take_moments(const ht_metric *metric, const ht_body *body, const double *rows,
                         ht_moments *mine)
{
    int64_t from = 0, to = body->lshape[0], rank = metric->comm->rank;

    if (body->comm->size == 1 && body->shape[0] == metric->comm->size) {
        from = rank;
        to = rank + 1;
    } else if (body->comm->size == 1 && rank > 0) {
        to = 0;
    }
    *mine = (ht_moments){0};
    for (int64_t i = from; i < to; i++)
        *mine = ht__moments_merge(*mine, (ht_moments){.count = rows[i * FIELDS],
                                                      .mean = rows[i * FIELDS + 1],
                                                      .m2 = rows[i * FIELDS + 2]});
}

static ht_status check_kind(const ht_metric *metric, const ht_value *state)
{
    const ht_value *name = ht_value_get(state, "metric");

    if (HT_IS_NULL(state, loading, "state"))
        return ht_error_get(NULL);
    if (ht_value_get_kind(name) != HT_VALUE_MAP || ht_value_count(name) != 1)
        return ht__error_set(
            HT_ERR_FORMAT, "%s: this is not the state of a metric: it has no \"metric\"", loading);
    if (strcmp(ht_value_key(name, 0), metric->type->what) != 0 ||
        ht_value_as_number(ht_value_at(name, 0)) != metric->k)
        return ht__error_set(HT_ERR_FORMAT,
                             "%s: the state is of %s (k %.0f), the metric is %s (k %d)", loading,
                             ht_value_key(name, 0), ht_value_as_number(ht_value_at(name, 0)),
                             metric->type->what, metric->k);
    return HT_SUCCESS;
}

/* Nothing was counted less than never. */
static bool counts_are_sound(const ht_body *counts, const ht_body *moments)
{
    const int64_t *count = ht__body_data(counts);
    const double *row = ht__body_data(moments);
    bool good = true;

    for (int64_t i = 0; i < counts->lsize; i++)
        good = good && count[i] >= 0;
    for (int64_t i = 0; i < moments->lsize; i += FIELDS)
        good = good && row[i] >= 0 && !isinf(row[i]);
    return good;
}

/* Elements; a mean has sums of weights instead. */
static bool counts_are_whole(const ht_metric *metric, const ht_body *moments)
{
    const double *row = ht__body_data(moments);
    bool good = true;

    for (int64_t i = 0; i < moments->lsize && metric->type->add == NULL; i += FIELDS)
        good = good && row[i] == floor(row[i]);
    return good;
}

/* Both tensors in host memory. */
static ht_status read_tensors(const ht_metric *metric, const ht_value *state, ht_tensor **counts,
                              ht_tensor **moments)
{
    ht_tensor *c = ht_value_as_tensor(ht_value_get(state, "counts"));
    ht_tensor *m = ht_value_as_tensor(ht_value_get(state, "moments"));

    if (c == NULL || c->body->ndim != 1 || c->body->lsize != metric->counts_length ||
        c->body->dtype != HT_INT64)
        return ht__error_set(HT_ERR_FORMAT, "%s: the state has no int64 \"counts\" of %d", loading,
                             metric->counts_length);
    if (m == NULL || m->body->ndim != 2 || m->body->shape[1] != FIELDS ||
        m->body->dtype != HT_FLOAT64 || (m->body->split != HT_NONE && m->body->split != 0))
        return ht__error_set(
            HT_ERR_FORMAT, "%s: the state has no float64 \"moments\" with three columns", loading);
    *counts = ht__on_host(loading, c, HT_INT64);
    *moments = ht__on_host(loading, m, HT_FLOAT64);
    if (*counts == NULL || *moments == NULL)
        return ht_error_get(NULL);
    if (!counts_are_sound((*counts)->body, (*moments)->body))
        return ht__error_set(HT_ERR_FORMAT, "%s: the state has counts that are NaN or below 0",
                             loading);
    if (!counts_are_whole(metric, (*moments)->body))
        return ht__error_set(HT_ERR_FORMAT, "%s: the state has counts that are not integers",
                             loading);
    return HT_SUCCESS;
}

static ht_status load(ht_metric *metric, const ht_value *state)
{
    size_t bytes = (size_t)metric->counts_length * sizeof *metric->counts;
    ht_tensor *counts = NULL, *moments = NULL;
    bool begun = ht__agree_begin();
    ht_status status = check_kind(metric, state);

    if (status == HT_SUCCESS)
        status = read_tensors(metric, state, &counts, &moments);
    status = ht__agree_end(loading, metric->comm, begun, status);
    if (status != HT_SUCCESS)
        return status;
    ht_metric_reset(metric);
    if (metric->comm->rank == 0 && bytes > 0)
        memcpy(metric->counts, ht__body_data(counts->body), bytes);
    take_moments(metric, moments->body, ht__body_data(moments->body), &metric->moments);
    return HT_SUCCESS;
}

ht_status ht_metric_load_state_dict(ht_metric *metric, const ht_value *state)
{
    ht_scope *scope;
    ht_status status;

    if (HT_IS_NULL(metric, loading, "metric"))
        return ht_error_get(NULL);
    scope = ht_scope_open();
    status = load(metric, state);
    ht_scope_close(scope);
    return status;
}
