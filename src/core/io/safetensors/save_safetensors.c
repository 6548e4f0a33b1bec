/* SPDX-License-Identifier: MIT
 *
 * Saving safetensors files. Rank 0 writes the header and process-local tensors, and each rank its
 * slab of the others. Tensors with longer elements come first, so that all are aligned. */
#include "core/io/safetensors/json.h"
#include "core/io/safetensors/safetensors.h"

#include <stdlib.h>
#include <string.h>

#include "ht/autograd.h"

/* A call: its tensors in the order of the file, `header` has their entries. */
typedef struct job {
    const char *what, *path;
    ht_comm *comm;
    int count;
    ht_tensor **tensors; /* owned list of tensors that are not */
    const char **names;  /* likewise */
    int texts;
    const ht_safetensors_text *metadata;
    ht_safetensors header;
} job;

static ht_status check_metadata(const job *j)
{
    if (j->texts < 0)
        return ht__error_set(HT_ERR_ARGUMENT, "%s: count is %d, expected at least 0", j->what,
                             j->texts);
    if (j->texts > 0 && j->metadata == NULL)
        return ht__error_set_null(j->what, "metadata");
    for (int i = 0; i < j->texts; i++) {
        const ht_safetensors_text *text = &j->metadata[i];

        if (text->key == NULL || text->value == NULL)
            return ht__error_set(HT_ERR_ARGUMENT, "%s: text %d of metadata is NULL, expected UTF-8",
                                 j->what, i);
        if (!ht__utf8_check(text->key) || !ht__utf8_check(text->value))
            return ht__error_set(HT_ERR_ARGUMENT,
                                 "%s: text %d of metadata is invalid, expected UTF-8", j->what, i);
        for (int k = 0; k < i; k++) {
            if (strcmp(j->metadata[k].key, text->key) == 0)
                return ht__error_set(HT_ERR_ARGUMENT, "%s: the metadata has the key \"%s\" twice",
                                     j->what, text->key);
        }
    }
    return HT_SUCCESS;
}

static ht_status check_tensor(const job *j, const char *name, const ht_tensor *x)
{
    const ht_body *body;

    if (name == NULL)
        return ht__error_set_null(j->what, "dataset");
    if (!ht__utf8_check(name) || strcmp(name, HT_SAFETENSORS_METADATA) == 0)
        return ht__error_set(HT_ERR_ARGUMENT,
                             "%s: tensor name is \"%s\", expected UTF-8 and not "
                             "\"" HT_SAFETENSORS_METADATA "\"",
                             j->what, name);
    if (x == NULL)
        return ht__error_set(HT_ERR_ARGUMENT, "%s: \"%s\" is not a tensor", j->what, name);
    body = x->body;
    if (body->comm->size > 1 && !ht__comm_compatible(body->comm, j->comm))
        return ht__error_set(HT_ERR_ARGUMENT,
                             "%s: \"%s\" is on another communicator, expected that of the call",
                             j->what, name);
    if (ht__safetensors_type_for(body->dtype) == NULL)
        return ht__error_set(HT_ERR_DTYPE, "%s: \"%s\" is %s, which the format lacks", j->what,
                             name, ht_dtype_name(body->dtype));
    return HT_SUCCESS;
}

static ht_status check(const job *j)
{
    ht_status status = check_metadata(j);

    if (status == HT_SUCCESS && j->path == NULL)
        status = ht__error_set_null(j->what, "path");
    for (int i = 0; i < j->count && status == HT_SUCCESS; i++)
        status = check_tensor(j, j->names[i], j->tensors[i]);
    return status;
}

/* Elements of more bytes first, else in the order in which they came. */
static void sort(job *j)
{
    for (int i = 1; i < j->count; i++) {
        ht_tensor *x = j->tensors[i];
        const char *name = j->names[i];
        const size_t bytes = ht_dtype_size(x->body->dtype);
        int k = i;

        for (; k > 0 && ht_dtype_size(j->tensors[k - 1]->body->dtype) < bytes; k--) {
            j->tensors[k] = j->tensors[k - 1];
            j->names[k] = j->names[k - 1];
        }
        j->tensors[k] = x;
        j->names[k] = name;
    }
}

static int64_t describe(job *j)
{
    int64_t at = 0;

    j->header.entries = ht__alloc(((size_t)j->count + 1) * sizeof *j->header.entries);
    j->header.count = j->count;
    for (int i = 0; i < j->count; i++) {
        const ht_body *body = j->tensors[i]->body;
        const ht_safetensors_type *type = ht__safetensors_type_for(body->dtype);
        ht_safetensors_entry *entry = &j->header.entries[i];
        int64_t bytes = type->stored.bytes;

        for (int k = 0; k < body->ndim; k++)
            bytes *= body->shape[k];
        entry->name = ht__strdup(j->names[i]);
        entry->type = (int)(type - ht__safetensors_types);
        entry->ndim = body->ndim;
        memcpy(entry->shape, body->shape, sizeof entry->shape);
        entry->begin = at;
        at += bytes;
        entry->end = at;
    }
    return at;
}

/* Whether all ranks are about to write the same header. Collective, agrees. */
static ht_status compare_headers(const job *j, const char *text, int64_t bytes)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    int64_t ends[2];
    ht_status status;

    for (int64_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    ends[0] = (int64_t)(hash >> 1);
    ends[1] = -ends[0];
    status = ht__comm_allreduce_i64(j->comm, ends, 2, HT_OP_MAX, j->what);
    if (status == HT_SUCCESS && ends[0] != -ends[1])
        status = HT_FAIL(j->comm, HT_ERR_ARGUMENT,
                         "%s: names, shapes, dtypes or metadata differ between the ranks", j->what);
    return status;
}

/* It is on the host meanwhile, complete or in slabs. */
static ht_status write_part(const job *j, ht_joint *file, int i, int64_t start)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht__stored_form(j->tensors[i]);
    ht_status status;

    if (x != NULL) {
        ht__body_await(x->body);
        status = ht__stored_write(file, x->body, start + j->header.entries[i].begin);
    } else {
        status = ht_error_get(NULL);
    }
    ht_scope_close(scope);
    return status;
}

/* A process-local tensor may fail on one rank alone. Collective, agrees. */
static ht_status write_tensor(const job *j, ht_joint *file, int i, int64_t start)
{
    bool begun;

    if (j->tensors[i]->body->comm->size > 1)
        return ht__agree(j->what, j->comm, write_part(j, file, i, start));
    begun = ht__agree_begin();
    return ht__agree_end(j->what, j->comm, begun, write_part(j, file, i, start));
}

static ht_status write_file(const job *j, const char *text, int64_t front, int64_t bytes)
{
    ht_joint file;
    ht_status status = ht__joint_begin(&file, j->what, j->path, j->comm);

    if (status != HT_SUCCESS)
        return status;
    status = ht__joint_reserve(&file, front + bytes);
    if (status == HT_SUCCESS && j->comm->rank == 0)
        status = ht__joint_write(&file, text, front, 0);
    status = ht__agree(j->what, j->comm, status);
    for (int i = 0; i < j->count && status == HT_SUCCESS; i++)
        status = write_tensor(j, &file, i, front);
    return ht__joint_end(&file, status);
}

static ht_status save(job *j)
{
    bool begun = ht__agree_begin(), grad;
    ht_status status = check(j);
    int64_t front, bytes;
    char *text;

    ht__begin(j->comm, (ht_call){.what = j->what, .refused = status != HT_SUCCESS});
    status = ht__agree_end(j->what, j->comm, begun, status);
    if (status != HT_SUCCESS)
        return status;
    grad = ht_set_grad_enabled(false);
    sort(j);
    bytes = describe(j);
    text = ht__safetensors_make(&j->header, j->texts, j->metadata, &front);
    status = compare_headers(j, text, front);
    if (status == HT_SUCCESS)
        status = write_file(j, text, front, bytes);
    ht__free(text);
    ht__safetensors_free(&j->header);
    ht_set_grad_enabled(grad);
    return status;
}

ht_status ht_save_safetensors(ht_tensor *x, const char *path, const char *dataset)
{
    HT_NAMED("ht_save_safetensors");
    job j = {
        .what = "ht_save_safetensors", .path = path, .count = 1, .tensors = &x, .names = &dataset};

    if (HT_IS_NULL(x, j.what, "x"))
        return ht_error_get(NULL);
    j.comm = ht_tensor_comm(x);
    return save(&j);
}

ht_status ht__safetensors_save(const char *what, const ht_value *tensors, const char *path,
                               int count, const ht_safetensors_text metadata[], ht_comm *comm)
{
    HT_NAMED(what);
    job j = {.what = what, .path = path, .comm = comm, .texts = count, .metadata = metadata};
    ht_status status;

    if (HT_IS_NULL(comm, what, "comm"))
        return ht_error_get(NULL);

    bool begun = ht__agree_begin();

    if (ht_value_get_kind(tensors) == HT_VALUE_MAP)
        status = HT_SUCCESS;
    else if (tensors == NULL)
        status = ht__error_set_null(what, "tensors");
    else
        status = ht__error_set(HT_ERR_ARGUMENT, "%s: tensors is %s, expected a map", what,
                               ht__value_kind_name(tensors));
    status = ht__agree_end(what, comm, begun, status);
    if (status != HT_SUCCESS)
        return status;
    j.count = ht_value_count(tensors);
    j.tensors = ht__alloc(((size_t)j.count + 1) * sizeof *j.tensors);
    j.names = ht__alloc(((size_t)j.count + 1) * sizeof *j.names);
    for (int i = 0; i < j.count; i++) {
        j.tensors[i] = ht_value_as_tensor(ht_value_at(tensors, i));
        j.names[i] = ht_value_key(tensors, i);
    }
    status = save(&j);
    ht__free(j.tensors);
    ht__free(j.names);
    return status;
}

ht_status ht_safetensors_save(const ht_value *tensors, const char *path, ht_comm *comm)
{
    return ht__safetensors_save("ht_safetensors_save", tensors, path, 0, NULL, comm);
}

ht_status ht_safetensors_save_ext(const ht_value *tensors, const char *path, int count,
                                  const ht_safetensors_text metadata[], ht_comm *comm)
{
    return ht__safetensors_save("ht_safetensors_save_ext", tensors, path, count, metadata, comm);
}
