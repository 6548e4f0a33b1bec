/* SPDX-License-Identifier: MIT
 *
 * Metrics of classification: top-k accuracy and the confusion matrix. They are sums of integers,
 * which are exact. */
#include <inttypes.h>
#include <math.h>

#include "core/ops/ops.h"
#include "ht/factories.h"
#include "utils/training/metric.h"

ht_status ht__metric_check_batch(const char *what, const ht_tensor *x, int ndim,
                                 const ht_tensor *target)
{
    const ht_body *a = x->body, *b = target != NULL ? target->body : NULL;

    if (a->comm->shared || (b != NULL && b->comm->shared))
        return ht__error_set(HT_ERR_COMM,
                             "%s: a tensor is on %d ranks; add the part of each rank "
                             "(ht_tensor_local)",
                             what, a->comm->shared ? a->comm->size : b->comm->size);
    if (ht_dtype_is_complex(a->dtype))
        return ht__error_set(HT_ERR_DTYPE, "%s: x is %s, expected real numbers", what,
                             ht_dtype_name(a->dtype));
    if (ndim == HT_NONE)
        return HT_SUCCESS;
    if (b == NULL)
        return ht__error_set(HT_ERR_ARGUMENT, "%s: target is NULL", what);
    if (!ht_dtype_is_integer(b->dtype))
        return ht__error_set(HT_ERR_DTYPE, "%s: target is %s, expected integer classes", what,
                             ht_dtype_name(b->dtype));
    if (a->ndim == ndim && b->ndim == 1 && a->shape[0] == b->shape[0])
        return HT_SUCCESS;
    return ht__error_set(HT_ERR_SHAPE, "%s: x is %s, target is %s, expected %s and (N,)", what,
                         ht__shape_str(a->ndim, a->shape), ht__shape_str(b->ndim, b->shape),
                         ndim == 2 ? "(N, classes)" : "(N,)");
}

ht_status ht__metric_check_classes(const char *what, const char *name, const int64_t *all,
                                   int64_t rows, int64_t classes)
{
    for (int64_t i = 0; i < rows; i++) {
        if (all[i] < 0 || all[i] >= classes)
            return ht__error_set(HT_ERR_ARGUMENT,
                                 "%s: %s of row %" PRId64 " is %" PRId64 ", expected 0 to %" PRId64,
                                 what, name, i, all[i], classes - 1);
    }
    return HT_SUCCESS;
}

static bool is_larger(double a, double b)
{
    return a > b || (isnan(a) && !isnan(b));
}

int64_t ht__metric_place(const double *scores, int64_t classes, int64_t label)
{
    double mine = scores[label];
    int64_t larger = 0;

    for (int64_t j = 0; j < label; j++)
        larger += !is_larger(mine, scores[j]); /* an equal one that stands before it */
    for (int64_t j = label + 1; j < classes; j++)
        larger += is_larger(scores[j], mine);
    return larger;
}

/* counts: right ones, rows */
static ht_status update_accuracy(ht_metric *metric, ht_tensor *x, ht_tensor *target)
{
    const char *what = metric->type->what;
    ht_status status = ht__metric_check_batch(what, x, 2, target);
    int64_t rows, classes;

    if (status != HT_SUCCESS)
        return status;
    rows = x->body->shape[0];
    classes = x->body->shape[1];
    if (metric->k > classes)
        return ht__error_set(HT_ERR_SHAPE, "%s: x is %s, expected at least %d classes", what,
                             ht__shape_str(2, x->body->shape), metric->k);
    x = ht__on_host(what, x, HT_FLOAT64);
    target = ht__on_host(what, target, HT_INT64);
    if (x == NULL || target == NULL)
        return ht_error_get(NULL);
    const double *scores = ht__body_data(x->body);
    const int64_t *labels = ht__body_data(target->body);

    status = ht__metric_check_classes(what, "target", labels, rows, classes);
    for (int64_t i = 0; i < rows && status == HT_SUCCESS; i++)
        metric->counts[0] += ht__metric_place(scores + i * classes, classes, labels[i]) < metric->k;
    if (status == HT_SUCCESS)
        metric->counts[1] += rows;
    return status;
}

static void put_accuracy(ht_value *result, int64_t correct, int64_t count)
{
    ht__metric_put(result, "accuracy", count > 0 ? (double)correct / (double)count : NAN);
    ht__metric_put(result, "correct", (double)correct);
    ht__metric_put(result, "count", (double)count);
}

static ht_status compute_accuracy(ht_metric *metric, ht_value *result)
{
    int64_t *counts = ht__metric_sum_counts(metric);

    if (counts == NULL)
        return ht_error_get(NULL);
    put_accuracy(result, counts[0], counts[1]);
    ht__free(counts);
    return HT_SUCCESS;
}

ht_metric *ht_metric_accuracy(int k, ht_comm *comm)
{
    static const ht_metric_type type = {.name = "an accuracy",
                                        .what = "ht_metric_accuracy",
                                        .update = update_accuracy,
                                        .compute = compute_accuracy};
    ht_metric *metric;

    if (k < 1) {
        HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: k is %d, expected at least 1", type.what, k);
        return NULL;
    }
    metric = ht__metric_new(&type, comm, 2);
    if (metric != NULL)
        metric->k = k;
    return metric;
}

/* The class that each row of scores is taken for. */
static ht_tensor *predictions(const char *what, ht_tensor *x)
{
    int64_t rows = x->body->shape[0], classes = x->body->shape[1];
    ht_tensor *scores = ht__on_host(what, x, HT_FLOAT64);
    ht_tensor *best = ht_empty_ext(1, &rows, HT_INT64, HT_NONE, ht__device_cpu(), ht_comm_self());
    int64_t *to;

    if (scores == NULL || best == NULL)
        return NULL;
    to = ht__body_data(best->body);
    for (int64_t i = 0; i < rows; i++) {
        const double *row = (const double *)ht__body_data(scores->body) + i * classes;

        to[i] = 0;
        for (int64_t j = 1; j < classes; j++) {
            if (is_larger(row[j], row[to[i]]))
                to[i] = j;
        }
    }
    return best;
}

/* counts: the matrix by rows */
static ht_status update_confusion(ht_metric *metric, ht_tensor *x, ht_tensor *target)
{
    const char *what = metric->type->what;
    bool scores = x->body->ndim != 1 || !ht_dtype_is_integer(x->body->dtype);
    ht_status status = ht__metric_check_batch(what, x, scores ? 2 : 1, target);
    int64_t rows;

    if (status == HT_SUCCESS && scores && x->body->shape[1] != metric->classes)
        status = ht__error_set(HT_ERR_SHAPE, "%s: x is %s, expected (N, %" PRId64 ")", what,
                               ht__shape_str(2, x->body->shape), metric->classes);
    if (status != HT_SUCCESS)
        return status;
    rows = x->body->shape[0];
    x = scores ? predictions(what, x) : ht__on_host(what, x, HT_INT64);
    target = ht__on_host(what, target, HT_INT64);
    if (x == NULL || target == NULL)
        return ht_error_get(NULL);
    const int64_t *taken = ht__body_data(x->body), *labels = ht__body_data(target->body);

    status = ht__metric_check_classes(what, "target", labels, rows, metric->classes);
    if (status == HT_SUCCESS)
        status = ht__metric_check_classes(what, "x", taken, rows, metric->classes);
    for (int64_t i = 0; i < rows && status == HT_SUCCESS; i++)
        metric->counts[labels[i] * metric->classes + taken[i]]++;
    return status;
}

static ht_status compute_confusion(ht_metric *metric, ht_value *result)
{
    int64_t n = metric->classes, shape[2] = {n, n}, correct = 0, count = 0;
    int64_t *counts = ht__metric_sum_counts(metric);
    ht_tensor *matrix;

    if (counts == NULL)
        return ht_error_get(NULL);
    for (int64_t i = 0; i < n * n; i++) {
        count += counts[i];
        correct += i % (n + 1) == 0 ? counts[i] : 0;
    }
    matrix = ht_array(counts, 2, shape, HT_INT64, HT_LOCAL);
    ht__free(counts);
    if (matrix == NULL)
        return ht_error_get(NULL);
    put_accuracy(result, correct, count);
    return ht_value_set(result, "confusion_matrix", ht_value_tensor(matrix));
}

ht_metric *ht_metric_confusion_matrix(int64_t classes, ht_comm *comm)
{
    static const ht_metric_type type = {.name = "a confusion matrix",
                                        .what = "ht_metric_confusion_matrix",
                                        .update = update_confusion,
                                        .compute = compute_confusion};
    ht_metric *metric;

    if (classes < 1 || classes > 16384) { /* the matrix has at most 2 GiB */
        HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: classes is %" PRId64 ", expected 1 to 16384", type.what,
                classes);
        return NULL;
    }
    metric = ht__metric_new(&type, comm, (int)(classes * classes));
    if (metric != NULL)
        metric->classes = classes;
    return metric;
}
