/* SPDX-License-Identifier: MIT
 *
 * What happens around an epoch: stop when nothing improves any more, keep the best models, and
 * write down how training went. Metrics must be the same on all ranks, as ht_metric_result gives
 * them: decisions then are. Source: ignite.handlers. */
#ifndef HT_CALLBACKS_H
#define HT_CALLBACKS_H

#include "ht/communication.h"
#include "ht/value.h"

HT_BEGIN_DECLS

typedef struct ht_early_stopping ht_early_stopping;

typedef struct ht_early_stopping_options {
    size_t size;      /* of this struct; set by the default function */
    bool maximize;    /* false: the metric is to fall */
    int64_t patience; /* 10: epochs without improvement that are borne */
    double min_delta; /* 0: an improvement is more than this */
} ht_early_stopping_options;
HT_API ht_early_stopping_options ht_early_stopping_options_default(void);

/* options NULL: defaults. Owned. Not collective. */
HT_API ht_early_stopping *ht_early_stopping_new(const ht_early_stopping_options *options);

/* The metric of an epoch (NaN is no improvement). True: more than `patience` epochs have passed
 * since the best one. Not collective. */
HT_API bool ht_early_stopping_step(ht_early_stopping *stopping, double metric);

/* "best" and "waited" as a map, and back: HT_ERR_FORMAT when a state does not fit. Scoped. */
HT_API ht_value *ht_early_stopping_state_dict(const ht_early_stopping *stopping);
HT_API ht_status ht_early_stopping_load_state_dict(ht_early_stopping *stopping,
                                                   const ht_value *state);

typedef struct ht_keep_best ht_keep_best;

/* Saves what is to be kept under this name, and returns only once it is there
 * (ht_module_save_state, for instance). Called by all ranks. */
typedef ht_status ht_save_fn(const char *path, void *user);

/* The `keep` best by a metric, in files "<prefix>-<epoch>.h5" (the folder must be there). Owned;
 * `comm` is retained, `user` is not. Not collective. */
HT_API ht_keep_best *ht_keep_best_new(const char *prefix, int keep, bool maximize, ht_save_fn *save,
                                      void *user, ht_comm *comm);

/* Saves when the metric is among the best, the earlier epoch of equals being the better one, and
 * then removes the file that no longer is. Nothing is removed before its successor is whole. NaN is
 * never kept. An epoch that is run again takes the place of its earlier run, if it is better, and
 * leaves it alone, if it is not. Collective, agrees: also where `save` fails on one rank. Errors:
 * HT_ERR_ARGUMENT where the ranks bring different metrics. */
HT_API ht_status ht_keep_best_step(ht_keep_best *best, double metric, int64_t epoch);

/* How many there are, and the path of each, best first; borrowed, NULL outside. */
HT_API int ht_keep_best_count(const ht_keep_best *best);
HT_API const char *ht_keep_best_path(const ht_keep_best *best, int index);

/* Epochs and metrics as a list, for a run that goes on; HT_ERR_FORMAT as above. Scoped. */
HT_API ht_value *ht_keep_best_state_dict(const ht_keep_best *best);
HT_API ht_status ht_keep_best_load_state_dict(ht_keep_best *best, const ht_value *state);

typedef struct ht_run_log ht_run_log;

typedef struct ht_run_log_options {
    size_t size;       /* of this struct; set by the default function */
    const char *csv;   /* NULL: none of these; else a path, read at once */
    const char *jsonl; /* one JSON object a line */
    const char *svg;   /* curves, drawn again with each row; names with the same last word
                          ("train_loss", "test_loss") share a panel */
    bool append; /* false: files begin anew; true: a run resumes. Its first row names the columns
                    that the CSV file has, else HT_ERR_FORMAT. Rows from its place on, which an
                    interrupted run had left there, are cut off; those before it are drawn too if
                    there is a CSV file to read them from */
} ht_run_log_options;
HT_API ht_run_log_options ht_run_log_options_default(void);

/* Rank 0 of `comm` (retained) writes the files. Owned. Collective, agrees. Errors: HT_ERR_IO. */
HT_API ht_run_log *ht_run_log_new(const ht_run_log_options *options, ht_comm *comm);

/* A row: a map of numbers or one-element tensors, the first ("epoch") being where on the axis it
 * is. The first row names the columns; later ones may lack some, but have no others. What was
 * written survives a crash. Collective, agrees. */
HT_API ht_status ht_run_log_add(ht_run_log *log, const ht_value *row);

HT_END_DECLS
#endif
