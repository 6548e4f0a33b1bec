/* SPDX-License-Identifier: MIT
 *
 * Records and fields of a CSV file's text. */
#include "core/io/csv/csv.h"
#include "core/io/csv/csv_job.h"

#include <stdio.h>
#include <string.h>

static bool is_blank(const ht_csv_job *job, char c)
{
    return (c == ' ' || c == '\t') && c != job->separator;
}

/* Around a number in quotes there may be lines, too. */
static bool is_space(const ht_csv_job *job, char c)
{
    return is_blank(job, c) || c == '\n' || c == '\r';
}

/* The end of the record that begins at text; its '\n'. The text ends in one. */
static const char *end_of_record(const char *text, const char *end, bool has_quotes)
{
    bool quoted = false;

    if (!has_quotes)
        return memchr(text, '\n', (size_t)(end - text) + 1);
    for (; text < end; text++) {
        if (*text == '"')
            quoted = !quoted;
        else if (*text == '\n' && !quoted)
            break;
    }
    return text;
}

static bool is_empty(const ht_csv_job *job, const char *text, const char *end)
{
    if (end > text && end[-1] == '\r')
        end--;
    while (text < end && is_blank(job, *text))
        text++;
    return text == end;
}

/* The kind of a field. */
typedef struct field {
    const char *text, *end; /* without blanks and quotes */
    const char *next;       /* behind the separator; NULL: it was the last */
    const char *why;        /* the fault; NULL: none */
} field;

static field take_quoted(const ht_csv_job *job, const char *text, const char *end)
{
    field found = {.text = text + 1};
    const char *close = text + 1;

    while (close < end && (*close != '"' || (close + 1 < end && close[1] == '"')))
        close += *close == '"' ? 2 : 1;
    if (close >= end)
        return (field){.text = text, .end = end, .why = "a quoted field that is not closed"};
    found.end = close++;
    while (close < end && is_blank(job, *close))
        close++;
    if (close < end && *close != job->separator) {
        while (close < end && *close != job->separator)
            close++;
        return (field){.text = text, .end = close, .why = "not a number"};
    }
    found.next = close < end ? close + 1 : NULL;
    return found;
}

static field take_field(const ht_csv_job *job, const char *text, const char *end)
{
    field found;

    while (text < end && is_blank(job, *text))
        text++;
    if (text < end && *text == '"') {
        found = take_quoted(job, text, end);
    } else {
        const char *stop = text;

        while (stop < end && *stop != job->separator)
            stop++;
        found = (field){.text = text, .end = stop, .next = stop < end ? stop + 1 : NULL};
    }
    while (found.text < found.end && is_space(job, *found.text))
        found.text++;
    while (found.text < found.end && is_space(job, found.end[-1]))
        found.end--;
    return found;
}

static int64_t count_fields(const ht_csv_job *job, const char *text, const char *end)
{
    int64_t count = 0;

    do {
        field found = take_field(job, text, end);

        count++;
        text = found.next;
    } while (text != NULL);
    return count;
}

/* Calls for each record that is not empty, without its line's end. */
typedef ht_status record_fn(ht_csv_job *job, const char *text, const char *end, int64_t line,
                            void *user);

static ht_status each_record(ht_csv_job *job, record_fn *call, void *user)
{
    const char *text = job->text, *end = text + job->bytes;
    const bool has_quotes = job->bytes > 0 && memchr(text, '"', (size_t)job->bytes) != NULL;
    int64_t line = job->line;
    ht_status status = HT_SUCCESS;

    while (text < end && status == HT_SUCCESS) {
        const char *stop = end_of_record(text, end, has_quotes);

        if (!is_empty(job, text, stop))
            status = call(job, text, stop > text && stop[-1] == '\r' ? stop - 1 : stop, line, user);
        line += has_quotes ? 1 + ht__csv_count(text, stop - text, '\n') : 1;
        text = stop + 1;
    }
    return status;
}

static ht_status count_record(ht_csv_job *job, const char *text, const char *end, int64_t line,
                              void *user)
{
    (void)user;
    if (job->rows++ == 0) {
        job->columns = count_fields(job, text, end);
        job->first_line = line;
    }
    return HT_SUCCESS;
}

enum { SHOWN = 40 };

/* The field's first characters; control characters, which a terminal would obey, as "\x0d". */
static void show(const field *found, char text[4 * SHOWN + 1])
{
    text[0] = '\0';
    for (int i = 0; i < SHOWN && found->text + i < found->end; i++) {
        const unsigned char c = (unsigned char)found->text[i];

        text += snprintf(text, 5, c < ' ' || c == 127 ? "\\x%02x" : "%c", c);
    }
}

static ht_status field_error(const ht_csv_job *job, const field *found, int64_t line,
                             int64_t column, const char *why)
{
    char text[4 * SHOWN + 1];

    show(found, text);
    return ht__error_set(HT_ERR_FORMAT, "%s: %s: line %lld, column %lld: \"%s\"%s is %s, for %s%s",
                         job->what, job->path, (long long)line, (long long)column, text,
                         found->end - found->text > SHOWN ? "..." : "", why,
                         ht_dtype_name(job->dtype),
                         line == job->first_line && job->header_lines == 0
                             ? " (header_lines is 0, and this is the first line)"
                             : "");
}

static ht_status count_error(const ht_csv_job *job, int64_t fields, int64_t line)
{
    return ht__error_set(HT_ERR_FORMAT,
                         "%s: %s: line %lld has %lld fields, and line %lld, the first, has %lld",
                         job->what, job->path, (long long)line, (long long)fields,
                         (long long)job->first_line, (long long)job->columns);
}

/* One row of this rank's part. */
typedef struct target {
    char *row;
    size_t step;
} target;

static ht_status read_record(ht_csv_job *job, const char *text, const char *end, int64_t line,
                             void *user)
{
    target *to = user;
    const char *from = text;
    int64_t column = 0;

    do {
        field found = take_field(job, from, end);
        const char *why = found.why;

        if (column < job->columns && why == NULL)
            why = ht__csv_read(found.text, found.end, job->dtype, to->row, column);
        column++;
        if (why != NULL)
            return field_error(job, &found, line, column, why);
        from = found.next;
    } while (from != NULL);
    to->row += to->step;
    return column == job->columns ? HT_SUCCESS : count_error(job, column, line);
}

void ht__csv_count_rows(ht_csv_job *job)
{
    each_record(job, count_record, NULL);
}

ht_status ht__csv_read_rows(ht_csv_job *job, void *memory)
{
    target to = {.row = memory, .step = (size_t)job->columns * ht_dtype_size(job->dtype)};
    ht_plain_locale locale = ht__plain_locale_begin();
    ht_status status = each_record(job, read_record, &to);

    ht__plain_locale_end(locale);
    return status;
}
