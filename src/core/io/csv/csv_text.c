/* SPDX-License-Identifier: MIT
 *
 * The text of a CSV file in equal ranges of bytes. Each rank reads its range and counts the quotes
 * in it. The counts of the ranks before decide whether a range begins within a quoted field. This
 * gives the beginning of its first record (one Allgather of 1 number, one of 2). A rank's records
 * are those that begin in its range. A record that reaches into the next range is read to its end.
 */
#include "core/io/csv/csv_job.h"
#include "core/io/files/file.h"
#include "core/io/files/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static ht_status io_error(const ht_csv_job *job, int error)
{
    return ht__error_set(HT_ERR_IO, "%s: cannot read %s: %s", job->what, job->path,
                         error < 0 ? "it was shortened during the read" : strerror(error));
}

/* Rank 0's work: behind a mark of UTF-8, and the lines of the header. */
static int skip_header(ht_csv_job *job)
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

ht_status ht__csv_open(ht_csv_job *job)
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
static ht_status read_more(ht_csv_job *job, int64_t bytes)
{
    char *text = ht__alloc_should_fail() ? NULL
                                         : realloc(job->text, (size_t)(job->bytes + bytes) + 2);
    int error;

    if (text == NULL)
        return ht__error_set(HT_ERR_MEMORY, "%s: %s: out of memory: %lld bytes for text", job->what,
                             job->path, (long long)(job->bytes + bytes));
    job->text = text;
    error = ht__read_at(job->file, text + job->bytes, bytes, job->text_begin + job->bytes);
    if (error != 0)
        return io_error(job, error);
    job->bytes += bytes;
    memcpy(text + job->bytes, "\n", 2);
    return HT_SUCCESS;
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
static ht_status find_records(ht_csv_job *job, bool ahead)
{
    ht_comm *comm = job->place.comm;
    int64_t *all = ht__alloc((size_t)comm->size * sizeof *all), quotes, at, end = job->size;
    ht_status status;
    bool quoted = false;

    quotes = ht__csv_count(job->text + ahead, job->bytes - ahead, '"');
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

ht_status ht__csv_read_text(ht_csv_job *job)
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
