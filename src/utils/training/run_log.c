/* SPDX-License-Identifier: MIT
 *
 * The record of a run: takes rows, and lets rank 0 write them at once. */
#include "core/tensor/tensor.h"
#include "core/io/files/file.h"
#include "core/base/number.h"
#include "utils/training/run_log.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ht/train_step.h"

static const char new_name[] = "ht_run_log_new", add_name[] = "ht_run_log_add";

static void destroy(void *object)
{
    ht_run_log *log = object;

    if (log->csv != NULL)
        fclose(log->csv);
    if (log->jsonl != NULL)
        fclose(log->jsonl);
    for (int i = 0; i < log->columns; i++)
        ht__free(log->names[i]);
    ht__free(log->names);
    ht__free(log->values);
    ht__free(log->csv_path);
    ht__free(log->jsonl_path);
    ht__free(log->svg);
    ht_release(log->comm);
    ht__object_fini(log);
    ht__free(log);
}

static ht_kind kind = {.name = "run log", .destroy = destroy};

ht_run_log_options ht_run_log_options_default(void)
{
    return (ht_run_log_options){.size = sizeof(ht_run_log_options)};
}

/* Also reads existing rows when a run resumes. A FIFO without a reader would be waited for. */
static FILE *open_plain(const char *path, bool append)
{
    int flags = append ? O_RDWR | O_APPEND : O_WRONLY | O_TRUNC;
    int file = open(path, flags | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);

    if (file < 0)
        return NULL;
    fcntl(file, F_SETFL, append ? O_APPEND : 0);
    return fdopen(file, append ? "a+" : "w");
}

static ht_status open_one(const char *path, bool append, FILE **file)
{
    struct stat info;

    if (path == NULL)
        return HT_SUCCESS;
    if (append && stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return ht__error_set(HT_ERR_IO, "%s: cannot append to %s: it is not an ordinary file",
                             new_name, path);
    *file = open_plain(path, append);
    if (*file != NULL)
        return HT_SUCCESS;
    return ht__error_set(HT_ERR_IO, "%s: cannot write %s: %s", new_name, path, strerror(errno));
}

static char *copy_of(const char *path)
{
    return path != NULL ? ht__strdup(path) : NULL;
}

static ht_status open_all(ht_run_log *log, const ht_run_log_options *o)
{
    ht_status status = open_one(o->csv, o->append, &log->csv);

    if (status == HT_SUCCESS)
        status = open_one(o->jsonl, o->append, &log->jsonl);
    log->csv_path = copy_of(o->csv);
    log->jsonl_path = copy_of(o->jsonl);
    log->svg = copy_of(o->svg);
    log->goes_on = o->append;
    return status;
}

static ht_status check_options(const ht_run_log_options *options)
{
    if (HT_IS_NULL(options, new_name, "options"))
        return ht_error_get(NULL);
    return HT_CHECK_OPTIONS(NULL, new_name, options, ht_run_log_options);
}

ht_run_log *ht_run_log_new(const ht_run_log_options *options, ht_comm *comm)
{
    ht_run_log *log;
    ht_status status;
    bool held;

    if (HT_IS_NULL(comm, new_name, "comm"))
        return NULL;
    log = ht__alloc(sizeof *log);
    ht__object_init(log, &kind);
    log->comm = ht_retain(comm);
    held = ht__agree_begin();
    status = check_options(options);
    if (status == HT_SUCCESS && comm->rank == 0)
        status = open_all(log, options);
    if (ht__agree_end(new_name, comm, held, status) == HT_SUCCESS)
        return log;
    ht_release(log);
    return NULL;
}

static void take_columns(ht_run_log *log, const ht_value *row)
{
    log->columns = ht_value_count(row);
    log->names = ht__alloc((size_t)log->columns * sizeof *log->names);
    for (int i = 0; i < log->columns; i++)
        log->names[i] = ht__strdup(ht_value_key(row, i));
}

static int find_column(const ht_run_log *log, const char *name)
{
    for (int i = 0; i < log->columns; i++) {
        if (strcmp(log->names[i], name) == 0)
            return i;
    }
    return -1;
}

static bool is_number(const ht_value *entry)
{
    ht_tensor *x = ht_value_as_tensor(entry);

    return ht_value_get_kind(entry) == HT_VALUE_NUMBER ||
           (x != NULL && ht_tensor_size(x) == 1 && !ht_dtype_is_complex(x->body->dtype));
}

/* The arguments of one rank. */
static ht_status check_row(const ht_run_log *log, const ht_value *row)
{
    if (HT_IS_NULL(row, add_name, "row"))
        return ht_error_get(NULL);
    if (ht_value_get_kind(row) != HT_VALUE_MAP || ht_value_count(row) == 0)
        return HT_FAIL(log->comm, HT_ERR_ARGUMENT,
                       "%s: row is empty or of another kind, expected a map with entries",
                       add_name);
    for (int i = 0; i < ht_value_count(row); i++) {
        const char *name = ht_value_key(row, i);

        if (log->names != NULL && find_column(log, name) < 0)
            return HT_FAIL(log->comm, HT_ERR_ARGUMENT,
                           "%s: \"%s\" is not a column: the first row had none of this name",
                           add_name, name);
        if (strpbrk(name, "\r\n") != NULL)
            return HT_FAIL(log->comm, HT_ERR_ARGUMENT,
                           "%s: \"%s\" contains a newline, expected a name in one line", add_name,
                           name);
        if (!is_number(ht_value_at(row, i)))
            return HT_FAIL(log->comm, HT_ERR_ARGUMENT,
                           "%s: \"%s\" is neither a number nor a tensor of one element", add_name,
                           name);
    }
    return HT_SUCCESS;
}

static void keep_row(ht_run_log *log, const ht_value *row)
{
    double *values;

    if (log->names == NULL)
        take_columns(log, row);
    values = ht__run_log_new_row(log);
    for (int i = 0; i < log->columns; i++)
        values[i] = ht_log_number(row, log->names[i]);
}

static ht_status cannot_write(const char *name, int error)
{
    return ht__error_set(HT_ERR_IO, "%s: cannot write %s: %s", add_name, name, strerror(error));
}

static ht_status draw_part(const ht_run_log *log, const char *part)
{
    FILE *file = fopen(part, "w");
    int error = 0;

    if (file == NULL || ht__run_log_draw(log, file) != 0)
        error = errno;
    if (file != NULL && fclose(file) != 0 && error == 0)
        error = errno;
    return error == 0 ? HT_SUCCESS : cannot_write(log->svg, error);
}

static ht_status draw(const ht_run_log *log)
{
    ht_whole file;
    char suffix[32];
    ht_status status;

    snprintf(suffix, sizeof suffix, ".part-%ld", (long)getpid());
    status = ht__whole_begin(&file, add_name, log->svg, suffix);
    return status == HT_SUCCESS ? ht__whole_end(&file, draw_part(log, file.part)) : status;
}

/* The first row of a resumed run finds the files of the run before. */
static ht_status write_plain(ht_run_log *log)
{
    ht_status status = log->goes_on ? ht__run_log_go_on(log, add_name) : HT_SUCCESS;

    if (status != HT_SUCCESS)
        return status;
    log->goes_on = false;
    if (log->csv != NULL && ht__run_log_put_csv(log, log->rows - 1) != 0)
        return cannot_write(log->csv_path, errno);
    if (log->jsonl != NULL && ht__run_log_put_jsonl(log, log->rows - 1) != 0)
        return cannot_write(log->jsonl_path, errno);
    return log->svg != NULL ? draw(log) : HT_SUCCESS;
}

static ht_status write_row(ht_run_log *log)
{
    locale_t before = ht__plain_begin();
    ht_status status = write_plain(log);

    ht__plain_end(before);
    return status;
}

/* As if the row had never come. */
static void forget_row(ht_run_log *log)
{
    log->rows--;
    for (int i = 0; i < log->columns && log->rows == 0; i++)
        ht__free(log->names[i]);
    if (log->rows > 0)
        return;
    ht__free(log->names);
    log->names = NULL;
    ht__free(log->values);
    log->values = NULL;
    log->columns = log->capacity = 0;
}

ht_status ht_run_log_add(ht_run_log *log, const ht_value *row)
{
    ht_status status;
    bool held;

    if (HT_IS_NULL(log, add_name, "log"))
        return ht_error_get(NULL);
    held = ht__agree_begin();
    status = ht__agree_end(add_name, log->comm, held, check_row(log, row));
    if (status != HT_SUCCESS)
        return status;
    keep_row(log, row);
    status = ht__agree(add_name, log->comm, log->comm->rank == 0 ? write_row(log) : HT_SUCCESS);
    if (status == HT_ERR_FORMAT)
        forget_row(log);
    return status;
}
