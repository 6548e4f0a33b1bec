/* SPDX-License-Identifier: MIT
 *
 * Metrics over all ranks.
 *
 * Each rank adds its own rows: its part of a test set, for instance, which can be empty.
 * ht_metric_compute merges the parts of all ranks, with exact counts and in rank order. So all
 * ranks get the same bits, and every row counts once, for any number of ranks.
 *
 * A NULL metric or communicator is HT_ERR_ARGUMENT, except in ht_metric_reset. Source:
 * ignite.metrics and torchmetrics, for the quantities they measure. */
#ifndef HT_METRICS_H
#define HT_METRICS_H

#include "ht/tensor.h"
#include "ht/value.h"

HT_BEGIN_DECLS

typedef struct ht_metric ht_metric;

/* Makes a weighted mean of numbers: sum of weight * value / sum of weights.
 *
 * ht_metric_add adds a number: a loss, for instance, whose weight is the number of rows that it is
 * the mean of. The mean of an infinity and finite numbers is that infinity. Results: "mean", and
 * "count", the sum of the weights.
 *
 * comm: retained.
 * Not collective.
 * Result: owned. */
HT_API ht_metric *ht_metric_mean(ht_comm *comm);

/* Makes the mean and variance of all elements of a stream of tensors.
 *
 * ht_metric_update adds a tensor of any shape; its target is NULL. Partial results are merged by
 * the method of Chan, Golub and LeVeque, which keeps a small variance accurate for a large mean.
 * Results: "mean", "variance" (biased: divided by the count), "std" and "count".
 *
 * comm: retained.
 * Not collective.
 * Result: owned. */
HT_API ht_metric *ht_metric_moments(ht_comm *comm);

/* Makes an accuracy: the share of rows whose true class has one of the k largest scores of the row.
 *
 * ht_metric_update takes scores (N, C) and true classes (N). Among equal scores the first is the
 * larger one. NaN is larger than any number. Results: "accuracy" = correct / count; "correct" and
 * "count", numbers of rows.
 *
 * k: at least 1, and at most C.
 * comm: retained.
 * Not collective.
 * Result: owned.
 * Errors: HT_ERR_ARGUMENT for a k below 1. */
HT_API ht_metric *ht_metric_accuracy(int k, ht_comm *comm);

/* Makes a confusion matrix: element (i, j) counts the rows of class i with predicted class j.
 *
 * ht_metric_update takes scores (N, classes) or predicted classes (N, integers), and true classes
 * (N). The predicted class of scores is that of the largest one, as in ht_metric_accuracy. Results:
 * those of ht_metric_accuracy, and "confusion_matrix", a process-local tensor (classes, classes) of
 * int64 on the current device.
 *
 * classes: 1 to 16384.
 * comm: retained.
 * Not collective.
 * Result: owned.
 * Errors: HT_ERR_ARGUMENT for classes out of range. */
HT_API ht_metric *ht_metric_confusion_matrix(int64_t classes, ht_comm *comm);

/* Adds a batch of this rank to `metric`.
 *
 * After an error the metric keeps it, and computing reports it to all ranks.
 *
 * metric: not one of ht_metric_mean.
 * x: scores or elements of any dtype but complex ones; process-local, on any device. After an error
 * that made it NULL, the metric keeps that error.
 * target: classes (N), integers; process-local, on any device. ht_metric_moments does not read it.
 * Not collective.
 * Errors: HT_ERR_SHAPE for other shapes than those of the constructor, or fewer classes than its k.
 * HT_ERR_DTYPE for a complex x, or a target that is not made of integers. HT_ERR_COMM for a tensor
 * on several ranks, split or not. HT_ERR_ARGUMENT for a class out of range, a target that is NULL,
 * or a metric of ht_metric_mean. */
HT_API ht_status ht_metric_update(ht_metric *metric, ht_tensor *x, ht_tensor *target);

/* Adds a number of this rank to a metric of ht_metric_mean.
 *
 * After an error the metric keeps it, and computing reports it to all ranks.
 *
 * metric: changed.
 * value: any number.
 * weight: finite, at least 0. With weight 0 the value is ignored, NaN included.
 * Not collective.
 * Errors: HT_ERR_ARGUMENT for a weight out of range, or another metric. */
HT_API ht_status ht_metric_add(ht_metric *metric, double value, double weight);

/* Returns the results of `metric` over all ranks as a map, with the names of its constructor.
 *
 * Collective over the metric's communicator, agrees.
 * Result: scoped; NULL after an error. The mean of an empty metric is NaN.
 * Errors: those that the metric of a rank keeps. */
HT_API ht_value *ht_metric_compute(ht_metric *metric);

/* Returns the first result of `metric` over all ranks: the accuracy, for a confusion matrix.
 *
 * Collective as ht_metric_compute is, with its errors.
 * Result: NaN after an error, and for a metric without rows. */
HT_API double ht_metric_result(ht_metric *metric);

/* Returns the sums over everything that all ranks have added to `metric` as a map, for a run that
 * resumes within an epoch.
 *
 * Collective over the metric's communicator, agrees.
 * Result: scoped; NULL after an error.
 * Errors: those that the metric of a rank keeps. */
HT_API ht_value *ht_metric_state_dict(ht_metric *metric);

/* Loads a state of ht_metric_state_dict in place of everything that was added.
 *
 * On the same number of ranks, the results have the same bits as without the interruption. On
 * another number, the counts are the same, and other results may differ by rounding.
 *
 * metric: of the same constructor, and of the same k or number of classes; unchanged if the state
 * does not fit. An error that it keeps is cleared.
 * state: not retained.
 * Collective over the metric's communicator, agrees.
 * Errors: HT_ERR_FORMAT for the state of another metric, or counts that are not numbers of rows. */
HT_API ht_status ht_metric_load_state_dict(ht_metric *metric, const ht_value *state);

/* Clears `metric`, errors included. NULL is ignored. Not collective. */
HT_API void ht_metric_reset(ht_metric *metric);

HT_END_DECLS
#endif
