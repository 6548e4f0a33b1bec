/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* CSV files: valid tables, exact numbers, wrong ones, and the written text. */
#include "core/tensor/tensor.h"
#include "ht_test.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ht/arithmetics.h"
#include "ht/array.h"
#include "ht/exponential.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/io.h"
#include "ht/manipulations.h"
#include "ht/random.h"
#include "ht/relational.h"

static char folder[400], path[512];

static void begin(void)
{
    const char *temporary = getenv("TMPDIR");

    snprintf(folder, sizeof folder, "%s/ht-csv-%ld", temporary != NULL ? temporary : "/tmp",
             (long)getpid());
    ht__comm_bcast_bytes(HT_COMM_WORLD, folder, sizeof folder, 0, "folder");
    snprintf(path, sizeof path, "%s/x.csv", folder);
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

static void end(void)
{
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0) {
        unlink(path);
        assert_int_equal(rmdir(folder), 0); /* nothing else is left in it */
    }
}

static void write_file(const char *name, const char *text)
{
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0) {
        FILE *file = fopen(in_folder(name), "wb");

        assert_non_null(file);
        fputs(text, file);
        fclose(file);
    }
    ht_barrier(HT_COMM_WORLD);
}

static void assert_shape(ht_tensor *x, int64_t rows, int64_t columns)
{
    assert_non_null(x);
    assert_int_equal(ht_tensor_ndim(x), 2);
    assert_int_equal(ht_tensor_shape(x)[0], rows);
    assert_int_equal(ht_tensor_shape(x)[1], columns);
}

/* 1, 2, 3, ... in every case, after some lines of a header. */
static void line_ends_headers_and_separators(void **state)
{
    static const struct {
        const char *text;
        int header, rows, columns;
        char separator;
    } cases[] = {{"1,2\n3,4\n5,6\n", 0, 3, 2, ','},
                 {"1,2\n3,4\n5,6", 0, 3, 2, ','},
                 {"1,2\r\n3,4\r\n5,6\r\n", 0, 3, 2, ','},
                 {"1,2\r\n3,4\r\n5,6\r", 0, 3, 2, ','},
                 {"a,b\n\"c\nd\"\n1,2\n3,4\n5,6\n", 3, 3, 2, ','},
                 {"\xef\xbb\xbf"
                  "1;2\n3;4\n",
                  0, 2, 2, ';'},
                 {"\xef\xbb\xbf\"1\"\n2\n", 0, 2, 1, ','},
                 {"\xef\xbb\xbf"
                  "1",
                  0, 1, 1, ','},
                 {"\xef\xbb\xbf", 0, 0, 0, ','},
                 {"\"\n1\"\n", 0, 1, 1, ','}, /* a byte on each of the first ranks */
                 {"\xef\xbb\xbfx\ty\n1\t2\n3\t4\n", 1, 2, 2, '\t'},
                 {"1 2 3\n4 5 6\n", 0, 2, 3, ' '},
                 {"\n\n1,2\n\r\n  \n3,4\n\n\n5,6\n\n\n", 0, 3, 2, ','},
                 {"\"1\",\"2\"\n\"3\", \"4\" \n5 ,\t6\n", 0, 3, 2, ','},
                 {"\" 1 \",2\n\"\n3\n\",4\n5,\"\r\n6\"\n", 0, 3, 2, ','},
                 {"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15", 0, 15, 1, ','},
                 {"1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27\n", 0, 1,
                  27, ','},
                 {"+1,2.0\n3e0,0.4E1\n.5e+1,00006.\n700e-2,8\n", 0, 4, 2, ','},
                 {"", 0, 0, 0, ','},
                 {"\n\n", 0, 0, 0, ','},
                 {"a,b\n", 5, 0, 0, ','}};
    static const int splits[] = {HT_NONE, 0, 1};

    (void)state;
    begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int dtype = HT_INT8; dtype <= HT_FLOAT64; dtype++) {
            int64_t count = cases[i].rows * cases[i].columns;
            ht_tensor *want = ht_reshape(ht_arange(1, (double)count + 1, 1, HT_INT64, HT_NONE),
                                         HT_SHAPE(cases[i].rows, cases[i].columns));
            int split = splits[(dtype + (int)i) % 3];
            bool equal = false;

            if (dtype == HT_INT8)
                write_file("x.csv", cases[i].text);
            ht_tensor *x = ht_load_csv(path, cases[i].header, cases[i].separator, (ht_dtype)dtype,
                                       split);

            assert_shape(x, cases[i].rows, cases[i].columns);
            assert_int_equal(ht_tensor_split(x), split);
            assert_int_equal(ht_tensor_dtype(x), dtype);
            assert_int_equal(ht_equal(ht_astype(ht_resplit(x, HT_NONE), HT_INT64), want, &equal),
                             HT_SUCCESS);
            assert_true(equal);
        }
    }
    end();
}

/* A quoted field that is longer than the ranges of several ranks, before and behind rows. */
static void a_field_over_many_ranks(void **state)
{
    char text[1400];

    (void)state;
    begin();
    for (int place = 0; place < 3; place++) {
        int length = 0;

        for (int row = 0; row < 3; row++) {
            length += snprintf(text + length, sizeof text - (size_t)length, "%d,", row);
            if (row == place)
                length += snprintf(text + length, sizeof text - (size_t)length, "\"%*s%d%*s\"\n",
                                   300, "\n\n", 7, 300, "\n \n");
            else
                length += snprintf(text + length, sizeof text - (size_t)length, "7\n");
        }
        write_file("x.csv", text);
        ht_tensor *x = ht_load_csv(path, 0, ',', HT_INT64, HT_NONE);
        /* Lines and blanks around a number in quotes do not count. */
        assert_shape(x, 3, 2);
        for (int row = 0; row < 3; row++) {
            assert_true(ht_item(ht_getitem(x, HT_KEY(row, 0))) == row);
            assert_true(ht_item(ht_getitem(x, HT_KEY(row, 1))) == 7);
        }
    }
    end();
}

/* Numbers that are easily rounded wrongly, and those that have names. */
static void numbers_are_exact(void **state)
{
    static const char *const numbers[] = {"0.1",
                                          "-0",
                                          "1e22",
                                          "1e23",
                                          "9007199254740993",
                                          "9007199254740992.99999",
                                          "2.5e-324",
                                          "2.4e-324",
                                          "1.7976931348623157e308",
                                          "1.7976931348623159e308",
                                          "1e999",
                                          "-1e-999",
                                          "123456789012345678901234567890",
                                          "0.000000000000000000000000000000000000012345",
                                          "8.5070591730234615e37",
                                          "1.00000005960464477539062500000000000001",
                                          "1.000000059604644775390625",
                                          "1.0000000596046447",
                                          "1e-45",
                                          "7.0064923216240853e-46",
                                          "3.4028235677973366e38",
                                          "3.4028235e38",
                                          "1.17549429e-38",
                                          "00000000000000000000000000.5",
                                          "0.30000000000000004",
                                          "6.02214076e23",
                                          "1234567890123456789",
                                          "1844674407370955161.5",
                                          "179769313486231580793e289",
                                          "5e-1",
                                          "4.35",
                                          "0.6822871999174",
                                          "1e00000000000000000005",
                                          "1e-99999999999",
                                          "9999999999999999999.9",
                                          "inf",
                                          "-Infinity",
                                          "iNf"};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    char text[4096] = "";

    (void)state;
    begin();
    for (int i = 0; i < COUNT; i++)
        strcat(strcat(text, numbers[i]), "\n");
    write_file("x.csv", text);
    ht_tensor *x = ht_load_csv(path, 0, ',', HT_FLOAT64, HT_NONE);
    ht_tensor *y = ht_load_csv(path, 0, ',', HT_FLOAT32, HT_NONE);

    for (int i = 0; i < COUNT; i++) {
        double wide = ht_item(ht_getitem(x, HT_KEY(i, 0)));
        double narrow = ht_item(ht_getitem(y, HT_KEY(i, 0)));

        if (wide != strtod(numbers[i], NULL) || signbit(wide) != (numbers[i][0] == '-'))
            fail_msg("%s is %.17g", numbers[i], wide);
        if (narrow != (double)strtof(numbers[i], NULL))
            fail_msg("%s is %.9g as float32", numbers[i], narrow);
    }
    write_file("x.csv", "nan,,-NaN,\"\"\n,1, ,\n");
    x = ht_resplit(ht_load_csv(path, 0, ',', HT_FLOAT16, 0), HT_NONE);
    for (int i = 0; i < 8; i++)
        assert_true(isnan(ht_item(ht_getitem(x, HT_KEY(i / 4, i % 4)))) != (i == 5));
    write_file("x.csv", "-9223372036854775808,9223372036854775807,1e18\n");
    x = ht_load_csv(path, 0, ',', HT_INT64, HT_NONE);
    if (ht_tensor_device(x) == ht_device_get("cpu")) {
        const int64_t *values = ht_tensor_data(x);

        assert_true(values[0] == INT64_MIN && values[1] == INT64_MAX &&
                    values[2] == INT64_C(1000000000000000000));
    }
    write_file("x.csv", "true,FALSE,1,0\n");
    x = ht_load_csv(path, 0, ',', HT_BOOL, HT_NONE);
    for (int i = 0; i < 4; i++)
        assert_true(ht_item(ht_getitem(x, HT_KEY(0, i))) == (i % 2 == 0));
    end();
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

/* Zeros at the end are not among the 19 digits that an integer may have. */
static void integers_of_many_digits(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } cases[] = {{"1.0000000000000000000", 1},
                 {"-1.00000000000000000000e0", -1},
                 {"0.00000000000000000000", 0},
                 {"1234567890123456789.0", 1234567890123456789},
                 {"-9223372036854775808.0", INT64_MIN},
                 {"9223372036854775807.000", INT64_MAX},
                 {"100000000000000000000e-2", 1000000000000000000},
                 {"1010000000000000000000000e-22", 101},
                 {"0.00000000000000000000250e22", 25}};

    (void)state;
    begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ht_tensor *x;
        int64_t value = 0;

        write_file("x.csv", cases[i].text);
        x = ht_load_csv(path, 0, ',', HT_INT64, HT_NONE);
        assert_non_null(x);
        assert_int_equal(ht_tensor_to_array(x, &value, 1, HT_INT64), HT_SUCCESS);
        assert_true(value == cases[i].value);
        x = ht_load_csv(path, 0, ',', HT_FLOAT64, HT_NONE);
        assert_true(ht_item(x) == (double)cases[i].value);
        ht_barrier(HT_COMM_WORLD);
    }
    end();
}

/* Behind a header of two lines, and rows that are right. */
static void malformed_tables_are_errors(void **state)
{
    static const struct {
        const char *text;
        ht_dtype dtype;
        const char *why;
    } cases[] = {
        {"1,2\n3,four\n", HT_FLOAT32,
         "x.csv: line 4, column 2: \"four\" is not a number, for float32"},
        {"1,2\n3,4\n5,6\n7,1.5\n8,9\n", HT_INT32, "line 6, column 2: \"1.5\" is not an integer"},
        {"1,2\n3,4\n5\n", HT_FLOAT32, "line 5 has 1 fields, and line 3, the first, has 2"},
        {"1,2\n3,4\n5,6,7\n8,9\n", HT_FLOAT32, "line 5 has 3 fields, and line 3"},
        {"1,2\n\n\n3,\n", HT_INT16, "line 6, column 2: \"\" is empty, for int16"},
        {"1,128\n", HT_INT8, "line 3, column 2: \"128\" is out of range, for int8"},
        {"-1,1\n", HT_UINT8, "line 3, column 1: \"-1\" is out of range, for uint8"},
        {"1,9223372036854775808\n", HT_INT64, "is out of range, for int64"},
        {"1,10000000000000000000.0\n", HT_INT64, "is out of range, for int64"},
        {"1,1.00000000000000000000000001\n", HT_INT64, "is not an integer, for int64"},
        {"1,1e400\n", HT_INT64, "is out of range, for int64"},
        {"1,2\n\"3\",\"\n4\n\"\n5,x\n", HT_FLOAT64, "line 7, column 2: \"x\""},
        {"1,2\n3,\"4\n5,6\n7,8\n", HT_FLOAT64, "line 4, column 2: \"\"4\\x0a5,6\\x0a7,8"},
        {"1,2\r3\n", HT_FLOAT64, "line 3, column 2: \"2\\x0d3\" is not a number"},
        {"1,\x1b[31m2\x7f\n", HT_FLOAT64, "column 2: \"\\x1b[31m2\\x7f\" is not a number"},
        {"1,2\n3,\"4\"5\n", HT_FLOAT64, "line 4, column 2: \"\"4\"5\" is not a number"},
        {"1,2\n3,4\"\"\n", HT_FLOAT64, "line 4, column 2: \"4\"\"\" is not a number"},
        {"1,2\n3,\"a\"\"b\"\n", HT_FLOAT64, "column 2: \"a\"\"b\" is not a number"},
        {"1,0x10\n", HT_FLOAT64, "\"0x10\" is not a number"},
        {"1,1 2\n", HT_FLOAT64, "\"1 2\" is not a number"},
        {"1,--1\n", HT_FLOAT64, "\"--1\" is not a number"},
        {"1,1e\n", HT_FLOAT64, "\"1e\" is not a number"},
        {"1,.\n", HT_FLOAT64, "\".\" is not a number"},
        {"1,nan(1)\n", HT_FLOAT64, "\"nan(1)\" is not a number"},
        {"1,0\n1,yes\n", HT_BOOL, "\"yes\" is not a number, for bool"},
        {"1,2\n", HT_BOOL, "\"2\" is out of range, for bool"}};
    char text[200];

    (void)state;
    begin();
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "a,\"b\nc,d\n%s", cases[i].text);
        write_file("x.csv", text);
        assert_error(ht_load_csv(path, 2, ',', cases[i].dtype, 0), HT_ERR_FORMAT, cases[i].why);
    }
    assert_error(ht_load_csv(path, 0, '.', HT_FLOAT32, 0), HT_ERR_ARGUMENT,
                 "separator is '.' (46)");
    assert_error(ht_load_csv(path, -1, ',', HT_FLOAT32, 0), HT_ERR_ARGUMENT, "header_lines is -1");
    assert_error(ht_load_csv(path, 0, ',', HT_COMPLEX64, 0), HT_ERR_DTYPE,
                 "dtype is complex64, expected");
    assert_error(ht_load_csv(path, 0, ',', (ht_dtype)99, 0), HT_ERR_ARGUMENT,
                 "dtype is 99, expected an ht_dtype");
    assert_error(ht_load_csv(path, 0, ',', HT_FLOAT32, 2), HT_ERR_ARGUMENT, "split is 2");
    assert_error(ht_load_csv(NULL, 0, ',', HT_FLOAT32, 0), HT_ERR_ARGUMENT, "path is NULL");
    assert_error(ht_load_csv(in_folder("y.csv"), 0, ',', HT_FLOAT32, 0), HT_ERR_IO, "No such file");
    assert_error(ht_load_csv(folder, 0, ',', HT_FLOAT32, 0), HT_ERR_IO, "it is a folder");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    end();
}

static void assert_file(const char *text)
{
    char found[1000] = "";

    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0) {
        FILE *file = fopen(path, "rb");

        assert_non_null(file);
        found[fread(found, 1, sizeof found - 1, file)] = '\0';
        fclose(file);
        assert_string_equal(found, text);
    }
    ht_barrier(HT_COMM_WORLD);
}

static void numbers_are_written_with_separator_and_decimals(void **state)
{
    static const double numbers[] = {0.1, -2, 1e30, NAN, INFINITY, 1.0 / 3};
    static const int splits[] = {HT_NONE, 0, 1};

    (void)state;
    begin();
    for (int i = 0; i < 3; i++) {
        ht_tensor *x = ht_array(numbers, HT_SHAPE(3, 2), HT_FLOAT64, splits[i]);

        assert_int_equal(ht_save_csv(x, path, NULL, -1, ','), HT_SUCCESS);
        assert_file("0.1,-2\n1e+30,nan\ninf,0.3333333333333333\n");
        assert_int_equal(ht_save_csv(ht_astype(x, HT_FLOAT32), path, "a;b", -1, ';'), HT_SUCCESS);
        assert_file("a;b\n0.1;-2\n1e+30;nan\ninf;0.33333334\n");
        x = ht_getitem(x, HT_KEY(ht_slice(0, 1)));
        assert_int_equal(ht_save_csv(x, path, "a\nb\n", 3, ','), HT_SUCCESS);
        assert_file("a\nb\n0.100,-2.000\n");
        x = ht_resplit(ht_arange(-1, 9, 1, HT_INT64, HT_NONE), i == 0 ? HT_NONE : 0);
        assert_int_equal(ht_save_csv(x, path, "", 2, ','), HT_SUCCESS);
        assert_file("-1\n0\n1\n2\n3\n4\n5\n6\n7\n8\n");
    }
    assert_int_equal(ht_save_csv(ht_zeros(HT_SHAPE(0, 2), HT_INT8, 0), path, NULL, -1, ','),
                     HT_SUCCESS);
    assert_file("");
    assert_int_equal(
        ht_save_csv(ht_full(HT_SHAPE(2), (double)INT64_MIN, HT_INT64, 0), path, NULL, -1, ','),
        HT_SUCCESS);
    assert_file("-9223372036854775808\n-9223372036854775808\n");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_tensor *x = ht_zeros(HT_SHAPE(2, 2, 2), HT_FLOAT32, 0);

    assert_int_equal(ht_save_csv(x, path, NULL, -1, ','), HT_ERR_SHAPE);
    assert_error(NULL, HT_ERR_SHAPE, "x is (2, 2, 2), expected one axis or two");
    x = ht_zeros(HT_SHAPE(2), HT_COMPLEX64, 0);
    assert_int_equal(ht_save_csv(x, path, NULL, -1, ','), HT_ERR_DTYPE);
    assert_error(NULL, HT_ERR_DTYPE, "complex64");
    x = ht_zeros(HT_SHAPE(2), HT_FLOAT32, 0);
    assert_int_equal(ht_save_csv(x, path, NULL, -1, 'e'), HT_ERR_ARGUMENT);
    assert_error(NULL, HT_ERR_ARGUMENT, "separator is 'e'");
    assert_int_equal(ht_save_csv(x, path, NULL, 61, ','), HT_ERR_ARGUMENT);
    assert_error(NULL, HT_ERR_ARGUMENT, "decimals is 61");
    assert_int_equal(ht_save_csv(x, in_folder("no/x.csv"), NULL, -1, ','), HT_ERR_IO);
    assert_error(NULL, HT_ERR_IO, "no/x.csv: No such file");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    end();
}

/* Every number is read back in any locale. */
static void csv_round_trips(void **state)
{
    static const ht_dtype dtypes[] = {HT_FLOAT16, HT_BFLOAT16, HT_FLOAT32, HT_FLOAT64};
    static const char *const locales[] = {"C", "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
    bool equal = false;

    (void)state;
    begin();
    for (int i = 0; i < 4; i++) {
        ht_tensor *x = ht_mul(ht_randn(HT_SHAPE(50, 3), HT_FLOAT64, 0),
                              ht_exp(ht_mul_scalar(ht_randn(HT_SHAPE(50, 3), HT_FLOAT64, 0), 9)));

        setlocale(LC_ALL, locales[i]); /* where there is such a one */
        x = ht_astype(x, dtypes[i]);
        assert_int_equal(ht_save_csv(ht_resplit(x, 1), path, "x", -1, '|'), HT_SUCCESS);
        ht_tensor *y = ht_load_csv_ext(path, 1, '|', dtypes[i], -1, ht_get_device(), HT_COMM_WORLD);

        assert_non_null(y);
        assert_int_equal(ht_equal(x, ht_resplit(y, 0), &equal), HT_SUCCESS);
        assert_true(equal);
        setlocale(LC_ALL, "C");
    }
    if (ht_test_rank == ht_test_size - 1)
        assert_shape(ht_load_csv(path, 1, '|', HT_FLOAT32, HT_LOCAL), 50, 3);
    end();
}

static void load_csv_from_a_folder(void **state)
{
    ht_tensor *x;

    (void)state;
    begin();
    write_file("a.csv", "h\n1,2\n3,4\n");
    write_file("b.csv", "h\n5,6\n7,8");
    write_file("b.txt", "h\n5,6\n7");
    x = ht_load_csv_from_folder(folder, 1, ',', HT_INT32, 0);
    assert_shape(x, 4, 2);
    assert_int_equal(ht_tensor_split(x), 0);
    x = ht_resplit(x, HT_NONE);
    assert_true(ht_item(ht_getitem(x, HT_KEY(2, 0))) == 5);
    x = ht_load_csv_from_folder(folder, 1, ',', HT_INT32, 1);
    assert_shape(x, 2, 4);
    assert_int_equal(ht_tensor_split(x), 1);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_error(ht_load_csv_from_folder(folder, 0, ',', HT_INT32, 0), HT_ERR_FORMAT,
                 "a.csv: line 1, column 1: \"h\"");
    assert_error(ht_load_csv_from_folder(folder, -1, ',', HT_INT32, 0), HT_ERR_ARGUMENT,
                 "ht_load_csv_from_folder: header_lines is -1");
    assert_error(ht_load_csv_from_folder(path, 0, ',', HT_INT32, 0), HT_ERR_IO, "x.csv: ");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    if (ht_test_rank == 0) {
        unlink(in_folder("a.csv"));
        unlink(in_folder("b.csv"));
        unlink(in_folder("b.txt"));
    }
    end();
}

HT_TEST_SUITE(test_csv, cmocka_unit_test(line_ends_headers_and_separators),
              cmocka_unit_test(a_field_over_many_ranks), cmocka_unit_test(numbers_are_exact),
              cmocka_unit_test(integers_of_many_digits),
              cmocka_unit_test(malformed_tables_are_errors),
              cmocka_unit_test(numbers_are_written_with_separator_and_decimals),
              cmocka_unit_test(csv_round_trips), cmocka_unit_test(load_csv_from_a_folder));
