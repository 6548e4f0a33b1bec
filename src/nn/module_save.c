/* SPDX-License-Identifier: MIT
 *
 * State of a tree to an HDF5 file: one data set for each parameter and buffer, by dotted name. Rank
 * 0 writes a temporary file and renames it, so that the name always stands for a whole file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "module_file.h"

/* On the host and row-major, in the dtype of the file. */
static ht_tensor *file_form(ht_tensor *x)
{
    x = ht_astype(ht_contiguous(x), ht__state_dtype(ht_tensor_dtype(x)));
    return ht_to_device(x, ht__device_cpu());
}

static ht_status write_dataset(hid_t file, const char *name, ht_tensor *x)
{
    const ht_body *body = x->body;
    hid_t type = ht__hdf5_type(body->dtype), space, set;
    hsize_t dims[HT_MAX_NDIM];
    bool failed;

    for (int i = 0; i < body->ndim; i++)
        dims[i] = (hsize_t)body->shape[i];
    space = body->ndim > 0 ? H5Screate_simple(body->ndim, dims, NULL) : H5Screate(H5S_SCALAR);
    set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    failed = set < 0 || H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, ht__body_data(body)) < 0;
    if (failed)
        ht__error_set(HT_ERR_IO, "ht_module_save_state: cannot write %s: %s", name,
                      ht__hdf5_error());
    if (set >= 0)
        H5Dclose(set);
    H5Sclose(space);
    H5Tclose(type);
    return failed ? HT_ERR_IO : HT_SUCCESS;
}

static ht_status write_file(const ht_state *state, const char *path)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    ht_status status = HT_SUCCESS;

    if (file < 0)
        return ht__error_set(HT_ERR_IO, "ht_module_save_state: cannot create %s: %s", path,
                             ht__hdf5_error());
    for (size_t i = 0; i < state->count && status == HT_SUCCESS; i++) {
        ht_tensor *x = file_form(state->entries[i].tensor);

        status = x != NULL ? write_dataset(file, state->entries[i].name, x) : ht_error_get(NULL);
    }
    if (H5Fclose(file) < 0 && status == HT_SUCCESS)
        status = ht__error_set(HT_ERR_IO, "ht_module_save_state: cannot finish %s: %s", path,
                               ht__hdf5_error());
    return status;
}

/* The bytes reach the disk before the name does: a crash leaves the old file or the new one. */
static ht_status put_in_place(const char *temporary, const char *path)
{
    int fd = open(temporary, O_RDONLY);
    bool failed = fd < 0 || fsync(fd) != 0;

    if (fd >= 0)
        close(fd);
    if (failed || rename(temporary, path) != 0)
        return ht__error_set(HT_ERR_IO, "ht_module_save_state: cannot put %s in place: %s", path,
                             strerror(errno));
    return HT_SUCCESS;
}

static ht_status save(const ht_state *state, const char *path)
{
    size_t room = strlen(path) + 32;
    char *temporary = ht__alloc(room);
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false);
    ht_status status;

    snprintf(temporary, room, "%s.%ld.tmp", path, (long)getpid());
    ht__hdf5_begin();
    status = write_file(state, temporary);
    ht__hdf5_end();
    if (status == HT_SUCCESS)
        status = put_in_place(temporary, path);
    if (status != HT_SUCCESS)
        unlink(temporary);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    ht__free(temporary);
    return status;
}

/* What HDF5 or a process-local file cannot hold; known on every rank. */
static ht_status check_state(const ht_state *state, ht_comm *comm)
{
    for (size_t i = 0; i < state->count; i++) {
        const ht_body *body = state->entries[i].tensor->body;

        if (body->split != HT_NONE || ht_dtype_is_complex(body->dtype))
            return HT_FAIL(
                comm, HT_ERR_UNSUPPORTED,
                "ht_module_save_state: %s is %s: parameters and buffers must be real and "
                "not split",
                state->entries[i].name, body->split != HT_NONE ? "split" : "complex");
    }
    return HT_SUCCESS;
}

ht_status ht_module_save_state(ht_module *module, const char *path, ht_comm *comm)
{
    ht_status status;
    ht_state state;

    if (module == NULL || path == NULL || comm == NULL)
        return HT_FAIL(comm, HT_ERR_ARGUMENT, "ht_module_save_state: module, path or comm is NULL");
    status = ht__module_drain(module);
    if (status != HT_SUCCESS)
        return status;

    state = ht__state_collect(ht__module_unwrapped(module));
    status = check_state(&state, comm);
    if (status == HT_SUCCESS)
        status = ht__agree(comm, comm->rank == 0 ? save(&state, path) : HT_SUCCESS);
    ht__state_free(&state);
    return status;
}
