/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Checkpoints: saved values of any kind come back; damaged files are refused; the last K are
 * kept. */
#include "checkpoint_test.h"
#include "tensor_check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include <hdf5.h>

/* Everything that a state can be made of. */
static ht_value *many_things(void)
{
    ht_value *map = ht_value_map(), *list = ht_value_list(), *inner = ht_value_map();

    for (ht_dtype dtype = 0; dtype < HT_DTYPE_COUNT; dtype++)
        ht_value_set(map, ht_dtype_name(dtype),
                     ht_value_tensor(numbers(23, dtype, HT_NONE, HT_COMM_SELF)));
    ht_value_set(map, "split", ht_value_tensor(numbers(17, HT_INT64, 0, HT_COMM_WORLD)));
    ht_value_set(map, "second axis",
                 ht_value_tensor(ht_resplit(
                     ht_reshape(numbers(21, HT_FLOAT64, 0, HT_COMM_WORLD), HT_SHAPE(3, 7)), 1)));
    ht_value_set(map, "everywhere",
                 ht_value_tensor(numbers(5, HT_FLOAT32, HT_NONE, HT_COMM_WORLD)));
    ht_value_set(map, "none", ht_value_tensor(numbers(0, HT_FLOAT32, HT_NONE, HT_COMM_SELF)));
    ht_value_set(
        map, "view",
        ht_value_tensor(ht_transpose(
            ht_reshape(numbers(6, HT_INT32, HT_NONE, HT_COMM_SELF), HT_SHAPE(2, 3)), 0, 1)));
    for (int i = 0; i < 200; i++)
        ht_value_append(list, ht_value_number(0.1 * i));
    ht_value_append(list, ht_value_map());
    ht_value_append(list, ht_value_list());
    ht_value_set(inner, "fc1.weight", ht_value_number(-1e300));
    ht_value_append(list, inner);
    ht_value_set(map, "list", list);
    return map;
}

static void assert_same_tensor(ht_tensor *a, ht_tensor *b)
{
    assert_int_equal(ht_tensor_dtype(a), ht_tensor_dtype(b));
    assert_int_equal(ht_tensor_split(a), ht_tensor_split(b));
    assert_int_equal(ht_tensor_comm(a)->size, ht_tensor_comm(b)->size);
    assert_int_equal(ht_tensor_ndim(a), ht_tensor_ndim(b));
    for (int i = 0; i < ht_tensor_ndim(a); i++)
        assert_int_equal(ht_tensor_shape(a)[i], ht_tensor_shape(b)[i]);
    a = ht_contiguous(a);
    b = ht_contiguous(b);
    assert_memory_equal(ht_test_data(a), ht_test_data(b),
                        (size_t)a->body->lsize * ht_dtype_size(ht_tensor_dtype(a)));
}

static void assert_same(const ht_value *a, const ht_value *b)
{
    assert_int_equal(ht_value_get_kind(a), ht_value_get_kind(b));
    assert_int_equal(ht_value_count(a), ht_value_count(b));
    assert_true(ht_value_as_number(a) == ht_value_as_number(b));
    if (ht_value_get_kind(a) == HT_VALUE_TENSOR)
        assert_same_tensor(ht_value_as_tensor(a), ht_value_as_tensor(b));
    for (int i = 0; i < ht_value_count(a); i++) {
        const char *key = ht_value_key(a, i);

        assert_same(ht_value_at(a, i), key != NULL ? ht_value_get(b, key) : ht_value_at(b, i));
    }
}

static void everything_comes_back(void **state)
{
    ht_value *saved = many_things(), *loaded;

    (void)state;
    assert_int_equal(ht_checkpoint_save(saved, path, HT_COMM_WORLD, NULL), HT_SUCCESS);
    loaded = ht_checkpoint_load(path, HT_COMM_WORLD, NULL);
    assert_non_null(loaded);
    assert_same(saved, loaded);
}

/* Saved by all, loaded by half of them, and the other way round. */
static void other_rank_counts(void **state)
{
    ht_comm *half = ht_comm_split(HT_COMM_WORLD, ht_test_rank < (ht_test_size + 1) / 2 ? 0 : -1, 0);
    ht_value *map = ht_value_map(), *loaded;

    (void)state;
    ht_value_set(map, "split", ht_value_tensor(numbers(23, HT_INT32, 0, HT_COMM_WORLD)));
    ht_value_set(map, "local", ht_value_tensor(numbers(9, HT_FLOAT64, HT_NONE, HT_COMM_SELF)));
    ht_checkpoint_save(map, path, HT_COMM_WORLD, NULL);
    if (half != NULL) {
        ht_value *again = ht_value_map();

        loaded = ht_checkpoint_load(path, half, NULL);
        ht_value_set(again, "split", ht_value_tensor(numbers(23, HT_INT32, 0, half)));
        ht_value_set(again, "local", ht_value_get(map, "local"));
        assert_same(again, loaded);
        assert_int_equal(ht_checkpoint_save(loaded, path, half, NULL), HT_SUCCESS);
    }
    ht_barrier(HT_COMM_WORLD);
    assert_same(map, ht_checkpoint_load(path, HT_COMM_WORLD, NULL));
    ht_release(half);
}

/* Process-local tensors that differ between ranks: rank 0's are saved, not a part of each. */
static void rank_0_decides(void **state)
{
    ht_value *map = ht_value_map(), *loaded;
    int64_t count = 8;
    ht_tensor *mine = ht_full(1, &count, ht_test_rank, HT_FLOAT64, HT_LOCAL);

    (void)state;
    ht_value_set(map, "running_mean", ht_value_tensor(mine));
    ht_value_set(map, "seen", ht_value_number(10 + ht_test_rank));
    ht_checkpoint_save(map, path, HT_COMM_WORLD, NULL);
    loaded = ht_checkpoint_load(path, HT_COMM_WORLD, NULL);
    assert_true(ht_value_as_number(ht_value_get(loaded, "seen")) == 10);
    for (int i = 0; i < count; i++)
        assert_true(((const double *)ht_test_data(
                        ht_value_as_tensor(ht_value_get(loaded, "running_mean"))))[i] == 0);
}

static void states_that_cannot_be_saved(void **state)
{
    ht_value *map = ht_value_map(), *other = ht_value_map();

    (void)state;
    ht_value_set(map, "a/b", ht_value_number(1));
    assert_int_equal(ht_checkpoint_save(map, path, HT_COMM_WORLD, NULL), HT_ERR_ARGUMENT);
    assert_error(HT_ERR_ARGUMENT, "the key \"a/b\" in \"\" is empty");
    assert_int_equal(ht_checkpoint_save(ht_value_number(1), path, HT_COMM_WORLD, NULL),
                     HT_ERR_ARGUMENT);
    assert_error(HT_ERR_ARGUMENT, "state is a number, expected a map");
    ht_value_set(other, "same", ht_value_number(1));
    ht_value_set(other, ht_test_rank == 1 ? "one" : "other", ht_value_number(1));
    if (ht_test_size > 1) {
        assert_int_equal(ht_checkpoint_save(other, path, HT_COMM_WORLD, NULL), HT_ERR_ARGUMENT);
        assert_error(HT_ERR_ARGUMENT, "differs between ranks, from \"other\" of rank 0 on");
    }
    assert_int_equal(ht_checkpoint_save(other, "/nowhere/run.h5", HT_COMM_WORLD, NULL),
                     ht_test_size > 1 ? HT_ERR_ARGUMENT : HT_ERR_IO);
    ht_error_clear();
}

/* A communicator of one rank on one of them, and of more on others: no rank is left alone. */
static void a_tensor_of_another_communicator_is_one_error(void **state)
{
    ht_comm *part = ht_comm_split(HT_COMM_WORLD, ht_test_rank == 0, 0);
    ht_value *map = ht_value_map();

    (void)state;
    ht_value_set(map, "theirs", ht_value_tensor(numbers(9, HT_FLOAT32, 0, part)));
    ht_value_set(map, "ours",
                 ht_value_tensor(ht_resplit(
                     ht_reshape(numbers(21, HT_FLOAT64, 0, HT_COMM_WORLD), HT_SHAPE(3, 7)), 1)));
    if (ht_test_size > 2) {
        assert_int_equal(ht_checkpoint_save(map, path, HT_COMM_WORLD, NULL), HT_ERR_COMM);
        assert_error(HT_ERR_COMM, "theirs is on another communicator than the checkpoint");
    }
    ht_release(part);
}

static void on_rank_0(void (*change)(int64_t where), int64_t where)
{
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0)
        change(where);
    ht_barrier(HT_COMM_WORLD);
}

static void cut_at(int64_t length)
{
    assert_int_equal(truncate(path, length), 0);
}

static void flip_byte(int64_t at)
{
    int fd = open(path, O_RDWR);
    unsigned char byte;

    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte = (unsigned char)~byte;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static int64_t size_of_file(void)
{
    struct stat info;

    assert_int_equal(stat(path, &info), 0);
    return info.st_size;
}

static int64_t random_below(int64_t limit)
{
    static uint64_t state = 88172645463325252u;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state % (uint64_t)limit);
}

/* The file as it was saved. */
static char good[16384];

static void keep_good(void)
{
    ht_barrier(HT_COMM_WORLD);
    int fd = open(path, O_RDONLY);

    assert_true(size_of_file() < (int64_t)sizeof good);
    assert_int_equal(read(fd, good, sizeof good), size_of_file());
    close(fd);
}

static void put_back(int64_t size)
{
    int fd = open(path, O_WRONLY | O_TRUNC);

    assert_int_equal(write(fd, good, (size_t)size), size);
    close(fd);
}

static void assert_refused(const char *text)
{
    assert_null(ht_checkpoint_load(path, HT_COMM_WORLD, NULL));
    assert_error(HT_ERR_FORMAT, text);
    assert_true(number_in(path, true) == 1); /* the one before it, when asked */
}

static void a_file_cut_short_is_refused(void **state)
{
    (void)state;
    ht_checkpoint_save(numbered(1), path, HT_COMM_WORLD, NULL);
    ht_checkpoint_save(numbered(2), path, HT_COMM_WORLD, NULL);
    keep_good();
    int64_t size = size_of_file();

    for (int i = 0; i < 100; i++) {
        on_rank_0(cut_at, i == 0 ? size - 1 : random_below(size));
        assert_refused("run.h5");
        on_rank_0(put_back, size);
    }
}

/* The offset of x's elements in the file. */
static int64_t place_of_x(void)
{
    haddr_t place;

    ht_hdf5_lock();
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), set = H5Dopen2(file, "x", H5P_DEFAULT);

    place = H5Dget_offset(set);
    H5Dclose(set);
    H5Fclose(file);
    ht_hdf5_unlock();
    assert_true(place != HADDR_UNDEF);
    return (int64_t)place;
}

static void a_byte_flipped_in_data_is_refused(void **state)
{
    (void)state;
    ht_checkpoint_save(numbered(1), path, HT_COMM_WORLD, NULL);
    ht_checkpoint_save(numbered(2), path, HT_COMM_WORLD, NULL);
    int64_t place = place_of_x();

    for (int i = 0; i < 100; i++) {
        int64_t at = place + random_below(300 * 4);

        on_rank_0(flip_byte, at);
        assert_refused("run.h5 is damaged: the checksum of its contents is");
        on_rank_0(flip_byte, at);
    }
    assert_true(number_in(path, false) == 2);
}

/* Also where it means nothing to HDF5. */
static void a_byte_flipped_anywhere_is_refused(void **state)
{
    (void)state;
    ht_checkpoint_save(numbered(1), path, HT_COMM_WORLD, NULL);
    ht_checkpoint_save(numbered(2), path, HT_COMM_WORLD, NULL);
    for (int i = 0; i < 100; i++) {
        int64_t at = i < 20 ? random_below(HT_SEAL_BYTES) : random_below(size_of_file());

        on_rank_0(flip_byte, at);
        assert_refused("run.h5 is damaged");
        on_rank_0(flip_byte, at);
    }
    assert_true(number_in(path, false) == 2);
}

/* Another format in HDF5's part of the file; 0: none. */
static void set_format(int64_t format)
{
    ht_hdf5_lock();
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t attribute = H5Aopen(file, "@libht", H5P_DEFAULT);

    if (format > 0)
        H5Awrite(attribute, H5T_NATIVE_INT64, &format);
    H5Aclose(attribute);
    if (format == 0)
        H5Adelete(file, "@libht");
    H5Fclose(file);
    ht_hdf5_unlock();
}

/* The seal of a file that was changed on purpose, or none. */
static void seal_again(bool sealed)
{
    const ht_target target = {.what = "test", .path = path, .comm = HT_COMM_WORLD};
    static const char zero[HT_SEAL_BYTES];
    ht_seal_sum sum;
    ht_seal seal;
    int fd = open(path, O_RDWR);

    ht__seal_begin(&seal);
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0)
        assert_int_equal(pwrite(fd, sealed ? (const void *)&seal : zero, HT_SEAL_BYTES, 0),
                         HT_SEAL_BYTES);
    close(fd);
    ht_barrier(HT_COMM_WORLD);
    if (!sealed)
        return;
    assert_int_equal(ht__seal_measure(&target, path, &sum), HT_SUCCESS);
    if (ht_test_rank == 0)
        assert_int_equal(ht__seal_close(&target, path, &seal, &sum), HT_SUCCESS);
    ht_barrier(HT_COMM_WORLD);
}

static void other_formats_are_refused(void **state)
{
    ht_module *net = ht_nn_linear(2, 3);

    (void)state;
    ht_checkpoint_save(numbered(1), path, HT_COMM_WORLD, NULL);
    on_rank_0(set_format, 3);
    assert_null(ht_checkpoint_load(path, HT_COMM_WORLD, NULL));
    assert_error(HT_ERR_FORMAT, "run.h5 is damaged: the checksum");
    seal_again(true);
    assert_null(ht_checkpoint_load(path, HT_COMM_WORLD, NULL));
    assert_error(HT_ERR_FORMAT, "run.h5 has format 3, written by a newer libht");
    on_rank_0(set_format, 2);
    seal_again(true);
    assert_true(number_in(path, false) == 1);
    seal_again(false);
    assert_null(ht_checkpoint_load(path, HT_COMM_WORLD, NULL));
    assert_error(HT_ERR_FORMAT, "it begins neither as a checkpoint nor as an HDF5 file");
    assert_int_equal(ht_module_load_state(net, path, HT_COMM_WORLD), HT_ERR_FORMAT);
    assert_error(HT_ERR_FORMAT, "it begins neither as a checkpoint nor as an HDF5 file");
    on_rank_0(set_format, 0);
    seal_again(true);
    assert_null(ht_checkpoint_load(path, HT_COMM_WORLD, NULL));
    assert_error(HT_ERR_FORMAT, "run.h5 is not a checkpoint");
    assert_null(ht_checkpoint_load("/nowhere/run.h5", HT_COMM_WORLD, NULL));
    assert_error(HT_ERR_IO, "cannot open /nowhere/run.h5");
    ht_release(net);
}

/* No file of this process may grow beyond a limit: to it, the disk is full. */
static void a_full_disk_leaves_the_old_checkpoint(void **state)
{
    struct rlimit was, small;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    ht_value *large = numbered(2);

    (void)state;
    ht_value_set(large, "large",
                 ht_value_tensor(numbers(1 << 18, HT_FLOAT64, HT_NONE, HT_COMM_SELF)));
    ht_checkpoint_save(numbered(1), path, HT_COMM_WORLD, NULL);
    getrlimit(RLIMIT_FSIZE, &was);
    small = was;
    small.rlim_cur = 1 << 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);

    ht_status status = ht_checkpoint_save(large, path, HT_COMM_WORLD, NULL);

    setrlimit(RLIMIT_FSIZE, &was);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, HT_ERR_IO);
    assert_error(HT_ERR_IO, "run.h5: File too large");
    assert_true(number_in(path, false) == 1);
    assert_false(is_there(".part"));
    assert_false(is_there(".1"));
}

HT_TEST_SUITE(test_checkpoint, IN_FOLDER(everything_comes_back), IN_FOLDER(other_rank_counts),
              IN_FOLDER(rank_0_decides), IN_FOLDER(states_that_cannot_be_saved),
              IN_FOLDER(a_tensor_of_another_communicator_is_one_error),
              IN_FOLDER(a_file_cut_short_is_refused), IN_FOLDER(a_byte_flipped_in_data_is_refused),
              IN_FOLDER(a_byte_flipped_anywhere_is_refused), IN_FOLDER(other_formats_are_refused),
              IN_FOLDER(a_full_disk_leaves_the_old_checkpoint));
