/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* Every row exactly once per epoch: all policies, shuffled or not, complete shards in memory or
 * windows of a few chunks, and files with fewer rows than ranks. */
#include "core/tensor/tensor.h"
#include "ht_test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "ht/data.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "tensor_check.h"

static const char *const names[] = {"x", "y"};

static ht_dataloader *open_loader(const char *file, const ht_dataloader_options *options)
{
    ht_dataset *dataset = ht_dataset_hdf5(files_path(file), 2, names, HT_COMM_WORLD);
    ht_dataloader *loader = ht_dataloader_new(dataset, options);

    assert_non_null(loader);
    ht_release(dataset);
    return loader;
}

/* The values of a batch are those of the rows it names. */
static void check_values(const ht_batch *batch)
{
    const int32_t *x = ht_test_data(batch->data);
    const uint8_t *y = ht_test_data(batch->target);

    assert_int_equal(ht_tensor_shape(batch->data)[0], batch->rows);
    assert_int_equal(ht_tensor_shape(batch->target)[0], batch->rows);
    for (int64_t i = 0; i < batch->rows; i++) {
        for (int j = 0; j < ROW_LENGTH; j++)
            assert_int_equal(x[i * ROW_LENGTH + j], 100 * batch->row_ids[i] + j);
        assert_int_equal(y[i], batch->row_ids[i] % 251);
    }
}

/* Runs an epoch; ids in order to `order`, if wanted; how often each row came on any rank to seen.
 * Returns the rows this rank had. */
static int64_t run_epoch(ht_dataloader *loader, int64_t rows, int64_t *order, int64_t *seen)
{
    int64_t mine = 0, batches = 0;
    ht_batch batch;

    memset(seen, 0, (size_t)(rows + 1) * sizeof *seen);
    while (ht_dataloader_next(loader, &batch)) {
        check_values(&batch);
        for (int64_t i = 0; i < batch.rows; i++) {
            seen[batch.row_ids[i]]++;
            if (order != NULL)
                order[mine + i] = batch.row_ids[i];
        }
        mine += batch.rows;
        batches++;
    }
    assert_int_equal(ht_dataloader_status(loader), HT_SUCCESS);
    assert_int_equal(batches, ht_dataloader_batches(loader));
    ht__comm_allreduce_i64(HT_COMM_WORLD, seen, (int)rows + 1, HT_OP_SUM, "rows seen");
    return mine;
}

static void check_seen(ht_remainder_rule remainder, int64_t batch, int64_t rows,
                       const int64_t *seen)
{
    int64_t missing = 0, extra = 0;

    for (int64_t i = 0; i < rows; i++) {
        missing += seen[i] == 0;
        extra += seen[i] > 1 ? seen[i] - 1 : 0;
    }
    if (remainder == HT_REMAINDER_DROP)
        assert_int_equal(missing, rows % (ht_test_size * batch));
    else
        assert_int_equal(missing, 0);
    if (remainder == HT_REMAINDER_PAD)
        assert_int_equal(extra, (ht_test_size - rows % ht_test_size) % ht_test_size);
    else
        assert_int_equal(extra, 0);
}

/* Three epochs of one loader. */
static void check_loader(const char *file, int64_t rows, const ht_dataloader_options *options)
{
    int64_t *seen = calloc((size_t)rows + 1, sizeof *seen);
    ht_dataloader *loader = open_loader(file, options);

    for (int epoch = 0; epoch < 3; epoch++) {
        assert_int_equal(ht_dataloader_epoch(loader), epoch);
        int64_t mine = run_epoch(loader, rows, NULL, seen);

        if (options->remainder == HT_REMAINDER_UNEVEN)
            assert_int_equal(mine, ht_dataloader_shard_rows(loader));
        check_seen(options->remainder, options->batch_size, rows, seen);
    }
    ht_release(loader);
    free(seen);
}

static void check_policies(const char *file, int64_t rows, int64_t window_bytes)
{
    ht_dataloader_options options = ht_dataloader_options_default();

    options.batch_size = 6;
    options.window_bytes = window_bytes;
    options.seed = 5;
    for (int remainder = HT_REMAINDER_UNEVEN; remainder <= HT_REMAINDER_PAD; remainder++) {
        if (remainder == HT_REMAINDER_PAD && rows < ht_test_size)
            continue;
        options.remainder = (ht_remainder_rule)remainder;
        for (int variant = 0; variant < 4; variant++) {
            options.shuffle = variant & 1;
            options.io_threads = variant >> 1;
            check_loader(file, rows, &options);
        }
    }
}

static void complete_shards_in_memory(void **state)
{
    (void)state;
    files_open();
    files_make("a.h5", 203, 203, 8);
    files_make("flat.h5", 50, 50, 0);
    check_policies("a.h5", 203, 1 << 20);
    check_policies("flat.h5", 50, 1 << 20);
    files_remove();
}

static void windows_smaller_than_the_shard(void **state)
{
    (void)state;
    files_open();
    files_make("a.h5", 203, 203, 8);
    files_make("flat.h5", 50, 50, 0);
    check_policies("a.h5", 203, 16 * (4 * ROW_LENGTH + 1)); /* two windows of a chunk each */
    check_policies("a.h5", 203, 1);                         /* of a row */
    check_policies("flat.h5", 50, 100);
    files_remove();
}

static void loaders_with_fewer_rows_than_ranks(void **state)
{
    (void)state;
    files_open();
    for (int rows = 1; rows <= 3; rows++) {
        files_make("tiny.h5", rows, rows, 2);
        check_policies("tiny.h5", rows, 1 << 20);
        check_policies("tiny.h5", rows, 1);
    }
    files_remove();
}

static void one_order(const char *file, uint64_t seed, int threads, int64_t window, int64_t epoch,
                      int64_t rows, int64_t *order)
{
    ht_dataloader_options options = ht_dataloader_options_default();
    int64_t *seen = calloc((size_t)rows + 1, sizeof *seen);

    options.seed = seed;
    options.batch_size = 7;
    options.io_threads = threads;
    options.window_bytes = window;
    ht_dataloader *loader = open_loader(file, &options);

    memset(order, 0, (size_t)rows * sizeof *order);
    if (epoch == 0) {
        run_epoch(loader, rows, order, seen);
    } else {
        /* Out of the middle of an epoch, with batches read ahead. */
        ht_batch batch;

        assert_true(ht_dataloader_next(loader, &batch));
        assert_int_equal(ht_dataloader_set_epoch(loader, epoch), HT_SUCCESS);
        run_epoch(loader, rows, order, seen);
    }
    ht_release(loader);
    free(seen);
}

static void order_is_a_function_of_seed_and_epoch(void **state)
{
    static const int64_t windows[] = {1 << 20, 40 * (4 * ROW_LENGTH + 1)};
    enum { ROWS = 700 };
    static int64_t a[ROWS], b[ROWS], reached[ROWS], seen[ROWS + 1];

    (void)state;
    files_open();
    files_make("a.h5", ROWS, ROWS, 8);
    for (int w = 0; w < 2; w++) {
        ht_dataloader_options options = ht_dataloader_options_default();

        one_order("a.h5", 3, 1, windows[w], 0, ROWS, a);
        one_order("a.h5", 3, 0, windows[w], 0, ROWS, b);
        assert_memory_equal(a, b, sizeof a);
        one_order("a.h5", 4, 1, windows[w], 0, ROWS, b);
        assert_memory_not_equal(a, b, sizeof a);
        one_order("a.h5", 3, 1, windows[w], 2, ROWS, b);
        assert_memory_not_equal(a, b, sizeof a);

        /* Epoch 2 reached by running is epoch 2 reached by a jump. */
        options.seed = 3;
        options.batch_size = 7;
        options.window_bytes = windows[w];
        ht_dataloader *loader = open_loader("a.h5", &options);

        for (int epoch = 0; epoch < 3; epoch++) {
            memset(reached, 0, sizeof reached);
            run_epoch(loader, ROWS, reached, seen);
        }
        assert_memory_equal(reached, b, sizeof b);
        ht_release(loader);
    }
    files_remove();
}

static void shuffling_moves_rows_far(void **state)
{
    enum { ROWS = 700 };
    static int64_t order[ROWS];
    int64_t start = (int64_t)ht_test_rank * ROWS / ht_test_size;
    int64_t mine = (int64_t)(ht_test_rank + 1) * ROWS / ht_test_size - start, moved = 0;

    (void)state;
    files_open();
    files_make("a.h5", ROWS, ROWS, 8);
    one_order("a.h5", 3, 1, 1 << 20, 0, ROWS, order);
    for (int64_t i = 0; i < mine; i++)
        moved += llabs(order[i] - start - i);
    /* The mean distance of a random permutation is a third of the length. */
    assert_true(moved > mine * mine / 4 && moved < mine * mine / 2);
    files_remove();
}

static void dataset_limit_bounds_the_rows(void **state)
{
    enum { ROWS = 90 };
    static int64_t seen[ROWS + 1];
    ht_dataset *dataset;

    (void)state;
    files_open();
    files_make("a.h5", ROWS, ROWS, 8);
    dataset = ht_dataset_hdf5(files_path("a.h5"), 2, names, HT_COMM_WORLD);
    assert_int_equal(ht_dataset_rows(dataset), ROWS);
    assert_int_equal(ht_dataset_limit(dataset, 20), HT_SUCCESS);
    ht_dataloader *loader = ht_dataloader_new(dataset, NULL);

    run_epoch(loader, ROWS, NULL, seen);
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(seen[i], i < 20);
    ht_release(loader);
    ht_release(dataset);
    files_remove();
}

static ht_tensor *to_float(ht_tensor *rows, int array, void *user)
{
    (void)array, (void)user;
    return ht_astype(ht_expand_dims(rows, 1), HT_FLOAT32);
}

static void steady_state_makes_no_objects(void **state)
{
    enum { ROWS = 480 };
    ht_dataloader_options options = ht_dataloader_options_default();
    ht_device_memory memory[2];
    int64_t live[2];
    ht_batch batch;

    (void)state;
    files_open();
    files_make("a.h5", ROWS, ROWS, 8);
    options.batch_size = 8;
    options.io_threads = 0; /* so that nothing is in the making while we count */
    options.remainder = HT_REMAINDER_DROP;
    options.transform = to_float;
    ht_dataloader *loader = open_loader("a.h5", &options);

    for (int epoch = 0; epoch < 6; epoch++) {
        while (ht_dataloader_next(loader, &batch))
            ;
        live[epoch == 5] = ht_live_objects(NULL);
        ht_device_get_memory(ht_device_get("cpu"), &memory[epoch == 5]);
    }
    assert_int_equal(live[1], live[0]);
    assert_int_equal(memory[1].missed, memory[0].missed);
    assert_int_equal(memory[1].in_use, memory[0].in_use);
    ht_release(loader);
    files_remove();
}

static void kept_batches_keep_their_values(void **state)
{
    enum { ROWS = 480 };
    ht_dataloader_options options = ht_dataloader_options_default();
    ht_tensor *kept[8];
    int64_t ids[8][8];
    ht_batch batch;

    (void)state;
    files_open();
    files_make("a.h5", ROWS, ROWS, 8);
    options.batch_size = 8;
    ht_dataloader *loader = open_loader("a.h5", &options);

    for (int i = 0; i < 8; i++) {
        assert_true(ht_dataloader_next(loader, &batch));
        kept[i] = ht_retain(batch.data);
        memcpy(ids[i], batch.row_ids, sizeof ids[i]);
    }
    while (ht_dataloader_next(loader, &batch))
        ;
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 8; j++)
            assert_int_equal(((const int32_t *)ht_test_data(kept[i]))[j * ROW_LENGTH],
                             100 * ids[i][j]);
        ht_release(kept[i]);
    }
    ht_release(loader);
    files_remove();
}

/* The thread waits for room in the ring, or has not been started, or is reading. */
static void is_destroyed_at_any_moment(void **state)
{
    ht_batch batch;

    (void)state;
    files_open();
    files_make("a.h5", 480, 480, 8);
    for (int i = 0; i < 12; i++) {
        ht_dataloader_options options = ht_dataloader_options_default();

        options.batch_size = 4;
        options.queue = 1 + i % 3;
        options.window_bytes = i % 2 ? 1 << 20 : 500;
        ht_dataloader *loader = open_loader("a.h5", &options);

        for (int k = 0; k < i; k++)
            assert_true(ht_dataloader_next(loader, &batch));
        if (i % 4 == 0)
            usleep(3000);
        ht_release(loader);
    }
    files_remove();
}

/* Sum of the rows of an epoch on this rank. */
static int64_t epoch_rows(ht_dataloader *loader)
{
    int64_t rows = 0;
    ht_batch batch;

    while (ht_dataloader_next(loader, &batch)) {
        for (int64_t i = 0; i < batch.rows; i++)
            assert_true(batch.row_ids[i] < 1000);
        rows += batch.rows;
    }
    return rows;
}

/* One that is there keeps its rows, one that is made later has the new ones. */
static void a_limit_is_for_loaders_made_later(void **state)
{
    static const char *const all[] = {"x", "y"};
    ht_dataset *dataset;
    ht_dataloader *before, *after;

    (void)state;
    files_open();
    files_make("limit.h5", 40, 40, 8);
    dataset = ht_dataset_hdf5(files_path("limit.h5"), 2, all, HT_COMM_WORLD);
    before = ht_dataloader_new(dataset, NULL);
    assert_int_equal(ht_dataset_limit(dataset, 12), HT_SUCCESS);
    after = ht_dataloader_new(dataset, NULL);
    for (int epoch = 0; epoch < 2; epoch++) {
        assert_int_equal(epoch_rows(before), ht_dataloader_shard_rows(before));
        assert_int_equal(epoch_rows(after), ht_dataloader_shard_rows(after));
    }
    assert_int_equal(ht_dataloader_shard_rows(before),
                     40 * (ht_test_rank + 1) / ht_test_size - 40 * ht_test_rank / ht_test_size);
    assert_int_equal(ht_dataloader_shard_rows(after),
                     12 * (ht_test_rank + 1) / ht_test_size - 12 * ht_test_rank / ht_test_size);
    ht_release(after);
    ht_release(before);
    ht_release(dataset);
    files_remove();
}

/* It costs no memory, and no number overflows. */
static void a_batch_larger_than_all_rows_is_one_batch(void **state)
{
    static const char *const all[] = {"x", "y"};
    ht_dataloader_options options = ht_dataloader_options_default();

    (void)state;
    files_open();
    files_make("large.h5", 40, 40, 8);
    for (int policy = HT_REMAINDER_UNEVEN; policy <= HT_REMAINDER_PAD; policy++) {
        ht_dataset *dataset = ht_dataset_hdf5(files_path("large.h5"), 2, all, HT_COMM_WORLD);
        ht_dataloader *loader;

        options.batch_size = INT64_MAX;
        options.remainder = (ht_remainder_rule)policy;
        loader = ht_dataloader_new(dataset, &options);
        assert_int_equal(ht_dataloader_batches(loader), policy == HT_REMAINDER_DROP ? 0 : 1);
        if (policy == HT_REMAINDER_UNEVEN)
            assert_int_equal(epoch_rows(loader), ht_dataloader_shard_rows(loader));
        ht_release(loader);
        ht_release(dataset);
    }
    files_remove();
}

HT_TEST_SUITE(test_dataloader, cmocka_unit_test(a_limit_is_for_loaders_made_later),
              cmocka_unit_test(a_batch_larger_than_all_rows_is_one_batch),
              cmocka_unit_test(complete_shards_in_memory),
              cmocka_unit_test(windows_smaller_than_the_shard),
              cmocka_unit_test(loaders_with_fewer_rows_than_ranks),
              cmocka_unit_test(order_is_a_function_of_seed_and_epoch),
              cmocka_unit_test(shuffling_moves_rows_far),
              cmocka_unit_test(dataset_limit_bounds_the_rows),
              cmocka_unit_test(steady_state_makes_no_objects),
              cmocka_unit_test(kept_batches_keep_their_values),
              cmocka_unit_test(is_destroyed_at_any_moment));
