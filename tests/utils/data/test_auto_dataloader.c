/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT */
/* The rows of a step are shared by the ranks, or the remainder is named; every row comes once. */
#include "ht_test.h"

#include <stdio.h>
#include <string.h>

#include "files.h"
#include "ht.h"

enum { ROWS = 100 };

static const char *const names[] = {"x", "y"};

static ht_dataset *open_rows(void)
{
    files_open();
    files_make("rows.h5", ROWS, ROWS, 8);
    return ht_dataset_hdf5(files_path("rows.h5"), 2, names, HT_COMM_WORLD);
}

/* Rows of the first batch here, and of the epoch on all ranks. */
static void check_epoch(ht_dataloader *loader, int64_t batch)
{
    double sum = 0, all = 0;
    ht_batch got;

    assert_non_null(loader);
    for (int i = 0; ht_dataloader_next(loader, &got); i++) {
        assert_true(got.rows <= batch);
        if (i == 0)
            assert_true(got.rows == batch || ht_dataloader_shard_rows(loader) < batch);
        sum += (double)got.rows;
    }
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, ht_comm_mpi(HT_COMM_WORLD));
    assert_true(all == ROWS);
    ht_release(loader);
}

static void test_shares_a_batch(void **state)
{
    ht_dataset *dataset = open_rows();
    ht_dataloader_options options = ht_dataloader_options_default();

    (void)state;
    options.batch_size = 5 * ht_test_size;
    check_epoch(ht_auto_dataloader(dataset, &options, HT_BATCH_EXACT), 5);
    ht_release(dataset);
    files_remove();
}

static void test_remainder_is_named_or_rounded(void **state)
{
    ht_dataset *dataset = open_rows();
    ht_dataloader_options options = ht_dataloader_options_default();
    const char *message;
    char expected[128];

    (void)state;
    options.batch_size = 5 * ht_test_size + ht_test_size - 1;
    if (ht_test_size > 1) {
        snprintf(expected, sizeof expected,
                 "ht_auto_dataloader: %d ranks cannot share a batch of %d rows: 5 each leaves a "
                 "remainder of %d;",
                 ht_test_size, (int)options.batch_size, ht_test_size - 1);
        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
        assert_null(ht_auto_dataloader(dataset, &options, HT_BATCH_EXACT));
        assert_int_equal(ht_error_get(&message), HT_ERR_ARGUMENT);
        assert_memory_equal(message, expected, strlen(expected));
        ht_error_clear();
        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    }
    check_epoch(ht_auto_dataloader(dataset, &options, HT_BATCH_ROUND_DOWN), 5);
    check_epoch(ht_auto_dataloader(dataset, &options, HT_BATCH_ROUND_UP), ht_test_size > 1 ? 6 : 5);
    ht_release(dataset);
    files_remove();
}

/* Fewer rows than ranks: neither kept as they are nor rounded down to none. */
static void test_batch_smaller_than_the_world(void **state)
{
    ht_dataset *dataset = open_rows();
    ht_dataloader_options options = ht_dataloader_options_default();

    (void)state;
    const char *message;

    options.batch_size = ht_test_size - 1;
    if (ht_test_size > 1) {
        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
        assert_null(ht_auto_dataloader(dataset, &options, HT_BATCH_EXACT));
        ht_error_clear();
        assert_null(ht_auto_dataloader(dataset, &options, HT_BATCH_ROUND_DOWN));
        ht_error_get(&message);
        assert_non_null(strstr(message, "rounded down, has no row for"));
        assert_non_null(strstr(message, "or HT_BATCH_ROUND_UP"));
        ht_error_clear();
        ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
        check_epoch(ht_auto_dataloader(dataset, &options, HT_BATCH_ROUND_UP), 1);
    }
    ht_release(dataset);
    files_remove();
}

static void test_options_are_refused_by_name(void **state)
{
    ht_dataset *dataset = open_rows();
    ht_dataloader_options options = ht_dataloader_options_default();
    const char *message;

    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    for (int i = 0; i < 2; i++) {
        options.batch_size = i == 0 ? 0 : ht_test_size;
        options.queue = 0;
        assert_null(ht_auto_dataloader(dataset, &options, HT_BATCH_EXACT));
        ht_error_get(&message);
        assert_non_null(strstr(message, i == 0 ? "ht_auto_dataloader: batch_size is 0, expected"
                                               : "ht_auto_dataloader: window_bytes is"));
        ht_error_clear();
    }
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_release(dataset);
    files_remove();
}

HT_TEST_SUITE(test_auto_dataloader, cmocka_unit_test(test_shares_a_batch),
              cmocka_unit_test(test_options_are_refused_by_name),
              cmocka_unit_test(test_remainder_is_named_or_rounded),
              cmocka_unit_test(test_batch_smaller_than_the_world));
