/* SPDX-License-Identifier: MIT
 *
 * Rows as CSV (RFC 4180) and as JSON lines. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "utils/training/run_log.h"

const char *ht__number_text(char text[32], double number)
{
    if (fabs(number) < 1e15 && number == floor(number)) { /* 10, not 1e+01 */
        snprintf(text, 32, "%.0f", number);
        return text;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    return text;
}

/* A name with a comma, a quote or a line end goes into quotes, quotes doubled. */
static void put_csv_name(FILE *file, const char *name)
{
    bool plain = strpbrk(name, ",\"") == NULL;

    if (!plain)
        fputc('"', file);
    for (; *name != '\0'; name++) {
        if (*name == '"')
            fputc('"', file);
        fputc(*name, file);
    }
    if (!plain)
        fputc('"', file);
}

void ht__run_log_header(const ht_run_log *log, FILE *file)
{
    for (int i = 0; i < log->columns; i++) {
        if (i > 0)
            fputc(',', file);
        put_csv_name(file, log->names[i]);
    }
}

int ht__run_log_put_csv(ht_run_log *log, int row)
{
    const double *values = log->values + (size_t)row * (size_t)log->columns;
    char text[32];

    if (!log->has_header) {
        ht__run_log_header(log, log->csv);
        fputc('\n', log->csv);
    }
    log->has_header = true;
    for (int i = 0; i < log->columns; i++)
        fprintf(log->csv, "%s%s", i > 0 ? "," : "",
                isnan(values[i]) ? "" : ht__number_text(text, values[i]));
    fputc('\n', log->csv);
    return fflush(log->csv) != 0 || ferror(log->csv) ? -1 : 0;
}

void ht__run_log_json_name(FILE *file, const char *name)
{
    fputc('"', file);
    for (; *name != '\0'; name++) {
        if (*name == '"' || *name == '\\')
            fprintf(file, "\\%c", *name);
        else if ((unsigned char)*name < 0x20)
            fprintf(file, "\\u%04x", (unsigned)*name);
        else
            fputc(*name, file);
    }
    fputc('"', file);
}

/* JSON has neither NaN nor infinities. */
int ht__run_log_put_jsonl(const ht_run_log *log, int row)
{
    const double *values = log->values + (size_t)row * (size_t)log->columns;
    char text[32];

    for (int i = 0; i < log->columns; i++) {
        fputs(i > 0 ? ", " : "{", log->jsonl);
        ht__run_log_json_name(log->jsonl, log->names[i]);
        fprintf(log->jsonl, ": %s",
                isfinite(values[i]) ? ht__number_text(text, values[i]) : "null");
    }
    fputs("}\n", log->jsonl);
    return fflush(log->jsonl) != 0 || ferror(log->jsonl) ? -1 : 0;
}
