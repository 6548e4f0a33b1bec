/* SPDX-License-Identifier: MIT
 *
 * Saving tensors by collective HDF5 through MPI-IO. Each rank writes its slab, and the file gets
 * its name when it is complete. */
#include "core/tensor/tensor.h"
#include "core/io/hdf5/slab_write.h"
#include "ht/log.h"
#include "ht/manipulations.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_ROOM = 1024 };

static const char what[] = "ht_save_hdf5";

struct target {
    const char *path;
    const char *name;
    ht_whole file; /* `part` is `real` where it is added to a file that is there */
    bool add;
    bool makes_groups; /* on the way to the name */
    /* Rank 0's, of the file that is added to: */
    bool is_noted;
    int64_t bytes, head_bytes;
    char head[4096]; /* how it begins: HDF5 notes there that it is open */
};

static ht_status save_error(const struct target *target, const char *why)
{
    return ht__error_set(HT_ERR_IO, "%s: cannot write %s to %s: %s", what, target->name,
                         target->path, why);
}

/* The error that was recorded is the reason. */
static ht_status save_failed(const struct target *target)
{
    const char *why;

    ht_error_get(&why);
    return save_error(target, why);
}

static ht_status open_for_writing(ht_parallel *file, const struct target *target)
{
    ht_status status = ht__parallel_open(file, target->file.part, false);

    return ht__agree(what, file->comm, status != HT_SUCCESS ? save_failed(target) : HT_SUCCESS);
}

/* A group on the way to the name that is something else. Notes whether some are to be made. */
static ht_status check_groups(struct target *target, hid_t file)
{
    char group[NAME_ROOM + 1];
    char why[NAME_ROOM + sizeof " is a data set, not a group"];

    snprintf(group, sizeof group, "%s", target->name);
    for (char *slash = strchr(group + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        H5O_info_t info;

        *slash = '\0';
        if (H5Lexists(file, group, H5P_DEFAULT) <= 0) {
            target->makes_groups = true;
            return HT_SUCCESS;
        }
        if (H5Oget_info_by_name(file, group, &info, H5P_DEFAULT) >= 0 &&
            info.type != H5O_TYPE_GROUP) {
            snprintf(why, sizeof why, "%s is a data set, not a group", group);
            return save_error(target, why);
        }
        *slash = '/';
    }
    return HT_SUCCESS;
}

/* Whether the name is free or a data set's: nothing else is replaced. */
static ht_status check_name(const struct target *target, hid_t file)
{
    hid_t there;
    H5I_type_t kind;

    if (target->makes_groups || H5Lexists(file, target->name, H5P_DEFAULT) <= 0)
        return HT_SUCCESS;
    there = H5Oopen(file, target->name, H5P_DEFAULT);
    kind = there >= 0 ? H5Iget_type(there) : H5I_BADID;
    if (there >= 0)
        H5Oclose(there);
    return kind == H5I_DATASET ? HT_SUCCESS
                               : save_error(target, "the object of this name is not a data set");
}

/* Under a temporary name until it is complete; groups are made as needed. */
static hid_t create_dataset(hid_t file, const char *name, const ht_body *body)
{
    hsize_t shape[HT_MAX_NDIM];
    hid_t links = H5Pcreate(H5P_LINK_CREATE), type = ht__hdf5_type(body->dtype), space, set;

    for (int i = 0; i < body->ndim; i++)
        shape[i] = (hsize_t)body->shape[i];
    space = body->ndim > 0 ? H5Screate_simple(body->ndim, shape, NULL) : H5Screate(H5S_SCALAR);
    H5Pset_create_intermediate_group(links, 1);
    set = H5Dcreate2(file, name, type, space, links, H5P_DEFAULT, H5P_DEFAULT);
    H5Sclose(space);
    H5Tclose(type);
    H5Pclose(links);
    return set;
}

/* The data set `part`; negative after an error. */
static hid_t prepare(struct target *target, hid_t file, const char *part, const ht_body *body)
{
    hid_t set;

    if (check_groups(target, file) != HT_SUCCESS || check_name(target, file) != HT_SUCCESS)
        return H5I_INVALID_HID;
    set = create_dataset(file, part, body);
    if (set < 0)
        save_error(target, ht__hdf5_error());
    return set;
}

static ht_status put_in_place(const struct target *target, hid_t file, const char *part)
{
    if (H5Lexists(file, target->name, H5P_DEFAULT) > 0)
        H5Ldelete(file, target->name, H5P_DEFAULT);
    if (H5Lmove(file, part, file, target->name, H5P_DEFAULT, H5P_DEFAULT) < 0)
        return save_error(target, ht__hdf5_error());
    return HT_SUCCESS;
}

enum { SLACK = 1 << 14 }; /* bytes that HDF5 may yet need for its own */

/* Rank 0's work: a full disk is found out before HDF5 meets it. */
static ht_status reserve_bytes(const struct target *target, int64_t bytes)
{
    int error = ht__file_reserve_at(target->file.part, bytes);
    char why[128];

    if (error == 0)
        return HT_SUCCESS;
    snprintf(why, sizeof why, "cannot reserve %lld bytes: %s", (long long)bytes, strerror(error));
    return save_error(target, why);
}

/* The space of all that HDF5 has in mind. */
static ht_status reserve(ht_parallel *file, const struct target *target)
{
    hsize_t bytes = 0;
    ht_status status = HT_SUCCESS;

    H5Fget_filesize(ht__parallel_enter(file), &bytes);
    ht__parallel_leave(file);
    if (file->comm->rank == 0)
        status = reserve_bytes(target, (int64_t)bytes + SLACK);
    return ht__agree(what, file->comm, status);
}

static int64_t bytes_of(const ht_body *body)
{
    int64_t bytes = (int64_t)ht_dtype_size(body->dtype);

    for (int i = 0; i < body->ndim; i++)
        bytes *= body->shape[i];
    return bytes;
}

/* Rank 0's work: an empty file, and room. */
static ht_status prepare_new(const struct target *target, const ht_body *body)
{
    int error;

    ht__hdf5_begin();
    error = ht__hdf5_write_empty(target->file.part);
    ht__hdf5_end();
    return error == 0 ? reserve_bytes(target, bytes_of(body) + SLACK)
                      : save_error(target, strerror(error));
}

/* Rank 0's work: notes the file to add to, and reserves space. */
static ht_status prepare_to_add(struct target *target, const ht_body *body)
{
    int file = open(target->file.real, O_RDONLY | O_CLOEXEC);
    struct stat info;
    ht_status status;

    if (file < 0 || fstat(file, &info) != 0 ||
        (target->head_bytes = pread(file, target->head, sizeof target->head, 0)) < 0) {
        status = save_error(target, strerror(errno));
    } else {
        target->is_noted = true;
        target->bytes = info.st_size;
        status = reserve_bytes(target, info.st_size + bytes_of(body) + SLACK);
    }
    if (file >= 0)
        close(file);
    return status;
}

/* Rank 0's work: the file that was added to is again what it was. */
static void take_back(const struct target *target)
{
    int file = open(target->file.real, O_WRONLY | O_CLOEXEC);

    if (file < 0)
        return;
    if (ftruncate(file, target->bytes) != 0 ||
        pwrite(file, target->head, (size_t)target->head_bytes, 0) != target->head_bytes)
        ht_log_write(HT_LOG_WARN, "%s: cannot restore %s: %s", what, target->path, strerror(errno));
    close(file);
}

static ht_status write_slabs(ht_parallel *file, const struct target *target, hid_t set,
                             const ht_body *body)
{
    const char *data;
    ht_slab slab = ht__slab_share(file->comm, body, &data);
    ht_status status = ht__slab_write(file, set, body->dtype, &slab, data);

    return ht__agree(what, file->comm, status != HT_SUCCESS ? save_failed(target) : HT_SUCCESS);
}

static ht_status write_dataset(ht_parallel *file, struct target *target, const ht_body *body)
{
    char part[NAME_ROOM + sizeof ".part"];
    ht_status status;
    hid_t set, id;

    snprintf(part, sizeof part, "%s.part", target->name);
    set = prepare(target, ht__parallel_enter(file), part, body);
    ht__parallel_leave(file);
    status = ht__agree(what, file->comm, set < 0 ? ht_error_get(NULL) : HT_SUCCESS);
    if (status == HT_SUCCESS)
        status = reserve(file, target);
    if (status == HT_SUCCESS)
        status = write_slabs(file, target, set, body);
    id = ht__parallel_enter(file);
    if (set >= 0)
        H5Dclose(set);
    if (status == HT_SUCCESS)
        status = put_in_place(target, id, part);
    ht__parallel_leave(file);
    status = ht__agree(what, file->comm, status);
    return status == HT_SUCCESS ? reserve(file, target) : status; /* the name may have taken more */
}

/* Opens, writes and closes. */
static ht_status write_file(ht_comm *comm, struct target *target, const ht_body *body)
{
    ht_parallel file = {.what = what, .comm = comm};
    ht_status status = open_for_writing(&file, target);

    if (status == HT_SUCCESS)
        status = write_dataset(&file, target, body);
    if (status != HT_SUCCESS) {
        ht__parallel_abandon(&file);
        return ht__parallel_close(&file, status);
    }
    if (ht__parallel_close(&file, HT_SUCCESS) != HT_SUCCESS)
        status = save_failed(target);
    return ht__agree(what, comm, status);
}

static ht_status save(ht_comm *comm, struct target *target, const ht_body *body)
{
    ht_errhandler handler = comm->handler;
    bool first = comm->rank == 0;
    ht_status status = HT_SUCCESS;

    ht__body_await(body); /* no thread serves the other ranks inside HDF5 */
    /* The handler may end the job, so the unfinished file is removed first. */
    comm->handler = HT_ERRORS_RETURN;
    if (first)
        status = target->add ? prepare_to_add(target, body) : prepare_new(target, body);
    status = ht__agree(what, comm, status);
    if (status == HT_SUCCESS)
        status = write_file(comm, target, body);
    if (!target->add && first)
        status = ht__whole_end(&target->file, status);
    if (target->is_noted && status != HT_SUCCESS)
        take_back(target);
    comm->handler = handler;
    return ht__agree(what, comm, status);
}

/* Rank 0's work: the existing objects, and where to write. HDF5 says nothing of a folder that is
 * missing, or may not be written to. */
static ht_status look(struct target *target, const char *mode, bool of_all)
{
    ht_status status = ht__file_target(what, target->path, target->file.real);
    char suffix[32] = ".part";

    if (status != HT_SUCCESS)
        return status;
    if (mode[0] == 'a' && access(target->file.real, F_OK) == 0) {
        snprintf(target->file.part, sizeof target->file.part, "%s", target->file.real);
        return HT_SUCCESS;
    }
    if (!of_all)
        snprintf(suffix, sizeof suffix, ".%d.part", ht_comm_rank(HT_COMM_WORLD));
    return ht__whole_begin(&target->file, what, target->path, suffix);
}

/* Ranks, or groups of them, that each save a different tensor to one file write to different files:
 * the last to end gives it its name. */
static ht_status choose_target(ht_comm *comm, struct target *target, const char *mode)
{
    bool of_all = comm->size == ht_comm_size(HT_COMM_WORLD);
    ht_whole *file = &target->file;
    ht_status status = comm->rank == 0 ? look(target, mode, of_all) : HT_SUCCESS;

    status = ht__agree(what, comm, status);
    if (status == HT_SUCCESS)
        status = ht__comm_bcast_bytes(comm, file->real, sizeof file->real, 0, what);
    if (status == HT_SUCCESS)
        status = ht__comm_bcast_bytes(comm, file->part, sizeof file->part, 0, what);
    target->add = strcmp(file->part, file->real) == 0;
    return status;
}

/* x as it can be stored: a dtype that HDF5 has, in slabs of long runs, row-major, in host memory.
 */
static ht_tensor *storable(ht_tensor *x)
{
    const ht_body *body = x->body;
    const int axis = ht__slab_axis(body->comm, body->ndim, body->shape, ht_dtype_size(body->dtype),
                                   body->split);

    if (axis != body->split)
        x = ht_resplit(x, axis);
    if (body->dtype == HT_FLOAT16 || body->dtype == HT_BFLOAT16)
        x = ht_astype(x, HT_FLOAT32);
    x = ht_to_device(x, ht_device_get("cpu"));
    return ht_contiguous(x);
}

/* HDF5 would take "." for the group itself, and leaves out empty names. One slash may be in
 * front. */
static bool is_name(const char *name)
{
    const char *part = name[0] == '/' ? name + 1 : name;

    for (;;) {
        size_t length = strcspn(part, "/");

        if (length == 0 || (length == 1 && part[0] == '.'))
            return false;
        if (part[length] == '\0')
            return true;
        part += length + 1;
    }
}

static ht_status check_arguments(const char *path, const char *name, const char *mode)
{
    if (path == NULL || name == NULL || name[0] == '\0' || strlen(name) > NAME_ROOM ||
        strlen(path) + 64 > HT_PATH_ROOM)
        return ht__error_set(
            HT_ERR_ARGUMENT,
            "ht_save_hdf5: path or dataset is NULL, empty or too long, expected a name");
    if (mode == NULL || (strcmp(mode, "w") != 0 && strcmp(mode, "a") != 0))
        return ht__error_set(HT_ERR_ARGUMENT,
                             "ht_save_hdf5: mode is \"%s\", expected \"w\" or \"a\"",
                             mode == NULL ? "NULL" : mode);
    if (!is_name(name))
        return ht__error_set(HT_ERR_ARGUMENT,
                             "ht_save_hdf5: name is \"%s\", expected no part \"\" or \".\"", name);
    return HT_SUCCESS;
}

ht_status ht_save_hdf5(ht_tensor *x, const char *path, const char *dataset, const char *mode)
{
    HT_NAMED(what);
    struct target target = {.path = path, .name = dataset};

    if (HT_IS_NULL(x, what, "x"))
        return ht_error_get(NULL);
    ht_comm *comm = ht_tensor_comm(x);
    bool begun = ht__agree_begin();
    ht_status status = check_arguments(path, dataset, mode);

    ht__begin(comm,
              (ht_call){.what = what, .dtype = x->body->dtype, .refused = status != HT_SUCCESS});
    status = ht__agree_end(what, comm, begun, status);
    if (status == HT_SUCCESS)
        status = choose_target(comm, &target, mode);
    if (status != HT_SUCCESS)
        return status;

    ht_scope *scope = ht_scope_open();

    x = storable(x);
    status = x != NULL ? save(comm, &target, x->body) : ht_error_get(NULL);
    ht_scope_close(scope);
    return status;
}
