/* SPDX-License-Identifier: MIT
 *
 * The loading of a CSV file: this rank's text, and the records in it. */
#ifndef HT_CORE_IO_CSV_CSV_JOB_H
#define HT_CORE_IO_CSV_CSV_JOB_H

#include "core/ops/ops.h"

typedef struct ht_csv_job {
    const char *what, *path;
    int header_lines;
    char separator;
    ht_dtype dtype;
    ht_place place;
    int file;
    int64_t begin, size; /* of the records; of the file */
    char *text;          /* owned; this rank's records, and a '\n' and a '\0' behind them */
    int64_t text_begin, bytes;
    int64_t line; /* of the first of them, from 1 on */
    int64_t rows, first_row;
    int64_t columns, first_line; /* of the file's first record */
} ht_csv_job;

/* csv_text.c. Opens the file, and looks behind its header on rank 0. The status is this rank's. */
ht_status ht__csv_open(ht_csv_job *job);

/* The text becomes the records that begin in this rank's range of bytes. Collective, agrees. */
ht_status ht__csv_read_text(ht_csv_job *job);

/* csv_records.c. Counts the rows of the text, and the columns of the first. */
void ht__csv_count_rows(ht_csv_job *job);

/* The rows as elements of the job's dtype, row-major. The status is this rank's. */
ht_status ht__csv_read_rows(ht_csv_job *job, void *memory);

static inline int64_t ht__csv_count(const char *text, int64_t bytes, char wanted)
{
    int64_t count = 0;

    for (int64_t i = 0; i < bytes; i++)
        count += text[i] == wanted;
    return count;
}

#endif
