/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* A loader interrupted and resumed: the same batches on the same number of ranks, every row exactly
 * once on others, and no row read twice. */
#include "core/tensor/tensor.h"
#include "ht_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hdf5.h>

#include "files.h"
#include "ht/data.h"
#include "ht/factories.h"
#include "ht/io.h"
#include "tensor_check.h"

enum { ROWS = 203, MOST_BATCHES = 80 };

static const char *const names[] = {"x", "y"};

static ht_dataloader *open_loader(ht_comm *comm, const ht_dataloader_options *options)
{
    ht_dataset *dataset = ht_dataset_hdf5(files_path("a.h5"), 2, names, comm);
    ht_dataloader *loader = ht_dataloader_new(dataset, options);

    assert_non_null(loader);
    ht_release(dataset);
    return loader;
}

/* The batches that one rank got. */
struct record {
    int64_t batches, rows[MOST_BATCHES], ids[MOST_BATCHES][16];
};

static void run(ht_dataloader *loader, int64_t batches, struct record *record)
{
    ht_batch batch;

    for (int64_t b = 0; b < batches; b++) {
        int64_t place = record->batches++;

        assert_true(ht_dataloader_next(loader, &batch));
        record->rows[place] = batch.rows;
        memcpy(record->ids[place], batch.row_ids, (size_t)batch.rows * sizeof *batch.row_ids);
        for (int64_t i = 0; i < batch.rows; i++)
            assert_int_equal(((const int32_t *)ht_test_data(batch.data))[i * ROW_LENGTH],
                             100 * batch.row_ids[i]);
    }
}

/* The rest of this epoch, and the next one. */
static void run_on(ht_dataloader *loader, struct record *record)
{
    ht_batch batch;

    for (int epoch = 0; epoch < 2; epoch++) {
        run(loader, ht_dataloader_batches_left(loader), record);
        assert_false(ht_dataloader_next(loader, &batch));
        assert_int_equal(ht_dataloader_status(loader), HT_SUCCESS);
    }
}

static void expect_same(const struct record *got, const struct record *expected)
{
    assert_int_equal(got->batches, expected->batches);
    for (int64_t b = 0; b < got->batches; b++) {
        assert_int_equal(got->rows[b], expected->rows[b]);
        assert_memory_equal(got->ids[b], expected->ids[b],
                            (size_t)got->rows[b] * sizeof **got->ids);
    }
}

static void check_interrupted_at(int64_t stop, const ht_dataloader_options *options,
                                 const struct record *expected)
{
    static struct record got;
    ht_dataloader_options others = *options;
    ht_dataloader *first = open_loader(HT_COMM_WORLD, options), *second;

    got.batches = 0;
    run(first, stop, &got);
    others.seed = 99; /* the state has its own */
    second = open_loader(HT_COMM_WORLD, &others);
    assert_int_equal(ht_dataloader_load_state_dict(second, ht_dataloader_state_dict(first)),
                     HT_SUCCESS);
    ht_release(first);
    run_on(second, &got);
    assert_int_equal(ht_dataloader_epoch(second), 2);
    expect_same(&got, expected);
    ht_release(second);
}

static void check_loader(const ht_dataloader_options *options)
{
    static struct record expected;
    ht_dataloader *loader = open_loader(HT_COMM_WORLD, options);
    int64_t batches = ht_dataloader_batches(loader);

    expected.batches = 0;
    run_on(loader, &expected);
    ht_release(loader);
    for (int64_t stop = 0; stop <= batches; stop += batches > 4 ? batches / 4 : 1)
        check_interrupted_at(stop, options, &expected);
    check_interrupted_at(batches, options, &expected);
}

static void a_resumed_loader_gives_the_same_batches(void **state)
{
    static const int64_t windows[] = {1 << 20, 32 * (4 * ROW_LENGTH + 1), 1};
    ht_dataloader_options options = ht_dataloader_options_default();

    (void)state;
    files_open();
    files_make("a.h5", ROWS, ROWS, 8);
    options.batch_size = 13;
    options.seed = 0xfedcba9876543210; /* more than a double holds */
    for (int remainder = HT_REMAINDER_UNEVEN; remainder <= HT_REMAINDER_PAD; remainder++) {
        for (int variant = 0; variant < 6; variant++) {
            options.remainder = (ht_remainder_rule)remainder;
            options.window_bytes = windows[variant / 2];
            options.shuffle = variant % 2 == 0;
            options.io_threads = variant / 2 != 1;
            check_loader(&options);
        }
    }
    files_remove();
}

/* The slot of the batch that the program holds is not handed out again before it is filled. */
static void a_state_is_loaded_while_a_batch_is_held(void **state)
{
    static struct record start, expected, got;
    ht_dataloader_options options = ht_dataloader_options_default();

    (void)state;
    files_open();
    files_make("a.h5", ROWS, ROWS, 8);
    options.batch_size = 13;
    for (options.io_threads = 0; options.io_threads < 2; options.io_threads++) {
        ht_dataloader *loader = open_loader(HT_COMM_WORLD, &options);
        ht_value *at;

        start.batches = expected.batches = got.batches = 0;
        run(loader, 1, &start);
        at = ht_dataloader_state_dict(loader);
        run_on(loader, &expected);
        run(loader, 2, &start);
        assert_int_equal(ht_dataloader_load_state_dict(loader, at), HT_SUCCESS);
        run_on(loader, &got);
        expect_same(&got, &expected);
        ht_release(loader);
    }
    files_remove();
}

/* The state asks for a file that was removed; the loader has read all of it, and continues. */
static void a_state_is_refused_while_a_batch_is_held(void **state)
{
    static struct record start, expected, got;
    ht_dataloader_options options = ht_dataloader_options_default(), narrow = options;

    (void)state;
    files_open();
    options.batch_size = narrow.batch_size = 13;
    narrow.window_bytes = 1;
    for (options.io_threads = 0; options.io_threads < 2; options.io_threads++) {
        files_make("a.h5", ROWS, ROWS, 8);

        ht_dataloader *loader = open_loader(HT_COMM_WORLD, &options);
        ht_dataloader *same = open_loader(HT_COMM_WORLD, &options);
        ht_dataloader *other = open_loader(HT_COMM_WORLD, &narrow);
        ht_value *at = ht_dataloader_state_dict(other);

        ht_release(other);
        start.batches = expected.batches = got.batches = 0;
        run_on(same, &start);
        run(same, 2, &start);
        run_on(same, &expected);
        ht_release(same);
        start.batches = 0;
        run_on(loader, &start);
        run(loader, 2, &start);
        ht_barrier(HT_COMM_WORLD);
        if (ht_test_rank == 0)
            unlink(files_path("a.h5"));
        ht_barrier(HT_COMM_WORLD);
        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
        assert_int_equal(ht_dataloader_load_state_dict(loader, at), HT_ERR_IO);
        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
        ht_error_clear();
        run_on(loader, &got);
        expect_same(&got, &expected);
        ht_release(loader);
    }
    files_remove();
}

/* The state of a loader on some of the ranks, rank 0 among them, on all of them. */
static ht_value *on_all_ranks(const ht_value *state)
{
    int64_t count = ht_value_count(state);
    ht_value *map = ht_value_map();

    ht__comm_bcast_bytes(HT_COMM_WORLD, &count, sizeof count, 0, "state");
    for (int i = 0; i < count; i++) {
        struct {
            char key[32];
            double number;
            int64_t ndim, shape[2], data[512];
        } item = {.number = ht_value_as_number(ht_value_at(state, i))};
        ht_tensor *x = ht_value_as_tensor(ht_value_at(state, i));

        if (state != NULL)
            snprintf(item.key, sizeof item.key, "%s", ht_value_key(state, i));
        if (x != NULL) {
            item.ndim = ht_tensor_ndim(x);
            memcpy(item.shape, ht_tensor_shape(x), (size_t)item.ndim * sizeof *item.shape);
            memcpy(item.data, ht_test_data(x), (size_t)ht_tensor_nbytes(x));
        }
        ht__comm_bcast_bytes(HT_COMM_WORLD, &item, sizeof item, 0, "state");
        ht_value_set(map, item.key,
                     item.ndim > 0 ? ht_value_tensor(ht_array(item.data, (int)item.ndim, item.shape,
                                                              HT_INT64, HT_LOCAL))
                                   : ht_value_number(item.number));
    }
    return map;
}

static void count_rows(const struct record *record, int64_t seen[])
{
    for (int64_t b = 0; b < record->batches; b++) {
        for (int64_t i = 0; i < record->rows[b]; i++)
            seen[record->ids[b][i]]++;
    }
}

/* On the first `ranks` ranks: `batches` more of the epoch (-1: its rest). Returns the state after
 * it. */
static ht_value *run_on_ranks(int ranks, int64_t batches, const ht_dataloader_options *options,
                              const ht_value *state, int64_t seen[])
{
    static struct record record;
    ht_comm *comm = ht_comm_split(HT_COMM_WORLD, ht_test_rank < ranks ? 0 : -1, ht_test_rank);
    ht_value *after = NULL;

    record.batches = 0;
    if (comm != NULL) {
        ht_dataloader *loader = open_loader(comm, options);

        if (state != NULL)
            assert_int_equal(ht_dataloader_load_state_dict(loader, state), HT_SUCCESS);
        int64_t left = ht_dataloader_batches_left(loader);

        run(loader, batches < 0 || batches > left ? left : batches, &record);
        after = ht_dataloader_state_dict(loader);
        ht_release(loader);
        ht_release(comm);
    }
    count_rows(&record, seen);
    return on_all_ranks(after);
}

static void check_seen(int64_t seen[], int64_t times)
{
    ht__comm_allreduce_i64(HT_COMM_WORLD, seen, ROWS, HT_OP_SUM, "rows seen");
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(seen[i], times);
}

/* Interrupted twice in an epoch, each time to resume on another number. */
static void every_row_once_on_other_rank_counts(void **state)
{
    static const int counts[] = {1, 2, 3, 4, 7};
    static const int64_t windows[] = {1 << 20, 32 * (4 * ROW_LENGTH + 1), 1};
    ht_dataloader_options options = ht_dataloader_options_default();
    int n = 0;

    (void)state;
    files_open();
    files_make("a.h5", ROWS, ROWS, 8);
    options.batch_size = 7;
    while (n < 5 && counts[n] <= ht_test_size)
        n++;
    for (int i = 0; i < n * n * 3; i++) {
        int64_t seen[ROWS] = {0}, next[ROWS] = {0};
        int first = counts[i % n], second = counts[i / n % n], third = counts[(i + i / n) % n];

        options.window_bytes = windows[i / n / n];
        options.shuffle = i % 5 != 0;
        ht_value *at = run_on_ranks(first, i % 4, &options, NULL, seen);

        at = run_on_ranks(second, 2, &options, at, seen);
        at = run_on_ranks(third, -1, &options, at, seen);
        check_seen(seen, 1);
        assert_int_equal(ht_value_as_number(ht_value_get(at, "epoch")), 0);
        for (int again = 0; again < 2; again++) /* there is nothing left of this epoch */
            run_on_ranks(second, -1, &options, at, next);
        check_seen(next, 0);
    }
    files_remove();
}

/* Zeroes the chunks of x whose rows were all read, so that they can no longer be inflated. Returns
 * their number. */
static int64_t damage_what_was_had(const int64_t seen[], hsize_t rows, hsize_t chunk)
{
    char *zeros = calloc(chunk * ROW_LENGTH, 2 * sizeof(int32_t));
    FILE *raw = fopen(files_path("a.h5"), "r+b");
    hid_t file = H5Fopen(files_path("a.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t set = H5Dopen2(file, "x", H5P_DEFAULT), space = H5Dget_space(set);
    hsize_t chunks = 0, from[2], bytes;
    int64_t damaged = 0;

    H5Dget_num_chunks(set, space, &chunks);
    for (hsize_t i = 0; i < chunks; i++) {
        bool had = true;
        unsigned mask;
        haddr_t address;

        H5Dget_chunk_info(set, space, i, from, &mask, &address, &bytes);
        for (hsize_t row = from[0]; row < from[0] + chunk && row < rows; row++)
            had = had && seen[row] > 0;
        if (!had)
            continue;
        fseek(raw, (long)address, SEEK_SET);
        fwrite(zeros, 1, (size_t)bytes, raw);
        damaged++;
    }
    H5Sclose(space);
    H5Dclose(set);
    H5Fclose(file);
    fclose(raw);
    free(zeros);
    return damaged;
}

static void rows_already_delivered_are_not_read(void **state)
{
    ht_dataloader_options options = ht_dataloader_options_default();

    (void)state;
    options.batch_size = 3;
    options.window_bytes = 16 * (4 * ROW_LENGTH + 1); /* two windows of a chunk each */
    for (int variant = 0; variant < 4; variant++) {
        int64_t seen[ROWS] = {0}, all[ROWS], damaged = 0;
        int ranks = variant / 2 == 0 ? ht_test_size : (ht_test_size + 1) / 2;

        options.shuffle = variant % 2;
        files_open();
        files_make("a.h5", ROWS, ROWS, 8);
        ht_value *at = run_on_ranks(ht_test_size, 8, &options, NULL, seen);

        memcpy(all, seen, sizeof all);
        ht__comm_allreduce_i64(HT_COMM_WORLD, all, ROWS, HT_OP_SUM, "rows seen");
        ht_barrier(HT_COMM_WORLD);
        ht_hdf5_lock();
        if (ht_test_rank == 0)
            damaged = damage_what_was_had(all, ROWS, 8);
        ht_hdf5_unlock();
        ht__comm_bcast_bytes(HT_COMM_WORLD, &damaged, sizeof damaged, 0, "damaged");
        assert_true(damaged > 0);
        run_on_ranks(ranks, -1, &options, at, seen);
        check_seen(seen, 1);
        files_remove();
    }
}

/* A shard that fits into memory is read in units of 256 KiB: the first of three was had. */
static void units_already_delivered_are_not_read(void **state)
{
    enum { CHUNK = 1000, UNIT = 14 * CHUNK };
    int64_t rows = 3 * (int64_t)UNIT * ht_test_size, *seen = calloc((size_t)rows, sizeof *seen);
    ht_dataloader_options options = ht_dataloader_options_default();
    ht_batch batch;

    (void)state;
    options.batch_size = UNIT;
    options.shuffle = false;
    files_open();
    files_make("a.h5", rows, rows, CHUNK);
    ht_dataloader *first = open_loader(HT_COMM_WORLD, &options), *second;

    assert_true(ht_dataloader_next(first, &batch));
    for (int64_t r = 0; r < ht_test_size; r++) {
        for (int64_t i = 0; i < UNIT; i++)
            seen[3 * UNIT * r + i] = 1;
    }
    assert_int_equal(batch.row_ids[0], 3 * UNIT * ht_test_rank);
    ht_value *at = ht_dataloader_state_dict(first);

    ht_release(first);
    ht_barrier(HT_COMM_WORLD);
    ht_hdf5_lock();
    if (ht_test_rank == 0)
        assert_int_equal(damage_what_was_had(seen, (hsize_t)rows, CHUNK), 14 * ht_test_size);
    ht_hdf5_unlock();
    ht_barrier(HT_COMM_WORLD);
    second = open_loader(HT_COMM_WORLD, &options);
    ht_dataloader_load_state_dict(second, at);
    for (int64_t unit = 1; unit < 3; unit++) {
        assert_true(ht_dataloader_next(second, &batch));
        assert_int_equal(batch.row_ids[0], UNIT * (3 * ht_test_rank + unit));
    }
    assert_false(ht_dataloader_next(second, &batch));
    ht_release(second);
    free(seen);
    files_remove();
}

static void refuse(ht_dataloader *loader, ht_value *state, const char *expected)
{
    const char *message;

    assert_int_equal(ht_dataloader_load_state_dict(loader, state), HT_ERR_FORMAT);
    ht_error_get(&message);
    if (strstr(message, expected) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", expected, message);
    ht_error_clear();
}

static ht_value *with(const ht_value *state, const char *key, ht_value *item)
{
    ht_value *map = ht_value_map();

    for (int i = 0; i < ht_value_count(state); i++)
        ht_value_set(map, ht_value_key(state, i), ht_value_at(state, i));
    ht_value_set(map, key, item);
    return map;
}

static void states_that_do_not_fit(void **state)
{
    ht_dataloader_options options = ht_dataloader_options_default();
    int64_t parts[2][4] = {{0, 0, 0, 1}, {1, 0, 0, ROWS + 1}};

    (void)state;
    files_open();
    files_make("a.h5", ROWS, ROWS, 8);
    ht_dataloader *loader = open_loader(HT_COMM_WORLD, &options);
    ht_value *good = ht_dataloader_state_dict(loader);
    ht_tensor *bad = ht_array(parts, HT_SHAPE(2, 4), HT_INT64, HT_LOCAL);

    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    refuse(loader, with(good, "rows", ht_value_number(100)),
           "the state is of a loader with 100 rows, but");
    refuse(loader, with(good, "shuffle", ht_value_number(0)),
           "of a loader that does not shuffle, but this one does");
    refuse(loader, with(good, "left", ht_value_tensor(bad)),
           "\"left\" of the state does not divide");
    refuse(loader, with(good, "seed", ht_value_number(1)), "no int64 tensor \"seed\"");
    refuse(loader, ht_value_map(), "no number \"rows\"");
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(loader);
    files_remove();
}

HT_TEST_SUITE(test_dataloader_state, cmocka_unit_test(a_resumed_loader_gives_the_same_batches),
              cmocka_unit_test(a_state_is_loaded_while_a_batch_is_held),
              cmocka_unit_test(a_state_is_refused_while_a_batch_is_held),
              cmocka_unit_test(every_row_once_on_other_rank_counts),
              cmocka_unit_test(rows_already_delivered_are_not_read),
              cmocka_unit_test(units_already_delivered_are_not_read),
              cmocka_unit_test(states_that_do_not_fit));
