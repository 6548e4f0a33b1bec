/* SPDX-License-Identifier: MIT
 *
 * Metrics over all ranks. Each rank adds what it has seen, its part of a test set for instance,
 * parts of no rows included; computing merges the ranks with exact counts and in one order, so that
 * all get the same bits and every row counts once, whatever the number of ranks. Source:
 * ignite.metrics and torchmetrics, for what they measure. */
#ifndef HT_METRICS_H
#define HT_METRICS_H

#include "ht/tensor.h"
#include "ht/value.h"

HT_BEGIN_DECLS

typedef struct ht_metric ht_metric;

/* Constructors. Owned; `comm` is retained. Not collective.
 *
 * "mean" of numbers with weights (losses, by the rows that each is a mean of), and "count", the sum
 * of the weights: ht_metric_add. The mean of an infinity and finite numbers is that infinity. */
HT_API ht_metric *ht_metric_mean(ht_comm *comm);

/* "mean", "variance" (biased: divided by the count), "std" and "count" of all elements of a stream
 * of tensors (target NULL); partial results are merged as Chan, Golub and LeVeque do, which keeps a
 * small variance beside a large mean. */
HT_API ht_metric *ht_metric_moments(ht_comm *comm);

/* "accuracy": the share of rows whose class is among the k largest of its row of scores (N, C); of
 * equal scores the first is the larger one, and NaN is larger than any number. "correct", "count".
 */
HT_API ht_metric *ht_metric_accuracy(int k, ht_comm *comm);

/* "confusion_matrix", int64 (classes, classes): how many rows of class i were taken for class j,
 * with "accuracy" and "count". Scores (N, classes), or the predicted classes themselves (N). */
HT_API ht_metric *ht_metric_confusion_matrix(int64_t classes, ht_comm *comm);

/* Adds a batch of this rank: process-local tensors on any device, target (N) integers. Not
 * collective. Errors: HT_ERR_SHAPE, HT_ERR_DTYPE, HT_ERR_ARGUMENT for a class that there is none
 * of; the metric then keeps the error, and computing tells all ranks. */
HT_API ht_status ht_metric_update(ht_metric *metric, ht_tensor *x, ht_tensor *target);
HT_API ht_status ht_metric_add(ht_metric *metric, double value, double weight);

/* The results as a map of the names above; NaN for a mean of nothing. Collective over the metric's
 * communicator, agrees. Scoped. */
HT_API ht_value *ht_metric_compute(ht_metric *metric);

/* The first of the results (the accuracy, for a confusion matrix); NaN after an error. Collective
 * as ht_metric_compute. */
HT_API double ht_metric_result(ht_metric *metric);

/* What all ranks have added so far, as a map, for a run that goes on within an epoch; an error that
 * the metric keeps comes here, too. Loading takes the place of what was added: on as many ranks the
 * results have the same bits as without the interruption, on another number the same counts.
 * HT_ERR_FORMAT, with nothing changed, for the state of another metric, or counts below 0. Scoped.
 * Collective, agrees. */
HT_API ht_value *ht_metric_state_dict(ht_metric *metric);
HT_API ht_status ht_metric_load_state_dict(ht_metric *metric, const ht_value *state);

/* Forgets everything, errors included. Not collective. */
HT_API void ht_metric_reset(ht_metric *metric);

HT_END_DECLS
#endif
