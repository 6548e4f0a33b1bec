/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* The facts that a dataset has of its file, and a batch as a value. */
#include "ht_test.h"

#include "files.h"
#include "ht/data.h"
#include "ht/factories.h"
#include "tensor_check.h"

enum { ROWS = 23 };

static void shapes_are_those_of_the_file(void **state)
{
    static const char *const names[] = {"y", "x"};
    ht_dataset *dataset;
    const int64_t *shape;
    int ndim = -1;

    (void)state;
    files_open();
    files_make("rows.h5", ROWS, ROWS, 4);
    dataset = ht_dataset_hdf5(files_path("rows.h5"), 2, names, HT_COMM_WORLD);
    shape = ht_dataset_shape(dataset, 0, &ndim);
    assert_true(ndim == 1 && shape[0] == ROWS);
    shape = ht_dataset_shape(dataset, 1, &ndim);
    assert_true(ndim == 2 && shape[0] == ROWS && shape[1] == ROW_LENGTH);
    assert_ptr_equal(ht_dataset_shape(dataset, 1, NULL), shape);

    /* A limit is the dataset's, not the file's. */
    assert_int_equal(ht_dataset_limit(dataset, 5), HT_SUCCESS);
    assert_int_equal(ht_dataset_rows(dataset), 5);
    assert_int_equal(ht_dataset_shape(dataset, 1, NULL)[0], ROWS);

    assert_null(ht_dataset_shape(dataset, 2, &ndim));
    assert_int_equal(ndim, 0);
    assert_null(ht_dataset_shape(dataset, -1, NULL));
    HT_TEST_EXPECT_ERROR(ht_dataset_shape(NULL, 0, &ndim), HT_ERR_ARGUMENT,
                         "ht_dataset_shape: dataset is NULL");
    ht_release(dataset);
    files_remove();
}

static ht_tensor *filled(double value)
{
    return ht_full(HT_SHAPE(3), value, HT_FLOAT32, HT_NONE);
}

/* Two arrays have names; those after them are a list, and without them there is none. */
static void a_batch_is_a_map(void **state)
{
    ht_tensor *arrays[] = {filled(1), filled(2), filled(3), filled(4)};
    ht_batch batch = {.data = arrays[0], .target = arrays[1], .arrays = arrays, .count = 4};
    ht_value *map = ht_batch_value(&batch), *more = ht_value_get(map, "more");

    (void)state;
    assert_int_equal(ht_value_count(map), 3);
    assert_ptr_equal(ht_value_as_tensor(ht_value_get(map, "data")), arrays[0]);
    assert_ptr_equal(ht_value_as_tensor(ht_value_get(map, "target")), arrays[1]);
    assert_int_equal(ht_value_count(more), 2);
    assert_ptr_equal(ht_value_as_tensor(ht_value_at(more, 0)), arrays[2]);
    assert_ptr_equal(ht_value_as_tensor(ht_value_at(more, 1)), arrays[3]);

    batch.target = NULL;
    batch.count = 1;
    map = ht_batch_value(&batch);
    assert_int_equal(ht_value_count(map), 1);
    assert_string_equal(ht_value_key(map, 0), "data");
}

static void ht_batch_value_refuses_an_empty_batch(void **state)
{
    ht_batch none = {0};

    (void)state;
    HT_TEST_EXPECT_ERROR(ht_batch_value(NULL), HT_ERR_ARGUMENT, "ht_batch_value: batch is NULL");
    HT_TEST_EXPECT_ERROR(ht_batch_value(&none), HT_ERR_ARGUMENT,
                         "ht_batch_value: batch.data is NULL");
}

HT_TEST_SUITE(test_dataset, cmocka_unit_test(shapes_are_those_of_the_file),
              cmocka_unit_test(a_batch_is_a_map),
              cmocka_unit_test(ht_batch_value_refuses_an_empty_batch));
