/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Tensors saved and loaded again: every dtype, saved under each split and loaded under each other.
 */
#include "core/tensor/tensor.h"
#include "ht_test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hdf5.h>

#include "core/io/hdf5/slab_write.h"
#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/statistics.h"
#include "ht/indexing.h"
#include "ht/io.h"
#include "ht/manipulations.h"
#include "ht/relational.h"

static char path[512];

static void make_path(void)
{
    const char *folder = getenv("TMPDIR");

    snprintf(path, sizeof path, "%s/ht-io-%ld.h5", folder != NULL ? folder : "/tmp",
             (long)getpid());
    ht__comm_bcast_bytes(HT_COMM_WORLD, path, sizeof path, 0, "path");
}

static void remove_path(void)
{
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0)
        assert_int_equal(unlink(path), 0);
}

/* 0, 1, 2, ... as (5, 3, 4), replicated. */
static ht_tensor *numbers(ht_dtype dtype)
{
    static const int64_t shape[] = {5, 3, 4};
    ht_tensor *x = ht_reshape(ht_arange(0, 60, 1, HT_FLOAT32, HT_NONE), 3, shape);

    return ht_astype(x, dtype);
}

static void assert_same(ht_tensor *x, ht_tensor *y)
{
    bool equal = false;

    assert_non_null(y);
    assert_int_equal(ht_equal(x, y, &equal), HT_SUCCESS);
    assert_true(equal);
}

static void round_trip(ht_tensor *x, int split, int back)
{
    ht_tensor *y;

    assert_int_equal(ht_save_hdf5(ht_resplit(x, split), path, "deep/er/x", "w"), HT_SUCCESS);
    y = ht_load_hdf5(path, "deep/er/x", ht_tensor_dtype(x), back);
    assert_int_equal(ht_tensor_split(y), back);
    assert_same(x, ht_resplit(y, HT_NONE));
}

static void every_split_under_every_other(void **state)
{
    static const int splits[] = {HT_NONE, 0, 1, 2};
    const int64_t run = ht__io_run_bytes;

    (void)state;
    make_path();
    for (int c = 0; c < 4 * 4 * 2; c++) {
        ht__io_run_bytes = c & 1 ? 0 : run; /* slabs of inner splits as they are, or split again */
        round_trip(numbers(HT_FLOAT64), splits[c / 2 % 4], splits[c / 8]);
    }
    ht__io_run_bytes = run;
    remove_path();
}

static void every_dtype(void **state)
{
    (void)state;
    make_path();
    for (int dtype = 0; dtype < HT_DTYPE_COUNT; dtype++)
        round_trip(numbers((ht_dtype)dtype), 0, 1);
    remove_path();
}

static void reads_another_dtype(void **state)
{
    (void)state;
    make_path();
    ht_save_hdf5(numbers(HT_UINT8), path, "x", "w");
    ht_tensor *x = ht_load_hdf5(path, "x", HT_FLOAT32, 0);

    assert_int_equal(ht_tensor_dtype(x), HT_FLOAT32);
    assert_same(numbers(HT_FLOAT32), ht_resplit(x, HT_NONE));
    remove_path();
}

/* Pieces of 40 bytes: ten floats, so that axes 1 and 2 are cut and ranks differ in their pieces. */
static void transfers_in_pieces(void **state)
{
    const int64_t most = ht__io_piece_bytes, run = ht__io_run_bytes;

    (void)state;
    make_path();
    ht__io_run_bytes = 0;
    ht__io_piece_bytes = 40;
    for (int split = 0; split < 3; split++)
        round_trip(numbers(HT_FLOAT32), split, 2 - split);
    ht__io_piece_bytes = 1;
    round_trip(numbers(HT_FLOAT32), 0, HT_NONE);
    ht__io_piece_bytes = most;
    ht__io_run_bytes = run;
    remove_path();
}

static void scalars_views_and_several_data_sets(void **state)
{
    ht_tensor *x = numbers(HT_INT64);

    (void)state;
    make_path();
    assert_int_equal(ht_save_hdf5(ht_sum(x, HT_NONE), path, "sum", "w"), HT_SUCCESS);
    assert_int_equal(ht_save_hdf5(ht_transpose(ht_resplit(x, 1), 0, 2), path, "turned", "a"),
                     HT_SUCCESS);
    assert_int_equal(ht_save_hdf5(x, path, "sum2", "a"), HT_SUCCESS);
    assert_int_equal(ht_save_hdf5(ht_add_scalar(x, 1), path, "sum2", "a"),
                     HT_SUCCESS); /* replaced */
    assert_int_equal(ht_item(ht_load_hdf5(path, "sum", HT_INT64, HT_NONE)), 59 * 30);
    assert_same(ht_transpose(x, 0, 2), ht_load_hdf5(path, "turned", HT_INT64, HT_NONE));
    assert_same(ht_add_scalar(x, 1), ht_load_hdf5(path, "sum2", HT_INT64, HT_NONE));
    remove_path();
}

static void assert_error_has(ht_status code, const char *a, const char *b)
{
    const char *message;

    assert_int_equal(ht_error_get(&message), code);
    if (strstr(message, a) == NULL || strstr(message, b) == NULL)
        fail_msg("\"%s\" and \"%s\" are not in \"%s\"", a, b, message);
    ht_error_clear();
}

/* Replacing data sets must not take a group with everything in it away. */
static void a_group_is_not_replaced(void **state)
{
    ht_tensor *x = numbers(HT_FLOAT32);

    (void)state;
    make_path();
    assert_int_equal(ht_save_hdf5(x, path, "results/a", "w"), HT_SUCCESS);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_save_hdf5(x, path, "results", "a"), HT_ERR_IO);
    assert_error_has(HT_ERR_IO, "cannot write results", "is not a data set");
    assert_int_equal(ht_save_hdf5(x, path, "results/a/b", "a"), HT_ERR_IO);
    assert_error_has(HT_ERR_IO, "cannot write results/a/b", "results/a is a data set, not a group");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    assert_same(x, ht_load_hdf5(path, "results/a", HT_FLOAT32, HT_NONE));
    remove_path();
}

/* Every rank saves its own tensor to one file: the file is one of theirs, intact, and no other file
 * is left. */
static void local_tensors_to_one_file(void **state)
{
    int64_t shape[] = {1000};
    ht_tensor *first, *last;

    (void)state;
    make_path();
    for (int round = 0; round < 5; round++) {
        ht_tensor *x = ht_full(1, shape, ht_test_rank, HT_FLOAT32, HT_LOCAL);

        assert_int_equal(ht_save_hdf5(x, path, "x", "w"), HT_SUCCESS);
        ht_barrier(HT_COMM_WORLD);
        first = ht_load_hdf5(path, "x", HT_FLOAT32, HT_NONE);
        assert_true(ht_item(ht_min(first, HT_NONE)) == ht_item(ht_max(first, HT_NONE)));
        assert_true(ht_item(ht_min(first, HT_NONE)) < ht_test_size);
        ht_barrier(HT_COMM_WORLD);
    }
    last = ht_zeros_like(first);
    assert_int_equal(ht_save_hdf5(last, path, "x", "w"), HT_SUCCESS);
    remove_path();
}

/* One rank loads all of it for itself, and the others make no call; then the ranks of one
 * communicator load it. */
static void a_rank_may_load_for_itself(void **state)
{
    ht_tensor *x = numbers(HT_FLOAT32), *mine;
    ht_comm *half = ht_comm_split(HT_COMM_WORLD, ht_test_rank % 2, 0);

    (void)state;
    make_path();
    assert_int_equal(ht_save_hdf5(x, path, "x", "w"), HT_SUCCESS);
    if (ht_test_rank == ht_test_size - 1) {
        mine = ht_load_hdf5(path, "x", HT_FLOAT64, HT_LOCAL);
        assert_ptr_equal(ht_tensor_comm(mine), HT_COMM_SELF);
        assert_same(mine, ht_tensor_local(x));
    }
    mine = ht_load_hdf5_ext(path, "x", HT_FLOAT32, 1, ht_device_get("cpu:1"), half);
    assert_ptr_equal(ht_tensor_comm(mine), half);
    assert_string_equal(ht_device_name(ht_tensor_device(mine)), "cpu:1");
    mine = ht_resplit(ht_to_device(mine, ht_get_device()), HT_NONE);
    assert_same(ht_tensor_local(mine), ht_tensor_local(x));
    ht_release(half);
    remove_path();
}

static int links_in_root(void)
{
    H5G_info_t info = {0};

    ht_hdf5_lock();
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);

    H5Gget_info(file, &info);
    H5Fclose(file);
    ht_hdf5_unlock();
    return (int)info.nlinks;
}

/* Names that HDF5 takes for something else: an error, and the file as it was. */
static void a_failed_save_leaves_nothing_behind(void **state)
{
    static const char *const names[] = {".", "/", "a/", "a//b", "./b", "a/./b"};
    ht_tensor *x = numbers(HT_FLOAT32);

    (void)state;
    make_path();
    ht_save_hdf5(x, path, "x", "w");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(ht_save_hdf5(x, path, names[i], "a"), HT_ERR_ARGUMENT);
        assert_error_has(HT_ERR_ARGUMENT, names[i], "expected no part");
    }
    assert_int_equal(ht_save_hdf5(x, path, "x/y", "a"), HT_ERR_IO);
    ht_error_clear();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_barrier(HT_COMM_WORLD);
    assert_int_equal(links_in_root(), 1);
    assert_int_equal(ht_save_hdf5(x, path, "/b/c", "a"), HT_SUCCESS);
    assert_same(x, ht_load_hdf5(path, "b/c", HT_FLOAT32, HT_NONE));
    remove_path();
}

static volatile sig_atomic_t refused;
static struct rlimit usual;

static void take_limit_away(int number)
{
    refused = number;
    setrlimit(RLIMIT_FSIZE, &usual);
}

/* ht_save_hdf5 while this rank's first write behind the first MiB of a file fails; *failed: on how
 * many ranks one did. */
static ht_status save_refused(ht_tensor *x, const char *mode, int64_t *failed)
{
    struct rlimit low;
    ht_status status;

    getrlimit(RLIMIT_FSIZE, &usual);
    low = (struct rlimit){.rlim_cur = 1 << 20, .rlim_max = usual.rlim_max};
    refused = 0;
    signal(SIGXFSZ, take_limit_away);
    if (ht_test_rank == ht_comm_size(HT_COMM_WORLD) - 1)
        setrlimit(RLIMIT_FSIZE, &low);
    status = ht_save_hdf5(x, path, "y", mode);
    setrlimit(RLIMIT_FSIZE, &usual);
    signal(SIGXFSZ, SIG_DFL);
    *failed = refused != 0;
    ht__comm_allreduce_i64(HT_COMM_WORLD, failed, 1, HT_OP_SUM, "test");
    return status;
}

/* No rank waits inside HDF5 for a rank that could not write, and the file stays as it was. Which
 * ranks write is up to MPI. */
static void a_write_may_fail_on_one_rank(void **state)
{
    static const char *const modes[] = {"w", "a"};
    ht_tensor *x = numbers(HT_FLOAT32), *large = ht_zeros(HT_SHAPE(600, 1000), HT_FLOAT32, 0);
    int64_t failed;

    (void)state;
    make_path();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    for (int i = 0; i < 2; i++) {
        ht_save_hdf5(x, path, "x", "w");
        ht_status status = save_refused(large, modes[i], &failed);

        assert_int_equal(status, failed > 0 ? HT_ERR_IO : HT_SUCCESS);
        if (failed == 0)
            continue;
        assert_error_has(HT_ERR_IO, "ht_save_hdf5: cannot write y to ", path);
        assert_same(x, ht_load_hdf5(path, "x", HT_FLOAT32, HT_NONE));
        assert_int_equal(links_in_root(), 1);
    }
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    remove_path();
}

/* The message about a file that was cut. */
static void a_file_that_was_cut(void **state)
{
    struct stat info;
    char text[64];

    (void)state;
    make_path();
    ht_save_hdf5(numbers(HT_FLOAT32), path, "x", "w");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(stat(path, &info), 0);
    snprintf(text, sizeof text, "it has 1000 bytes, but had %lld when", (long long)info.st_size);
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0)
        assert_int_equal(truncate(path, 1000), 0);
    ht_barrier(HT_COMM_WORLD);
    assert_null(ht_load_hdf5(path, "x", HT_FLOAT32, 0));
    assert_error_has(HT_ERR_FORMAT, path, text);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    remove_path();
}

static void make_enumeration(const char *first, const char *second, int8_t a, int8_t b)
{
    static const int8_t values[] = {0, 1, 1};
    hsize_t length = 3;

    if (ht_test_rank == 0) {
        ht_hdf5_lock();
        hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        hid_t type = H5Tcreate(H5T_ENUM, 1), space = H5Screate_simple(1, &length, NULL), set;

        H5Tenum_insert(type, first, &a);
        H5Tenum_insert(type, second, &b);
        set = H5Dcreate2(file, "x", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
        H5Dclose(set);
        H5Sclose(space);
        H5Tclose(type);
        H5Fclose(file);
        ht_hdf5_unlock();
    }
    ht_barrier(HT_COMM_WORLD);
}

/* h5py's bool is one; others have names for numbers that would be lost. */
static void enumerations_are_bool_if_they_say_so(void **state)
{
    (void)state;
    make_path();
    make_enumeration("FALSE", "TRUE", 0, 1);
    assert_int_equal(ht_item(ht_sum(ht_load_hdf5(path, "x", HT_INT64, HT_NONE), HT_NONE)), 2);
    ht_barrier(HT_COMM_WORLD);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    make_enumeration("FALSE", "TRUE", 3, 7);
    assert_null(ht_load_hdf5(path, "x", HT_INT64, HT_NONE));
    assert_error_has(HT_ERR_FORMAT, "x has elements of a type that no dtype can hold", "");
    ht_barrier(HT_COMM_WORLD);
    make_enumeration("RED", "BLUE", 0, 1);
    assert_null(ht_load_hdf5(path, "x", HT_BOOL, HT_NONE));
    assert_error_has(HT_ERR_FORMAT, "x has elements of a type that no dtype can hold", "");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    remove_path();
}

static void make_uint64(uint64_t last)
{
    const uint64_t values[] = {1, INT64_MAX, last};
    hsize_t length = 3;

    if (ht_test_rank == 0) {
        ht_hdf5_lock();
        hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        hid_t space = H5Screate_simple(1, &length, NULL);
        hid_t set = H5Dcreate2(file, "x", H5T_STD_U64BE, space, H5P_DEFAULT, H5P_DEFAULT,
                               H5P_DEFAULT);

        H5Dwrite(set, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
        H5Dclose(set);
        H5Sclose(space);
        H5Fclose(file);
        ht_hdf5_unlock();
    }
    ht_barrier(HT_COMM_WORLD);
}

static void uint64_is_read_if_its_values_fit(void **state)
{
    ht_number last;

    (void)state;
    make_path();
    make_uint64(7);
    ht_tensor *x = ht_load_hdf5(path, "x", HT_DTYPE_OF_FILE, 0);

    assert_int_equal(ht_tensor_dtype(x), HT_INT64);
    assert_int_equal(ht_tensor_item_ext(ht_getitem(x, HT_KEY(1)), &last), HT_SUCCESS);
    assert_int_equal(last.integer, INT64_MAX);
    ht_barrier(HT_COMM_WORLD);
    make_uint64(UINT64_C(1) << 63);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_null(ht_load_hdf5(path, "x", HT_DTYPE_OF_FILE, 0));
    assert_error_has(HT_ERR_FORMAT, path, "x: cannot read: it has numbers above 2^63 - 1");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    remove_path();
}

static void complex_numbers_stay_complex(void **state)
{
    ht_tensor *x = numbers(HT_COMPLEX64);

    (void)state;
    make_path();
    ht_save_hdf5(x, path, "x", "w");
    assert_same(x, ht_resplit(ht_load_hdf5(path, "x", HT_DTYPE_OF_FILE, 0), HT_NONE));
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_null(ht_load_hdf5(path, "x", HT_FLOAT64, 0));
    assert_error_has(HT_ERR_DTYPE, path, "elements of complex64, which float64 cannot hold");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    remove_path();
}

/* A replaced file keeps its permissions and its links; a link at the path of the temporary file is
 * not followed. */
static void permissions_and_links_stay(void **state)
{
    ht_tensor *x = numbers(HT_FLOAT32);
    char link[520], part[520];
    struct stat info;

    (void)state;
    make_path();
    snprintf(link, sizeof link, "%s.link", path);
    snprintf(part, sizeof part, "%s.part", path);
    ht_save_hdf5(ht_zeros_like(x), path, "x", "w");
    if (ht_test_rank == 0) {
        assert_int_equal(chmod(path, 0600), 0);
        assert_int_equal(symlink(strrchr(path, '/') + 1, link), 0);
        assert_int_equal(symlink(path, part), 0);
    }
    ht_barrier(HT_COMM_WORLD);
    assert_int_equal(ht_save_hdf5(x, link, "x", "w"), HT_SUCCESS);
    assert_int_equal(lstat(part, &info), -1);
    assert_int_equal(lstat(link, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_same(x, ht_load_hdf5(path, "x", HT_FLOAT32, HT_NONE));
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0)
        unlink(link);
    remove_path();
}

static void misuse(void **state)
{
    ht_tensor *x = numbers(HT_FLOAT32);

    (void)state;
    make_path();
    ht_save_hdf5(x, path, "x", "w");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_null(ht_load_hdf5("/nowhere/x.h5", "x", HT_FLOAT32, 0));
    assert_error_has(HT_ERR_IO, "ht_load_hdf5: cannot open /nowhere/x.h5", "No such file");
    assert_null(ht_load_hdf5(path, "y", HT_FLOAT32, 0));
    assert_error_has(HT_ERR_FORMAT, path, "no data set y: object 'y' doesn't exist; it has x");
    assert_null(ht_load_hdf5(path, "x", HT_FLOAT32, 3));
    assert_error_has(HT_ERR_ARGUMENT, "ht_load_hdf5", "3");
    assert_int_equal(ht_save_hdf5(x, "/nowhere/x.h5", "x", "w"), HT_ERR_IO);
    assert_error_has(HT_ERR_IO, "ht_save_hdf5: cannot write /nowhere/x.h5",
                     "No such file or directory");
    assert_int_equal(ht_save_hdf5(x, path, "x", "r"), HT_ERR_ARGUMENT);
    assert_error_has(HT_ERR_ARGUMENT, "mode is \"r\"", "");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    assert_same(x, ht_load_hdf5(path, "x", HT_FLOAT32, HT_NONE));
    remove_path();
}

HT_TEST_SUITE(test_hdf5, cmocka_unit_test(every_split_under_every_other),
              cmocka_unit_test(every_dtype), cmocka_unit_test(reads_another_dtype),
              cmocka_unit_test(transfers_in_pieces),
              cmocka_unit_test(scalars_views_and_several_data_sets),
              cmocka_unit_test(a_group_is_not_replaced),
              cmocka_unit_test(a_rank_may_load_for_itself),
              cmocka_unit_test(local_tensors_to_one_file),
              cmocka_unit_test(a_failed_save_leaves_nothing_behind),
              cmocka_unit_test(a_write_may_fail_on_one_rank), cmocka_unit_test(a_file_that_was_cut),
              cmocka_unit_test(enumerations_are_bool_if_they_say_so),
              cmocka_unit_test(uint64_is_read_if_its_values_fit),
              cmocka_unit_test(complex_numbers_stay_complex),
              cmocka_unit_test(permissions_and_links_stay), cmocka_unit_test(misuse));
