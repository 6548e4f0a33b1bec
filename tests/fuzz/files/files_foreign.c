/* SPDX-License-Identifier: MIT
 *
 * Files of HDF5 that others made: every type of element, and every kind of link. Numbers that no
 * dtype can hold are an error. For states, so is a link out of the file or in a circle. */
#include "fuzz/files/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hdf5.h>

#include "ht.h"

enum { MOST_OBJECTS = 12, LENGTH = 3 };

enum object_kind {
    INTEGER,   /* of 1, 2, 4, 8 bytes, signed or not, in either order of bytes */
    FLOATING,  /* of 2, 4, 8 bytes, or long double */
    BOOLEAN,   /* an enumeration as h5py writes it */
    NAMES,     /* other enumerations */
    COMPLEX,   /* {r, i} */
    COMPOUND,  /* other compounds */
    TEXT,      /* of fixed or any length */
    EMPTY,     /* a null space */
    SCATTERED, /* chunks, deflated */
    OUTSIDE,   /* its elements are in another file */
    WRAPPING,  /* the product of its lengths is 4 in 64 bits */
    HUGE,      /* chunks, none of them written: more than any machine has */
    GROUP,
    NAMED_TYPE,
    SOFT,     /* to another object, to the root, to nothing */
    EXTERNAL, /* to an object of another file */
    HARD,     /* to an object or the root */
    KINDS
};

static struct object {
    enum object_kind kind;
    uint64_t n;
} objects[MOST_OBJECTS];
static int count;

static void begin(struct files *files)
{
    (void)files;
    count = 0;
}

static void end(struct files *files)
{
    (void)files;
}

static hid_t enumeration(const char *first, const char *second, signed char a, signed char b)
{
    hid_t type = H5Tcreate(H5T_ENUM, 1);

    H5Tenum_insert(type, first, &a);
    H5Tenum_insert(type, second, &b);
    return type;
}

static hid_t compound(const char *first, const char *second, hid_t a, hid_t b)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, H5Tget_size(a) + H5Tget_size(b));

    H5Tinsert(type, first, 0, a);
    H5Tinsert(type, second, H5Tget_size(a), b);
    return type;
}

static hid_t text_type(uint64_t n)
{
    hid_t type = H5Tcopy(H5T_C_S1);

    H5Tset_size(type, n % 2 == 0 ? 7 : H5T_VARIABLE);
    return type;
}

static hid_t half_type(void)
{
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);

    H5Tset_fields(type, 15, 10, 5, 0, 10);
    H5Tset_size(type, 2);
    H5Tset_ebias(type, 15);
    return type;
}

static hid_t integer_type(uint64_t n)
{
    const hid_t types[] = {H5T_STD_I8LE,  H5T_STD_U8BE,  H5T_STD_I16BE, H5T_STD_U16LE,
                           H5T_STD_I32LE, H5T_STD_U32BE, H5T_STD_I64BE, H5T_STD_U64LE};

    return H5Tcopy(types[n % 8]);
}

static hid_t floating_type(uint64_t n)
{
    const hid_t types[] = {H5T_IEEE_F32LE, H5T_IEEE_F64BE, H5T_NATIVE_LDOUBLE};

    return n % 4 == 3 ? half_type() : H5Tcopy(types[n % 4]);
}

/* To be closed. */
static hid_t type_of(const struct object *object)
{
    uint64_t n = object->n;

    switch (object->kind) {
    case FLOATING:
        return floating_type(n);
    case BOOLEAN:
        return enumeration("FALSE", "TRUE", 0, 1);
    case NAMES:
        return n % 3 == 0   ? enumeration("FALSE", "TRUE", 3, 7)
               : n % 3 == 1 ? enumeration("RED", "BLUE", 0, 1)
                            : enumeration("TRUE", "FALSE", 0, 1);
    case COMPLEX:
        return n % 2 == 0 ? compound("r", "i", H5T_NATIVE_FLOAT, H5T_NATIVE_FLOAT)
                          : compound("r", "i", H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE);
    case COMPOUND:
        return n % 3 == 0   ? compound("r", "i", H5T_NATIVE_FLOAT, H5T_NATIVE_DOUBLE)
               : n % 3 == 1 ? compound("a", "b", H5T_NATIVE_FLOAT, H5T_NATIVE_FLOAT)
                            : compound("i", "r", H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE);
    case TEXT:
        return text_type(n);
    case INTEGER:
        return integer_type(n);
    default:
        return H5Tcopy(H5T_NATIVE_FLOAT);
    }
}

/* Which of its types libht can hold. */
static bool is_held(const struct object *object)
{
    switch (object->kind) {
    case INTEGER:
        return object->n % 8 != 7; /* uint64 */
    case FLOATING:
        return object->n % 4 != 2; /* long double */
    case BOOLEAN:
    case COMPLEX:
    case SCATTERED:
        return true;
    default:
        return false;
    }
}

static const char *name_of(int index)
{
    static char names[4][16];
    static unsigned next;
    char *name = names[next++ % 4];

    snprintf(name, sizeof names[0], "o%d", index);
    return name;
}

/* Elements 0, 1, 2, of bool 0, 1, 0, of complex numbers their real parts. */
static void fill(hid_t set, enum object_kind kind, hid_t type)
{
    static const signed char truth[LENGTH] = {0, 1, 0};
    static const double numbers[2 * LENGTH] = {0, 0, 1, 0, 2, 0};
    static const int plain[LENGTH] = {0, 1, 2};
    hid_t memory = H5I_INVALID_HID;

    if (kind == BOOLEAN) {
        H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, truth);
    } else if (kind == COMPLEX) {
        memory = compound("r", "i", H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE);
        H5Dwrite(set, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers);
        H5Tclose(memory);
    } else if (kind == INTEGER || kind == FLOATING || kind == SCATTERED) {
        H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, plain);
    }
}

static void make_set(struct files *files, hid_t file, const char *name, const struct object *object)
{
    const hsize_t wrapping[] = {((hsize_t)1 << 62) + 1, 4}, chunk = 2;
    hsize_t length = object->kind == HUGE ? (hsize_t)1 << 50 : LENGTH;
    hid_t type = type_of(object), layout = H5Pcreate(H5P_DATASET_CREATE), set;
    hid_t space = object->kind == EMPTY ? H5Screate(H5S_NULL) : H5Screate_simple(1, &length, NULL);

    if (object->kind == WRAPPING)
        H5Sset_extent_simple(space, 2, wrapping, NULL);
    if (object->kind == SCATTERED || object->kind == HUGE) {
        H5Pset_chunk(layout, 1, &chunk);
        H5Pset_deflate(layout, 3);
    }
    if (object->kind == OUTSIDE)
        H5Pset_external(layout, in_folder(files, "x.h5"), 0, LENGTH * sizeof(float));
    set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    fill(set, object->kind, type);
    H5Dclose(set);
    H5Pclose(layout);
    H5Sclose(space);
    H5Tclose(type);
}

/* The object that a link leads to; -1: the root. */
static int target_of(int index)
{
    uint64_t n = objects[index].n;

    return n % 4 == 0 || index == 0 ? -1 : (int)(n % (uint64_t)index);
}

/* Whether it is a data set that can be held, under whatever name. */
static bool is_held_at(int index)
{
    if (objects[index].kind == HARD)
        return target_of(index) >= 0 && is_held_at(target_of(index));
    return is_held(&objects[index]);
}

static enum object_kind kind_at(int index)
{
    return objects[index].kind == HARD ? kind_at(target_of(index)) : objects[index].kind;
}

static void make_link(struct files *files, hid_t file, int index)
{
    const struct object *object = &objects[index];
    const char *name = name_of(index);
    const char *target = target_of(index) < 0 ? "/" : name_of(target_of(index));

    if (object->kind == SOFT)
        H5Lcreate_soft(target, file, name, H5P_DEFAULT, H5P_DEFAULT);
    else if (object->kind == EXTERNAL)
        H5Lcreate_external(in_folder(files, "x.h5"), target, file, name, H5P_DEFAULT, H5P_DEFAULT);
    else
        H5Lcreate_hard(file, target, file, name, H5P_DEFAULT, H5P_DEFAULT);
}

static void make_object(struct files *files, hid_t file, int index)
{
    const struct object *object = &objects[index];
    const char *name = name_of(index);
    hid_t made;

    if (object->kind == GROUP) {
        made = H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Gclose(made);
    } else if (object->kind == NAMED_TYPE) {
        made = H5Tcopy(H5T_NATIVE_INT);
        H5Tcommit2(file, name, made, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Tclose(made);
    } else if (object->kind >= SOFT) {
        make_link(files, file, index);
    } else {
        make_set(files, file, name, object);
    }
}

/* Makes the complete file again, with the present objects; rank 0's work. */
static void make_file(struct files *files, bool newest)
{
    hid_t access, file;

    ht_hdf5_lock();
    access = H5Pcreate(H5P_FILE_ACCESS);
    if (newest)
        H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    file = H5Fcreate(in_folder(files, "x.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    for (int i = 0; i < count; i++)
        make_object(files, file, i);
    H5Fclose(file);
    H5Pclose(access);
    ht_hdf5_unlock();
}

static void add(struct files *files, const uint64_t n[])
{
    static const char *const kinds[] = {"integers",   "floats",   "bool",        "names",
                                        "complex",    "compound", "text",        "nothing",
                                        "chunks",     "outside",  "wrapping",    "huge",
                                        "a group",    "a type",   "a soft link", "an external link",
                                        "a hard link"};
    static const enum object_kind held[] = {INTEGER, FLOATING, COMPLEX, SOFT};
    struct object *object = &objects[count];

    if (count == MOST_OBJECTS)
        return;
    object->kind = n[3] % 2 == 0 ? (enum object_kind)(n[0] % KINDS) : held[n[0] % 4];
    object->n = n[1];
#ifdef __SANITIZE_ADDRESS__
    if (object->kind == HUGE) /* a request for this much memory ends the process */
        object->kind = GROUP;
#endif
    say(files, " %s %s %llu", name_of(count), kinds[object->kind], (unsigned long long)(n[1] % 24));
    count++;
    if (files->rank == 0)
        make_file(files, n[2] % 2 == 0);
}

/* Those whose meaning another object, or HDF5, decides. */
static bool is_open(const struct object *object)
{
    return object->kind >= SOFT || object->kind == OUTSIDE || object->kind == HUGE;
}

static void check_values(struct files *files, ht_tensor *x, enum object_kind kind)
{
    const double *data = values_of(ht_resplit(x, HT_NONE));

    if (ht_tensor_size(x) != LENGTH)
        wrong(files, "it has %lld elements", (long long)ht_tensor_size(x));
    for (int i = 0; i < LENGTH && ht_tensor_size(x) == LENGTH; i++) {
        if (data[2 * i] != (kind == BOOLEAN ? i % 2 : i))
            wrong(files, "element %d is %g", i, data[2 * i]);
    }
}

static void load_object(struct files *files, const uint64_t n[])
{
    int index = (int)(n[0] % MOST_OBJECTS);
    const struct object *object = &objects[index];
    const char *path = in_folder(files, "x.h5"), *name = name_of(index);
    int want = count == 0 ? HT_ERR_IO : HT_ERR_FORMAT;
    ht_tensor *x;

    say(files, " %s", name);
    if (index < count && is_open(object))
        return;
    if (index < count && (is_held(object) || object->kind == INTEGER)) /* uint64 that fits int64 */
        want = HT_SUCCESS;
    x = ht_load_hdf5(path, name, HT_COMPLEX128, n[1] % 2 == 0 ? 0 : HT_NONE);
    if (expect(files, "ht_load_hdf5", status_of(x), want) == HT_SUCCESS && want == HT_SUCCESS)
        check_values(files, x, object->kind);
}

static void open_rows(struct files *files, const uint64_t n[])
{
    int index = (int)(n[0] % MOST_OBJECTS);
    const char *name = name_of(index);
    int want = count == 0 ? HT_ERR_IO : HT_ERR_FORMAT;
    ht_dataset *rows;

    say(files, " %s", name);
    if (index < count && is_open(&objects[index]))
        return;
    if (index < count && is_held(&objects[index]))
        want = HT_SUCCESS;
    rows = ht_dataset_hdf5(in_folder(files, "x.h5"), 1, &name, HT_COMM_WORLD);
    expect(files, "ht_dataset_hdf5", status_of(rows), want);
    ht_release(rows);
}

/* Nothing in there is a checkpoint, or the state of this module. */
static void load_state(struct files *files, const uint64_t n[])
{
    const char *path = in_folder(files, "x.h5");
    int want = count == 0 ? HT_ERR_IO : HT_ERR_FORMAT;
    ht_module *net = ht_nn_linear(2, 3);
    ht_tensor *w = ht_module_find_parameter(net, "weight");
    ht_value *before = ht_value_tensor(ht_copy(ht_detach(w)));

    (void)n;
    expect(files, "ht_checkpoint_load", status_of(ht_checkpoint_load(path, HT_COMM_WORLD, NULL)),
           want);
    for (int i = 0; i < count; i++)
        want = objects[i].kind == HUGE ? ANY_ERROR : want; /* of memory */
    expect(files, "ht_module_load_state", ht_module_load_state(net, path, HT_COMM_WORLD), want);
    if (!values_are_equal(before, ht_value_tensor(ht_detach(w))))
        wrong(files, "ht_module_load_state changed a parameter");
    ht_release(net);
}

static ht_tensor *same(ht_module *self, ht_tensor *x)
{
    (void)self;
    return x;
}

/* A parameter for each of the objects. */
static void load_all_objects(struct files *files, const uint64_t n[])
{
    static const ht_module_type type = {.name = "net", .forward = same};
    int64_t shape = LENGTH;
    ht_module *net = ht_module_new(sizeof(int), &type);
    int want = count == 0 ? HT_ERR_IO : HT_SUCCESS;
    ht_status status;

    (void)n;
    for (int i = 0; i < count; i++) {
        ht_tensor *w = ht_full(1, &shape, 9, HT_COMPLEX128, HT_LOCAL);

        ht_module_add_parameter(net, name_of(i), NULL, w);
        if (!is_held_at(i) && want == HT_SUCCESS)
            want = HT_ERR_FORMAT;
    }
    for (int i = 0; i < count; i++)
        want = objects[i].kind == HUGE ? ANY_ERROR : want;
    status = ht_module_load_state(net, in_folder(files, "x.h5"), HT_COMM_WORLD);
    expect(files, "ht_module_load_state", status, want);
    for (int i = 0; i < count && status == HT_SUCCESS && want == HT_SUCCESS; i++)
        check_values(files, ht_detach(ht_module_find_parameter(net, name_of(i))), kind_at(i));
    ht_release(net);
}

static const struct act_row rows[] = {{"add", 5, add},
                                      {"load", 8, load_object},
                                      {"open as rows", 3, open_rows},
                                      {"load as a state", 3, load_state},
                                      {"load all objects", 6, load_all_objects},
                                      {NULL, 0, NULL}};

const struct world world_foreign = {"foreign", rows, begin, NULL, end};
