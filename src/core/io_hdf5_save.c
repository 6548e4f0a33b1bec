/* SPDX-License-Identifier: MIT
 *
 * Saving tensors: collective HDF5 through MPI-IO, each rank its slab, into a file that gets its
 * name when it is whole. */
#include "hdf5_util.h"
#include "io_slab.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NAME_ROOM = 1024 };

struct target {
    const char *path;
    const char *name;
    char written[4096]; /* the file that is written: path, or a name beside it until it is whole */
    bool add;           /* to a file that is there */
};

static ht_status save_error(const struct target *target, const char *why)
{
    return ht__error_set(HT_ERR_IO, "ht_save_hdf5: cannot write %s to %s: %s", target->name,
                         target->path, why);
}

/* HDF5 says nothing of a folder that is missing, or may not be written to. */
static const char *why_not(const struct target *target)
{
    char folder[sizeof target->written];
    const char *reason = ht__hdf5_error(), *slash = strrchr(target->written, '/');

    snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - target->written + 1) : 1,
             slash != NULL ? target->written : ".");
    return access(folder, W_OK) == 0 ? reason : strerror(errno);
}

static ht_status open_for_writing(ht_comm *comm, const struct target *target, hid_t *file)
{
    hid_t parallel = ht__io_parallel_access(comm);

    const char *outer = ht__watch_guard("ht_save_hdf5");

    *file = target->add ? H5Fopen(target->written, H5F_ACC_RDWR, parallel)
                        : H5Fcreate(target->written, H5F_ACC_TRUNC, H5P_DEFAULT, parallel);
    ht__watch_unguard(outer);
    H5Pclose(parallel);
    return ht__agree(comm, *file < 0 ? save_error(target, why_not(target)) : HT_SUCCESS);
}

/* A group on the way to the name that is something else. */
static ht_status check_groups(const struct target *target, hid_t file)
{
    char group[NAME_ROOM + 1];
    char why[NAME_ROOM + sizeof " is a data set, not a group"];

    snprintf(group, sizeof group, "%s", target->name);
    for (char *slash = strchr(group + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        H5O_info_t info;

        *slash = '\0';
        if (H5Lexists(file, group, H5P_DEFAULT) <= 0)
            return HT_SUCCESS;
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

    /* Lexists fails where a group on the way is missing: then the name is free. */
    if (H5Lexists(file, target->name, H5P_DEFAULT) <= 0)
        return HT_SUCCESS;
    there = H5Oopen(file, target->name, H5P_DEFAULT);
    kind = there >= 0 ? H5Iget_type(there) : H5I_BADID;
    if (there >= 0)
        H5Oclose(there);
    return kind == H5I_DATASET ? HT_SUCCESS
                               : save_error(target, "what has this name is no data set");
}

/* Under a name of its own, until it is whole; groups are made as needed. */
static hid_t create_dataset(hid_t file, const char *name, hid_t type, const ht_body *body)
{
    hsize_t shape[HT_MAX_NDIM];
    hid_t links = H5Pcreate(H5P_LINK_CREATE), space, set;

    for (int i = 0; i < body->ndim; i++)
        shape[i] = (hsize_t)body->shape[i];
    space = body->ndim > 0 ? H5Screate_simple(body->ndim, shape, NULL) : H5Screate(H5S_SCALAR);
    H5Pset_create_intermediate_group(links, 1);
    set = H5Dcreate2(file, name, type, space, links, H5P_DEFAULT, H5P_DEFAULT);
    H5Sclose(space);
    H5Pclose(links);
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

static ht_status write_slabs(ht_comm *comm, const struct target *target, hid_t file,
                             const ht_body *body)
{
    hid_t type = ht__hdf5_type(body->dtype), set = H5I_INVALID_HID;
    ht_status status = check_groups(target, file);
    char part[NAME_ROOM + sizeof ".part"];

    snprintf(part, sizeof part, "%s.part", target->name);
    if (status == HT_SUCCESS)
        status = check_name(target, file);
    if (status == HT_SUCCESS)
        set = create_dataset(file, part, type, body);
    if (set < 0 && status == HT_SUCCESS)
        status = save_error(target, ht__hdf5_error());
    status = ht__agree(comm, status);
    if (status == HT_SUCCESS) {
        const char *data, *cause;
        ht__slab slab = ht__slab_share(comm, body, &data);

        status = ht__slab_transfer("ht_save_hdf5", comm, set, type, &slab, (void *)data, true);
        if (status != HT_SUCCESS) {
            ht_error_get(&cause);
            save_error(target, cause);
        }
        status = ht__agree(comm, status);
    }
    if (status != HT_SUCCESS && set >= 0)
        H5Ldelete(file, part, H5P_DEFAULT);
    if (set >= 0)
        H5Dclose(set);
    if (status == HT_SUCCESS)
        status = ht__agree(comm, put_in_place(target, file, part));
    H5Tclose(type);
    return status;
}

/* Puts the whole file in its place, or takes the unfinished one away. */
static ht_status finish_file(ht_comm *comm, const struct target *target, ht_status status)
{
    if (target->add)
        return status;
    if (comm->rank == 0 && status == HT_SUCCESS && rename(target->written, target->path) != 0)
        status = save_error(target, strerror(errno));
    if (comm->rank == 0 && status != HT_SUCCESS)
        unlink(target->written);
    return ht__agree(comm, status);
}

static ht_status save(ht_comm *comm, const struct target *target, const ht_body *body)
{
    hid_t file;
    ht_errhandler handler = comm->handler;

    /* The handler may end the job: not before the unfinished file is gone. */
    comm->handler = HT_ERRORS_RETURN;
    ht__hdf5_begin();
    ht_status status = open_for_writing(comm, target, &file);

    if (status == HT_SUCCESS)
        status = write_slabs(comm, target, file, body);
    if (file >= 0 && H5Fclose(file) < 0 && status == HT_SUCCESS)
        status = save_error(target, ht__hdf5_error());
    ht__hdf5_end();
    status = ht__agree(comm, status);
    if (!target->add && status != HT_SUCCESS && comm->rank == 0)
        unlink(target->written);
    comm->handler = handler;
    return status == HT_SUCCESS ? finish_file(comm, target, status) : ht__agree(comm, status);
}

/* Ranks, or groups of them, that each save a tensor of their own to one file write beside one
 * another: the last to end gives it its name. */
static ht_status choose_target(ht_comm *comm, struct target *target, const char *mode)
{
    int64_t first[2] = {access(target->path, F_OK) == 0, ht_comm_rank(HT_COMM_WORLD)};
    ht_status status = ht__comm_bcast_bytes(comm, first, sizeof first, 0, "ht_save_hdf5");

    target->add = mode[0] == 'a' && first[0];
    if (target->add)
        snprintf(target->written, sizeof target->written, "%s", target->path);
    else if (comm->size == ht_comm_size(HT_COMM_WORLD))
        snprintf(target->written, sizeof target->written, "%s.part", target->path);
    else
        snprintf(target->written, sizeof target->written, "%s.%d.part", target->path,
                 (int)first[1]);
    return status;
}

/* x as it can be stored: a dtype that HDF5 has, row-major, in host memory. */
static ht_tensor *storable(ht_tensor *x)
{
    ht_dtype dtype = ht_tensor_dtype(x);

    if (dtype == HT_FLOAT16 || dtype == HT_BFLOAT16)
        x = ht_astype(x, HT_FLOAT32);
    x = ht_to_device(x, ht_device_get("cpu"));
    return ht_contiguous(x);
}

ht_status ht_save_hdf5(ht_tensor *x, const char *path, const char *dataset, const char *mode)
{
    struct target target = {.path = path, .name = dataset};

    if (HT_IS_NULL(x, "ht_save_hdf5", "x"))
        return ht_error_get(NULL);
    ht_comm *comm = ht_tensor_comm(x);

    if (path == NULL || dataset == NULL || dataset[0] == '\0' || strlen(dataset) > NAME_ROOM ||
        strlen(path) + sizeof ".2147483647.part" > sizeof target.written)
        return HT_FAIL(comm, HT_ERR_ARGUMENT,
                       "ht_save_hdf5: the name of the file or data set is NULL, empty or too long");
    if (mode == NULL || (strcmp(mode, "w") != 0 && strcmp(mode, "a") != 0))
        return HT_FAIL(comm, HT_ERR_ARGUMENT, "ht_save_hdf5: mode is \"%s\", not \"w\" or \"a\"",
                       mode == NULL ? "NULL" : mode);

    ht__begin(comm, (ht_call){.what = "ht_save_hdf5", .dtype = x->body->dtype});

    ht_status status = choose_target(comm, &target, mode);
    ht_scope *scope = ht_scope_open();

    x = storable(x);
    if (x == NULL)
        status = ht_error_get(NULL);
    else if (status == HT_SUCCESS)
        status = save(comm, &target, x->body);
    ht_scope_close(scope);
    return status;
}
