/* SPDX-License-Identifier: MIT
 *
 * Shared parts of all metrics: sums of integers that are added over the ranks, and a row that
 * defines how they are filled and read. */
#ifndef HT_UTILS_TRAINING_METRIC_H
#define HT_UTILS_TRAINING_METRIC_H

#include "core/tensor/tensor.h"
#include "ht/metrics.h"

/* Number, mean and sum of squared distances from it: what Chan's formula merges. */
typedef struct ht_moments {
    double count, mean, m2;
} ht_moments;

typedef struct ht_metric_type {
    const char *name; /* "accuracy" */
    const char *what; /* for messages: "ht_metric_accuracy" */
    /* One of the two. update records an error with ht__error_set. */
    ht_status (*update)(ht_metric *metric, ht_tensor *x, ht_tensor *target);
    ht_status (*add)(ht_metric *metric, double value, double weight);
    /* Merges the ranks and fills the map. Collective. */
    ht_status (*compute)(ht_metric *metric, ht_value *result);
} ht_metric_type;

struct ht_metric {
    ht_object base;
    const ht_metric_type *type;
    ht_comm *comm;     /* retained */
    int k;             /* accuracy */
    int64_t classes;   /* confusion matrix */
    int64_t *counts;   /* owned; exact sums of this rank */
    int counts_length; /* of counts */
    ht_moments moments;
    ht_status status; /* of the first update that failed */
    char *message;    /* owned; what it said */
};

/* With `counts` zeroed sums. Owned; NULL after the error of a NULL communicator. */
ht_metric *ht__metric_new(const ht_metric_type *type, ht_comm *comm, int counts);

/* The sums of all ranks, to be freed by the caller; NULL after an error. Collective. */
int64_t *ht__metric_sum_counts(ht_metric *metric);

/* The moments of all ranks, merged in rank order. Collective. */
ht_status ht__metric_merge_moments(ht_metric *metric, ht_moments *all);
ht_moments ht__moments_merge(ht_moments a, ht_moments b);

void ht__metric_put(ht_value *map, const char *name, double number);

/* A process-local batch x of `ndim` axes with as many target classes as rows. Records the error. */
ht_status ht__metric_check_batch(const char *what, const ht_tensor *x, int ndim,
                                 const ht_tensor *target);

/* Each class in 0 ... classes - 1. Records the error. `name`: "target". */
ht_status ht__metric_check_classes(const char *what, const char *name, const int64_t *all,
                                   int64_t rows, int64_t classes);

/* How many scores of a row are larger than that of `label`: 0 for the prediction. */
int64_t ht__metric_place(const double *scores, int64_t classes, int64_t label);

#endif
