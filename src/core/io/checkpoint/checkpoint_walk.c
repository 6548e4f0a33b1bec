/* SPDX-License-Identifier: MIT
 *
 * Walking through the file of a checkpoint. Every rank has separate handles, and reads an equal
 * part of axis 0 of each tensor. Files may be damaged or come from another program. So links to
 * other files or places are refused, no group is entered twice, and data that a tensor cannot have
 * are refused.
 *
 * Groups are walked in the order of the file. In the order of names, HDF5 1.10 frees a table that
 * it has not filled if a group of more than eight links is damaged. */
#include "core/io/checkpoint/checkpoint.h"

#include <string.h>
#include <sys/stat.h>

struct walk {
    const ht_target *target;
    ht_entries *entries;
    int64_t bytes; /* of the file */
    bool plain;    /* any HDF5 file will do */
    bool sealed;   /* it has a seal, which was looked at */
    int parent;    /* entry of the group that is walked */
    int depth;     /* groups around it */
    ht_status status;
    haddr_t *seen; /* owned; where the groups stand that were entered: a hash table */
    size_t seen_count, seen_room;
};

static ht_status damaged(const struct walk *walk, const char *name, const char *why)
{
    return ht__error_set(HT_ERR_FORMAT, "%s: %s is damaged%s%s: %s", walk->target->what,
                         walk->target->path, name[0] != '\0' ? ": " : "", name, why);
}

/* Reports content that is intact, but cannot be read. */
static ht_status refused(const struct walk *walk, const char *name, const char *why)
{
    return ht__error_set(HT_ERR_FORMAT, "%s: %s: %s %s", walk->target->what, walk->target->path,
                         name, why);
}

static bool holds(hid_t attribute, H5T_class_t a, H5T_class_t b)
{
    hid_t space = H5Aget_space(attribute), type = H5Aget_type(attribute);
    bool good = H5Sget_simple_extent_npoints(space) == 1 && H5Tis_variable_str(type) <= 0 &&
                (H5Tget_class(type) == a || H5Tget_class(type) == b);

    H5Tclose(type);
    H5Sclose(space);
    return good;
}

/* One value of one of these classes, as `type`. */
static bool get_attribute(hid_t object, const char *name, H5T_class_t a, H5T_class_t b, hid_t type,
                          void *value)
{
    hid_t attribute = H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT)
                                                  : H5I_INVALID_HID;
    bool good = attribute >= 0 && holds(attribute, a, b) && H5Aread(attribute, type, value) >= 0;

    if (attribute >= 0)
        H5Aclose(attribute);
    return good;
}

static bool get_integer(hid_t object, const char *name, int64_t *value)
{
    return get_attribute(object, name, H5T_INTEGER, H5T_INTEGER, H5T_NATIVE_INT64, value);
}

static bool get_dtype(hid_t object, ht_dtype *dtype)
{
    char text[32] = "";
    hid_t type = H5Tcopy(H5T_C_S1);
    bool good;

    H5Tset_size(type, sizeof text);
    good = get_attribute(object, HT_CHECKPOINT_DTYPE, H5T_STRING, H5T_STRING, type, text);
    H5Tclose(type);
    *dtype = ht_dtype_from_name(text);
    return good && *dtype != HT_DTYPE_COUNT;
}

/* The description of a data set by itself; false: it is incomplete, or does not fit together. */
static bool read_description(hid_t set, const ht_hdf5_info *info, ht_entry *entry)
{
    int64_t split, local;

    if (!get_integer(set, HT_CHECKPOINT_CRC, &entry->stored) || !get_dtype(set, &entry->dtype) ||
        !get_integer(set, HT_CHECKPOINT_SPLIT, &split) ||
        !get_integer(set, HT_CHECKPOINT_LOCAL, &local))
        return false;
    entry->split = (int)split;
    entry->local = local != 0;
    return info->dtype == ht__file_dtype(entry->dtype) && entry->stored >= 0 &&
           entry->stored <= UINT32_MAX && (split == HT_NONE || (split >= 0 && split < info->ndim));
}

/* This rank's part. */
static ht_status read_part(struct walk *walk, hid_t set, ht_hdf5_info *info, ht_entry *entry)
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
    good = good && ht__hdf5_read(set, &info->chunks, type, here, there, ht__body_data(body)) >= 0;
    H5Sclose(here);
    H5Sclose(there);
    H5Tclose(type);
    return good ? HT_SUCCESS : damaged(walk, entry->path, ht__hdf5_error());
}

/* Elements of a checkpoint are in the file unchanged; those of others may be packed. */
static bool fits_into_file(const struct walk *walk, const ht_hdf5_info *info)
{
    int64_t bytes = (int64_t)ht_dtype_size(info->dtype);

    for (int i = 0; i < info->ndim; i++)
        bytes *= info->shape[i]; /* 2^59 elements of 16 bytes at most: below 2^63 */
    return bytes <= walk->bytes;
}

static ht_status read_dataset(struct walk *walk, hid_t group, int place)
{
    ht_entry *entry = &walk->entries->items[place];
    ht_hdf5_info info;
    hid_t set = ht__hdf5_open_dataset(walk->target->what, group, walk->target->path, entry->name,
                                      H5P_DEFAULT, &info);
    ht_status status;

    if (set < 0) {
        const char *cause;

        ht_error_get(&cause);
        return walk->plain ? ht_error_get(NULL) : damaged(walk, entry->path, cause);
    }
    entry->kind = HT_VALUE_TENSOR;
    if (info.elsewhere) {
        status = refused(walk, entry->path,
                         "has its elements in other files, which libht does not read");
    } else if (walk->plain && H5Aexists(set, HT_CHECKPOINT_CRC) <= 0) {
        entry->dtype = info.dtype;
        entry->split = HT_NONE;
        entry->local = true;
        entry->stored = -1;
        status = read_part(walk, set, &info, entry);
    } else if (!read_description(set, &info, entry))
        status = damaged(walk, entry->path, "the description of the data set does not match it");
    else if (!fits_into_file(walk, &info))
        status = damaged(walk, entry->path, "the data set is larger than the file");
    else
        status = read_part(walk, set, &info, entry);
    H5Dclose(set);
    return status;
}

/* An entry below the group that is walked. Returns its place. */
static int add(struct walk *walk, const char *name)
{
    ht_entry *parent = &walk->entries->items[walk->parent];

    parent->count++;
    ht__entries_add(walk->entries, parent->path, name);
    return walk->entries->count - 1;
}

/* Attributes that are not numbers are not the library's: a file made by others may have some. */
static herr_t take_number(hid_t group, const char *name, const H5A_info_t *info, void *user)
{
    struct walk *walk = user;
    double number;
    int place;

    (void)info;
    if (name[0] == '@')
        return 0;
    if (!get_attribute(group, name, H5T_FLOAT, H5T_INTEGER, H5T_NATIVE_DOUBLE, &number)) {
        if (!walk->plain)
            walk->status = damaged(walk, name, "the attribute is not a single number");
        return walk->status != HT_SUCCESS;
    }
    place = add(walk, name);
    walk->entries->items[place].kind = HT_VALUE_NUMBER;
    walk->entries->items[place].number = number;
    return 0;
}

static size_t slot_of(const struct walk *walk, haddr_t address)
{
    size_t slot = (size_t)((uint64_t)address * 0x9e3779b97f4a7c15u) & (walk->seen_room - 1);

    while (walk->seen[slot] != HADDR_UNDEF && walk->seen[slot] != address)
        slot = (slot + 1) & (walk->seen_room - 1);
    return slot;
}

static void grow_seen(struct walk *walk)
{
    haddr_t *old = walk->seen;
    size_t room = walk->seen_room;

    walk->seen_room = room > 0 ? 2 * room : 64;
    walk->seen = ht__alloc(walk->seen_room * sizeof *walk->seen);
    for (size_t i = 0; i < walk->seen_room; i++)
        walk->seen[i] = HADDR_UNDEF;
    for (size_t i = 0; i < room; i++) {
        if (old[i] != HADDR_UNDEF)
            walk->seen[slot_of(walk, old[i])] = old[i];
    }
    ht__free(old);
}

/* Whether the group at this place is entered for the first time; a second time would not end if it
 * is inside itself. */
static bool is_new(struct walk *walk, haddr_t address)
{
    size_t slot;

    if (2 * walk->seen_count >= walk->seen_room)
        grow_seen(walk);
    slot = slot_of(walk, address);
    if (walk->seen[slot] == address)
        return false;
    walk->seen[slot] = address;
    walk->seen_count++;
    return true;
}

static ht_status walk_group(struct walk *walk, hid_t group, int place);

static ht_status take_object(struct walk *walk, hid_t group, hid_t object, int place)
{
    const char *path = walk->entries->items[place].path;

    switch (object >= 0 ? H5Iget_type(object) : H5I_BADID) {
    case H5I_GROUP:
        return walk_group(walk, object, place);
    case H5I_DATASET:
        return read_dataset(walk, group, place);
    case H5I_BADID:
        return damaged(walk, path, ht__hdf5_error());
    default:
        return refused(walk, path, "is neither a group nor a data set");
    }
}

static herr_t take_link(hid_t group, const char *name, const H5L_info_t *info, void *user)
{
    struct walk *walk = user;
    int parent = walk->parent, place = add(walk, name);
    hid_t object;

    if (info->type != H5L_TYPE_HARD) {
        walk->status = refused(walk, walk->entries->items[place].path,
                               "is a link to another place, which libht does not follow");
        return 1;
    }
    object = H5Oopen(group, name, H5P_DEFAULT);
    walk->status = take_object(walk, group, object, place);
    if (object >= 0)
        H5Oclose(object);
    walk->parent = parent;
    return walk->status != HT_SUCCESS;
}

static ht_status walk_group(struct walk *walk, hid_t group, int place)
{
    const char *path = walk->entries->items[place].path;
    hsize_t position = 0;
    int64_t is_list = 0;
    H5O_info_t info;

    if (H5Oget_info(group, &info) < 0)
        return damaged(walk, path, ht__hdf5_error());
    if (!is_new(walk, info.addr))
        return refused(walk, path, "is a group with a second name, so it may contain itself");
    if (++walk->depth > HT_CHECKPOINT_DEPTH)
        return refused(walk, path, "is nested deeper than " HT_CHECKPOINT_DEPTH_TEXT " groups");
    get_integer(group, HT_CHECKPOINT_LIST, &is_list);
    walk->entries->items[place].kind = is_list != 0 ? HT_VALUE_LIST : HT_VALUE_MAP;
    walk->parent = place;
    if (H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_NATIVE, &position, take_number, walk) < 0 &&
        walk->status == HT_SUCCESS)
        walk->status = damaged(walk, path, ht__hdf5_error());
    position = 0;
    if (walk->status == HT_SUCCESS &&
        H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, &position, take_link, walk) < 0 &&
        walk->status == HT_SUCCESS)
        walk->status = damaged(walk, path, ht__hdf5_error());
    walk->depth--;
    return walk->status;
}

static ht_status check_format(const struct walk *walk, hid_t root)
{
    const char *what = walk->target->what, *path = walk->target->path;
    int64_t format;

    if (walk->plain && H5Aexists(root, HT_CHECKPOINT_VERSION) == 0)
        return HT_SUCCESS;
    if (!get_integer(root, HT_CHECKPOINT_VERSION, &format))
        return ht__error_set(HT_ERR_FORMAT,
                             "%s: %s is not a checkpoint: it has no attribute \"%s\"", what, path,
                             HT_CHECKPOINT_VERSION);
    if (format > 1 && format <= HT_CHECKPOINT_FORMAT && !walk->sealed)
        return damaged(walk, "", "its first bytes are not those of a checkpoint");
    if (format <= HT_CHECKPOINT_FORMAT)
        return HT_SUCCESS;
    return ht__error_set(HT_ERR_FORMAT,
                         "%s: %s has format %lld, written by a newer libht; this one reads formats "
                         "up to %d",
                         what, path, (long long)format, HT_CHECKPOINT_FORMAT);
}

static ht_status walk_file(struct walk *walk, hid_t file)
{
    hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);

    walk->status = root >= 0 ? check_format(walk, root) : damaged(walk, "", ht__hdf5_error());
    ht__entries_add(walk->entries, "", "");
    if (walk->status == HT_SUCCESS)
        walk->status = walk_group(walk, root, 0);
    if (root >= 0)
        H5Gclose(root);
    return walk->status;
}

ht_status ht__checkpoint_walk(const ht_target *target, bool plain, bool sealed, ht_entries *entries)
{
    struct walk walk = {.target = target, .entries = entries, .plain = plain, .sealed = sealed};
    struct stat info;
    ht_status status;
    hid_t file;

    ht__hdf5_begin();
    file = ht__hdf5_open(target->what, target->path);
    if (file >= 0) {
        walk.bytes = stat(target->path, &info) == 0 ? info.st_size : 0;
        status = walk_file(&walk, file);
        H5Fclose(file);
    } else {
        status = ht_error_get(NULL);
    }
    ht__hdf5_end();
    ht__free(walk.seen);
    return status;
}
