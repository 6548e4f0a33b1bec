/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* safetensors files: our own with every dtype and split, and one that PyTorch made. */
#include "safetensors_test.h"

#include "golden/safetensors.h"
#include "core/io/files/slab.h"
#include "ht/arithmetics.h"
#include "ht/complex_math.h"
#include "ht/devices.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "ht/relational.h"
#include "ht/safetensors.h"

static const char path[] = "x.safetensors";

static ht_tensor *numbers(ht_dtype dtype, int split)
{
    return ht_resplit(
        ht_astype(ht_reshape(ht_arange(0, 30, 1, HT_FLOAT64, HT_NONE), HT_SHAPE(5, 2, 3)), dtype),
        split);
}

static void assert_equal(ht_tensor *x, ht_tensor *y)
{
    bool equal = false;

    assert_non_null(x);
    assert_non_null(y);
    assert_int_equal(ht_tensor_dtype(x), ht_tensor_dtype(y));
    assert_int_equal(ht_equal(ht_resplit(x, HT_NONE), ht_resplit(y, HT_NONE), &equal), HT_SUCCESS);
    assert_true(equal);
}

static const int splits[] = {HT_NONE, 0, 1, 2};

static void one_tensor_of_each_dtype_and_split(void **state)
{
    (void)state;
    for (int dtype = HT_BOOL; dtype < HT_COMPLEX128; dtype++) {
        for (int i = 0; i < 4; i++) {
            ht_tensor *x = numbers((ht_dtype)dtype, splits[i]);

            assert_int_equal(ht_save_safetensors(x, path, "x"), HT_SUCCESS);
            ht_tensor *y = ht_load_safetensors(path, "x", HT_DTYPE_OF_FILE, splits[3 - i]);

            assert_equal(x, y);
        }
    }
    ht_test_remove(path);
}

static void short_runs_are_written_as_they_are(void **state)
{
    const int64_t usual = ht__io_run_bytes;
    ht_tensor *x = numbers(HT_FLOAT32, 2);

    (void)state;
    ht__io_run_bytes = 0;
    assert_int_equal(ht_save_safetensors(x, path, "x"), HT_SUCCESS);
    assert_equal(x, ht_load_safetensors(path, "x", HT_FLOAT32, 1));
    ht__io_run_bytes = usual;
    ht_test_remove(path);
}

/* Local tensors, split ones, a scalar, an empty one, and names that need escapes. */
static void safetensors_maps_round_trip(void **state)
{
    static const ht_safetensors_text texts[] = {{"format", "pt"}, {"a \"b\"\n", "\xc3\xa9\\"}};
    static const char *const names[] = {"local", "split", "a \"q\" \\ \n \xc3\xa9", "scalar", "0"};
    ht_tensor *tensors[] = {ht_arange(0, 5, 1, HT_INT8, HT_LOCAL), numbers(HT_FLOAT64, 1),
                            ht_arange(0, 7, 1, HT_BFLOAT16, HT_LOCAL),
                            ht_full(HT_SHAPE(), 4, HT_FLOAT32, HT_NONE),
                            ht_zeros(HT_SHAPE(3, 0), HT_INT64, HT_LOCAL)};
    ht_value *map = ht_value_map(), *got;

    (void)state;
    for (int i = 0; i < 5; i++)
        ht_value_set(map, names[i], ht_value_tensor(tensors[i]));
    assert_int_equal(ht_safetensors_save_ext(map, path, 2, texts, HT_COMM_WORLD), HT_SUCCESS);
    got = ht_safetensors_load(path, HT_COMM_WORLD);
    assert_int_equal(ht_value_count(got), 5);
    for (int i = 0; i < 5; i++) {
        ht_tensor *x = ht_value_as_tensor(ht_value_get(got, names[i]));

        assert_non_null(x);
        assert_int_equal(ht_tensor_comm(x) == HT_COMM_SELF, true);
        if (ht_tensor_comm(tensors[i]) == HT_COMM_SELF)
            assert_equal(x, tensors[i]);
        else
            assert_equal(x, ht_tensor_local(ht_resplit(tensors[i], HT_NONE)));
    }
    assert_int_equal(ht_safetensors_save(ht_value_map(), path, HT_COMM_WORLD), HT_SUCCESS);
    got = ht_safetensors_load(path, HT_COMM_WORLD);
    assert_non_null(got);
    assert_int_equal(ht_value_count(got), 0);
    ht_test_remove(path);
}

struct texts {
    int count;
    bool format, other;
};

static void see_text(const char *key, const char *value, void *user)
{
    struct texts *seen = user;

    seen->count++;
    seen->format |= strcmp(key, "format") == 0 && strcmp(value, "pt") == 0;
    seen->other |= strcmp(key, "k\"\\\n") == 0 &&
                   strcmp(value, "v\xc3\xa4lue \xf0\x9f\x98\x80 \x01") == 0;
}

static void a_file_of_torch(void **state)
{
    static const char *const names[] = {"bool",     "uint8",   "int8",    "int16",    "int32",
                                        "int64",    "uint16",  "uint32",  "uint64",   "float16",
                                        "bfloat16", "float32", "float64", "complex64"};
    struct texts seen = {0};

    (void)state;
    write_bytes(path, golden_safetensors, sizeof golden_safetensors);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const bool is_unsigned = names[i][0] == 'u';
        char name[32];
        ht_tensor *expected = ht_arange(is_unsigned ? 0 : -2, is_unsigned ? 6 : 4, 1, HT_FLOAT64,
                                        HT_NONE);

        snprintf(name, sizeof name, "x.%s", names[i]);
        for (int k = 0; k < 3; k++) {
            ht_tensor *x = ht_load_safetensors_ext(path, name, HT_DTYPE_OF_FILE, splits[k],
                                                   ht_get_device(), HT_COMM_WORLD);

            assert_non_null(x);
            if (strcmp(names[i], "bool") == 0)
                expected = ht_remainder(ht_arange(0, 6, 1, HT_FLOAT64, HT_NONE), ht_scalar(2));
            if (strcmp(names[i], "complex64") == 0)
                x = ht_real(x);
            assert_equal(ht_reshape(expected, HT_SHAPE(2, 3)),
                         ht_astype(ht_resplit(x, HT_NONE), HT_FLOAT64));
        }
    }
    assert_int_equal(ht_tensor_dtype(ht_load_safetensors(path, "x.uint16", HT_DTYPE_OF_FILE, 0)),
                     HT_INT32);
    assert_int_equal(ht_tensor_dtype(ht_load_safetensors(path, "empty", HT_DTYPE_OF_FILE, 1)),
                     HT_FLOAT32);
    assert_true(ht_item(ht_load_safetensors(path, "scalar", HT_FLOAT64, HT_NONE)) == 2.5);
    assert_true(ht_item(ht_load_safetensors(path,
                                            "a \"name\" \\ \t \xc3\xa9 "
                                            "\xf0\x9f\x98\x80 /",
                                            HT_FLOAT32, HT_NONE)) == 7);
    assert_int_equal(ht_safetensors_metadata(path, see_text, &seen, HT_COMM_WORLD), HT_SUCCESS);
    assert_int_equal(seen.count, 2);
    assert_true(seen.format && seen.other);

    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_null(ht_load_safetensors(path, "small", HT_DTYPE_OF_FILE, 0));
    assert_message("small has the dtype F8_E4M3, which libht lacks");
    assert_null(ht_safetensors_load(path, HT_COMM_WORLD));
    assert_message("small has the dtype F8_E4M3, which libht lacks");
    assert_null(ht_load_safetensors(path, "none", HT_DTYPE_OF_FILE, 0));
    assert_int_equal(ht_error_get(NULL), HT_ERR_FORMAT);
    assert_message("x.safetensors has no tensor \"none\"");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_test_remove(path);
}

static void bad_arguments_of_savers(void **state)
{
    ht_tensor *x = numbers(HT_FLOAT32, 0);
    ht_value *map = ht_value_map();

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_int_equal(ht_save_safetensors(x, NULL, "x"), HT_ERR_ARGUMENT);
    assert_message("ht_save_safetensors: path is NULL");
    assert_int_equal(ht_save_safetensors(x, path, NULL), HT_ERR_ARGUMENT);
    assert_message("dataset is NULL");
    assert_int_equal(ht_save_safetensors(x, path, "__metadata__"), HT_ERR_ARGUMENT);
    assert_message("expected UTF-8 and not \"__metadata__\"");
    assert_int_equal(ht_save_safetensors(x, path, "\xff"), HT_ERR_ARGUMENT);
    assert_message("expected UTF-8");
    assert_int_equal(ht_save_safetensors(numbers(HT_COMPLEX128, 0), path, "x"), HT_ERR_DTYPE);
    assert_message("\"x\" is complex128, which the format lacks");
    assert_int_equal(ht_safetensors_save(ht_value_number(1), path, HT_COMM_WORLD), HT_ERR_ARGUMENT);
    assert_message("ht_safetensors_save: tensors is a number, expected a map");
    assert_int_equal(ht_safetensors_save(NULL, path, HT_COMM_WORLD), HT_ERR_ARGUMENT);
    assert_message("tensors is NULL");
    ht_value_set(map, "n", ht_value_number(1));
    assert_int_equal(ht_safetensors_save(map, path, HT_COMM_WORLD), HT_ERR_ARGUMENT);
    assert_message("\"n\" is not a tensor");

    static const ht_safetensors_text twice[] = {{"a", "1"}, {"a", "2"}}, none[] = {{"a", NULL}};
    map = ht_value_map();
    assert_int_equal(ht_safetensors_save_ext(map, path, 2, twice, HT_COMM_WORLD), HT_ERR_ARGUMENT);
    assert_message("the metadata has the key \"a\" twice");
    assert_int_equal(ht_safetensors_save_ext(map, path, 1, none, HT_COMM_WORLD), HT_ERR_ARGUMENT);
    assert_message("text 0 of metadata is NULL, expected UTF-8");
    assert_int_equal(ht_safetensors_save_ext(map, path, -1, none, HT_COMM_WORLD), HT_ERR_ARGUMENT);
    assert_message("count is -1, expected at least 0");
    if (ht_test_size > 1) {
        ht_value_set(map, ht_test_rank == 0 ? "a" : "b",
                     ht_value_tensor(ht_zeros(HT_SHAPE(2), HT_FLOAT32, HT_LOCAL)));
        assert_int_equal(ht_safetensors_save(map, path, HT_COMM_WORLD), HT_ERR_ARGUMENT);
        assert_message("names, shapes, dtypes or metadata differ between the ranks");
    }
    assert_int_equal(ht_save_safetensors(x, "/nowhere/x.safetensors", "x"), HT_ERR_IO);
    assert_message("cannot write /nowhere/x.safetensors");
    assert_int_equal(ht_safetensors_metadata(path, NULL, NULL, HT_COMM_WORLD), HT_ERR_ARGUMENT);
    assert_message("visit is NULL");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

HT_TEST_SUITE(test_safetensors, cmocka_unit_test(one_tensor_of_each_dtype_and_split),
              cmocka_unit_test(short_runs_are_written_as_they_are),
              cmocka_unit_test(safetensors_maps_round_trip), cmocka_unit_test(a_file_of_torch),
              cmocka_unit_test(bad_arguments_of_savers));
