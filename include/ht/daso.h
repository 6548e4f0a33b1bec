/* SPDX-License-Identifier: MIT
 *
 * The plateau detector, by which DASO decides how often nodes exchange parameters. */
#ifndef HT_DASO_H
#define HT_DASO_H

#include "ht/optim.h"

HT_BEGIN_DECLS

/* Finds out when a metric has stopped improving. Source: heat.optim.utils.DetectMetricPlateau. */
typedef struct ht_plateau_detector ht_plateau_detector;

typedef struct ht_plateau_detector_options {
    size_t size;      /* of this struct; set by the default function */
    bool maximize;    /* false: the metric is to fall */
    int64_t patience; /* 10: values without improvement that are borne */
    double threshold; /* 1e-4: an improvement is at least this part (below 1) of the best's size, */
    bool absolute;    /* or with true, at least this; false */
    int64_t cooldown; /* 0: values after a plateau that are not counted */
} ht_plateau_detector_options;

HT_API ht_plateau_detector_options ht_plateau_detector_options_default(void);

/* options NULL: defaults. Owned. Not collective. HT_ERR_ARGUMENT for values out of range. */
HT_API ht_plateau_detector *ht_plateau_detector_new(const ht_plateau_detector_options *options);

/* Takes the next value; true when more than `patience` in a row were no improvement: a plateau,
 * with which counting starts again. NaN is no improvement. The name is Heat's. */
HT_API bool ht_plateau_detector_test_if_improving(ht_plateau_detector *detector, double metric);

/* Forgets the best value and the counts. */
HT_API ht_status ht_plateau_detector_reset(ht_plateau_detector *detector);

/* Settings and counts as a map of numbers. set_state: HT_ERR_FORMAT, with nothing changed, when an
 * entry is missing. Scoped. */
HT_API ht_value *ht_plateau_detector_get_state(const ht_plateau_detector *detector);
HT_API ht_status ht_plateau_detector_set_state(ht_plateau_detector *detector,
                                               const ht_value *state);

HT_END_DECLS
#endif
