/* SPDX-License-Identifier: MIT
 *
 * Resumes a run with the files of the one before it: the same columns, and each row once. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ht/log.h"
#include "utils/training/run_log.h"

/* The new end of the file: after the last complete line whose first number, which `start` precedes,
 * is below `at`; and in *line the first line, owned. */
static off_t find_end(FILE *file, const char *start, bool skips_first, double at, char **first,
                      int64_t *dropped)
{
    size_t room = 0, skip = strlen(start);
    char *line = NULL, *end;
    off_t kept = 0;
    ssize_t length;

    *first = NULL;
    *dropped = 0;
    rewind(file);
    for (int i = 0; (length = getline(&line, &room, file)) > 0; i++) {
        double number = 0;
        bool is_row = (i > 0 || !skips_first) && strncmp(line, start, skip) == 0;

        if (i == 0)
            *first = strndup(line, strcspn(line, "\r\n"));
        if (is_row)
            number = strtod(line + skip, &end);
        if (line[length - 1] != '\n' || (is_row && end != line + skip && number >= at))
            ++*dropped;
        else if (*dropped == 0)
            kept += length;
        else
            ++*dropped;
    }
    free(line);
    return kept;
}

static ht_status cut(FILE *file, off_t end, const char *what)
{
    if (fseeko(file, 0, SEEK_END) == 0 &&
        (ftello(file) == end || (ftruncate(fileno(file), end) == 0 && fseeko(file, end, 0) == 0)))
        return HT_SUCCESS;
    return ht__error_set(HT_ERR_IO, "%s: cannot cut off the lines to write again: %s", what,
                         strerror(errno));
}

static char *header_of(const ht_run_log *log)
{
    char *text = NULL;
    size_t length;
    FILE *memory = open_memstream(&text, &length);

    if (memory == NULL)
        return NULL;
    ht__run_log_header(log, memory);
    fclose(memory);
    return text;
}

/* `whole`: `first` is not cut off. */
static ht_status check_columns(const ht_run_log *log, const char *what, const char *first,
                               bool whole)
{
    char *mine = header_of(log);
    ht_status status = HT_SUCCESS;

    if (mine == NULL || (whole ? strcmp(mine, first) : strncmp(mine, first, strlen(first))) != 0)
        status = ht__error_set(HT_ERR_FORMAT,
                               "%s: the file to resume has the columns %s, the row has %s", what,
                               first, mine != NULL ? mine : "others");
    free(mine);
    return status;
}

static void tell(const char *what, int64_t dropped)
{
    if (dropped > 0)
        ht_log_write0(HT_LOG_INFO,
                      "%s: the run resumes before %lld lines of the file, which are written again",
                      what, (long long)dropped);
}

/* The numbers of a line into the log; an empty field is NaN. */
static void take_line(ht_run_log *log, const char *line)
{
    double *values = ht__run_log_new_row(log);

    for (int i = 0; i < log->columns; i++) {
        char *end;

        values[i] = strtod(line, &end);
        if (end == line)
            values[i] = NAN;
        line = end + strcspn(end, ",\r\n");
        line += *line == ',';
    }
}

/* The rows of the file up to `end` come before the only one that the log has. */
static void take_rows(ht_run_log *log, off_t end)
{
    const size_t bytes = (size_t)log->columns * sizeof *log->values;
    double *mine = ht__alloc(bytes);
    size_t room = 0;
    char *line = NULL;
    ssize_t length;
    off_t at = 0;

    memcpy(mine, log->values, bytes);
    log->rows = 0;
    rewind(log->csv);
    for (int i = 0; at < end && (length = getline(&line, &room, log->csv)) > 0; i++) {
        at += length;
        if (i > 0)
            take_line(log, line);
    }
    memcpy(ht__run_log_new_row(log), mine, bytes);
    free(line);
    ht__free(mine);
}

static ht_status go_on_csv(ht_run_log *log, const char *what, double at)
{
    int64_t dropped;
    char *first;
    off_t end = find_end(log->csv, "", true, at, &first, &dropped);
    ht_status status = HT_SUCCESS;

    if (first != NULL) /* an unfinished one, too: it may be no such file at all */
        status = check_columns(log, what, first, end > 0);
    free(first);
    if (status != HT_SUCCESS)
        return status;
    log->has_header = end > 0;
    tell(what, dropped);
    status = cut(log->csv, end, what);
    if (status == HT_SUCCESS && log->svg != NULL)
        take_rows(log, end);
    return status == HT_SUCCESS ? cut(log->csv, end, what) : status; /* back at its end */
}

static ht_status go_on_jsonl(ht_run_log *log, const char *what, double at)
{
    char *start = NULL, *first;
    size_t length;
    int64_t dropped;
    FILE *memory = open_memstream(&start, &length);
    off_t end;

    if (memory == NULL)
        return ht__error_set(HT_ERR_MEMORY, "%s: out of memory for a name", what);
    fputc('{', memory);
    ht__run_log_json_name(memory, log->names[0]);
    fputs(": ", memory);
    fclose(memory);
    end = find_end(log->jsonl, start, false, at, &first, &dropped);
    free(first);
    free(start);
    return cut(log->jsonl, end, what);
}

ht_status ht__run_log_go_on(ht_run_log *log, const char *what)
{
    double at = log->values[0];
    ht_status status = HT_SUCCESS;

    if (log->csv != NULL)
        status = go_on_csv(log, what, at);
    if (status == HT_SUCCESS && log->jsonl != NULL)
        status = go_on_jsonl(log, what, at);
    return status;
}
