/* SPDX-License-Identifier: MIT
 *
 * State of a tree from an HDF5 file. All ranks read; nobody changes a parameter unless the file
 * fits the tree on every rank, and all that does not fit is said at once. */
#include <stdio.h>
#include <string.h>

#include "module_file.h"

/* A list of complaints that fits an error message. */
struct complaints {
    char text[768];
    size_t used;
    int left_out;
};

static void complain(struct complaints *list, const char *kind, const char *name,
                     const char *detail)
{
    size_t room = sizeof list->text - list->used;
    int length = snprintf(list->text + list->used, room, "%s%s %s%s", list->used > 0 ? "; " : "",
                          kind, name, detail);

    if (length > 0 && (size_t)length < room) {
        list->used += (size_t)length;
        return;
    }
    list->text[list->used] = '\0';
    list->left_out++;
}

struct comparison {
    const ht_state *state;
    struct complaints complaints;
};

static herr_t find_name(hid_t file, const char *name, const H5L_info_t *info, void *user)
{
    struct comparison *comparison = user;

    (void)file;
    (void)info;
    for (size_t i = 0; i < comparison->state->count; i++) {
        if (strcmp(comparison->state->entries[i].name, name) == 0) {
            comparison->state->entries[i].found = true;
            return 0;
        }
    }
    complain(&comparison->complaints, "unexpected", name, "");
    return 0;
}

static ht_status compare_shape(hid_t file, const char *path, const struct ht_state_entry *entry,
                               struct complaints *complaints)
{
    const ht_body *body = entry->tensor->body;
    ht__hdf5_info info;
    hid_t set = ht__hdf5_open_dataset("ht_module_load_state", file, path, entry->name, H5P_DEFAULT,
                                      &info);
    char detail[384];

    if (set < 0)
        return ht_error_get(NULL);
    H5Dclose(set);
    if (info.ndim == body->ndim &&
        memcmp(info.shape, body->shape, (size_t)body->ndim * sizeof *info.shape) == 0)
        return HT_SUCCESS;
    snprintf(detail, sizeof detail, " is %s in the file, %s in the model",
             ht__shape_str(info.ndim, info.shape), ht__shape_str(body->ndim, body->shape));
    complain(complaints, "misshapen", entry->name, detail);
    return HT_SUCCESS;
}

static ht_status compare(hid_t file, const char *path, const ht_state *state)
{
    struct comparison comparison = {.state = state};
    struct complaints *complaints = &comparison.complaints;
    ht_status status = HT_SUCCESS;
    hsize_t position = 0;

    if (H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, &position, find_name, &comparison) < 0)
        return ht__error_set(HT_ERR_FORMAT, "ht_module_load_state: %s: %s", path, ht__hdf5_error());
    for (size_t i = 0; i < state->count && status == HT_SUCCESS; i++) {
        if (state->entries[i].found)
            status = compare_shape(file, path, &state->entries[i], complaints);
        else
            complain(complaints, "missing", state->entries[i].name, "");
    }
    if (status != HT_SUCCESS || (complaints->used == 0 && complaints->left_out == 0))
        return status;
    if (complaints->left_out > 0)
        return ht__error_set(HT_ERR_FORMAT,
                             "ht_module_load_state: %s does not fit the model: %s; and %d more",
                             path, complaints->text, complaints->left_out);
    return ht__error_set(HT_ERR_FORMAT, "ht_module_load_state: %s does not fit the model: %s", path,
                         complaints->text);
}

static ht_status read_entry(hid_t file, const struct ht_state_entry *entry)
{
    const ht_body *body = entry->tensor->body;
    ht_dtype dtype = ht__state_dtype(body->dtype);
    ht_tensor *x = ht__tensor_new(ht__body_new("ht_module_load_state", body->comm, ht__device_cpu(),
                                               dtype, body->ndim, body->shape, HT_NONE, NULL));
    hid_t type = ht__hdf5_type(dtype), set;
    bool failed;

    if (x == NULL)
        return ht_error_get(NULL);
    set = H5Dopen2(file, entry->name, H5P_DEFAULT);
    failed = set < 0 ||
             H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, ht__body_data(x->body)) < 0;
    if (failed)
        ht__error_set(HT_ERR_IO, "ht_module_load_state: cannot read %s: %s", entry->name,
                      ht__hdf5_error());
    if (set >= 0)
        H5Dclose(set);
    H5Tclose(type);
    if (failed)
        return HT_ERR_IO;
    return ht_copy_(entry->tensor, ht_to_device(x, body->storage->device));
}

static ht_status read_all(hid_t file, const ht_state *state)
{
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false);
    ht_status status = HT_SUCCESS;

    ht__hdf5_begin();
    for (size_t i = 0; i < state->count && status == HT_SUCCESS; i++)
        status = read_entry(file, &state->entries[i]);
    ht__hdf5_end();
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}

ht_status ht_module_load_state(ht_module *module, const char *path, ht_comm *comm)
{
    ht_status status;
    ht_state state;
    hid_t file;

    if (module == NULL || path == NULL || comm == NULL)
        return HT_FAIL(comm, HT_ERR_ARGUMENT, "ht_module_load_state: module, path or comm is NULL");
    status = ht__module_drain(module);
    if (status != HT_SUCCESS)
        return status;

    state = ht__state_collect(ht__module_unwrapped(module));
    ht__hdf5_begin();
    file = ht__hdf5_open("ht_module_load_state", path);
    status = file < 0 ? ht_error_get(NULL) : compare(file, path, &state);
    ht__hdf5_end();
    status = ht__agree(comm, status);
    if (status == HT_SUCCESS)
        status = ht__agree(comm, read_all(file, &state));
    if (file >= 0) {
        ht__hdf5_begin();
        H5Fclose(file);
        ht__hdf5_end();
    }
    ht__state_free(&state);
    return status;
}
