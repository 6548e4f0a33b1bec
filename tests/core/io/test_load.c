/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Files whose names tell their format. */
#include "ht_test.h"

#include <string.h>

#include "ht/factories.h"
#include "ht/io.h"
#include "ht/manipulations.h"
#include "ht/relational.h"

static void load_and_save_by_each_suffix(void **state)
{
    static const struct {
        const char *path, *dataset;
    } cases[] = {{"load.h5", "g/x"},
                 {"load.HDF5", "x"},
                 {"load.npy", NULL},
                 {"load.csv", NULL},
                 {"load.safetensors", "x"}};
    ht_tensor *x = ht_reshape(ht_arange(0, 12, 1, HT_FLOAT32, HT_NONE), HT_SHAPE(4, 3));
    bool equal;

    (void)state;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(ht_save(ht_resplit(x, 1), cases[i].path, cases[i].dataset), HT_SUCCESS);
        ht_tensor *y = ht_load(cases[i].path, cases[i].dataset, HT_FLOAT32, 0);

        equal = false;
        assert_non_null(y);
        assert_int_equal(ht_tensor_split(y), 0);
        assert_int_equal(ht_equal(x, ht_resplit(y, HT_NONE), &equal), HT_SUCCESS);
        assert_true(equal);
        ht_test_remove(cases[i].path);
    }
}

static void assert_error(const char *text)
{
    const char *message;

    assert_int_equal(ht_error_get(&message), HT_ERR_ARGUMENT);
    if (strstr(message, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, message);
    ht_error_clear();
}

static void an_unknown_suffix_is_an_error(void **state)
{
    ht_tensor *x = ht_zeros(HT_SHAPE(2), HT_FLOAT32, 0);

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    assert_null(ht_load("x.txt", NULL, HT_FLOAT32, 0));
    assert_error(
        "ht_load: path is x.txt, expected a name that ends in .h5, .hdf5, .npy, .csv or .safetensors");
    assert_int_equal(ht_save(x, "folder.csv/x", NULL), HT_ERR_ARGUMENT);
    assert_error("ht_save: path is folder.csv/x, expected a name");
    assert_int_equal(ht_save(x, "x.npy", "x"), HT_ERR_ARGUMENT);
    assert_error("x.npy holds one tensor without a name, but dataset is \"x\"");
    assert_int_equal(ht_save(x, "x.h5", NULL), HT_ERR_ARGUMENT);
    assert_error("dataset is NULL, expected the name of one in x.h5");
    assert_null(ht_load(NULL, NULL, HT_FLOAT32, 0));
    assert_error("ht_load: path is NULL");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

HT_TEST_SUITE(test_load, cmocka_unit_test(load_and_save_by_each_suffix),
              cmocka_unit_test(an_unknown_suffix_is_an_error));
