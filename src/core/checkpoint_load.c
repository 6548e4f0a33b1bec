/* SPDX-License-Identifier: MIT
 *
 * Loading a checkpoint: every rank walks the file with handles of its own and reads an equal part
 * of axis 0 of each tensor, so that no byte is read twice; the checksums of the parts give those of
 * the whole, and only then do the ranks give each other what they read. */
#include "checkpoint.h"
#include "io_slab.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A walk through the file. */
struct walk {
    const ht__target *target;
    bool plain; /* any HDF5 file will do */
    ht__entries entries;
    int64_t *stored; /* owned; checksums in the file, by entry; -1: none, and none is wanted */
    int room;
    int parent; /* entry of the group that is walked */
    ht_status status;
};

static ht_status damaged(const struct walk *walk, const char *name, const char *why)
{
    return ht__error_set(HT_ERR_FORMAT, "%s: %s is damaged%s%s: %s", walk->target->what,
                         walk->target->path, name[0] != '\0' ? ": " : "", name, why);
}

static bool get_attribute(hid_t object, const char *name, hid_t type, void *value)
{
    hid_t attribute = H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT)
                                                  : H5I_INVALID_HID;
    hid_t space = attribute >= 0 ? H5Aget_space(attribute) : H5I_INVALID_HID;
    bool good = space >= 0 && H5Sget_simple_extent_npoints(space) == 1 &&
                H5Aread(attribute, type, value) >= 0;

    if (space >= 0)
        H5Sclose(space);
    if (attribute >= 0)
        H5Aclose(attribute);
    return good;
}

static bool get_integer(hid_t object, const char *name, int64_t *value)
{
    return get_attribute(object, name, H5T_NATIVE_INT64, value);
}

static bool get_dtype(hid_t object, ht_dtype *dtype)
{
    char text[32] = "";
    hid_t type = H5Tcopy(H5T_C_S1);
    bool good;

    H5Tset_size(type, sizeof text);
    good = get_attribute(object, HT_CHECKPOINT_DTYPE, type, text);
    H5Tclose(type);
    *dtype = ht_dtype_from_name(text);
    return good && *dtype != HT_DTYPE_COUNT;
}

/* What a data set says of itself; false: not all of it is there, or it does not fit together. */
static bool read_description(hid_t set, const ht__hdf5_info *info, ht__entry *entry,
                             int64_t *stored)
{
    int64_t split, local;

    if (!get_integer(set, HT_CHECKPOINT_CRC, stored) || !get_dtype(set, &entry->dtype) ||
        !get_integer(set, HT_CHECKPOINT_SPLIT, &split) ||
        !get_integer(set, HT_CHECKPOINT_LOCAL, &local))
        return false;
    entry->split = (int)split;
    entry->local = local != 0;
    return info->dtype == ht__file_dtype(entry->dtype) &&
           (split == HT_NONE || (split >= 0 && split < info->ndim));
}

/* This rank's part. */
static ht_status read_part(struct walk *walk, hid_t set, const ht__hdf5_info *info,
                           ht__entry *entry)
{
    int split = info->ndim > 0 ? 0 : HT_NONE;
    ht_body *body = ht__body_new(walk->target->what, walk->target->comm, ht__device_cpu(),
                                 info->dtype, info->ndim, info->shape, split, NULL);
    hid_t type, here, there;
    bool good = true;

    if (body == NULL)
        return ht_error_get(NULL);
    entry->x = ht__tensor_new(body);
    if (body->lsize == 0)
        return HT_SUCCESS;

    hsize_t start[HT_MAX_NDIM] = {0}, count[HT_MAX_NDIM], elements = (hsize_t)body->lsize;

    for (int i = 0; i < body->ndim; i++)
        count[i] = (hsize_t)body->lshape[i];
    start[0] = (hsize_t)body->split_start;
    type = ht__hdf5_type(info->dtype);
    there = H5Dget_space(set);
    here = body->ndim > 0 ? H5Screate_simple(1, &elements, NULL) : H5Screate(H5S_SCALAR);
    if (body->ndim > 0)
        good = H5Sselect_hyperslab(there, H5S_SELECT_SET, start, NULL, count, NULL) >= 0;
    good = good && H5Dread(set, type, here, there, H5P_DEFAULT, ht__body_data(body)) >= 0;
    H5Sclose(here);
    H5Sclose(there);
    H5Tclose(type);
    return good ? HT_SUCCESS : damaged(walk, entry->path, ht__hdf5_error());
}

static ht_status read_dataset(struct walk *walk, hid_t group, int place)
{
    ht__entry *entry = &walk->entries.items[place];
    ht__hdf5_info info;
    hid_t set = ht__hdf5_open_dataset(walk->target->what, group, walk->target->path, entry->name,
                                      H5P_DEFAULT, &info);
    ht_status status;

    if (set < 0) {
        const char *cause;

        ht_error_get(&cause);
        return damaged(walk, entry->path, cause);
    }
    entry->kind = HT_VALUE_TENSOR;
    if (walk->plain && H5Aexists(set, HT_CHECKPOINT_CRC) <= 0) {
        entry->dtype = info.dtype;
        entry->split = HT_NONE;
        entry->local = true;
        walk->stored[place] = -1;
        status = read_part(walk, set, &info, entry);
    } else if (read_description(set, &info, entry, &walk->stored[place]))
        status = read_part(walk, set, &info, entry);
    else
        status = damaged(walk, entry->path, "the description of the data set does not fit it");
    H5Dclose(set);
    return status;
}

/* An entry below the group that is walked. Returns its place. */
static int add(struct walk *walk, const char *name)
{
    int place = walk->entries.count;

    walk->entries.items[walk->parent].count++;
    ht__entries_add(&walk->entries, walk->entries.items[walk->parent].path, name);
    if (place >= walk->room) {
        walk->room = 2 * place;
        walk->stored = ht__realloc(walk->stored, (size_t)walk->room * sizeof *walk->stored);
    }
    return place;
}

static herr_t take_number(hid_t group, const char *name, const H5A_info_t *info, void *user)
{
    struct walk *walk = user;
    double number;

    (void)info;
    if (name[0] == '@')
        return 0;
    if (!get_attribute(group, name, H5T_NATIVE_DOUBLE, &number)) {
        walk->status = damaged(walk, name, ht__hdf5_error());
        return 1;
    }
    int place = add(walk, name);

    walk->entries.items[place].kind = HT_VALUE_NUMBER;
    walk->entries.items[place].number = number;
    return 0;
}

static ht_status walk_group(struct walk *walk, hid_t group, int place);

static herr_t take_link(hid_t group, const char *name, const H5L_info_t *info, void *user)
{
    struct walk *walk = user;
    int parent = walk->parent, place = add(walk, name);
    hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    H5I_type_t kind = object >= 0 ? H5Iget_type(object) : H5I_BADID;

    (void)info;
    if (kind == H5I_GROUP)
        walk->status = walk_group(walk, object, place);
    else if (kind == H5I_DATASET)
        walk->status = read_dataset(walk, group, place);
    else
        walk->status = damaged(walk, walk->entries.items[place].path, ht__hdf5_error());
    if (object >= 0)
        H5Oclose(object);
    walk->parent = parent;
    return walk->status != HT_SUCCESS;
}

static ht_status walk_group(struct walk *walk, hid_t group, int place)
{
    hsize_t position = 0;
    int64_t is_list = 0;

    get_integer(group, HT_CHECKPOINT_LIST, &is_list);
    walk->entries.items[place].kind = is_list != 0 ? HT_VALUE_LIST : HT_VALUE_MAP;
    walk->parent = place;
    if (H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_INC, &position, take_number, walk) < 0 &&
        walk->status == HT_SUCCESS)
        walk->status = damaged(walk, walk->entries.items[place].path, ht__hdf5_error());
    position = 0;
    if (walk->status == HT_SUCCESS &&
        H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &position, take_link, walk) < 0 &&
        walk->status == HT_SUCCESS)
        walk->status = damaged(walk, walk->entries.items[place].path, ht__hdf5_error());
    return walk->status;
}

static ht_status check_format(const struct walk *walk, hid_t root)
{
    const char *what = walk->target->what, *path = walk->target->path;
    int64_t format;

    if (walk->plain && H5Aexists(root, HT_CHECKPOINT_VERSION) == 0)
        return HT_SUCCESS;
    if (!get_integer(root, HT_CHECKPOINT_VERSION, &format))
        return ht__error_set(HT_ERR_FORMAT, "%s: %s is no checkpoint: it has no attribute \"%s\"",
                             what, path, HT_CHECKPOINT_VERSION);
    if (format <= HT_CHECKPOINT_FORMAT)
        return HT_SUCCESS;
    return ht__error_set(HT_ERR_FORMAT,
                         "%s: %s has format %lld, written by a newer libht; this one reads formats "
                         "up to %d",
                         what, path, (long long)format, HT_CHECKPOINT_FORMAT);
}

static ht_status walk_file(struct walk *walk)
{
    hid_t file = ht__hdf5_open(walk->target->what, walk->target->path), root;

    if (file < 0)
        return ht_error_get(NULL);
    root = H5Gopen2(file, "/", H5P_DEFAULT);
    walk->status = root >= 0 ? check_format(walk, root) : damaged(walk, "", ht__hdf5_error());
    ht__entries_add(&walk->entries, "", "");
    if (walk->status == HT_SUCCESS)
        walk_group(walk, root, 0);
    if (root >= 0)
        H5Gclose(root);
    H5Fclose(file);
    return walk->status;
}

static ht_status compare_checksums(const struct walk *walk)
{
    for (int i = 0; i < walk->entries.count; i++) {
        const ht__entry *entry = &walk->entries.items[i];
        char why[80];

        if (entry->x == NULL || walk->stored[i] < 0 || entry->crc == walk->stored[i])
            continue;
        snprintf(why, sizeof why, "its checksum is %08x, the file says %08x", (unsigned)entry->crc,
                 (unsigned)walk->stored[i]);
        return damaged(walk, entry->path, why);
    }
    return HT_SUCCESS;
}

/* One file; NULL after an error that all ranks know. */
static ht_value *load(const ht__target *target, bool plain)
{
    struct walk walk = {.target = target, .plain = plain, .room = 32};
    ht_comm *comm = target->comm;
    ht_value *value = NULL;
    ht_status status;

    walk.stored = ht__alloc((size_t)walk.room * sizeof *walk.stored);
    ht__hdf5_begin();
    status = walk_file(&walk);
    ht__hdf5_end();
    status = ht__agree(comm, status);
    if (status == HT_SUCCESS)
        status = ht__entries_agree(&walk.entries, target);
    if (status == HT_SUCCESS)
        status = ht__entries_checksum(&walk.entries, target);
    if (status == HT_SUCCESS)
        status = ht__agree(comm, compare_checksums(&walk));
    if (status == HT_SUCCESS)
        value = ht__entries_value(&walk.entries);
    ht__entries_free(&walk.entries);
    ht__free(walk.stored);
    return value;
}

/* The newest that is good; the error of the first tried when none is. */
static ht_value *load_earlier(const ht__target *target)
{
    size_t room = strlen(target->path) + 16;
    char *name = ht__alloc(room), first[1024] = "";
    ht_comm *comm = target->comm;
    ht_status code = HT_ERR_IO;
    ht_value *value = NULL;
    int64_t there = 1;

    for (int age = 0; value == NULL && there; age++) {
        const ht__target one = {.what = target->what, .path = name, .comm = comm};
        const char *why;

        ht__place_earlier(name, room, target->path, age);
        value = load(&one, false);
        if (value == NULL) {
            ht_status failed = ht_error_get(&why);

            if (age == 0) {
                code = failed;
                snprintf(first, sizeof first, "%s", why);
            }
            if (comm->rank == 0)
                ht_log_write(HT_LOG_WARN, "%s", why);
        } else if (age > 0 && comm->rank == 0) {
            ht_log_write(HT_LOG_WARN, "%s: going on from %s", target->what, name);
        }
        ht__place_earlier(name, room, target->path, age + 1);
        there = access(name, F_OK) == 0;
        ht__comm_bcast_bytes(comm, &there, sizeof there, 0, target->what);
    }
    if (value == NULL)
        ht__error_set(code, "%s", first);
    ht__free(name);
    return value;
}

static ht_value *load_either(const ht__target *target, bool plain, bool earlier)
{
    ht_errhandler handler = target->comm->handler;
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false);
    ht_value *value;

    target->comm->handler = HT_ERRORS_RETURN; /* one that is damaged need not be the end */
    value = earlier ? load_earlier(target) : load(target, plain);
    target->comm->handler = handler;
    ht_set_grad_enabled(was);
    value = ht_scope_return(scope, value);
    if (value == NULL) {
        const char *why;
        ht_status code = ht_error_get(&why);

        HT_FAIL(target->comm, code, "%s", why);
    }
    return value;
}

ht_value *ht__checkpoint_load(const ht__target *target, bool plain)
{
    return load_either(target, plain, false);
}

ht_value *ht_checkpoint_load(const char *path, ht_comm *comm, const ht_checkpoint_options *options)
{
    const ht__target target = {.what = "ht_checkpoint_load", .path = path, .comm = comm};
    ht_checkpoint_options o = options != NULL ? *options : ht_checkpoint_options_default();

    if (path == NULL || comm == NULL || o.size != sizeof o) {
        HT_FAIL(comm, HT_ERR_ARGUMENT,
                "%s: path or communicator is missing, or options were not filled by "
                "ht_checkpoint_options_default",
                target.what);
        return NULL;
    }
    return load_either(&target, false, o.earlier);
}
