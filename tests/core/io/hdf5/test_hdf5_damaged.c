/* ranks 1 3 */
/* SPDX-License-Identifier: MIT */
/* Damaged HDF5 files without checksums: an error on all ranks, or the values that were saved. The
 * elements are in one piece, or in chunks with each kind of filter. */
#include <hdf5.h>

#include "core/comm/comm.h"
#include "ht_test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ht/factories.h"
#include "ht/io.h"
#include "ht/manipulations.h"
#include "ht/relational.h"

enum { ROOM = 1 << 14, VALUES = 36 * sizeof(float) };

static const char path[] = "damaged.h5";
static unsigned char good[ROOM], bytes[ROOM];
static long size;

static ht_tensor *numbers(void)
{
    return ht_reshape(ht_arange(1, 37, 1, HT_FLOAT32, HT_NONE), HT_SHAPE(12, 3));
}

static void read_good(void)
{
    FILE *file;

    assert_int_equal(ht_save_hdf5(numbers(), path, "x", "w"), HT_SUCCESS);
    file = fopen(path, "rb");
    size = (long)fread(good, 1, sizeof good, file);
    fclose(file);
    assert_in_range(size, 1000, ROOM - 1);
    memcpy(bytes, good, sizeof good);
}

/* Where a sequence of bytes is first. */
static long find(const void *text, size_t length)
{
    for (long i = 0; i + (long)length <= size; i++) {
        if (memcmp(good + i, text, length) == 0)
            return i;
    }
    fail_msg("the file is not as it is expected to be");
    return -1;
}

static long find_values(void)
{
    float values[VALUES / sizeof(float)];

    for (int i = 0; i < (int)(VALUES / sizeof(float)); i++)
        values[i] = (float)(i + 1);
    return find(values, VALUES);
}

static void write_bytes(long length)
{
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0) {
        FILE *file = fopen(path, "wb");

        assert_int_equal(fwrite(bytes, 1, (size_t)length, file), length);
        fclose(file);
    }
    ht_barrier(HT_COMM_WORLD);
}

/* Whether it loads, as rank 0 sees it: all ranks must see the same. */
static bool loads(bool *same)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_load_hdf5(path, "x", HT_FLOAT32, 0);
    int loaded = x != NULL, first = loaded;

    ht__comm_bcast_bytes(HT_COMM_WORLD, &first, sizeof first, 0, "first");
    assert_int_equal(loaded, first);
    *same = false;
    if (loaded && ht_tensor_ndim(x) == 2 && ht_tensor_size(x) == 36)
        ht_equal(ht_resplit(x, HT_NONE), numbers(), same);
    ht_scope_close(scope);
    return loaded;
}

/* In chunks of (4, 2), which do not divide the shape. */
static void write_chunks(void (*filter)(hid_t layout))
{
    int32_t values[36];
    hsize_t shape[] = {12, 3}, chunk[] = {4, 2};
    hid_t file, space, layout, set;

    for (int i = 0; i < 36; i++)
        values[i] = i + 1;
    ht_hdf5_lock();
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    space = H5Screate_simple(2, shape, NULL);
    layout = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(layout, 2, chunk);
    filter(layout);
    set = H5Dcreate2(file, "x", H5T_NATIVE_INT32, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    assert_true(H5Dwrite(set, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(set);
    H5Pclose(layout);
    H5Sclose(space);
    H5Fclose(file);
    ht_hdf5_unlock();
}

static void no_filter(hid_t layout)
{
    (void)layout;
}

static void compression(hid_t layout)
{
    H5Pset_shuffle(layout);
    H5Pset_deflate(layout, 4);
}

static void checksum(hid_t layout)
{
    H5Pset_fletcher32(layout);
}

static void packing(hid_t layout)
{
    H5Pset_scaleoffset(layout, H5Z_SO_INT, 0);
}

/* Damages the bytes up to the end of the index, which are before the chunks. A key of the index has
 * 32 bytes (bytes and filters of the chunk, and three numbers) and an address behind it. */
static void damage_chunks(void (*filter)(hid_t layout), bool all)
{
    static const unsigned char type[] = {0x10, 0x08, 0, 0, 4, 0, 0, 0}; /* an int32 */
    const long step = ht_test_size == 1 ? 1 : 5;
    long described, index, end, first = 0;
    FILE *file;

    if (ht_test_rank == 0)
        write_chunks(filter);
    ht_barrier(HT_COMM_WORLD);
    file = fopen(path, "rb");
    size = (long)fread(good, 1, sizeof good, file);
    fclose(file);
    memcpy(bytes, good, sizeof good);
    described = find(type, sizeof type);
    index = find("TREE\1", 5);
    memcpy(&first, good + index + 24 + 32, sizeof first);
    end = index + 24 + 6 * 40 + 32;
    assert_in_range(first, end, size);
    for (long i = all ? 0 : described - 64; i < end; i += step) {
        const long in_key = (i - index - 24) % 40; /* 32 to 39: an address, which has no check */
        bool same, loaded;

        if ((i >= described && i < described + 12) || (i > index + 24 && in_key >= 32))
            continue;
        bytes[i] ^= 0xff;
        write_bytes(size);
        loaded = loads(&same);
        if (loaded && !same)
            fail_msg("byte %ld is damaged, and other values are loaded with success", i);
        bytes[i] = good[i];
    }
}

static void each_damaged_byte_before_chunks_is_found_or_harmless(void **state)
{
    void (*const filters[])(hid_t) = {no_filter, compression, checksum, packing};

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    for (int i = 0; i < 4; i++)
        damage_chunks(filters[i], i == 0); /* all else than the data set is the same */
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    if (ht_test_rank == 0)
        unlink(path);
}

/* On several ranks, which take longer, each fifth byte. */
static void each_damaged_byte_is_found_or_harmless(void **state)
{
    /* a little-endian float of 4 bytes, whose description may become that of other numbers */
    static const unsigned char type[] = {0x11, 0x20, 0x1f, 0, 4, 0, 0, 0};
    const long step = ht_test_size == 1 ? 1 : 5;
    long values, described;
    int64_t refused = 0;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    read_good();
    values = find_values();
    described = find(type, sizeof type);
    for (long i = 0; i < size && i < 4096; i += step) {
        bool same, loaded;

        if (i >= values && i < values + (long)VALUES)
            continue;
        bytes[i] ^= 0xff;
        write_bytes(size);
        loaded = loads(&same);
        if (loaded && !same && (i < described || i >= described + 24))
            fail_msg("byte %ld is damaged, and other values are loaded with success", i);
        refused += !loaded;
        bytes[i] = good[i];
    }
    assert_in_range(refused, 200 / step, size);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    if (ht_test_rank == 0)
        unlink(path);
}

/* The address of the elements, which follows the version and class of their layout. */
static void elements_beyond_the_end(void **state)
{
    unsigned char layout[] = {3, 1, 0, 0, 0, 0, 0, 0, 0, 0, VALUES, 0, 0, 0, 0, 0, 0, 0};
    long values, at;
    bool same;
    static const char start[] = "ht_load_hdf5: damaged.h5: x: cannot read: the file is damaged: it "
                                "points ";
    const char *message;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    read_good();
    values = find_values();
    memcpy(layout + 2, &values, sizeof values);
    at = find(layout, sizeof layout) + 2;
    for (int byte = 1; byte < 8; byte++) {
        bytes[at + byte] = 0x7f;
        write_bytes(size);
        assert_false(loads(&same));
        ht_error_get(&message);
        if (strncmp(message, start, strlen(start)) != 0)
            fail_msg("byte %d: %s", byte, message);
        bytes[at + byte] = good[at + byte];
    }
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    if (ht_test_rank == 0)
        unlink(path);
}

HT_TEST_SUITE(test_hdf5_damaged, cmocka_unit_test(each_damaged_byte_is_found_or_harmless),
              cmocka_unit_test(each_damaged_byte_before_chunks_is_found_or_harmless),
              cmocka_unit_test(elements_beyond_the_end));
