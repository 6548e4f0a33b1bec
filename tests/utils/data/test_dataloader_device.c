/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* A loader that copies its batches to a device ahead of their use: the rows are those of the host,
 * whatever the device computes meanwhile, and memory that is handed out again is not overwritten
 * late. */
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

static ht_dataloader *open_loader(ht_device *device, bool threaded)
{
    static const char *const names[] = {"x", "y"};
    ht_dataset *dataset = ht_dataset_hdf5(files_path("rows.h5"), 2, names, HT_COMM_WORLD);
    ht_dataloader_options options = ht_dataloader_options_default();
    ht_dataloader *loader;

    options.batch_size = BATCH;
    options.io_threads = threaded;
    options.device = device;
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
        loader = open_loader(device, i % 2);
        run_epoch(loader, device);
        assert_true(ht_dataloader_next(loader, &batch));
        ht_dataloader_set_epoch(loader, 1); /* in the middle: what was read ahead is dropped */
        run_epoch(loader, device);
        ht_release(loader);
    }
    files_remove();
}

HT_TEST_SUITE(test_dataloader_device, cmocka_unit_test(batches_on_a_device_hold_their_rows));
