/* SPDX-License-Identifier: MIT
 *
 * The record of a run: columns and the rows so far, and those who write them. */
#ifndef HT_UTILS_TRAINING_RUN_LOG_H
#define HT_UTILS_TRAINING_RUN_LOG_H

#include <stdio.h>

#include "core/core.h"
#include "ht/callbacks.h"

struct ht_run_log {
    ht_object base;
    ht_comm *comm; /* retained */
    char **names;  /* owned; columns, NULL before the first row */
    int columns;
    double *values; /* owned; rows x columns, NaN where a row has none */
    int rows, capacity;
    FILE *csv, *jsonl; /* rank 0; NULL: not asked for */
    char *svg;         /* owned; rank 0 */
    bool has_header;   /* the CSV file goes on from an earlier run's */
};

/* The shortest decimal that reads back as the same number. */
const char *ht__number_text(char text[32], double number);

/* Each appends row `row`, or draws all, and returns 0, or -1 with errno. */
int ht__run_log_put_csv(ht_run_log *log, int row);
int ht__run_log_put_jsonl(const ht_run_log *log, int row);
int ht__run_log_draw(const ht_run_log *log, FILE *file);

#endif
