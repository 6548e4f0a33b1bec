/* SPDX-License-Identifier: MIT
 *
 * Loading CSV files in equal ranges of bytes. Each rank reads its range and counts the quotes in
 * it: those of the ranks before tell whether a range begins within a quoted field, and so where its
 * first record does (one Allgather of 1 number, one of 2). A rank's records are those that begin in
 * its range; what reaches into the next is read, too. Records and lines are counted (a third
 * Allgather), then the numbers are read into a part of so many rows, and one exchange evens the
 * parts out. Memory: a rank's text and its rows. */
#include "core/io/csv.h"
#include "core/io/parts.h"
#include "core/io/request.h"
#include "core/io/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ht/autograd.h"
#include "ht/devices.h"
#include "ht/io.h"
#include "ht/manipulations.h"

typedef struct csv {
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
} csv;

static ht_status io_error(const csv *job, int error)
{
    return ht__error_set(HT_ERR_IO, "%s: cannot read %s: %s", job->what, job->path,
                         error < 0 ? "it has become shorter" : strerror(error));
}

/* ---- where the records begin --------------------------------------------------------------------
 */
/* Rank 0's work: behind a mark of UTF-8, and the lines of the header. */
static int skip_header(csv *job)
{
    enum { PIECE = 1 << 16 };
    char piece[PIECE];
    int64_t lines = 0, at = 0;
    int error;

    if (job->size >= 3) {
        error = ht__read_at(job->file, piece, 3, 0);
        if (error != 0)
            return error;
        at = memcmp(piece, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    }
    while (lines < job->header_lines && at < job->size) {
        int64_t bytes = job->size - at < PIECE ? job->size - at : PIECE, i = 0;

        error = ht__read_at(job->file, piece, bytes, at);
        if (error != 0)
            return error;
        while (i < bytes && lines < job->header_lines)
            lines += piece[i++] == '\n';
        at += i;
    }
    job->begin = at;
    job->line = lines + 1;
    return 0;
}

static ht_status open_file(csv *job)
{
    ht_status status = ht__file_check(job->what, job->path);
    struct stat info;
    int error;

    if (status != HT_SUCCESS)
        return status;
    job->file = open(job->path, O_RDONLY | O_CLOEXEC);
    if (job->file < 0 || fstat(job->file, &info) != 0)
        return ht__error_set(HT_ERR_IO, "%s: cannot open %s: %s", job->what, job->path,
                             strerror(errno));
    job->size = info.st_size;
    error = job->place.comm->rank == 0 ? skip_header(job) : 0;
    return error == 0 ? HT_SUCCESS : io_error(job, error);
}

/* More of the file behind the text that is there. */
static ht_status read_more(csv *job, int64_t bytes)
{
    char *text = ht__alloc_should_fail() ? NULL
                                         : realloc(job->text, (size_t)(job->bytes + bytes) + 2);
    int error;

    if (text == NULL)
        return ht__error_set(HT_ERR_MEMORY, "%s: %s: no memory for %lld bytes of text", job->what,
                             job->path, (long long)(job->bytes + bytes));
    job->text = text;
    error = ht__read_at(job->file, text + job->bytes, bytes, job->text_begin + job->bytes);
    if (error != 0)
        return io_error(job, error);
    job->bytes += bytes;
    memcpy(text + job->bytes, "\n", 2);
    return HT_SUCCESS;
}

static int64_t count_of(const char *text, int64_t bytes, char wanted)
{
    int64_t count = 0;

    for (int64_t i = 0; i < bytes; i++)
        count += text[i] == wanted;
    return count;
}

/* Behind the first line's end that is not inside of quotes; bytes: there is none. */
static int64_t first_end(const char *text, int64_t bytes, bool quoted)
{
    for (int64_t i = 0; i < bytes; i++) {
        if (text[i] == '"')
            quoted = !quoted;
        else if (text[i] == '\n' && !quoted)
            return i + 1;
    }
    return bytes;
}

/* The text is the range and, if `ahead`, the byte before it; makes it the records that begin in the
 * range. */
static ht_status find_records(csv *job, bool ahead)
{
    ht_comm *comm = job->place.comm;
    int64_t *all = ht__alloc((size_t)comm->size * sizeof *all), quotes, at, end = job->size;
    ht_status status;
    bool quoted = false;

    quotes = count_of(job->text + ahead, job->bytes - ahead, '"');
    status = ht__comm_allgather_i64(comm, &quotes, 1, all, job->what);
    for (int r = 0; r < comm->rank; r++)
        quoted ^= all[r] & 1;
    if (ahead && job->text[0] == '"') /* it was counted by the rank before */
        quoted = !quoted;
    at = ahead ? first_end(job->text, job->bytes, quoted) : 0;
    at = at == job->bytes ? job->size : job->text_begin + at; /* none begins here */
    if (status == HT_SUCCESS)
        status = ht__comm_allgather_i64(comm, &at, 1, all, job->what);
    for (int r = comm->size - 1; r > comm->rank; r--)
        end = all[r] < end ? all[r] : end;
    ht__free(all);
    if (status != HT_SUCCESS)
        return status;

    bool begun = ht__agree_begin();
    int64_t skipped = (at < end ? at : end) - job->text_begin;
    int64_t wanted = at < end ? end - at : 0;

    if (wanted > job->bytes - skipped)
        status = read_more(job, wanted - (job->bytes - skipped));
    if (status == HT_SUCCESS && wanted > 0)
        memmove(job->text, job->text + skipped, (size_t)wanted);
    job->text_begin += skipped;
    job->bytes = wanted;
    if (status == HT_SUCCESS)
        memcpy(job->text + wanted, "\n", 2);
    return ht__agree_end(job->what, comm, begun, status);
}

static ht_status read_text(csv *job)
{
    ht_comm *comm = job->place.comm;
    int64_t front[3] = {job->begin, job->line, job->size}, start, bytes;
    ht_status status = ht__comm_bcast_bytes(comm, front, sizeof front, 0, job->what);
    bool begun, ahead;

    if (status != HT_SUCCESS)
        return status;
    job->begin = front[0];
    job->line = front[1];
    job->size = front[2];
    ht_comm_chunk(comm, job->size - job->begin, comm->rank, &start, &bytes);
    ahead = comm->rank > 0 && start > 0;
    job->text_begin = job->begin + start - ahead;
    begun = ht__agree_begin();
    status = ht__agree_end(job->what, comm, begun, read_more(job, bytes + ahead));
    return status == HT_SUCCESS ? find_records(job, ahead) : status;
}

/* ---- records and fields ---------------------------------------------------------------------- */
static bool is_blank(const csv *job, char c)
{
    return (c == ' ' || c == '\t') && c != job->separator;
}

/* Around a number in quotes there may be lines, too. */
static bool is_space(const csv *job, char c)
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

static bool is_empty(const csv *job, const char *text, const char *end)
{
    if (end > text && end[-1] == '\r')
        end--;
    while (text < end && is_blank(job, *text))
        text++;
    return text == end;
}

/* What a field is. */
typedef struct field {
    const char *text, *end; /* without blanks and quotes */
    const char *next;       /* behind the separator; NULL: it was the last */
    const char *why;        /* what is wrong; NULL: nothing */
} field;

static field take_quoted(const csv *job, const char *text, const char *end)
{
    field found = {.text = text + 1};
    const char *close = text + 1;

    while (close < end && (*close != '"' || (close + 1 < end && close[1] == '"')))
        close += *close == '"' ? 2 : 1;
    if (close >= end)
        return (field){.text = text, .end = end, .why = "a quoted field that does not end"};
    found.end = close++;
    while (close < end && is_blank(job, *close))
        close++;
    if (close < end && *close != job->separator) {
        while (close < end && *close != job->separator)
            close++;
        return (field){.text = text, .end = close, .why = "no number"};
    }
    found.next = close < end ? close + 1 : NULL;
    return found;
}

static field take_field(const csv *job, const char *text, const char *end)
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

static int64_t count_fields(const csv *job, const char *text, const char *end)
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
typedef ht_status record_fn(csv *job, const char *text, const char *end, int64_t line, void *user);

static ht_status each_record(csv *job, record_fn *call, void *user)
{
    const char *text = job->text, *end = text + job->bytes;
    const bool has_quotes = job->bytes > 0 && memchr(text, '"', (size_t)job->bytes) != NULL;
    int64_t line = job->line;
    ht_status status = HT_SUCCESS;

    while (text < end && status == HT_SUCCESS) {
        const char *stop = end_of_record(text, end, has_quotes);

        if (!is_empty(job, text, stop))
            status = call(job, text, stop > text && stop[-1] == '\r' ? stop - 1 : stop, line, user);
        line += has_quotes ? 1 + count_of(text, stop - text, '\n') : 1;
        text = stop + 1;
    }
    return status;
}

static ht_status count_record(csv *job, const char *text, const char *end, int64_t line, void *user)
{
    (void)user;
    if (job->rows++ == 0) {
        job->columns = count_fields(job, text, end);
        job->first_line = line;
    }
    return HT_SUCCESS;
}

static ht_status field_error(const csv *job, const field *found, int64_t line, int64_t column,
                             const char *why)
{
    int length = found->end - found->text > 40 ? 40 : (int)(found->end - found->text);

    return ht__error_set(HT_ERR_FORMAT,
                         "%s: %s: line %lld, column %lld: \"%.*s\"%s is %s, for %s%s", job->what,
                         job->path, (long long)line, (long long)column, length, found->text,
                         found->end - found->text > 40 ? "..." : "", why, ht_dtype_name(job->dtype),
                         line == job->first_line && job->header_lines == 0
                             ? " (header_lines is 0, and this is the first line)"
                             : "");
}

static ht_status count_error(const csv *job, int64_t fields, int64_t line)
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

static ht_status read_record(csv *job, const char *text, const char *end, int64_t line, void *user)
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

/* ---- all together ---------------------------------------------------------------------------- */
/* Rows and lines before this rank's, and the columns of the first record; the bounds of all. */
static ht_bounds *place_rows(csv *job)
{
    enum { ROWS, LINES, COLUMNS, LINE, NUMBERS };
    ht_comm *comm = job->place.comm;
    int64_t *all = ht__alloc((size_t)comm->size * NUMBERS * sizeof *all), before = 0;
    int64_t mine[NUMBERS];
    ht_bounds *bounds;
    ht_status status;

    each_record(job, count_record, NULL);
    mine[ROWS] = job->rows;
    mine[LINES] = count_of(job->text, job->bytes, '\n');
    mine[COLUMNS] = job->columns;
    mine[LINE] = job->first_line - job->line;
    status = ht__comm_allgather_i64(comm, mine, NUMBERS, all, job->what);
    bounds = status == HT_SUCCESS ? ht__bounds_new(comm->size) : NULL;
    job->columns = 0;
    for (int r = 0; r < comm->size && bounds != NULL; r++) {
        const int64_t *its = all + (int64_t)r * NUMBERS;

        bounds->start[r + 1] = bounds->start[r] + its[ROWS];
        if (job->columns == 0 && its[ROWS] > 0) {
            job->columns = its[COLUMNS];
            job->first_line = job->line + before + its[LINE];
        }
        before += its[LINES];
    }
    before = 0;
    for (int r = 0; r < comm->rank; r++)
        before += all[(int64_t)r * NUMBERS + LINES];
    job->line += before;
    ht__free(all);
    return bounds;
}

static ht_tensor *read_rows(csv *job)
{
    ht_comm *comm = job->place.comm;
    ht_bounds *bounds = place_rows(job);

    if (bounds == NULL)
        return NULL;

    int64_t shape[2] = {bounds->start[comm->size], job->columns};
    ht_tensor *x = ht__tensor_new(
        ht__body_new(job->what, comm, ht__device_cpu(), job->dtype, 2, shape, 0, bounds));

    ht_release(bounds);
    if (x == NULL)
        return NULL;

    target to = {.row = ht__body_data(x->body),
                 .step = (size_t)job->columns * ht_dtype_size(job->dtype)};
    ht__plain_locale locale = ht__plain_locale_begin();
    bool begun = ht__agree_begin();
    ht_status status = each_record(job, read_record, &to);

    ht__plain_locale_end(locale);
    free(job->text);
    job->text = NULL;
    if (ht__agree_end(job->what, comm, begun, status) != HT_SUCCESS)
        return NULL;
    return ht_balance(x);
}

static ht_status check_arguments(csv *job)
{
    if (HT_IS_NULL(job->place.device, job->what, "the device") ||
        HT_IS_NULL(job->path, job->what, "the path"))
        return ht_error_get(NULL);
    if (job->dtype == HT_DTYPE_OF_FILE)
        job->dtype = HT_FLOAT64;
    if ((unsigned)job->dtype >= HT_DTYPE_COUNT || ht_dtype_is_complex(job->dtype))
        return ht__error_set(HT_ERR_DTYPE, "%s: %s is no dtype of numbers in a CSV file", job->what,
                             ht_dtype_name(job->dtype));
    if (!ht__csv_separates(job->separator))
        return ht__csv_bad_separator(job->what, job->separator);
    if (job->header_lines < 0)
        return ht__error_set(HT_ERR_ARGUMENT, "%s: there are %d header lines, not 0 or more",
                             job->what, job->header_lines);
    if (job->place.split != HT_NONE && (job->place.split < -2 || job->place.split > 1))
        return ht__error_set(HT_ERR_ARGUMENT, "%s: split is %s, and the table has 2 axes",
                             job->what, ht__int_str(job->place.split));
    return HT_SUCCESS;
}

static ht_tensor *load(csv *job)
{
    ht_comm *comm = job->place.comm;
    ht_tensor *x = NULL;
    bool begun;

    begun = ht__agree_begin();
    if (ht__agree_end(job->what, comm, begun, open_file(job)) == HT_SUCCESS &&
        read_text(job) == HT_SUCCESS)
        x = read_rows(job);
    free(job->text);
    if (job->file >= 0)
        close(job->file);
    x = x != NULL ? ht_resplit(x, job->place.split) : NULL;
    return x != NULL ? ht_to_device(x, job->place.device) : NULL;
}

static ht_tensor *load_csv(csv *job)
{
    ht_comm *comm = job->place.comm;
    ht_status status;
    bool begun, grad;
    ht_tensor *x;

    if (comm == NULL)
        return NULL;
    job->file = -1;
    begun = ht__agree_begin();
    status = check_arguments(job);
    ht__begin(comm,
              (ht_call){.what = job->what, .dtype = job->dtype, .refused = status != HT_SUCCESS});
    if (ht__request_agree(job->what, comm, begun, status, 4,
                          (ht__request[]){{"dtype", (int)job->dtype},
                                          {"split", job->place.split},
                                          {"number of header lines", job->header_lines},
                                          {"separator", job->separator}}) != HT_SUCCESS)
        return NULL;

    ht_scope *scope = ht_scope_open();

    grad = ht_set_grad_enabled(false);
    x = load(job);
    ht_set_grad_enabled(grad);
    return ht_scope_return(scope, x);
}

ht_tensor *ht_load_csv(const char *path, int header_lines, char separator, ht_dtype dtype,
                       int split)
{
    return load_csv(&(csv){.what = "ht_load_csv",
                           .path = path,
                           .header_lines = header_lines,
                           .separator = separator,
                           .dtype = dtype,
                           .place = ht__place_here("ht_load_csv", split)});
}

ht_tensor *ht_load_csv_ext(const char *path, int header_lines, char separator, ht_dtype dtype,
                           int split, ht_device *device, ht_comm *comm)
{
    static const char what[] = "ht_load_csv_ext";

    if (HT_IS_NULL(comm, what, "the communicator"))
        return NULL;
    return load_csv(&(csv){.what = what,
                           .path = path,
                           .header_lines = header_lines,
                           .separator = separator,
                           .dtype = dtype,
                           .place = {.comm = comm, .device = device, .split = split}});
}
