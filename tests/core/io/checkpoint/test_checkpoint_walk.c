/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Files that no library wrote, or that were made to do harm: each is refused in one line, on all
 * ranks. Where names say so, from any HDF5 file: through ht_module_load_state. */
#include "core/tensor/tensor.h"
#include "ht_test.h"
#include "tensor_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hdf5.h>

#include "ht.h"

static char path[64];

static int make_path(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/ht-test-walk-%ld.h5", (long)getpid());
    ht__comm_bcast_bytes(HT_COMM_WORLD, path, sizeof path, 0, "path");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    return 0;
}

static int remove_path(void **state)
{
    (void)state;
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_test_remove(path);
    return 0;
}

static void set_integer(hid_t object, const char *name, int64_t value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(object, name, H5T_NATIVE_INT64, space, H5P_DEFAULT, H5P_DEFAULT);

    H5Awrite(attribute, H5T_NATIVE_INT64, &value);
    H5Aclose(attribute);
    H5Sclose(space);
}

static void set_text(hid_t object, const char *name, const char *text)
{
    hid_t space = H5Screate(H5S_SCALAR), type = H5Tcopy(H5T_C_S1), attribute;

    H5Tset_size(type, strlen(text) + 1);
    attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, text);
    H5Aclose(attribute);
    H5Tclose(type);
    H5Sclose(space);
}

static hid_t make_set(hid_t group, const char *name, hid_t type, int ndim, const hsize_t shape[])
{
    hid_t space = H5Screate_simple(ndim, shape, NULL);
    hid_t set = H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    H5Sclose(space);
    return set;
}

/* A file that rank 0 makes by `fill`, with the version that says "a checkpoint of format 1". */
static void make(void (*fill)(hid_t file))
{
    if (ht_test_rank == 0) {
        ht_hdf5_lock();
        hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

        set_integer(file, "@libht", 1);
        fill(file);
        H5Fclose(file);
        ht_hdf5_unlock();
    }
    ht_barrier(HT_COMM_WORLD);
}

static void assert_error(ht_status code, const char *text)
{
    const char *message;

    assert_int_equal(ht_error_get(&message), code);
    if (strstr(message, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, message);
    ht_error_clear();
}

static void assert_refused(ht_status code, const char *text)
{
    assert_null(ht_checkpoint_load(path, HT_COMM_WORLD, NULL));
    assert_error(code, text);
}

static ht_tensor *same(ht_module *self, ht_tensor *x)
{
    (void)self;
    return x;
}

/* It has one parameter, "w". */
static ht_module *make_net(void)
{
    static const ht_module_type type = {.name = "net", .forward = same};
    ht_module *net = ht_module_new(sizeof(int), &type);
    int64_t four = 4;

    ht_module_add_parameter(net, "w", NULL, ht_full(1, &four, 1, HT_FLOAT32, HT_LOCAL));
    return net;
}

static void assert_refused_as_state(const char *text)
{
    ht_module *net = make_net();

    assert_int_equal(ht_module_load_state(net, path, HT_COMM_WORLD), HT_ERR_FORMAT);
    assert_error(HT_ERR_FORMAT, text);
    ht_release(net);
}

static void soft_link_to_the_root(hid_t file)
{
    H5Lcreate_soft("/", file, "a", H5P_DEFAULT, H5P_DEFAULT);
}

static void soft_link_to_nothing(hid_t file)
{
    H5Lcreate_soft("/nowhere", file, "a", H5P_DEFAULT, H5P_DEFAULT);
}

static void external_link(hid_t file)
{
    H5Lcreate_external("/etc/passwd", "/", file, "a", H5P_DEFAULT, H5P_DEFAULT);
}

static void links_are_not_followed(void **state)
{
    static void (*const fills[])(hid_t) = {soft_link_to_the_root, soft_link_to_nothing,
                                           external_link};

    (void)state;
    for (int i = 0; i < 3; i++) {
        make(fills[i]);
        assert_refused(HT_ERR_FORMAT,
                       ": a is a link to another place, which libht does not follow");
        assert_refused_as_state(": a is a link to another place, which libht does not follow");
    }
}

static void elements_of_another_file(hid_t file)
{
    hsize_t length = 4;
    hid_t space = H5Screate_simple(1, &length, NULL), layout = H5Pcreate(H5P_DATASET_CREATE);

    H5Pset_external(layout, "/etc/passwd", 0, 16);
    H5Dclose(H5Dcreate2(file, "w", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, layout, H5P_DEFAULT));
    H5Pclose(layout);
    H5Sclose(space);
}

static void other_files_are_not_read(void **state)
{
    (void)state;
    make(elements_of_another_file);
    assert_refused(HT_ERR_FORMAT, ": w has its elements in other files, which libht does not read");
    assert_refused_as_state(": w has its elements in other files, which libht does not read");
}

/* Removes the second of two items. */
static void half_a_list(hid_t file)
{
    hid_t list = H5Gcreate2(file, "list", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    set_integer(list, "@list", 1);
    set_integer(list, "1", 7);
    H5Gclose(list);
}

/* Its error is reported, also where another file was tried before. */
static void lists_have_no_gaps(void **state)
{
    char expected[128];

    (void)state;
    make(half_a_list);
    snprintf(expected, sizeof expected, "ht_checkpoint_load: %s: the list \"list\" has gaps", path);
    assert_refused(HT_ERR_FORMAT, expected);
    snprintf(expected, sizeof expected, "ht_module_load_state: %s: the list \"list\" has gaps",
             path);
    assert_refused_as_state(expected);
}

static void hard_link_to_the_root(hid_t file)
{
    H5Lcreate_hard(file, "/", file, "a", H5P_DEFAULT, H5P_DEFAULT);
}

static void hard_link_to_itself(hid_t file)
{
    hid_t group = H5Gcreate2(file, "a", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    H5Lcreate_hard(file, "a", group, "b", H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(group);
}

/* Each group is twice in the one before: 2^60 ways to the last. */
static void many_ways(hid_t file)
{
    hid_t group = H5Gcreate2(file, "0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    for (int i = 0; i < 60; i++) {
        hid_t next = H5Gcreate2(group, "0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

        H5Lcreate_hard(group, "0", group, "1", H5P_DEFAULT, H5P_DEFAULT);
        H5Gclose(group);
        group = next;
    }
    H5Gclose(group);
}

static void a_group_is_entered_once(void **state)
{
    static void (*const fills[])(hid_t) = {hard_link_to_the_root, hard_link_to_itself, many_ways};

    (void)state;
    for (int i = 0; i < 3; i++) {
        make(fills[i]);
        assert_refused(HT_ERR_FORMAT, "is a group with a second name");
        assert_refused_as_state("is a group with a second name");
    }
}

static void deep_groups(hid_t file)
{
    hid_t group = H5Gcreate2(file, "d", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

    for (int i = 0; i < 300; i++) {
        hid_t next = H5Gcreate2(group, "d", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

        H5Gclose(group);
        group = next;
    }
    H5Gclose(group);
}

static ht_value *nested(int depth)
{
    ht_value *map = ht_value_map(), *outer;

    for (int i = 0; i < depth; i++) {
        outer = ht_value_map();
        ht_value_set(outer, "d", map);
        map = outer;
    }
    return map;
}

static void depth_has_a_limit(void **state)
{
    (void)state;
    make(deep_groups);
    assert_refused(HT_ERR_FORMAT, "is nested deeper than 128 groups");
    assert_int_equal(ht_checkpoint_save(nested(127), path, HT_COMM_WORLD, NULL), HT_SUCCESS);
    assert_non_null(ht_checkpoint_load(path, HT_COMM_WORLD, NULL));
    assert_int_equal(ht_checkpoint_save(nested(128), path, HT_COMM_WORLD, NULL), HT_ERR_ARGUMENT);
    assert_error(HT_ERR_ARGUMENT, "maps nested more than 128 deep");
}

static void describe(hid_t set)
{
    set_integer(set, "@crc32", 0);
    set_text(set, "@dtype", "float32");
    set_integer(set, "@split", HT_NONE);
    set_integer(set, "@local", 1);
    H5Dclose(set);
}

/* The product of the lengths, in 64 bits, is 4. */
static void wrapping_shape(hid_t file)
{
    describe(make_set(file, "x", H5T_NATIVE_FLOAT, 2, (hsize_t[]){(1ull << 62) + 1, 4}));
}

static void shape_without_elements(hid_t file)
{
    describe(make_set(file, "x", H5T_NATIVE_FLOAT, 2, (hsize_t[]){1ull << 40, 4}));
}

static void null_space(hid_t file)
{
    hid_t space = H5Screate(H5S_NULL);

    describe(H5Dcreate2(file, "x", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
}

static void no_checksum(hid_t file)
{
    hid_t set = make_set(file, "x", H5T_NATIVE_FLOAT, 1, (hsize_t[]){4});

    set_integer(set, "@crc32", -1);
    set_text(set, "@dtype", "float32");
    set_integer(set, "@split", HT_NONE);
    set_integer(set, "@local", 1);
    H5Dclose(set);
}

static void shapes_are_checked(void **state)
{
    (void)state;
    make(wrapping_shape);
    assert_refused(HT_ERR_FORMAT, "x has 2^59 elements or more");
    assert_refused_as_state("x has 2^59 elements or more");
    assert_null(ht_load_hdf5(path, "x", HT_FLOAT32, 0));
    assert_error(HT_ERR_FORMAT, "x has 2^59 elements or more");
    make(shape_without_elements);
    assert_refused(HT_ERR_FORMAT, "x: the data set is larger than the file");
    make(null_space);
    assert_refused(HT_ERR_FORMAT, "x has no elements and no shape");
    make(no_checksum);
    assert_refused(HT_ERR_FORMAT, "x: the description of the data set does not match it");
}

static void text_attribute(hid_t file)
{
    static const float values[] = {1, 2, 3, 4};
    hid_t set = make_set(file, "w", H5T_NATIVE_FLOAT, 1, (hsize_t[]){4});

    H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(set);
    set_text(file, "author", "somebody");
}

/* Files of other programs may have attributes that are not numbers; the library ignores them. */
static void attributes_that_are_no_numbers(void **state)
{
    ht_module *net = make_net();

    (void)state;
    make(text_attribute);
    assert_refused(HT_ERR_FORMAT, "author: the attribute is not a single number");
    assert_int_equal(ht_module_load_state(net, path, HT_COMM_WORLD), HT_SUCCESS);
    assert_true(((const float *)ht_test_data(ht_module_find_parameter(net, "w")))[3] == 4);
    ht_release(net);
}

static void a_named_type(hid_t file)
{
    hid_t type = H5Tcopy(H5T_NATIVE_INT);

    H5Tcommit2(file, "t", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Tclose(type);
}

static void other_objects(void **state)
{
    (void)state;
    make(a_named_type);
    assert_refused(HT_ERR_FORMAT, ": t is neither a group nor a data set");
}

static void make_special(int (*how)(const char *, mode_t))
{
    if (ht_test_rank == 0)
        assert_int_equal(how(path, 0700), 0);
    ht_barrier(HT_COMM_WORLD);
}

static void assert_no_file(const char *why)
{
    ht_module *net = make_net();
    const char *x = "x";

    assert_refused(HT_ERR_IO, why);
    assert_null(ht_load_hdf5(path, "x", HT_FLOAT32, 0));
    assert_error(HT_ERR_IO, why);
    assert_int_equal(ht_module_load_state(net, path, HT_COMM_WORLD), HT_ERR_IO);
    assert_error(HT_ERR_IO, why);
    assert_null(ht_dataset_hdf5(path, 1, &x, HT_COMM_WORLD));
    assert_error(HT_ERR_IO, why);
    ht_release(net);
}

/* HDF5 would wait for ever at a FIFO, and MPI-IO print a page about a folder. */
static void only_files_are_opened(void **state)
{
    (void)state;
    make_special(mkfifo);
    assert_no_file(": it is a FIFO, not a file");
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0)
        unlink(path);
    ht_barrier(HT_COMM_WORLD);
    make_special(mkdir);
    assert_no_file(": it is a folder, not a file");
}

#define WITH_PATH(test) cmocka_unit_test_setup_teardown(test, make_path, remove_path)

HT_TEST_SUITE(test_checkpoint_walk, WITH_PATH(links_are_not_followed),
              WITH_PATH(other_files_are_not_read), WITH_PATH(lists_have_no_gaps),
              WITH_PATH(a_group_is_entered_once), WITH_PATH(depth_has_a_limit),
              WITH_PATH(shapes_are_checked), WITH_PATH(attributes_that_are_no_numbers),
              WITH_PATH(other_objects), WITH_PATH(only_files_are_opened));
