/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* An error in a file, a transform or an option reaches the caller on every rank, with the names in
 * it. */
#include "core/tensor/tensor.h"
#include "ht_test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "ht/data.h"
#include "tensor_check.h"

static const char *const names[] = {"x", "y"};

static void set_handler(ht_errhandler handler)
{
    ht_comm_set_errhandler(HT_COMM_WORLD, handler);
    ht_comm_set_errhandler(HT_COMM_SELF, handler);
}

static void assert_error(ht_status code, const char *const parts[])
{
    const char *message;

    assert_int_equal(ht_error_get(&message), code);
    for (int i = 0; parts[i] != NULL; i++) {
        if (strstr(message, parts[i]) == NULL)
            fail_msg("\"%s\" is not in \"%s\"", parts[i], message);
    }
    ht_error_clear();
}

#define assert_error_has(code, ...) assert_error(code, (const char *[]){__VA_ARGS__, NULL})

static void datasets_that_cannot_be(void **state)
{
    static const char *const missing[] = {"x", "z"};

    (void)state;
    files_open();
    files_make("short.h5", 20, 19, 4);
    set_handler(HT_ERRORS_RETURN);
    assert_null(ht_dataset_hdf5(files_path("none.h5"), 2, names, HT_COMM_WORLD));
    assert_error_has(HT_ERR_IO, "none.h5", "No such file");
    assert_null(ht_dataset_hdf5(files_path("short.h5"), 2, missing, HT_COMM_WORLD));
    assert_error_has(HT_ERR_FORMAT, "short.h5", "no data set z");
    assert_null(ht_dataset_hdf5(files_path("short.h5"), 2, names, HT_COMM_WORLD));
    assert_error_has(HT_ERR_FORMAT, "short.h5: x has 20 rows, y has 19: lengths differ");
    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0)
        assert_int_equal(truncate(files_path("short.h5"), 1000), 0);
    ht_barrier(HT_COMM_WORLD);
    assert_null(ht_dataset_hdf5(files_path("short.h5"), 2, names, HT_COMM_WORLD));
    assert_error_has(HT_ERR_FORMAT, "short.h5", "HDF5", "it has 1000 bytes, but had");
    set_handler(HT_ERRORS_ABORT);
    files_remove();
}

/* All batches of an epoch, until one fails; returns how many came. */
static int drain(ht_dataloader *loader)
{
    ht_batch batch;
    int batches = 0;

    while (ht_dataloader_next(loader, &batch))
        batches++;
    return batches;
}

/* Row 70 of 90 lies in one rank's shard; every rank must stop at the same batch. */
static ht_tensor *refuse_row_70(ht_tensor *rows, int array, void *user)
{
    const int32_t *x = ht_test_data(rows);

    (void)user;
    for (int64_t i = 0; array == 0 && i < ht_tensor_shape(rows)[0]; i++) {
        if (x[i * ROW_LENGTH] == 7000)
            return ht_transform_fail("value %d is not wanted", x[i * ROW_LENGTH]);
    }
    return rows;
}

static void transforms_that_fail(void **state)
{
    (void)state;
    files_open();
    files_make("a.h5", 90, 90, 8);
    set_handler(HT_ERRORS_RETURN);
    for (int threads = 0; threads <= 1; threads++) {
        ht_dataloader_options options = ht_dataloader_options_default();
        ht_dataset *dataset = ht_dataset_hdf5(files_path("a.h5"), 2, names, HT_COMM_WORLD);

        options.batch_size = 3;
        options.shuffle = false;
        options.io_threads = threads;
        options.transform = refuse_row_70;
        ht_dataloader *loader = ht_dataloader_new(dataset, &options);
        int64_t owner = (71 * ht_test_size - 1) / 90; /* the rank whose shard has row 70 */
        int64_t first = owner * 90 / ht_test_size, before = (70 - first) / 3;
        char row[32];

        assert_int_equal(drain(loader), before);
        assert_int_equal(ht_dataloader_status(loader), HT_ERR_ARGUMENT);
        snprintf(row, sizeof row, "row %d ", (int)(first + 3 * before));
        assert_error_has(HT_ERR_ARGUMENT, "a.h5: x", row, "value 7000 is not wanted");
        assert_int_equal(drain(loader), 0); /* it stays failed */
        ht_error_clear();
        ht_release(loader);
        ht_release(dataset);
    }
    set_handler(HT_ERRORS_ABORT);
    files_remove();
}

static ht_tensor *multiply_wrongly(ht_tensor *rows, int array, void *returns_rows)
{
    ht_tensor *product = array == 0 ? ht_matmul(rows, rows) : rows;

    return *(bool *)returns_rows ? rows : product;
}

/* The tensors of a transform have the handler that ends the job; the loader has the error first. */
static void errors_of_the_library_in_a_transform(void **state)
{
    ht_comm *comm = ht_comm_split(HT_COMM_WORLD, 0, ht_test_rank);

    (void)state;
    files_open();
    files_make("a.h5", 40, 40, 8);
    ht_comm_set_errhandler(comm, HT_ERRORS_RETURN);
    for (int i = 0; i < 4; i++) {
        bool returns_rows = i / 2;
        ht_dataloader_options options = ht_dataloader_options_default();
        ht_dataset *dataset = ht_dataset_hdf5(files_path("a.h5"), 2, names, comm);
        ht_dataloader *loader;

        options.batch_size = 4;
        options.io_threads = i % 2;
        options.transform = multiply_wrongly;
        options.user = &returns_rows;
        loader = ht_dataloader_new(dataset, &options);
        assert_int_equal(drain(loader), 0);
        assert_error_has(HT_ERR_SHAPE,
                         "ht_dataloader_next: ", "a.h5: x: cannot transform the 4 rows",
                         "ht_matmul: a is (4, 5), b is (4, 5)");
        ht_release(loader);
        ht_release(dataset);
    }
    ht_release(comm);
    files_remove();
}

/* Zeroes all bytes behind the metadata, so that the chunks can no longer be inflated. */
static void damage(const char *path)
{
    char zeros[512] = {0};
    FILE *file = fopen(path, "r+b");

    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);

    for (long at = size / 2; at + (long)sizeof zeros < size; at += (long)sizeof zeros) {
        fseek(file, at, SEEK_SET);
        fwrite(zeros, 1, sizeof zeros, file);
    }
    fclose(file);
}

static void chunks_that_cannot_be_read(void **state)
{
    ht_dataloader_options options = ht_dataloader_options_default();

    (void)state;
    files_open();
    files_make("a.h5", 20000, 20000, 1000);
    if (ht_test_rank == 0)
        damage(files_path("a.h5"));
    ht_barrier(HT_COMM_WORLD);
    set_handler(HT_ERRORS_RETURN);
    ht_dataset *dataset = ht_dataset_hdf5(files_path("a.h5"), 1, names, HT_COMM_WORLD);

    options.shuffle = false;
    options.window_bytes = 100000;
    ht_dataloader *loader = ht_dataloader_new(dataset, &options);

    assert_true(drain(loader) < ht_dataloader_batches(loader));
    assert_error_has(HT_ERR_IO, "a.h5: x: cannot read rows ", " to ");
    ht_release(loader);
    ht_release(dataset);
    set_handler(HT_ERRORS_ABORT);
    files_remove();
}

/* HDF5 reads the missing bytes as zeros. Rows that are in memory by then are what they were. */
static void a_file_that_is_cut_while_it_is_read(void **state)
{
    ht_dataloader_options options = ht_dataloader_options_default();

    (void)state;
    files_open();
    files_make("a.h5", 20000, 20000, 0);
    set_handler(HT_ERRORS_RETURN);
    ht_dataset *dataset = ht_dataset_hdf5(files_path("a.h5"), 1, names, HT_COMM_WORLD);

    options.shuffle = false;
    options.window_bytes = 10000;
    options.io_threads = 0;
    ht_dataloader *loader = ht_dataloader_new(dataset, &options);

    ht_barrier(HT_COMM_WORLD);
    if (ht_test_rank == 0)
        assert_int_equal(truncate(files_path("a.h5"), 200000), 0);
    ht_barrier(HT_COMM_WORLD);
    assert_true(drain(loader) < ht_dataloader_batches(loader));
    assert_error_has(HT_ERR_IO,
                     "a.h5 was shortened while it was read: it has 200000 bytes, but had ");
    ht_release(loader);
    ht_release(dataset);
    set_handler(HT_ERRORS_ABORT);
    files_remove();
}

static void options_out_of_range(void **state)
{
    ht_dataloader_options options = {0};
    ht_dataset *dataset;

    (void)state;
    files_open();
    files_make("a.h5", 9, 9, 8);
    set_handler(HT_ERRORS_RETURN);
    dataset = ht_dataset_hdf5(files_path("a.h5"), 2, names, HT_COMM_WORLD);
    assert_null(ht_dataloader_new(dataset, &options));
    assert_error_has(HT_ERR_ARGUMENT, "ht_dataloader_options_default");
    options = ht_dataloader_options_default();
    options.batch_size = 0;
    assert_null(ht_dataloader_new(dataset, &options));
    assert_error_has(HT_ERR_ARGUMENT, "batch_size is 0");
    assert_int_equal(ht_dataset_limit(dataset, 10), HT_ERR_ARGUMENT);
    assert_error_has(HT_ERR_ARGUMENT, "rows is 10", ", 9");
    assert_null(ht_dataloader_new(NULL, NULL));
    set_handler(HT_ERRORS_ABORT);
    ht_release(dataset);
    files_remove();
}

/* A rank with options of its own would make, or leave in a state, other rows than its share. */
static void options_that_differ_between_ranks(void **state)
{
    ht_dataloader_options common = ht_dataloader_options_default(), own[5];
    const char *const expected[] = {
        "seed is 7 on rank 0 and 8 on rank", "shuffle is 1 on rank 0 and 0 on rank",
        "batch_size is 64 on rank 0 and 65 on rank", "remainder is 0 on rank 0 and 1 on rank",
        "window_bytes is 268435456 on rank 0 and 1024 on rank"};

    (void)state;
    if (ht_test_size == 1)
        HT_TEST_SKIP("one rank");
    files_open();
    files_make("a.h5", 9, 9, 8);
    set_handler(HT_ERRORS_RETURN);
    ht_dataset *dataset = ht_dataset_hdf5(files_path("a.h5"), 2, names, HT_COMM_WORLD);

    common.seed = 7;
    for (int i = 0; i < 5; i++)
        own[i] = common;
    own[0].seed = 8;
    own[1].shuffle = false;
    own[2].batch_size = 65;
    own[3].remainder = HT_REMAINDER_DROP;
    own[4].window_bytes = 1024;
    for (int i = 0; i < 5; i++) {
        assert_null(ht_dataloader_new(dataset, ht_test_rank == 1 ? &own[i] : &common));
        assert_error_has(HT_ERR_ARGUMENT, "ht_dataloader_new: ", expected[i], "rank 1, expected");
    }
    set_handler(HT_ERRORS_ABORT);
    ht_release(dataset);
    files_remove();
}

HT_TEST_SUITE(test_dataloader_errors, cmocka_unit_test(datasets_that_cannot_be),
              cmocka_unit_test(transforms_that_fail),
              cmocka_unit_test(errors_of_the_library_in_a_transform),
              cmocka_unit_test(chunks_that_cannot_be_read),
              cmocka_unit_test(a_file_that_is_cut_while_it_is_read),
              cmocka_unit_test(options_out_of_range),
              cmocka_unit_test(options_that_differ_between_ranks));
