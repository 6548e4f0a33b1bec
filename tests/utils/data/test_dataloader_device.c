/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* A loader that copies its batches to a device ahead of their use: the rows are those of the host,
 * while the device computes. Memory that is handed out again is not overwritten late. */
#include <stdlib.h>

#include "backends/cuda/cuda_device.h"
#include "core/tensor/tensor.h"
#include "files.h"
#include "ht/arithmetics.h"
#include "ht/data.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "tensor_check.h"

enum { ROWS = 70, BATCH = 4 };

static ht_device *find(int number)
{
    return number == 0 ? ht_device_get("lag:0") : cuda_device();
}

static ht_dataloader *open_loader(ht_device *device, bool threaded, ht_transform_fn *transform,
                                  ht_comm *comm)
{
    static const char *const names[] = {"x", "y"};
    ht_dataset *dataset = ht_dataset_hdf5(files_path("rows.h5"), 2, names, comm);
    ht_dataloader_options options = ht_dataloader_options_default();
    ht_dataloader *loader;

    options.batch_size = BATCH;
    options.io_threads = threaded;
    options.device = device;
    options.transform = transform;
    loader = ht_dataloader_new(dataset, &options);
    assert_non_null(loader);
    ht_release(dataset);
    return loader;
}

/* The values are those of the rows that the batch names; half of them after an operation. */
static void check_batch(const ht_batch *batch, ht_device *device)
{
    ht_device *host = ht_device_get("cpu");
    ht_tensor *twice = ht_add(batch->data, batch->data);
    const int32_t *x = ht_test_data(ht_to_device(batch->data, host)),
                  *xx = ht_test_data(ht_to_device(twice, host));
    const uint8_t *y = ht_test_data(ht_to_device(batch->target, host));

    assert_ptr_equal(ht_tensor_device(batch->data), device);
    assert_ptr_equal(ht_tensor_device(batch->target), device);
    for (int64_t i = 0; i < batch->rows; i++) {
        for (int j = 0; j < ROW_LENGTH; j++) {
            assert_int_equal(x[i * ROW_LENGTH + j], 100 * batch->row_ids[i] + j);
            assert_int_equal(xx[i * ROW_LENGTH + j], 2 * x[i * ROW_LENGTH + j]);
        }
        assert_int_equal(y[i], batch->row_ids[i] % 251);
    }
}

/* Some batches are looked at, the others are given back while their copies may be under way. */
static void run_epoch(ht_dataloader *loader, ht_device *device)
{
    ht_batch batch;
    int64_t rows = 0;

    for (int step = 0; ht_dataloader_next(loader, &batch); step++) {
        ht_scope *scope = ht_scope_open();

        if (step % 3 != 1)
            check_batch(&batch, device);
        rows += batch.rows;
        ht_scope_close(scope);
    }
    assert_int_equal(ht_dataloader_status(loader), HT_SUCCESS);
    assert_int_equal(rows, ht_dataloader_shard_rows(loader));
}

static void batches_on_a_device_hold_their_rows(void **state)
{
    (void)state;
    files_open();
    files_make("rows.h5", ROWS, ROWS, 8);
    for (int i = 0; i < 4; i++) {
        ht_device *device = find(i / 2);
        ht_dataloader *loader;
        ht_batch batch;

        if (device == NULL)
            continue;
        loader = open_loader(device, i % 2, NULL, HT_COMM_WORLD);
        run_epoch(loader, device);
        assert_true(ht_dataloader_next(loader, &batch));
        ht_dataloader_set_epoch(loader, 1); /* drops batches that were read ahead */
        run_epoch(loader, device);
        ht_release(loader);
    }
    files_remove();
}

enum { WIDTH = 700000 };

/* The first number of each row, WIDTH times: 11 MB for a batch. */
static ht_tensor *widen(ht_tensor *rows, int array, void *user)
{
    (void)user;
    if (array != 0)
        return rows;
    return ht_tile(ht_narrow(rows, 1, 0, 1), HT_SHAPE(1, WIDTH));
}

/* The program copies, and computes with what came, while the loader copies the next batches. */
static void large_batches_are_copied_during_the_step(void **state)
{
    ht_device *host = ht_device_get("cpu");

    (void)state;
    files_open();
    files_make("rows.h5", 16 * ht_test_size, 16 * ht_test_size, 0);
    for (int i = 0; i < 4; i++) {
        ht_device *device = find(i / 2);
        ht_dataloader *loader;
        ht_batch batch;

        if (device == NULL)
            continue;
        loader = open_loader(device, i % 2, widen, HT_COMM_WORLD);
        while (ht_dataloader_next(loader, &batch)) {
            ht_scope *scope = ht_scope_open();
            ht_tensor *copy = ht_to_device(ht_to_device(batch.data, host), device);
            const int32_t *x = ht_test_data(ht_to_device(ht_add(batch.data, copy), host));

            for (int64_t at = 0; at < batch.rows * WIDTH; at++) {
                if (x[at] != 200 * batch.row_ids[at / WIDTH])
                    fail_msg("%s: element %lld of a batch is %d", ht_device_name(device),
                             (long long)at, x[at]);
            }
            ht_scope_close(scope);
        }
        assert_int_equal(ht_dataloader_status(loader), HT_SUCCESS);
        ht_release(loader);
    }
    files_remove();
}

/* An epoch, or its batches before an error, on this rank alone: every value of a batch is right. */
static ht_status run_until_error(ht_device *device)
{
    ht_device *host = ht_device_get("cpu");
    ht_dataloader *loader = open_loader(device, false, NULL, HT_COMM_SELF);
    ht_status status = HT_SUCCESS;
    ht_batch batch;

    while (status == HT_SUCCESS && ht_dataloader_next(loader, &batch)) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *copy = ht_to_device(batch.data, host);

        status = ht_error_get(NULL);
        for (int64_t i = 0; copy != NULL && i < batch.rows; i++)
            assert_int_equal(((const int32_t *)ht_test_data(copy))[i * ROW_LENGTH],
                             100 * batch.row_ids[i]);
        ht_scope_close(scope);
    }
    if (status == HT_SUCCESS)
        status = ht_dataloader_status(loader);
    ht_error_clear();
    ht_release(loader);
    return status;
}

/* Each call of the device fails in turn. */
static void a_failed_copy_is_reported_or_harmless(void **state)
{
    ht_device *device = ht_device_get("lag:2");
    int told = 0, made = 0;
    char number[16];

    (void)state;
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    files_open();
    files_make("rows.h5", 3 * BATCH, 3 * BATCH, 0);
    assert_int_equal(run_until_error(device), HT_SUCCESS);
    for (int n = 1; n == made + 1; n++) {
        unsetenv("LAG_FAULT_MADE");
        snprintf(number, sizeof number, "%d", n);
        setenv("LAG_FAULT", number, true);
        told += run_until_error(device) != HT_SUCCESS;
        unsetenv("LAG_FAULT");
        made += getenv("LAG_FAULT_MADE") != NULL;
        ht_device_synchronize(device);
        ht_error_clear();
    }
    assert_true(made > 10);
    assert_true(told > made / 2);
    files_remove();
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
}

HT_TEST_SUITE(test_dataloader_device, cmocka_unit_test(batches_on_a_device_hold_their_rows),
              cmocka_unit_test(large_batches_are_copied_during_the_step),
              cmocka_unit_test(a_failed_copy_is_reported_or_harmless));
