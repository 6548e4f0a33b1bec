/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Random numbers of a transform depend on the loader's seed, the epoch and the batch: not on the
 * reading thread, on draws of the program, or on where an epoch was interrupted. */
#include <string.h>

#include "files.h"
#include "ht/arithmetics.h"
#include "ht/data.h"
#include "ht/factories.h"
#include "ht/random.h"
#include "ht_test.h"
#include "tensor_check.h"

enum { ROWS = 41, BATCH = 4, EPOCHS = 2, MOST = 64 };

static const char *const names[] = {"x", "y"};

/* One number for each array and batch. */
struct record {
    int count;
    double drawn[MOST];
};

static ht_tensor *draw_row(ht_tensor *rows, int array, void *seeds)
{
    const int64_t *shape = ht_tensor_shape(rows);
    ht_tensor *first;

    if (*(bool *)seeds)
        ht_random_seed(7);
    first = ht_rand(1, shape, HT_FLOAT64, HT_LOCAL);
    return ht_add(first, ht_mul_scalar(ht_randn(1, shape, HT_FLOAT64, HT_NONE), array));
}

static ht_dataloader *open_loader(int threads, bool *seeds)
{
    ht_dataset *dataset = ht_dataset_hdf5(files_path("a.h5"), 2, names, HT_COMM_SELF);
    ht_dataloader_options options = ht_dataloader_options_default();
    ht_dataloader *loader;

    options.batch_size = BATCH;
    options.seed = 5;
    options.io_threads = threads;
    options.transform = draw_row;
    options.user = seeds;
    loader = ht_dataloader_new(dataset, &options);
    assert_non_null(loader);
    ht_release(dataset);
    return loader;
}

/* The program draws meanwhile. */
static void run(ht_dataloader *loader, int batches, struct record *record)
{
    ht_batch batch;

    for (int i = 0; i < batches; i++) {
        if (!ht_dataloader_next(loader, &batch))
            assert_true(ht_dataloader_next(loader, &batch));
        assert_true(record->count + 2 <= MOST);
        for (int a = 0; a < 2; a++)
            record->drawn[record->count++] = ((const double *)ht_test_data(batch.arrays[a]))[0];
        ht_rand(HT_SHAPE(3), HT_FLOAT32, HT_LOCAL);
    }
}

/* Random numbers of the program follow its own draws alone. */
static void run_all(int threads, int stop, bool seeds, struct record *record)
{
    static const int all = EPOCHS * ((ROWS + BATCH - 1) / BATCH);
    ht_comm *comm = ht_get_comm();
    ht_dataloader *loader, *next;
    double mine[2];

    ht_use_comm(HT_COMM_SELF); /* HT_NONE is process-local, too */
    ht_random_seed(1);
    loader = open_loader(threads, &seeds);
    run(loader, stop, record);
    next = open_loader(threads, &seeds);
    assert_int_equal(ht_dataloader_load_state_dict(next, ht_dataloader_state_dict(loader)),
                     HT_SUCCESS);
    ht_release(loader);
    run(next, all - stop, record);
    ht_release(next);

    mine[0] = ((const double *)ht_test_data(ht_rand(HT_SHAPE(1), HT_FLOAT64, HT_LOCAL)))[0];
    ht_random_seed(1);
    for (int i = 0; i <= all; i++)
        mine[1] = ((const double *)ht_test_data(ht_rand(HT_SHAPE(1), HT_FLOAT64, HT_LOCAL)))[0];
    assert_true(mine[0] == mine[1]);
    ht_use_comm(comm);
}

static void they_depend_on_the_batch_alone(void **state)
{
    struct record expected = {0};

    (void)state;
    files_open();
    files_make("a.h5", ROWS, ROWS, 8);
    run_all(0, 0, false, &expected);
    for (int i = 0; i < expected.count; i++) {
        for (int k = 0; k < i; k++)
            assert_true(expected.drawn[i] != expected.drawn[k]);
    }
    for (int threads = 0; threads < 2; threads++) {
        for (int stop = 0; stop < 16; stop += 5) {
            struct record got = {0};

            run_all(threads, stop, false, &got);
            assert_int_equal(got.count, expected.count);
            assert_memory_equal(got.drawn, expected.drawn, sizeof got.drawn);
        }
    }
    files_remove();
}

/* A transform that seeds gets the numbers of that seed, and the program keeps its own. */
static void a_transform_seeds_its_own_numbers(void **state)
{
    double first;

    (void)state;
    files_open();
    files_make("a.h5", ROWS, ROWS, 8);
    ht_random_seed(7);
    first = ((const double *)ht_test_data(ht_rand(HT_SHAPE(1), HT_FLOAT64, HT_LOCAL)))[0];
    for (int threads = 0; threads < 2; threads++) {
        struct record got = {0};

        run_all(threads, 3, true, &got);
        for (int i = 0; i < got.count; i += 2)
            assert_true(got.drawn[i] == first);
    }
    files_remove();
}

HT_TEST_SUITE(test_dataloader_random, cmocka_unit_test(they_depend_on_the_batch_alone),
              cmocka_unit_test(a_transform_seeds_its_own_numbers));
