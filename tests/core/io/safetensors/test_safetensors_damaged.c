/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Damaged safetensors files: each fault has its message, and no damaged byte does more harm. */
#include "safetensors_test.h"

#include "golden/safetensors.h"
#include "ht/factories.h"
#include "ht/safetensors.h"

static const char path[] = "damaged.safetensors";

#define ENTRY(name, type, shape, from, to) \
    "\"" name "\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" from "," to "]}"

static const struct {
    const char *header;
    int bytes;
    const char *message;
} cases[] = {
    {"", 0, "its header is not an object"},
    {"[]", 0, "its header is not an object"},
    {"{} x", 0, "text follows its end"},
    {"{" ENTRY("a", "F32", "[2]", "0", "8"), 8, "an object has neither a comma nor an end"},
    {"{" ENTRY("a", "F33", "[2]", "0", "8") "}", 8, "a dtype is unknown"},
    {"{" ENTRY("a", "f32", "[2]", "0", "8") "}", 8, "a dtype is unknown"},
    {"{" ENTRY("a", "F32", "2", "0", "8") "}", 8, "a shape is not an array"},
    {"{" ENTRY("a", "F32", "[-2]", "0", "8") "}", 8, "an integer from 0 on is missing"},
    {"{" ENTRY("a", "F32", "[2.0]", "0", "8") "}", 8, "a number is not an integer"},
    {"{" ENTRY("a", "F32", "[1,1,1,1,1,1,1,1,2]", "0", "8") "}", 8, "more than 8 axes"},
    {"{" ENTRY("a", "F32", "[3]", "0", "8") "}", 8, "does not fit its shape and dtype"},
    {"{" ENTRY("a", "F32", "[2]", "8", "0") "}", 8, "does not fit its shape and dtype"},
    {"{" ENTRY("a", "F32", "[4294967296,4294967296]", "0", "0") "}", 0,
     "a shape has more bytes than a file can have"},
    {"{" ENTRY("a", "F32", "[4611686018427387905]", "0", "4") "}", 4,
     "a shape has more bytes than a file can have"},
    {"{" ENTRY("a", "F32", "[9223372036854775808]", "0", "4") "}", 4,
     "an integer is above 2^63 - 1"},
    {"{" ENTRY("a", "F32", "[2]", "0", "8") "}", 7, "it ends before its elements do"},
    {"{" ENTRY("a", "F32", "[2]", "0", "8") "}", 9, "bytes belong to no tensor"},
    {"{" ENTRY("a", "F32", "[2]", "4", "12") "}", 12, "bytes belong to no tensor"},
    {"{" ENTRY("a", "F32", "[2]", "0", "8") "," ENTRY("b", "F32", "[2]", "4", "12") "}", 12,
     "ranges of bytes overlap"},
    {"{" ENTRY("a", "F32", "[1]", "0", "4") "," ENTRY("b", "F32", "[1]", "8", "12") "}", 12,
     "bytes belong to no tensor"},
    {"{" ENTRY("a", "F32", "[1]", "0", "4") "," ENTRY("a", "F32", "[1]", "4", "8") "}", 8,
     "the name of a tensor comes twice"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 0, "lacks dtype, shape or data_offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
     "a field of a tensor comes twice"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 4,
     "data_offsets is not a pair of integers"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":4}}", 4,
     "data_offsets is not an array"},
    {"{\"a\":[1]}", 0, "the value of a tensor's name is not an object"},
    {"{\"__metadata__\":1}", 0, "__metadata__ is not an object"},
    {"{\"__metadata__\":{\"a\":1}}", 0, "a string is missing"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "__metadata__ comes twice"},
    {"{\"\\u0000\":{}}", 0, "a string contains the character U+0000"},
    {"{\"\xff\":{}}", 0, "a string is not UTF-8"},
};

static void each_fault_has_its_message(void **state)
{
    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_header(path, cases[i].header, cases[i].bytes);
        assert_null(ht_safetensors_load(path, HT_COMM_WORLD));
        assert_int_equal(ht_error_get(NULL), HT_ERR_FORMAT);
        assert_message(cases[i].message);
        assert_null(ht_load_safetensors(path, "a", HT_DTYPE_OF_FILE, 0));
        assert_message(cases[i].message);
    }
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_test_remove(path);
}

/* Blanks, fields of later versions, and an order of names other than that of the bytes. */
static void unusual_files_are_read(void **state)
{
    ht_value *map;

    (void)state;
    write_header(path,
                 " {\n" ENTRY("b", "I8", "[2]", "4", "6") ",\n" ENTRY(
                     "a", "F32", "[ 1 , 1 ]", "0", "4") ",\"c\":{\"shape\":[],\"x\":[{\"y\":"
                                                        "null}],\"dtype\":\"U8\",\"data_offsets\""
                                                        ":[6,7]}}  ",
                 7);
    map = ht_safetensors_load(path, HT_COMM_WORLD);
    assert_non_null(map);
    assert_int_equal(ht_value_count(map), 3);
    assert_string_equal(ht_value_key(map, 0), "a");
    assert_true(ht_item(ht_value_as_tensor(ht_value_get(map, "c"))) == 6);
    ht_test_remove(path);
}

static void fronts_are_checked(void **state)
{
    static const char shorter[] = "1234567", longer[] = "\x09\0\0\0\0\0\0\0{}",
                      huge[] = "\xff\xff\xff\xff\xff\xff\xff\xff{}";

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    write_bytes(path, shorter, 7);
    assert_null(ht_safetensors_load(path, HT_COMM_WORLD));
    assert_message("it has less than 8 bytes");
    write_bytes(path, longer, 10);
    assert_null(ht_safetensors_load(path, HT_COMM_WORLD));
    assert_message("it ends before its header does");
    write_bytes(path, huge, 10);
    assert_null(ht_safetensors_load(path, HT_COMM_WORLD));
    assert_message("the length of its header is above 100000000 bytes");
    ht_test_remove(path);
    assert_null(ht_safetensors_load(path, HT_COMM_WORLD));
    assert_int_equal(ht_error_get(NULL), HT_ERR_IO);
    assert_message("cannot open damaged.safetensors");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

static void numbers_above_int64_are_an_error(void **state)
{
    static const char header[] = "{" ENTRY("a", "U64", "[17]", "0", "136") "}";

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    write_header(path, header, 136); /* its last number begins with 0x87 */
    assert_null(ht_load_safetensors(path, "a", HT_DTYPE_OF_FILE, 0));
    assert_message("has numbers above 2^63 - 1, which int64 cannot hold");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_test_remove(path);
}

/* It is read, or it is an error of all ranks. */
static void load_damaged(void)
{
    ht_scope *scope = ht_scope_open();
    ht_value *map = ht_safetensors_load(path, HT_COMM_WORLD);
    int64_t ends[2] = {map != NULL ? 0 : (int64_t)ht_error_get(NULL)};

    ends[1] = -ends[0];
    assert_int_equal(ht__comm_allreduce_i64(HT_COMM_WORLD, ends, 2, HT_OP_MAX, "test"), HT_SUCCESS);
    assert_int_equal(ends[0], -ends[1]);
    assert_true(map != NULL || ends[0] == HT_ERR_FORMAT || ends[0] == HT_ERR_DTYPE);
    ht_error_clear();
    ht_scope_close(scope);
}

static void any_byte_may_be_damaged(void **state)
{
    static const unsigned char masks[] = {0x01, 0x20, 0xff};
    unsigned char file[sizeof golden_safetensors];
    const int front = 8 + (golden_safetensors[0] | golden_safetensors[1] << 8);

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    for (int i = 0; i < front; i += ht_test_size == 1 ? 1 : 4) {
        for (int k = 0; k < (ht_test_size == 1 ? 3 : 1); k++) {
            memcpy(file, golden_safetensors, sizeof file);
            file[i] ^= masks[k];
            write_bytes(path, file, sizeof file);
            load_damaged();
        }
    }
    for (size_t length = 0; length < sizeof file; length += ht_test_size == 1 ? 7 : 29) {
        write_bytes(path, golden_safetensors, length);
        load_damaged();
    }
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_test_remove(path);
}

HT_TEST_SUITE(test_safetensors_damaged, cmocka_unit_test(each_fault_has_its_message),
              cmocka_unit_test(unusual_files_are_read), cmocka_unit_test(fronts_are_checked),
              cmocka_unit_test(numbers_above_int64_are_an_error),
              cmocka_unit_test(any_byte_may_be_damaged));
