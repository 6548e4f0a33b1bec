/* SPDX-License-Identifier: MIT
 *
 * Callbacks around an epoch: early stopping, the best models, and the record of a run.
 *
 * ht_metric_result returns the same metric on all ranks, so all ranks decide the same.
 * Source: ignite.handlers.
 *
 * Errors: HT_ERR_ARGUMENT for a NULL rule, log, row or state. Functions without a status then
 * return false or NULL. For a NULL rule, ht_keep_best_count returns 0 and ht_keep_best_path NULL,
 * without an error. */
#ifndef HT_CALLBACKS_H
#define HT_CALLBACKS_H

#include "ht/communication.h"
#include "ht/value.h"

HT_BEGIN_DECLS

typedef struct ht_early_stopping ht_early_stopping;

typedef struct ht_early_stopping_options {
    size_t size;      /* of this struct; set by the default function */
    bool maximize;    /* false: a lower metric is better */
    int64_t patience; /* 10: epochs without improvement that are accepted; at least 0 */
    double min_delta; /* 0: an improvement is larger than this; at least 0 */
} ht_early_stopping_options;

/* Returns the default options of ht_early_stopping_new, given at each field. Not collective. */
HT_API ht_early_stopping_options ht_early_stopping_options_default(void);

/* Makes a rule that stops a training whose metric no longer improves.
 *
 * options: NULL takes the defaults. Ranges are given at each field.
 * Not collective.
 * Result: owned.
 * Errors: HT_ERR_ARGUMENT for a value out of range. */
HT_API ht_early_stopping *ht_early_stopping_new(const ht_early_stopping_options *options);

/* Takes the metric of an epoch; returns true if the training should stop.
 *
 * It should stop when more than `patience` epochs have passed since the best one, one epoch later
 * than in ignite.
 *
 * stopping: changed.
 * metric: the first one that is not NaN is the best so far. NaN is not an improvement.
 * Not collective. */
HT_API bool ht_early_stopping_step(ht_early_stopping *stopping, double metric);

/* Returns the state of `stopping` as a map, scoped: "best", its best metric, and "waited", the
 * number of epochs since then. Not collective. */
HT_API ht_value *ht_early_stopping_state_dict(const ht_early_stopping *stopping);

/* Loads a state of ht_early_stopping_state_dict.
 *
 * stopping: unchanged if the state does not fit.
 * state: not retained.
 * Not collective.
 * Errors: HT_ERR_FORMAT if the state does not fit. */
HT_API ht_status ht_early_stopping_load_state_dict(ht_early_stopping *stopping,
                                                   const ht_value *state);

typedef struct ht_keep_best ht_keep_best;

/* A function that saves a model to `path`, and returns when the file is complete.
 *
 * It can call ht_module_save_state, for instance. ht_keep_best_step calls it on all ranks.
 *
 * user: that of ht_keep_best_new. */
typedef ht_status ht_save_fn(const char *path, void *user);

/* Makes a rule that keeps the best models by a metric, in files "PREFIX-EPOCH.h5".
 *
 * prefix: path and start of the file names; copied. Its folder must exist.
 * keep: number of models, at least 1.
 * maximize: true if a higher metric is better.
 * save: writes a model.
 * user: passed to `save`; not owned.
 * comm: all ranks that save; retained.
 * Not collective.
 * Result: owned.
 * Errors: HT_ERR_ARGUMENT for a keep below 1, or if prefix, save or comm is NULL. */
HT_API ht_keep_best *ht_keep_best_new(const char *prefix, int keep, bool maximize, ht_save_fn *save,
                                      void *user, ht_comm *comm);

/* Saves the model if its metric is among the `keep` best, then removes the file that no longer is.
 *
 * A file is removed only after its successor is complete. If an epoch is run again, the better of
 * its two runs is kept.
 *
 * best: changed; unchanged if `save` fails.
 * metric: of the epoch, the same on all ranks. A model whose metric is NaN is not saved. If metrics
 * are equal, the earlier epoch is the better one.
 * epoch: the same on all ranks; names the file.
 * Collective over the communicator of `best`, agrees, also if `save` fails on one rank.
 * Errors: HT_ERR_ARGUMENT for metrics or epochs that differ between ranks; HT_ERR_IO if a file
 * cannot be removed; those of `save`. */
HT_API ht_status ht_keep_best_step(ht_keep_best *best, double metric, int64_t epoch);

/* Returns the number of kept models of `best`. Not collective. */
HT_API int ht_keep_best_count(const ht_keep_best *best);

/* Returns the path of kept model `index` of `best`, best first. Not collective.
 *
 * Result: borrowed until the next change of `best`; NULL for an index out of range. */
HT_API const char *ht_keep_best_path(const ht_keep_best *best, int index);

/* Returns the kept models of `best` as a list of maps, scoped, best first: "metric" and "epoch".
 * Not collective. */
HT_API ht_value *ht_keep_best_state_dict(const ht_keep_best *best);

/* Loads a state of ht_keep_best_state_dict.
 *
 * The paths are made from the prefix of `best` and the epochs. Files are neither checked nor
 * removed.
 *
 * best: unchanged if the state does not fit.
 * state: not retained.
 * Not collective.
 * Errors: HT_ERR_FORMAT if the state does not fit, or has more than `keep` models. */
HT_API ht_status ht_keep_best_load_state_dict(ht_keep_best *best, const ht_value *state);

typedef struct ht_run_log ht_run_log;

typedef struct ht_run_log_options {
    size_t size;       /* of this struct; set by the default function */
    const char *csv;   /* NULL; or the path of a CSV file; copied */
    const char *jsonl; /* NULL; or that of a file with one JSON object a line */
    const char *svg;   /* NULL; or that of a picture with curves, drawn again with each row. Columns
                          with the same last word ("train_loss", "test_loss") share a panel */
    bool append; /* false: files start empty; true: a run resumes. Its first row has the columns of
                    the CSV file; ht_run_log_add returns HT_ERR_FORMAT otherwise. From the position
                    of that row on, the rows of the interrupted run are removed. Earlier rows are
                    drawn, too, if there is a CSV file to read them from */
} ht_run_log_options;

/* Returns the default options of ht_run_log_new: no files, append false. Not collective. */
HT_API ht_run_log_options ht_run_log_options_default(void);

/* Opens the record of a run; rank 0 writes its files.
 *
 * options: not NULL; the paths of rank 0 count. Without a path, rows are only checked.
 * comm: all ranks that add rows; retained.
 * Collective over `comm`, agrees.
 * Result: owned.
 * Errors: HT_ERR_ARGUMENT if options or comm is NULL. HT_ERR_IO if the CSV or JSON file cannot be
 * opened, or if `append` is set and it is not an ordinary file. */
HT_API ht_run_log *ht_run_log_new(const ht_run_log_options *options, ht_comm *comm);

/* Writes a row to the files of `log`. A row that was written survives a crash of the program.
 *
 * log: the keys of the first row name its columns. Later rows can omit columns, but cannot add any;
 *   an omitted value is empty in the CSV file and null in the JSON file.
 * row: a map of numbers or one-element tensors, not complex; no key has a line end. The first
 *   column (such as "epoch") is the position on the axis of the curves. The values of rank 0 are
 *   written.
 * Collective over the communicator of `log`, agrees.
 * Errors: HT_ERR_ARGUMENT for an empty map, another kind of row or entry, or a new column.
 * HT_ERR_IO if a file cannot be written. HT_ERR_FORMAT if the columns differ from those of the CSV
 * file that the run resumes (append); the row then does not count. */
HT_API ht_status ht_run_log_add(ht_run_log *log, const ht_value *row);

HT_END_DECLS
#endif
