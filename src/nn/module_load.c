/* SPDX-License-Identifier: MIT
 *
 * State of a tree from an HDF5 file. All ranks read; nobody changes a parameter unless the file
 * fits the tree on every rank. */
#include <stdio.h>
#include <string.h>

#include "module_file.h"

static const char name[] = "ht_module_load_state";

struct reading {
    const char *path;
    ht_value *map;
    ht_status status;
};

static ht_tensor *read_dataset(hid_t set, const char *path, const char *dataset,
                               const ht__hdf5_info *info)
{
    ht_tensor *x = ht__tensor_new(ht__body_new(name, ht_comm_self(), ht__device_cpu(), info->dtype,
                                               info->ndim, info->shape, HT_NONE, NULL));
    hid_t type = ht__hdf5_type(info->dtype);

    if (x != NULL &&
        H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, ht__body_data(x->body)) < 0) {
        ht__error_set(HT_ERR_IO, "%s: cannot read %s of %s: %s", name, dataset, path,
                      ht__hdf5_error());
        x = NULL;
    }
    H5Tclose(type);
    return x;
}

static herr_t read_link(hid_t file, const char *dataset, const H5L_info_t *link, void *user)
{
    struct reading *reading = user;
    ht__hdf5_info info;
    hid_t set = ht__hdf5_open_dataset(name, file, reading->path, dataset, H5P_DEFAULT, &info);
    ht_tensor *x = set >= 0 ? read_dataset(set, reading->path, dataset, &info) : NULL;

    (void)link;
    if (set >= 0)
        H5Dclose(set);
    if (x == NULL) {
        reading->status = ht_error_get(NULL);
        return 1;
    }
    ht_value_set(reading->map, dataset, ht_value_tensor(x));
    return 0;
}

/* All data sets of the root as a map. */
static ht_status read_file(const char *path, ht_value *map)
{
    struct reading reading = {.path = path, .map = map};
    hsize_t position = 0;
    hid_t file;

    ht__hdf5_begin();
    file = ht__hdf5_open(name, path);
    if (file < 0)
        reading.status = ht_error_get(NULL);
    else if (H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, &position, read_link, &reading) < 0)
        reading.status = ht__error_set(HT_ERR_FORMAT, "%s: %s: %s", name, path, ht__hdf5_error());
    if (file >= 0)
        H5Fclose(file);
    ht__hdf5_end();
    return reading.status;
}

ht_status ht_module_load_state(ht_module *module, const char *path, ht_comm *comm)
{
    ht_status status;
    ht_scope *scope;
    ht_value *map;
    ht_state state;

    if (module == NULL || path == NULL || comm == NULL)
        return HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: module, path or comm is NULL", name);
    status = ht__module_drain(module);
    if (status != HT_SUCCESS)
        return status;

    scope = ht_scope_open();
    map = ht_value_map();
    state = ht__state_collect(ht__module_unwrapped(module));
    status = read_file(path, map);
    if (status == HT_SUCCESS)
        status = ht__state_fits(name, path, &state, map);
    status = ht__agree(comm, status);
    if (status == HT_SUCCESS)
        status = ht__agree(comm, ht__state_copy(&state, map));
    ht__state_free(&state);
    ht_scope_close(scope);
    return status;
}
