/* SPDX-License-Identifier: MIT
 *
 * The record of a run: columns, the rows so far, and their writers. */
#ifndef HT_UTILS_TRAINING_RUN_LOG_H
#define HT_UTILS_TRAINING_RUN_LOG_H

#include <stdio.h>

#include "core/comm/comm.h"
#include "ht/callbacks.h"

struct ht_run_log {
    ht_object base;
    ht_comm *comm; /* retained */
    char **names;  /* owned; columns, NULL before the first row */
    int columns;
    double *values; /* owned; rows x columns, NaN where a row has none */
    int rows, capacity;
    FILE *csv, *jsonl;                 /* rank 0; NULL: not asked for */
    char *csv_path, *jsonl_path, *svg; /* owned; rank 0 */
    bool goes_on;    /* rank 0: the files are an earlier run's, and no row was added yet */
    bool has_header; /* so is that of the CSV file */
};

/* The fewest digits that read back as the same number; whole numbers without an exponent. */
const char *ht__number_text(char text[32], double number);

/* Room for one more row's numbers. */
double *ht__run_log_new_row(ht_run_log *log);

/* The first row after an earlier run's. The columns of the CSV file are compared with it
 * (HT_ERR_FORMAT, recorded). An unfinished line, and the rows from this row's place on, are cut off
 * both files; these rows are written again. Rows that stay in the CSV file come before this one in
 * the picture. run_log_go_on.c */
ht_status ht__run_log_go_on(ht_run_log *log, const char *what);

/* The names in the form of the first line, or of the text before the first number of each; without
   line end. */
void ht__run_log_header(const ht_run_log *log, FILE *file);
void ht__run_log_json_name(FILE *file, const char *name);

/* Each appends row `row`, or draws all, and returns 0, or -1 with errno. */
int ht__run_log_put_csv(ht_run_log *log, int row);
int ht__run_log_put_jsonl(const ht_run_log *log, int row);
int ht__run_log_draw(const ht_run_log *log, FILE *file);

#endif
