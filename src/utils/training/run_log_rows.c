/* SPDX-License-Identifier: MIT
 *
 * The rows of the record of a run, in memory. */
#include "core/base/base.h"
#include "utils/training/run_log.h"

double *ht__run_log_new_row(ht_run_log *log)
{
    if (log->rows == log->capacity) {
        log->capacity = log->capacity > 0 ? 2 * log->capacity : 16;
        log->values = ht__realloc(log->values, (size_t)log->capacity * (size_t)log->columns *
                                                   sizeof *log->values);
    }
    return log->values + (size_t)log->rows++ * (size_t)log->columns;
}
