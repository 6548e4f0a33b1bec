/* SPDX-License-Identifier: MIT
 *
 * Data sets in a file, saved and loaded under every name, right and wrong: a failed save leaves
 * nothing behind, and earlier files stay. */
#include "fuzz/files/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hdf5.h>

#include "ht.h"

static const char *const names[] = {"x", "y", "g/x", "g/y", "g/h/z", "x/below"};
static const char *const no_names[] = {".", "./x", "g/.", "g//x", "", "x/"};
enum { NAMES = sizeof names / sizeof *names, NO_NAMES = sizeof no_names / sizeof *no_names };

static struct {
    bool is_there;
    bool has[NAMES];
    uint64_t id[NAMES];
} model;

static void begin(struct files *files)
{
    (void)files;
    memset(&model, 0, sizeof model);
}

static void end(struct files *files)
{
    (void)files;
}

static ht_dtype dtype_of(uint64_t id)
{
    return (ht_dtype)(id % HT_DTYPE_COUNT);
}

static ht_tensor *numbers_of(uint64_t id, int split)
{
    int64_t shape[] = {(int64_t)(id / 16 % 5), (int64_t)(1 + id / 128 % 3)};
    ht_tensor *x = ht_arange(0, (double)(shape[0] * shape[1]), 1, HT_INT64, HT_NONE);

    x = ht_astype(ht_reshape(x, 2, shape), dtype_of(id));
    return split == HT_NONE ? x : ht_resplit(x, split);
}

static int split_of(uint64_t n)
{
    return n % 3 == 2 ? HT_NONE : (int)(n % 3);
}

/* Whether a group is where the name wants a data set, or a data set where it wants a group. */
static bool is_barred(int name)
{
    for (int i = 0; i < NAMES; i++) {
        size_t length = strlen(names[i]), mine = strlen(names[name]);

        if (!model.has[i] || i == name)
            continue;
        if (strncmp(names[name], names[i], length) == 0 && names[name][length] == '/')
            return true;
        if (strncmp(names[i], names[name], mine) == 0 && names[i][mine] == '/')
            return true;
    }
    return false;
}

static herr_t look_at_object(hid_t file, const char *name, const H5O_info_t *info, void *user)
{
    struct files *files = user;
    bool known = info->type == H5O_TYPE_GROUP;

    (void)file;
    for (int i = 0; i < NAMES && info->type == H5O_TYPE_DATASET; i++)
        known = known || (strcmp(names[i], name) == 0 && model.has[i]);
    for (int i = 0; i < NAMES && info->type == H5O_TYPE_GROUP && strcmp(name, ".") != 0; i++) {
        size_t length = strlen(name);

        known = i == 0 ? false : known;
        known = known ||
                (model.has[i] && strncmp(names[i], name, length) == 0 && names[i][length] == '/');
    }
    if (!known)
        wrong(files, "the file has an entry %s", name);
    return 0;
}

/* Rank 0 alone: what the file has. */
static void look(struct files *files)
{
    hid_t file;

    if (files->rank != 0 || !model.is_there)
        return;
    if (access(in_folder(files, "x.h5.part"), F_OK) == 0)
        wrong(files, "x.h5.part is left");
    ht_hdf5_lock();
    file = H5Fopen(in_folder(files, "x.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0)
        wrong(files, "HDF5 cannot open the file");
    else if (H5Ovisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, look_at_object, files) < 0)
        wrong(files, "HDF5 cannot read the file");
    if (file >= 0)
        H5Fclose(file);
    ht_hdf5_unlock();
}

static void save(struct files *files, const uint64_t n[])
{
    int name = (int)(n[0] % NAMES);
    bool adds = n[1] % 4 != 0;
    int want = HT_SUCCESS;

    if (adds && model.is_there && is_barred(name))
        want = HT_ERR_IO;
    say(files, " %s, mode %s", names[name], adds ? "a" : "w");
    expect(files, "ht_save_hdf5",
           ht_save_hdf5(numbers_of(n[2], split_of(n[3])), in_folder(files, "x.h5"), names[name],
                        adds ? "a" : "w"),
           want);
    if (want != HT_SUCCESS)
        return;
    if (!adds)
        memset(model.has, 0, sizeof model.has);
    model.is_there = model.has[name] = true;
    model.id[name] = n[2];
}

static void save_wrongly(struct files *files, const uint64_t n[])
{
    const char *name = no_names[n[0] % NO_NAMES];
    const char *path = in_folder(files, "x.h5"), *mode = n[1] % 2 == 0 ? "a" : "w";
    int want = HT_ERR_ARGUMENT;

    if (n[2] % 4 == 0) {
        name = NULL;
    } else if (n[2] % 4 == 1) {
        name = "x";
        path = in_folder(files, n[3] % 2 == 0 ? "nowhere/x.h5" : ".");
        want = HT_ERR_IO;
    } else if (n[2] % 4 == 2) {
        name = "x";
        mode = n[3] % 2 == 0 ? "r" : NULL;
    }
    say(files, " \"%s\" of %s", name != NULL ? name : "NULL", path);
    expect(files, "ht_save_hdf5", ht_save_hdf5(numbers_of(n[4], HT_NONE), path, name, mode), want);
}

static void check_loaded(struct files *files, ht_tensor *x, uint64_t id, ht_dtype dtype)
{
    ht_tensor *right = ht_astype(numbers_of(id, HT_NONE), dtype);
    bool same = false;

    if (ht_tensor_dtype(x) != dtype)
        wrong(files, "it has the dtype %s", ht_dtype_name(ht_tensor_dtype(x)));
    else if (ht_equal(ht_resplit(x, HT_NONE), right, &same) != HT_SUCCESS || !same)
        wrong(files, "it has other values or another shape than were saved");
}

static void load_set(struct files *files, const uint64_t n[])
{
    int name = (int)(n[0] % NAMES), split = split_of(n[1]);
    uint64_t id = model.id[name];
    ht_dtype dtype = model.has[name] && n[2] % 2 == 0 ? dtype_of(id) : HT_COMPLEX128;
    ht_tensor *x = ht_load_hdf5(in_folder(files, "x.h5"), names[name], dtype, split);
    int want = model.has[name] ? HT_SUCCESS : model.is_there ? HT_ERR_FORMAT : HT_ERR_IO;

    say(files, " %s as %s", names[name], ht_dtype_name(dtype));
    if (expect(files, "ht_load_hdf5", status_of(x), want) == HT_SUCCESS && want == HT_SUCCESS)
        check_loaded(files, x, id, dtype);
}

/* Groups on the way to a missing name, splits and dtypes that there are not. */
static void load_wrongly(struct files *files, const uint64_t n[])
{
    const char *path = in_folder(files, "x.h5"), *name = "x";
    ht_dtype dtype = HT_FLOAT32;
    int split = 0, want = ANY_ERROR;

    switch (n[0] % 4) {
    case 0:
        name = no_names[n[1] % NO_NAMES];
        want = ANYTHING; /* HDF5 knows ways around a name */
        break;
    case 1:
        split = 7;
        break;
    case 2:
        dtype = (ht_dtype)(HT_DTYPE_COUNT + 1);
        break;
    default:
        path = in_folder(files, ".");
    }
    say(files, " \"%s\", split %d", name, split);
    expect(files, "ht_load_hdf5", status_of(ht_load_hdf5(path, name, dtype, split)), want);
}

/* Rows, as a loader would have them. */
static void open_rows(struct files *files, const uint64_t n[])
{
    int name = (int)(n[0] % NAMES);
    ht_dataset *rows = ht_dataset_hdf5(in_folder(files, "x.h5"), 1, &names[name], HT_COMM_WORLD);
    int want = model.has[name] ? HT_SUCCESS : model.is_there ? HT_ERR_FORMAT : HT_ERR_IO;

    say(files, " %s", names[name]);
    expect(files, "ht_dataset_hdf5", status_of(rows), want);
    if (rows != NULL && want == HT_SUCCESS &&
        ht_dataset_rows(rows) != ht_tensor_shape(numbers_of(model.id[name], HT_NONE))[0])
        wrong(files, "it has %lld rows", (long long)ht_dataset_rows(rows));
    ht_release(rows);
}

static const struct act_row rows[] = {{"save", 8, save},
                                      {"save what cannot be", 4, save_wrongly},
                                      {"load", 6, load_set},
                                      {"load what cannot be", 2, load_wrongly},
                                      {"open as rows", 2, open_rows},
                                      {NULL, 0, NULL}};

const struct world world_hdf5 = {"hdf5", rows, begin, look, end};
