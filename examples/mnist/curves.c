/* SPDX-License-Identifier: MIT
 *
 * A row for each epoch as CSV and as JSON lines, and the curves as SVG. */
#include "curves.h"

#include <stdio.h>

ht_run_log *curves_open(const struct options *options)
{
    ht_run_log_options files = ht_run_log_options_default();
    char csv[4096], jsonl[4096], svg[4096];

    if (options->curves == NULL)
        return NULL;
    snprintf(csv, sizeof csv, "%s.csv", options->curves);
    snprintf(jsonl, sizeof jsonl, "%s.jsonl", options->curves);
    snprintf(svg, sizeof svg, "%s.svg", options->curves);
    files.csv = csv;
    files.jsonl = jsonl;
    files.svg = svg;
    files.append = options->resume != NULL;
    return ht_run_log_new(&files, HT_COMM_WORLD);
}

void curves_epoch(ht_run_log *log, int64_t epoch, const struct epoch_result *result)
{
    ht_scope *scope = ht_scope_open();
    ht_value *row = ht_value_map();

    ht_value_set(row, "epoch", ht_value_number((double)epoch));
    ht_value_set(row, "train_loss", ht_value_number(result->train_loss));
    ht_value_set(row, "test_loss", ht_value_number(result->test_loss));
    ht_value_set(row, "accuracy", ht_value_number(result->accuracy));
    ht_value_set(row, "samples_per_s", ht_value_number((double)result->rows / result->seconds));
    ht_run_log_add(log, row);
    ht_scope_close(scope);
}
