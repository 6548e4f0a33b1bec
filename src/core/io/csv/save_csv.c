/* SPDX-License-Identifier: MIT
 *
 * Saving CSV files. x is split along its rows, by one exchange if it has another split. Each rank
 * makes the text of its own rows, and an Allgather of the lengths gives its place. Memory: the text
 * of a rank's rows. */
#include "core/io/csv/csv.h"
#include "core/io/files/joint.h"
#include "core/io/files/slab.h"
#include "core/ops/ops.h"

#include <stdlib.h>
#include <string.h>

#include "ht/autograd.h"
#include "ht/devices.h"
#include "ht/io.h"
#include "ht/manipulations.h"

static const char what[] = "ht_save_csv";

typedef struct csv_form {
    const char *path, *header; /* NULL: none */
    int decimals;
    char separator;
} csv_form;

typedef struct text {
    char *bytes; /* owned */
    size_t length, room;
} text;

static bool make_room(text *to, size_t bytes)
{
    size_t room = to->room;
    char *grown;

    if (to->length + bytes <= room)
        return true;
    while (to->length + bytes > room)
        room = room < 1 << 16 ? 1 << 16 : room + room / 2;
    grown = ht__alloc_should_fail() ? NULL : realloc(to->bytes, room);
    if (grown == NULL)
        return false;
    to->bytes = grown;
    to->room = room;
    return true;
}

static ht_status no_memory(const csv_form *form, size_t bytes)
{
    return ht__error_set(HT_ERR_MEMORY, "%s: %s: out of memory: more than %lld bytes for text",
                         what, form->path, (long long)bytes);
}

static ht_status write_header(const csv_form *form, text *to)
{
    size_t length = form->header != NULL ? strlen(form->header) : 0;

    if (length == 0)
        return HT_SUCCESS;
    if (!make_room(to, length + 1))
        return no_memory(form, to->length);
    memcpy(to->bytes, form->header, length);
    to->length = length;
    if (form->header[length - 1] != '\n')
        to->bytes[to->length++] = '\n';
    return HT_SUCCESS;
}

static ht_status write_rows(const csv_form *form, ht_dtype dtype, const void *elements,
                            int64_t rows, int64_t columns, text *to)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = 0; k < columns; k++) {
            if (!make_room(to, HT_CSV_FIELD + 1))
                return no_memory(form, to->length);
            to->length += ht__csv_write(to->bytes + to->length, dtype, elements, i * columns + k,
                                        form->decimals);
            to->bytes[to->length++] = k + 1 < columns ? form->separator : '\n';
        }
    }
    return HT_SUCCESS;
}

/* This rank's text. */
static ht_status make_text(const csv_form *form, ht_comm *comm, const ht_body *body, text *to)
{
    const char *data;
    ht_slab slab = ht__slab_share(comm, body, &data);
    int64_t columns = body->ndim == 2 ? slab.count[1] : 1;
    ht_plain_locale locale = ht__plain_locale_begin();
    bool begun = ht__agree_begin();
    ht_status status = comm->rank == 0 ? write_header(form, to) : HT_SUCCESS;

    if (status == HT_SUCCESS)
        status = write_rows(form, body->dtype, data, slab.count[0], columns, to);
    ht__plain_locale_end(locale);
    return ht__agree_end(what, comm, begun, status);
}

static ht_status write_text(ht_joint *file, const text *mine)
{
    ht_comm *comm = file->comm;
    int64_t *all = ht__alloc((size_t)comm->size * sizeof *all), length = (int64_t)mine->length;
    int64_t before = 0, whole = 0;
    ht_status status = ht__comm_allgather_i64(comm, &length, 1, all, what);

    for (int r = 0; r < comm->size; r++) {
        before += r < comm->rank ? all[r] : 0;
        whole += all[r];
    }
    ht__free(all);
    if (status == HT_SUCCESS && whole > 0)
        status = ht__joint_reserve(file, whole);
    return status == HT_SUCCESS ? ht__joint_write(file, mine->bytes, length, before) : status;
}

static ht_status save(ht_tensor *x, const csv_form *form)
{
    ht_comm *comm = x->body->comm;
    text mine = {0};
    ht_joint file;
    ht_status status;

    if (x->body->split == 1)
        x = ht_resplit(x, 0);
    x = ht_contiguous(ht_to_device(x, ht_device_get("cpu")));
    if (x == NULL)
        return ht_error_get(NULL);
    status = make_text(form, comm, x->body, &mine);
    if (status == HT_SUCCESS)
        status = ht__joint_begin(&file, what, form->path, comm);
    if (status == HT_SUCCESS)
        status = ht__joint_end(&file, write_text(&file, &mine));
    free(mine.bytes);
    return status;
}

static ht_status check_arguments(const ht_tensor *x, const csv_form *form)
{
    const ht_body *body = x->body;

    if (HT_IS_NULL(form->path, what, "path"))
        return ht_error_get(NULL);
    if (body->ndim < 1 || body->ndim > 2)
        return ht__error_set(HT_ERR_SHAPE, "%s: x is %s, expected one axis or two", what,
                             ht__shape_str(body->ndim, body->shape));
    if (ht_dtype_is_complex(body->dtype))
        return ht__error_set(HT_ERR_DTYPE, "%s: x is %s, expected a real dtype for a CSV file",
                             what, ht_dtype_name(body->dtype));
    if (form->decimals > 60)
        return ht__error_set(HT_ERR_ARGUMENT, "%s: decimals is %d, expected at most 60", what,
                             form->decimals);
    if (!ht__csv_separates(form->separator))
        return ht__csv_bad_separator(what, form->separator);
    return HT_SUCCESS;
}

ht_status ht_save_csv(ht_tensor *x, const char *path, const char *header, int decimals,
                      char separator)
{
    HT_NAMED(what);
    csv_form form = {.path = path, .header = header, .decimals = decimals, .separator = separator};
    bool begun, grad;
    ht_status status;

    if (HT_IS_NULL(x, what, "x"))
        return ht_error_get(NULL);
    ht_comm *comm = ht_tensor_comm(x);

    begun = ht__agree_begin();
    status = check_arguments(x, &form);
    ht__begin(comm,
              (ht_call){.what = what, .dtype = x->body->dtype, .refused = status != HT_SUCCESS});
    status = ht__agree_end(what, comm, begun, status);
    if (status != HT_SUCCESS)
        return status;

    ht_scope *scope = ht_scope_open();

    grad = ht_set_grad_enabled(false);
    status = save(x, &form);
    ht_set_grad_enabled(grad);
    ht_scope_close(scope);
    return status;
}
