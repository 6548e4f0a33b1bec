/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* .npy files: our own under every split, those of others in every order of bytes and axes, and
 * damaged ones. */
#include "core/tensor/tensor.h"
#include "ht_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/io/files/slab.h"
#include "ht/complex_math.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/io.h"
#include "ht/manipulations.h"
#include "ht/relational.h"

static char folder[400], path[512];

static void begin(void)
{
    const char *temporary = getenv("TMPDIR");

    snprintf(folder, sizeof folder, "%s/ht-npy-%ld", temporary != NULL ? temporary : "/tmp",
             (long)getpid());
    ht__comm_bcast_bytes(HT_COMM_WORLD, folder, sizeof folder, 0, "folder");
    snprintf(path, sizeof path, "%s/x.npy", folder);
    if (ht_test_rank == 0)
        assert_int_equal(mkdir(folder, 0755), 0);
    ht_barrier(HT_COMM_WORLD);
}

static const char *in_folder(const char *name)
{
    static char text[512];

    snprintf(text, sizeof text, "%s/%s", folder, name);
    return text;
}

static void end(const char *const names[], int count)
{
    ht_barrier(HT_COMM_WORLD);
    for (int i = 0; i < count && ht_test_rank == 0; i++)
        unlink(in_folder(names[i]));
    if (ht_test_rank == 0)
        assert_int_equal(rmdir(folder), 0); /* nothing else is left in it */
}

static const char *const only[] = {"x.npy"};

static void write_file(const char *name, const void *bytes, size_t count)
{
    if (ht_test_rank == 0) {
        FILE *file = fopen(in_folder(name), "wb");

        assert_non_null(file);
        assert_int_equal(fwrite(bytes, 1, count, file), count);
        fclose(file);
    }
    ht_barrier(HT_COMM_WORLD);
}

/* A file of this version, text of a header and elements. */
static void write_npy(const char *name, int version, const char *text, const void *elements,
                      size_t bytes)
{
    char file[1024] = "\x93NUMPY";
    size_t length = strlen(text), front = version == 1 ? 10 : 12;

    file[6] = (char)version;
    file[8] = (char)(length & 0xff);
    file[9] = (char)(length >> 8);
    memcpy(file + front, text, length);
    memcpy(file + front + length, elements, bytes);
    write_file(name, file, front + length + bytes);
}

static ht_tensor *numbers(ht_dtype dtype)
{
    ht_tensor *x = ht_reshape(ht_arange(0, 60, 1, HT_FLOAT32, HT_NONE), HT_SHAPE(5, 3, 4));

    return ht_astype(x, dtype);
}

static void assert_same(ht_tensor *x, ht_tensor *y)
{
    bool equal = false;

    assert_non_null(y);
    assert_int_equal(ht_equal(x, ht_resplit(y, HT_NONE), &equal), HT_SUCCESS);
    assert_true(equal);
}

static void every_split_under_every_other(void **state)
{
    static const int splits[] = {HT_NONE, 0, 1, 2};
    const int64_t run = ht__io_run_bytes;

    (void)state;
    begin();
    for (int c = 0; c < 4 * 4 * 2; c++) {
        ht_tensor *x = numbers(HT_FLOAT64), *y;

        ht__io_run_bytes = c & 1 ? 0 : run; /* slabs of inner splits as they are, or split again */
        assert_int_equal(ht_save_npy(ht_resplit(x, splits[c / 2 % 4]), path), HT_SUCCESS);
        y = ht_load_npy(path, HT_DTYPE_OF_FILE, splits[c / 8]);
        assert_int_equal(ht_tensor_dtype(y), HT_FLOAT64);
        assert_int_equal(ht_tensor_split(y), splits[c / 8]);
        assert_same(x, y);
    }
    ht__io_run_bytes = run;
    end(only, 1);
}

static void every_dtype(void **state)
{
    (void)state;
    begin();
    for (int dtype = 0; dtype < HT_DTYPE_OF_FILE; dtype++) {
        ht_tensor *x = numbers((ht_dtype)dtype), *y;

        assert_int_equal(ht_save_npy(ht_resplit(x, 0), path), HT_SUCCESS);
        y = ht_load_npy(path, HT_DTYPE_OF_FILE, 1);
        assert_int_equal(ht_tensor_dtype(y), dtype == HT_BFLOAT16 ? HT_FLOAT32 : (ht_dtype)dtype);
        assert_same(x, ht_astype(y, (ht_dtype)dtype));
        assert_same(ht_astype(x, HT_COMPLEX128), ht_load_npy(path, HT_COMPLEX128, HT_NONE));
    }
    end(only, 1);
}

/* Views, parts of any size and none, scalars, lengths of 0. */
static void every_layout(void **state)
{
    ht_tensor *x = numbers(HT_INT32), *y;

    (void)state;
    begin();
    ht_tensor *cases[] = {ht_transpose(ht_resplit(x, 1), 0, 2),
                          ht_getitem(ht_resplit(x, 0), HT_KEY(ht_slice(3, 5))),
                          ht_flip(ht_resplit(x, 2), HT_AXES(2)),
                          ht_getitem(x, HT_KEY(ht_slice(0, 0))),
                          ht_getitem(x, HT_KEY(1, 2, 3)),
                          ht_broadcast_to(ht_getitem(x, HT_KEY(1, 2)), HT_SHAPE(6, 4))};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(ht_save_npy(cases[i], path), HT_SUCCESS);
        y = ht_load_npy(path, HT_INT32, ht_tensor_ndim(cases[i]) > 0 ? -1 : HT_NONE);
        assert_same(ht_resplit(cases[i], HT_NONE), y);
    }
    if (ht_test_rank == ht_test_size - 1)
        assert_int_equal(ht_tensor_size(ht_load_npy(path, HT_FLOAT32, HT_LOCAL)), 24);
    y = ht_load_npy_ext(path, HT_INT8, 1, ht_device_get("cpu:1"), HT_COMM_WORLD);
    assert_string_equal(ht_device_name(ht_tensor_device(y)), "cpu:1");
    end(only, 1);
}

/* Six elements of each of NumPy's types, as others write them: 1 ... 6, as (2, 3). */
static void integers_written_by_numpy(void **state)
{
    static const struct {
        const char *descr;
        int bytes, version;
        ht_dtype dtype;
        const char *order; /* of the bytes of 1: "l", "b" */
    } types[] = {
        {"|b1", 1, 1, HT_BOOL, "l"},  {"|u1", 1, 2, HT_UINT8, "l"}, {"|i1", 1, 3, HT_INT8, "l"},
        {"<i2", 2, 1, HT_INT16, "l"}, {">i2", 2, 1, HT_INT16, "b"}, {">i4", 4, 2, HT_INT32, "b"},
        {"<i8", 8, 1, HT_INT64, "l"}, {">i8", 8, 1, HT_INT64, "b"}, {"<u2", 2, 1, HT_INT32, "l"},
        {">u2", 2, 1, HT_INT32, "b"}, {"<u4", 4, 1, HT_INT64, "l"}, {">u4", 4, 3, HT_INT64, "b"},
        {"<u8", 8, 1, HT_INT64, "l"}, {">u8", 8, 1, HT_INT64, "b"}, {"b1", 1, 1, HT_BOOL, "l"},
        {"?", 1, 1, HT_BOOL, "l"},    {"u2", 2, 1, HT_INT32, "l"},  {"i8", 8, 2, HT_INT64, "l"}};

    (void)state;
    begin();
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (int c = 0; c < 2 * 3; c++) {
            static const int splits[] = {HT_NONE, 0, 1};
            char text[200], elements[48] = {0};
            int fortran = c % 2, size = types[t].bytes;
            ht_tensor *x, *want = ht_arange(1, 7, 1, HT_INT64, HT_NONE);

            for (int i = 0; i < 6; i++)
                elements[i * size + (types[t].order[0] == 'b' ? size - 1 : 0)] = (char)(i + 1);
            snprintf(text, sizeof text,
                     "{'shape': (2%s, 3), \"fortran_order\": %s, 'descr': '%s'}\n",
                     types[t].version == 1 ? "L" : "", /* as of Python 2 */
                     fortran ? "True" : "False", types[t].descr);
            write_npy("x.npy", types[t].version, text, elements, (size_t)(6 * size));
            x = ht_load_npy(path, HT_DTYPE_OF_FILE, splits[c / 2]);
            assert_non_null(x);
            assert_int_equal(ht_tensor_dtype(x), types[t].dtype);
            want = fortran ? ht_transpose(ht_reshape(want, HT_SHAPE(3, 2)), 0, 1)
                           : ht_reshape(want, HT_SHAPE(2, 3));
            assert_same(ht_astype(want, types[t].dtype), x);
            ht_barrier(HT_COMM_WORLD);
        }
    }
    end(only, 1);
}

/* 1.5 and -2 of each floating type. */
static void floats_written_by_numpy(void **state)
{
    static const struct {
        const char *descr;
        ht_dtype dtype;
        unsigned char bytes[16];
        int count;
    } types[] = {
        {"<f2", HT_FLOAT16, {0x00, 0x3e, 0x00, 0xc0}, 4},
        {">f2", HT_FLOAT16, {0x3e, 0x00, 0xc0, 0x00}, 4},
        {">f4", HT_FLOAT32, {0x3f, 0xc0, 0, 0, 0xc0, 0, 0, 0}, 8},
        {"<f8", HT_FLOAT64, {0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0}, 16},
        {">f8", HT_FLOAT64, {0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0}, 16}};

    (void)state;
    begin();
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        char text[200];
        ht_tensor *x;

        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (2,), }",
                 types[t].descr);
        write_npy("x.npy", 1, text, types[t].bytes, (size_t)types[t].count);
        x = ht_load_npy(path, HT_DTYPE_OF_FILE, 0);
        assert_int_equal(ht_tensor_dtype(x), types[t].dtype);
        x = ht_resplit(ht_astype(x, HT_FLOAT64), HT_NONE);
        assert_true(ht_item(ht_getitem(x, HT_KEY(0))) == 1.5);
        assert_true(ht_item(ht_getitem(x, HT_KEY(1))) == -2);
        ht_barrier(HT_COMM_WORLD);
    }
    write_npy("x.npy", 1, "{'descr': '>c8', 'fortran_order': False, 'shape': (), }",
              "\x3f\xc0\0\0\xc0\0\0\0", 8);
    ht_tensor *z = ht_load_npy(path, HT_DTYPE_OF_FILE, HT_NONE);

    assert_int_equal(ht_tensor_dtype(z), HT_COMPLEX64);
    assert_int_equal(ht_tensor_ndim(z), 0);
    assert_true(ht_item(ht_real(z)) == 1.5 && ht_item(ht_imag(z)) == -2);
    end(only, 1);
}

static void assert_error(ht_tensor *x, ht_status code, const char *text)
{
    const char *message;

    assert_null(x);
    assert_int_equal(ht_error_get(&message), code);
    if (strstr(message, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, message);
    ht_error_clear();
    ht_barrier(HT_COMM_WORLD);
}

static void malformed_arrays_are_errors(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }",
         "it has 91 bytes, but an array of its shape (7,) needs 95"},
        {"{'descr': '<c16', 'fortran_order': False, 'shape': (576460752303423487,), }",
         "needs 9223372036854775877"},
        {"{'descr': '<c16', 'fortran_order': False, 'shape': (2, 288230376151711743), }",
         "needs 9223372036854775863"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "Python's objects"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "several fields"},
        {"{'descr': '<u16', 'fortran_order': False, 'shape': (1,), }", "type '<u16'"},
        {"{'descr': '', 'fortran_order': False, 'shape': (1,), }", "type ''"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3), }", "a number in parentheses"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } {}", "continues after"},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (1,), }", "type '<f16'"},
        {"{'descr': '<U3', 'fortran_order': False, 'shape': (1,), }", "type '<U3'"},
        {"{'descr': '<', 'fortran_order': False, 'shape': (1,), }", "type '<'"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }", "not True or False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "not a tuple of lengths"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4 4), }", "not a tuple of lengths"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4LL,), }", "not a tuple of lengths"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999), }",
         "too large"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,), }",
         "too large"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", "more axes"},
        {"{'descr': '<f4', 'fortran_order': False, }", "lacks one of"},
        {"{'descr': '<f4', 'colour': False, }", "a key that is unknown"},
        {"{'descr': '<f4'", "not a dictionary"},
        {"", "not a .npy file"}};

    (void)state;
    begin();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_npy("x.npy", 1, cases[i].text, "12345678901234567890123", 24);
        if (cases[i].text[0] == '\0')
            write_file("x.npy", "\x93NUMPY\x04\0\2\0{}aaaaaaa", 19);
        assert_error(ht_load_npy(path, HT_FLOAT32, 0), HT_ERR_FORMAT, cases[i].why);
    }
    write_npy("x.npy", 1, "{'descr': '<u8', 'fortran_order': False, 'shape': (2,), }",
              "\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80", 16);
    assert_error(ht_load_npy(path, HT_FLOAT32, 0), HT_ERR_FORMAT, "numbers above 2^63 - 1");
    write_npy("x.npy", 1, "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "12345678",
              8);
    assert_error(ht_load_npy(path, HT_FLOAT64, 0), HT_ERR_DTYPE,
                 "elements of complex64, which float64 cannot hold");
    write_file("x.npy", "\x93NUMPY\1\x09\2\0{}aaaaaaa", 19);
    assert_error(ht_load_npy(path, HT_FLOAT32, 0), HT_ERR_FORMAT, "not a .npy file of version 1.0");
    write_file("x.npy", "\x93NUM", 4);
    assert_error(ht_load_npy(path, HT_FLOAT32, 0), HT_ERR_FORMAT, "x.npy: it is not a .npy file");
    write_file("x.npy", "\x93NUMPY\1\0\xff\0{}", 12);
    assert_error(ht_load_npy(path, HT_FLOAT32, 0), HT_ERR_FORMAT, "ends within its header");
    assert_error(ht_load_npy(in_folder("y.npy"), HT_FLOAT32, 0), HT_ERR_IO, "No such file");
    assert_error(ht_load_npy(folder, HT_FLOAT32, 0), HT_ERR_IO, "it is a folder");
    assert_error(ht_load_npy(path, (ht_dtype)99, 0), HT_ERR_ARGUMENT, "dtype is 99");
    assert_int_equal(ht_save_npy(ht_zeros(HT_SHAPE(2), HT_FLOAT32, 0), in_folder("no/x.npy")),
                     HT_ERR_IO);
    assert_error(NULL, HT_ERR_IO, "no/x.npy: No such file");
    assert_int_equal(ht_save_npy(ht_zeros(HT_SHAPE(2), HT_FLOAT32, 0), folder), HT_ERR_IO);
    assert_error(NULL, HT_ERR_IO, "it is a folder, not a file");
    ht_save_npy(ht_zeros(HT_SHAPE(2), HT_FLOAT32, 0), path);
    assert_error(ht_load_npy(path, HT_FLOAT32, 3), HT_ERR_ARGUMENT, "3");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    end(only, 1);
}

static const char *const parts[] = {"a.npy", "b.npy", "c.npy", "d.NPY", "e.txt"};

/* Parts of 2, 0, 5 and 1 rows or columns, one of them of another dtype and order. */
static void load_npy_from_a_folder(void **state)
{
    (void)state;
    begin();
    for (int axis = 0; axis < 2; axis++) {
        static const int64_t edges[] = {0, 2, 2, 7, 8};
        ht_tensor *x = ht_reshape(ht_arange(0, 24, 1, HT_INT16, HT_NONE),
                                  HT_SHAPE(axis == 0 ? 8 : 3, axis == 0 ? 3 : 8));

        for (int i = 0; i < 4; i++) {
            ht_index rows = ht_slice(edges[i], edges[i + 1]);
            ht_tensor *part = axis == 0 ? ht_getitem(x, HT_KEY(rows))
                                        : ht_getitem(x, HT_KEY(ht_slice(0, 3), rows));

            ht_save_npy(i == 2 ? ht_astype(part, HT_FLOAT32) : part, in_folder(parts[i]));
        }
        write_file("e.txt", "no array", 8);
        ht_tensor *y = ht_load_npy_from_path(folder, HT_DTYPE_OF_FILE, axis);

        assert_int_equal(ht_tensor_dtype(y), HT_FLOAT32);
        assert_int_equal(ht_tensor_split(y), axis);
        assert_same(ht_astype(x, HT_FLOAT32), y);
        y = ht_load_npy_from_path_ext(folder, HT_INT64, axis - 2, 1 - axis, ht_get_device(),
                                      HT_COMM_WORLD);
        assert_int_equal(ht_tensor_split(y), 1 - axis);
        assert_same(ht_astype(x, HT_INT64), y);
        assert_same(ht_astype(x, HT_INT64),
                    ht_load_npy_from_path_ext(folder, HT_INT64, axis, HT_NONE, ht_get_device(),
                                              HT_COMM_WORLD));
        ht_barrier(HT_COMM_WORLD);
    }
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_error(ht_load_npy_from_path(folder, HT_INT32, 0), HT_ERR_SHAPE,
                 "expected shapes that differ along axis 0 only");
    assert_error(ht_load_npy_from_path(folder, HT_INT32, 2), HT_ERR_ARGUMENT,
                 "axis is 2, expected one of");
    ht_barrier(HT_COMM_WORLD);
    write_file("c.npy", "short", 5);
    assert_error(ht_load_npy_from_path(folder, HT_INT32, 1), HT_ERR_FORMAT,
                 "c.npy: it is not a .npy");
    assert_error(ht_load_npy_from_path(in_folder("none"), HT_INT32, 1), HT_ERR_IO, "No such file");
    for (int i = 0; i < 4 && ht_test_rank == 0; i++)
        unlink(in_folder(parts[i]));
    ht_barrier(HT_COMM_WORLD);
    assert_error(ht_load_npy_from_path(folder, HT_INT32, 1), HT_ERR_IO, "has no .npy file");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    end(parts, 5);
}

static const char *const stores[] = {"1.h5", "2.hdf5"};

static void a_folder_of_hdf5(void **state)
{
    ht_tensor *x = ht_resplit(numbers(HT_FLOAT32), 0), *y;

    (void)state;
    begin();
    ht_save_hdf5(ht_getitem(x, HT_KEY(ht_slice(0, 1))), in_folder("1.h5"), "g/x", "w");
    ht_save_hdf5(ht_getitem(x, HT_KEY(ht_slice(1, 5))), in_folder("2.hdf5"), "g/x", "w");
    y = ht_load_multiple_hdf5(folder, "g/x", HT_FLOAT64);
    assert_int_equal(ht_tensor_split(y), 0);
    assert_same(ht_resplit(ht_astype(x, HT_FLOAT64), HT_NONE), y);
    y = ht_load_multiple_hdf5_ext(folder, "g/x", HT_DTYPE_OF_FILE, 0, 2, ht_get_device(),
                                  HT_COMM_WORLD);
    assert_int_equal(ht_tensor_split(y), 2);
    assert_same(ht_resplit(x, HT_NONE), y);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_error(ht_load_multiple_hdf5(folder, "y", HT_FLOAT32), HT_ERR_FORMAT,
                 "1.h5 has no data set y");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    end(stores, 2);
}

HT_TEST_SUITE(test_npy, cmocka_unit_test(every_split_under_every_other),
              cmocka_unit_test(every_dtype), cmocka_unit_test(every_layout),
              cmocka_unit_test(integers_written_by_numpy),
              cmocka_unit_test(floats_written_by_numpy),
              cmocka_unit_test(malformed_arrays_are_errors),
              cmocka_unit_test(load_npy_from_a_folder), cmocka_unit_test(a_folder_of_hdf5));
