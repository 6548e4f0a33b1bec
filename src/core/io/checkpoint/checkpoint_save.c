/* SPDX-License-Identifier: MIT
 *
 * Saving a checkpoint. All ranks make the same groups, attributes and data sets in one file through
 * MPI-IO. The space of the data is reserved, and each rank writes its share. The file gets its name
 * when it is on the disk. Files have HDF5's newest format, whose metadata have checksums of their
 * own. */
#include "core/io/checkpoint/checkpoint.h"
#include "core/io/hdf5/slab_write.h"
#include "ht/autograd.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

ht_checkpoint_options ht_checkpoint_options_default(void)
{
    return (ht_checkpoint_options){.size = sizeof(ht_checkpoint_options), .keep = 2};
}

static ht_status fail(const ht_target *target, const char *name)
{
    return ht__error_set(HT_ERR_IO, "%s: cannot write %s%s%s: %s", target->what, target->path,
                         name[0] != '\0' ? ": " : "", name, ht__hdf5_error());
}

static bool set_attribute(hid_t object, const char *name, hid_t type, const void *value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool good = attribute >= 0 && H5Awrite(attribute, type, value) >= 0;

    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    return good;
}

static bool set_integer(hid_t object, const char *name, int64_t value)
{
    return set_attribute(object, name, H5T_NATIVE_INT64, &value);
}

static bool set_text(hid_t object, const char *name, const char *text)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    bool good;

    H5Tset_size(type, strlen(text) + 1);
    good = set_attribute(object, name, type, text);
    H5Tclose(type);
    return good;
}

static bool make_group(hid_t file, const ht_entry *entry)
{
    bool is_root = entry->path[0] == '\0', good;
    hid_t group = is_root ? H5Gopen2(file, "/", H5P_DEFAULT)
                          : H5Gcreate2(file, entry->path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    good = group >= 0;
    if (good && is_root)
        good = set_integer(group, HT_CHECKPOINT_VERSION, HT_CHECKPOINT_FORMAT);
    if (good && entry->kind == HT_VALUE_LIST)
        good = set_integer(group, HT_CHECKPOINT_LIST, 1);
    if (group >= 0)
        H5Gclose(group);
    return good;
}

static bool make_number(hid_t file, const ht_entry *entry)
{
    size_t length = strlen(entry->path) - strlen(entry->name);
    char *parent = ht__strdup(entry->path);
    hid_t group;
    bool good;

    parent[length > 0 ? length - 1 : 0] = '\0';
    group = H5Gopen2(file, length > 0 ? parent : "/", H5P_DEFAULT);
    good = group >= 0 && set_attribute(group, entry->name, H5T_NATIVE_DOUBLE, &entry->number);
    if (group >= 0)
        H5Gclose(group);
    ht__free(parent);
    return good;
}

static bool describe(hid_t set, const ht_entry *entry)
{
    return set_integer(set, HT_CHECKPOINT_CRC, (int64_t)entry->crc) &&
           set_text(set, HT_CHECKPOINT_DTYPE, ht_dtype_name(entry->dtype)) &&
           set_integer(set, HT_CHECKPOINT_SPLIT, entry->split) &&
           set_integer(set, HT_CHECKPOINT_LOCAL, entry->local);
}

static bool make_dataset(hid_t file, const ht_entry *entry)
{
    const ht_body *body = entry->x->body;
    hid_t type = ht__hdf5_type(body->dtype), space, set;
    hsize_t shape[HT_MAX_NDIM];
    bool good;

    for (int i = 0; i < body->ndim; i++)
        shape[i] = (hsize_t)body->shape[i];
    space = body->ndim > 0 ? H5Screate_simple(body->ndim, shape, NULL) : H5Screate(H5S_SCALAR);
    set = H5Dcreate2(file, entry->path, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    good = set >= 0 && describe(set, entry);
    if (set >= 0)
        H5Dclose(set);
    H5Sclose(space);
    H5Tclose(type);
    return good;
}

static bool make_one(hid_t file, const ht_entry *entry)
{
    if (entry->kind == HT_VALUE_TENSOR)
        return make_dataset(file, entry);
    if (entry->kind == HT_VALUE_NUMBER)
        return make_number(file, entry);
    return make_group(file, entry);
}

/* Groups and data sets, without elements, and what it all takes in the file. */
static ht_status make_all(const ht_target *target, ht_parallel *file, const ht_entries *entries,
                          hsize_t *bytes)
{
    ht_status status = HT_SUCCESS;
    hid_t id;

    for (int i = 0; i < entries->count && status == HT_SUCCESS; i++) {
        if (!make_one(ht__parallel_enter(file), &entries->items[i]))
            status = fail(target, entries->items[i].path);
        ht__parallel_leave(file);
    }
    id = ht__parallel_enter(file);
    if (status == HT_SUCCESS && H5Fflush(id, H5F_SCOPE_LOCAL) < 0)
        status = fail(target, "");
    H5Fget_filesize(id, bytes);
    ht__parallel_leave(file);
    return ht__agree(target->what, target->comm, status);
}

/* Every rank writes an equal part of the values that all ranks share; of what they have not, rank 0
 * everything. */
static ht_status write_one(const ht_target *target, ht_parallel *file, const ht_entry *entry)
{
    ht_comm *comm = target->comm;
    const ht_body *body = entry->x->body;
    hid_t set = H5Dopen2(ht__parallel_enter(file), entry->path, H5P_DEFAULT);
    const char *data = ht__body_data(body), *cause;
    ht_slab slab = entry->alike || body->split != HT_NONE ? ht__slab_share(comm, body, &data)
                                                          : ht__slab_of(body);
    ht_status status;

    ht__parallel_leave(file);
    if (!entry->alike && body->split == HT_NONE && comm->rank != 0) {
        slab.ndim = 1;
        slab.count[0] = 0;
    }
    status = ht__slab_write(file, set, body->dtype, &slab, data);
    if (status != HT_SUCCESS) {
        ht_error_get(&cause);
        ht__error_set(HT_ERR_IO, "%s: cannot write %s: %s: %s", target->what, target->path,
                      entry->path, cause);
    }
    ht__parallel_enter(file);
    if (set >= 0)
        H5Dclose(set);
    ht__parallel_leave(file);
    return status;
}

static ht_status write_all(const ht_target *target, ht_parallel *file, const ht_entries *entries)
{
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < entries->count; i++) {
        ht_status one = HT_SUCCESS;

        if (entries->items[i].x != NULL)
            one = write_one(target, file, &entries->items[i]);
        if (status == HT_SUCCESS)
            status = one;
    }
    return ht__agree(target->what, target->comm, status);
}

/* More than HDF5 will need. */
static int64_t bytes_of(const ht_entries *entries)
{
    int64_t bytes = 1 << 16;

    for (int i = 0; i < entries->count; i++) {
        bytes += 2048 + 2 * (int64_t)strlen(entries->items[i].path);
        if (entries->items[i].x != NULL)
            bytes += ht_tensor_size(entries->items[i].x) *
                     (int64_t)ht_dtype_size(entries->items[i].x->body->dtype);
    }
    return bytes;
}

/* Rank 0's work. A full disk is detected before HDF5 has the file open. HDF5 cannot close a file
 * that does not fit, and if only some ranks can write, the ranks wait for each other. `seal`: what
 * it begins with. *mine: there is a file that this job has made. */
static ht_status make_part(const ht_target *target, const char *part, const ht_entries *entries,
                           ht_seal *seal, bool *mine)
{
    ht_status status;
    size_t size;
    char *head;

    ht__hdf5_begin();
    head = ht__hdf5_empty(HT_SEAL_BYTES, true, &size);
    status = head == NULL ? fail(target, "") : HT_SUCCESS;
    ht__hdf5_end();
    if (status != HT_SUCCESS)
        return status;
    ht__seal_begin(seal);
    memcpy(head, seal, sizeof *seal);
    status = ht__place_create(target, part, head, size, bytes_of(entries), mine);
    ht__free(head);
    return status;
}

static ht_status fill(const ht_target *target, ht_parallel *file, const char *part,
                      const ht_entries *entries)
{
    ht_comm *comm = target->comm;
    hsize_t bytes = 0;
    ht_status status = make_all(target, file, entries, &bytes);

    if (status == HT_SUCCESS)
        status = ht__agree(target->what, comm,
                           comm->rank == 0 ? ht__place_reserve(target, part, (int64_t)bytes)
                                           : HT_SUCCESS);
    return status == HT_SUCCESS ? write_all(target, file, entries) : status;
}

/* Opened, not created: to create a file is to give its space back. */
static ht_status write_part(const ht_target *target, const char *part, const ht_entries *entries)
{
    ht_parallel file = {.what = target->what, .comm = target->comm};
    ht_status status = ht__parallel_open(&file, part, true);
    const char *why;
    bool failed;

    if (status != HT_SUCCESS) {
        ht_error_get(&why);
        ht__error_set(HT_ERR_IO, "%s: cannot write %s: %s", target->what, target->path, why);
    }
    status = ht__agree(target->what, target->comm, status);
    if (status == HT_SUCCESS)
        status = fill(target, &file, part, entries);
    failed = status != HT_SUCCESS;
    if (failed)
        ht__parallel_abandon(&file);
    status = ht__parallel_close(&file, status);
    if (!failed && status != HT_SUCCESS) {
        ht_error_get(&why);
        ht__error_set(HT_ERR_IO, "%s: cannot write %s: %s", target->what, target->path, why);
    }
    return ht__agree(target->what, target->comm, status);
}

/* Rank 0's work, without a wait for other ranks in between. A complete FILE.part looks like one
 * that its job is about to rename, and the next save waits for that. */
static ht_status put_in_place(const ht_target *target, const char *part, const ht_seal *seal,
                              const ht_seal_sum *sum, int keep)
{
    ht_status status = ht__seal_close(target, part, seal, sum);

    return status == HT_SUCCESS ? ht__place_commit(target, part, keep) : status;
}

static ht_status write_in_place(const ht_target *target, const ht_entries *entries, int keep)
{
    ht_comm *comm = target->comm;
    bool first = comm->rank == 0, mine = false;
    char *part = ht__place_part(target->path);
    ht_seal_sum sum;
    ht_seal seal;
    ht_status status = ht__agree(
        target->what, comm, first ? make_part(target, part, entries, &seal, &mine) : HT_SUCCESS);

    if (status == HT_SUCCESS)
        status = write_part(target, part, entries);
    if (status == HT_SUCCESS)
        status = ht__agree(target->what, comm,
                           comm->local_rank == 0 ? ht__place_flush(target, part) : HT_SUCCESS);
    if (status == HT_SUCCESS)
        status = ht__seal_measure(target, part, &sum);
    if (status == HT_SUCCESS)
        status = ht__agree(target->what, comm,
                           first ? put_in_place(target, part, &seal, &sum, keep) : HT_SUCCESS);
    if (status != HT_SUCCESS && mine && ht__seal_writer(part) <= 0) /* no other writer */
        unlink(part);
    ht__free(part);
    return status;
}

static ht_status write_checkpoint(const ht_target *target, const ht_entries *entries, int keep)
{
    char *path = ht__alloc(HT_PATH_ROOM);
    const ht_target real = {.what = target->what, .path = path, .comm = target->comm};
    ht_status status = ht__place_real(target, path);

    if (status == HT_SUCCESS)
        status = write_in_place(&real, entries, keep);
    ht__free(path);
    return status;
}

/* Numbers are rank 0's. */
static ht_status share_numbers(ht_entries *entries, const ht_target *target)
{
    double *numbers = ht__alloc((size_t)entries->count * sizeof *numbers);
    ht_status status;

    for (int i = 0; i < entries->count; i++)
        numbers[i] = entries->items[i].number;
    status = ht__comm_bcast_bytes(target->comm, numbers, (size_t)entries->count * sizeof *numbers,
                                  0, target->what);
    for (int i = 0; i < entries->count; i++)
        entries->items[i].number = numbers[i];
    ht__free(numbers);
    return status;
}

static ht_status save(const ht_target *target, const ht_value *state, int keep)
{
    ht_comm *comm = target->comm;
    ht_errhandler handler = comm->handler;
    ht_entries entries = {0};
    ht_status status = ht__entries_collect(&entries, state, target);

    if (status == HT_SUCCESS)
        status = ht__entries_checksum(&entries, target);
    if (status == HT_SUCCESS)
        status = share_numbers(&entries, target);
    if (status == HT_SUCCESS) {
        /* The handler may end the job, so the unfinished file is removed first. */
        comm->handler = HT_ERRORS_RETURN;
        status = write_checkpoint(target, &entries, keep);
        comm->handler = handler;
        status = ht__agree(target->what, comm, status);
    }
    ht__entries_free(&entries);
    return status;
}

ht_status ht__checkpoint_save(const ht_target *target, const ht_value *state, int keep)
{
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false);
    ht_status status = save(target, state, keep);

    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}

static ht_status check_arguments(const ht_target *target, const ht_value *state,
                                 const ht_checkpoint_options *options)
{
    if (target->path == NULL || target->path[0] == '\0')
        return ht__error_set(HT_ERR_ARGUMENT,
                             "%s: path is NULL or empty, expected the name of a file",
                             target->what);
    if (state == NULL && ht_error_get(NULL) != HT_SUCCESS)
        return ht_error_get(NULL);
    if (state == NULL || ht_value_get_kind(state) != HT_VALUE_MAP)
        return ht__error_set(HT_ERR_ARGUMENT, "%s: state is %s, expected a map", target->what,
                             ht__value_kind_name(state));
    if (HT_CHECK_OPTIONS(target->comm, target->what, options, ht_checkpoint_options) != HT_SUCCESS)
        return HT_ERR_ARGUMENT;
    if (options->keep < 1)
        return ht__error_set(HT_ERR_ARGUMENT, "%s: keep is %d, expected at least 1", target->what,
                             options->keep);
    return HT_SUCCESS;
}

ht_status ht_checkpoint_save(const ht_value *state, const char *path, ht_comm *comm,
                             const ht_checkpoint_options *options)
{
    HT_NAMED("ht_checkpoint_save");
    const ht_target target = {.what = "ht_checkpoint_save", .path = path, .comm = comm};
    ht_checkpoint_options o = options != NULL ? *options : ht_checkpoint_options_default();
    bool begun;
    ht_status status;

    if (HT_IS_NULL(comm, target.what, "comm"))
        return ht_error_get(NULL);
    begun = ht__agree_begin();
    status = ht__agree_end(target.what, comm, begun, check_arguments(&target, state, &o));
    return status == HT_SUCCESS ? ht__checkpoint_save(&target, state, o.keep) : status;
}
