/* SPDX-License-Identifier: MIT
 *
 * Loading CSV files: the text in equal ranges of bytes (csv_text.c). Records and lines are counted
 * (a third Allgather). Then the numbers are read into a part with a row for each record, and one
 * exchange balances the parts. Memory: a rank's text and its rows. */
#include "core/io/csv/csv.h"
#include "core/io/csv/csv_job.h"
#include "core/io/files/request.h"

#include <stdlib.h>
#include <unistd.h>

#include "ht/autograd.h"
#include "ht/devices.h"
#include "ht/io.h"
#include "ht/manipulations.h"

/* Rows and lines before this rank's, and the columns of the first record; the bounds of all. */
static ht_bounds *place_rows(ht_csv_job *job)
{
    enum { ROWS, LINES, COLUMNS, LINE, NUMBERS };
    ht_comm *comm = job->place.comm;
    int64_t *all = ht__alloc((size_t)comm->size * NUMBERS * sizeof *all), before = 0;
    int64_t mine[NUMBERS];
    ht_bounds *bounds;
    ht_status status;

    ht__csv_count_rows(job);
    mine[ROWS] = job->rows;
    mine[LINES] = ht__csv_count(job->text, job->bytes, '\n');
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

static ht_tensor *read_rows(ht_csv_job *job)
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

    bool begun = ht__agree_begin();
    ht_status status = ht__csv_read_rows(job, ht__body_data(x->body));

    free(job->text);
    job->text = NULL;
    if (ht__agree_end(job->what, comm, begun, status) != HT_SUCCESS)
        return NULL;
    return ht_balance(x);
}

static ht_status check_arguments(ht_csv_job *job)
{
    if (HT_IS_NULL(job->place.device, job->what, "device") ||
        HT_IS_NULL(job->path, job->what, "path"))
        return ht_error_get(NULL);
    if (job->dtype == HT_DTYPE_OF_FILE)
        job->dtype = HT_FLOAT64;
    if ((unsigned)job->dtype >= HT_DTYPE_COUNT)
        return ht__error_set(HT_ERR_ARGUMENT, "%s: dtype is %d, expected an ht_dtype", job->what,
                             (int)job->dtype);
    if (ht_dtype_is_complex(job->dtype))
        return ht__error_set(HT_ERR_DTYPE, "%s: dtype is %s, expected one that a CSV file can hold",
                             job->what, ht_dtype_name(job->dtype));
    if (!ht__csv_separates(job->separator))
        return ht__csv_bad_separator(job->what, job->separator);
    if (job->header_lines < 0)
        return ht__error_set(HT_ERR_ARGUMENT, "%s: header_lines is %d, expected at least 0",
                             job->what, job->header_lines);
    if (job->place.split != HT_NONE && (job->place.split < -2 || job->place.split > 1))
        return ht__error_set(HT_ERR_ARGUMENT,
                             "%s: split is %s, expected an axis of a table, which has 2", job->what,
                             ht__int_str(job->place.split));
    return HT_SUCCESS;
}

static ht_tensor *load(ht_csv_job *job)
{
    ht_comm *comm = job->place.comm;
    ht_tensor *x = NULL;
    bool begun;

    begun = ht__agree_begin();
    if (ht__agree_end(job->what, comm, begun, ht__csv_open(job)) == HT_SUCCESS &&
        ht__csv_read_text(job) == HT_SUCCESS)
        x = read_rows(job);
    free(job->text);
    if (job->file >= 0)
        close(job->file);
    x = x != NULL ? ht_resplit(x, job->place.split) : NULL;
    return x != NULL ? ht_to_device(x, job->place.device) : NULL;
}

static ht_tensor *load_csv(ht_csv_job *job)
{
    HT_NAMED(job->what);
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
                          (ht_agreed_argument[]){{"dtype", (int)job->dtype},
                                                 {"split", job->place.split},
                                                 {"header_lines", job->header_lines},
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
    return load_csv(&(ht_csv_job){.what = "ht_load_csv",
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

    if (HT_IS_NULL(comm, what, "comm"))
        return NULL;
    return load_csv(&(ht_csv_job){.what = what,
                                  .path = path,
                                  .header_lines = header_lines,
                                  .separator = separator,
                                  .dtype = dtype,
                                  .place = {.comm = comm, .device = device, .split = split}});
}
