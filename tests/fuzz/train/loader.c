/* SPDX-License-Identifier: MIT
 *
 * Loaders: every row exactly once in an epoch, with its values; an epoch interrupted anywhere
 * continues with the remaining rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

enum { MOST_ROWS = 200 };
static char failure[512];
static int rank, size;

static void complain(const char *text, int64_t a, int64_t b)
{
    if (failure[0] == '\0')
        snprintf(failure, sizeof failure, "%s: %lld, %lld", text, (long long)a, (long long)b);
}

struct plan {
    int64_t rows, limit; /* limit < rows: set before the loader is made, or after it */
    bool late_limit;
    bool cut;     /* the file loses its end once the loader is there */
    int64_t stop; /* batches before the interruption; -1: none */
    ht_dataloader_options options;
};

static struct plan random_plan(uint64_t seed)
{
    struct random random = {hash_of(seed, 31)};
    struct plan plan = {.rows = 1 + random_below(&random, MOST_ROWS - 1),
                        .options = ht_dataloader_options_default()};

    plan.limit = random_chance(&random, 30) ? 1 + random_below(&random, plan.rows) : plan.rows;
    plan.late_limit = random_chance(&random, 30);
    plan.stop = random_chance(&random, 60) && !plan.late_limit ? random_below(&random, 4) : -1;
    plan.options.batch_size = 1 + random_below(&random, 20);
    plan.options.shuffle = random_chance(&random, 70);
    plan.options.seed = random_next(&random);
    plan.options.device = ht_get_device();
    plan.options.remainder = (ht_remainder_rule)random_below(&random, 3);
    plan.options.window_bytes = random_chance(&random, 50) ? 256 : 1 << 20;
    plan.options.io_threads = random_chance(&random, 50);
    plan.options.queue = 1 + (int)random_below(&random, 3);
    plan.cut = random_chance(&random, 15) && !plan.late_limit && plan.stop < 0;
    if (plan.options.remainder == HT_REMAINDER_PAD && plan.limit < 8)
        plan.options.remainder = HT_REMAINDER_UNEVEN; /* a rank without rows has none to repeat */
    return plan;
}

static void write_file(const char *path, int64_t rows)
{
    int64_t shape[] = {rows, 3};
    ht_tensor *ids = ht_arange(0, (double)rows, 1, HT_INT64, 0),
              *more = ht_ones(2, shape, HT_FLOAT64, 0);

    ht_save_hdf5(ht_mul(more, ht_expand_dims(ids, 1)), path, "values", "w");
    ht_save_hdf5(ids, path, "ids", "a");
}

/* Takes up to `most` batches, and counts their rows. */
static int64_t take(ht_dataloader *loader, int64_t most, int64_t count[])
{
    int64_t batches = 0;
    ht_batch batch;

    while (batches < most && ht_dataloader_next(loader, &batch)) {
        const double *values = values_of(batch.data);
        const int64_t *ids = values_of(batch.target);

        batches++;
        for (int64_t i = 0; i < batch.rows; i++) {
            if (ids[i] != batch.row_ids[i] || values[3 * i] != (double)ids[i] ||
                values[3 * i + 2] != (double)ids[i])
                complain("a batch has another row than it says", ids[i], batch.row_ids[i]);
            if (ids[i] >= 0 && ids[i] < MOST_ROWS)
                count[ids[i]]++;
        }
    }
    return batches;
}

static void check_counts(const struct plan *plan, const int64_t mine[])
{
    int64_t all[MOST_ROWS], missing = 0, doubled = 0;

    MPI_Allreduce(mine, all, MOST_ROWS, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (int64_t i = 0; i < MOST_ROWS; i++) {
        if (i >= plan->limit && all[i] != 0)
            complain("a row beyond the limit came", i, all[i]);
        missing += i < plan->limit && all[i] == 0;
        doubled += all[i] > 1;
    }
    if (doubled > 0 && plan->options.remainder != HT_REMAINDER_PAD)
        complain("rows came twice", doubled, plan->limit);
    if (missing > 0 && plan->options.remainder != HT_REMAINDER_DROP)
        complain("rows did not come", missing, plan->limit);
    if (missing > size * plan->options.batch_size - 1)
        complain("too many rows were dropped", missing, plan->limit);
}

/* The rest of an epoch, on another loader that takes over from the first one's state. */
static ht_dataloader *hand_over(ht_dataset *dataset, const struct plan *plan, ht_dataloader *loader)
{
    char path[512];
    ht_value *map = ht_value_map();
    ht_dataloader *next;

    snprintf(path, sizeof path, "%s/loader-state.h5", fuzz_folder);
    ht_value_set(map, "loader", ht_dataloader_state_dict(loader));
    if (ht_checkpoint_save(map, path, HT_COMM_WORLD, NULL) != HT_SUCCESS)
        complain("ht_checkpoint_save failed", 0, 0);
    ht_release(loader);
    next = ht_dataloader_new(dataset, &plan->options);
    map = ht_checkpoint_load(path, HT_COMM_WORLD, NULL);
    if (map == NULL ||
        ht_dataloader_load_state_dict(next, ht_value_get(map, "loader")) != HT_SUCCESS)
        complain("a state was not taken", 0, 0);
    ht_barrier(HT_COMM_WORLD);
    if (rank == 0)
        unlink(path);
    return next;
}

/* An epoch of a file that has lost its end: an error on all ranks, or rows that were read before.
 */
static void take_cut(const struct plan *plan, ht_dataloader *loader, const char *path)
{
    int64_t count[MOST_ROWS] = {0};
    int mine[2], most[2];
    struct stat about;

    ht_barrier(HT_COMM_WORLD);
    if (rank == 0 && (stat(path, &about) != 0 || truncate(path, about.st_size / 3) != 0))
        complain("cannot cut the file", 0, 0);
    ht_barrier(HT_COMM_WORLD);
    take(loader, 100000, count);
    mine[0] = (int)ht_dataloader_status(loader);
    mine[1] = -mine[0];
    MPI_Allreduce(mine, most, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (most[0] != -most[1])
        complain("status after the file was cut differs between ranks", most[0], -most[1]);
    else if (most[0] == HT_SUCCESS)
        check_counts(plan, count);
    ht_error_clear();
}

/* A loader that is made after the limit has the rows below it, while the first has all. */
static void take_second(const struct plan *plan, ht_dataset *dataset)
{
    ht_dataloader *second = ht_dataloader_new(dataset, &plan->options);
    int64_t count[MOST_ROWS] = {0};

    if (second == NULL) {
        complain("a second loader failed", 0, 0);
        return;
    }
    take(second, 100000, count);
    if (ht_dataloader_status(second) != HT_SUCCESS)
        complain("the second loader's status", ht_dataloader_status(second), 0);
    check_counts(plan, count);
    ht_release(second);
}

static void run_plan(const struct plan *plan, const char *path)
{
    const char *names[] = {"values", "ids"};
    ht_dataset *dataset = ht_dataset_hdf5(path, 2, names, HT_COMM_WORLD);
    ht_dataloader *loader;

    if (!plan->late_limit)
        ht_dataset_limit(dataset, plan->limit);
    loader = ht_dataloader_new(dataset, &plan->options);
    if (plan->late_limit)
        ht_dataset_limit(dataset, plan->limit); /* this loader keeps its rows */
    if (loader == NULL) {
        complain("ht_dataloader_new failed", 0, 0);
        ht_release(dataset);
        return;
    }
    if (plan->late_limit)
        take_second(plan, dataset);
    if (plan->cut)
        take_cut(plan, loader, path);
    for (int epoch = 0; epoch < 2 && failure[0] == '\0' && !plan->cut; epoch++) {
        struct plan seen = *plan;
        int64_t count[MOST_ROWS] = {0}, batches, expected = ht_dataloader_batches(loader);

        if (plan->late_limit)
            seen.limit = plan->rows;
        batches = plan->stop >= 0 ? take(loader, plan->stop, count) : 0;
        if (plan->stop >= 0 && epoch == 0 && batches == plan->stop)
            loader = hand_over(dataset, plan, loader);
        if (batches == (plan->stop >= 0 ? plan->stop : 0)) /* else that was the end of the epoch */
            batches += take(loader, 100000, count);
        if (batches != expected)
            complain("batches of an epoch", batches, expected);
        if (ht_dataloader_status(loader) != HT_SUCCESS)
            complain("the loader's status", ht_dataloader_status(loader), 0);
        check_counts(&seen, count);
    }
    ht_release(loader);
    ht_release(dataset);
}

bool family_loader(uint64_t seed, bool trace)
{
    struct plan plan = random_plan(seed);
    int64_t objects = objects_alive();
    ht_scope *scope = ht_scope_open();
    char path[512];
    int failed;

    rank = ht_comm_rank(HT_COMM_WORLD);
    size = ht_comm_size(HT_COMM_WORLD);
    failure[0] = '\0';
    snprintf(path, sizeof path, "%s/loader.h5", fuzz_folder);
    write_file(path, plan.rows);
    run_plan(&plan, path);
    ht_scope_close(scope);
    if (objects_alive() != objects)
        complain("objects are left", objects_alive() - objects, 0);
    failed = failure[0] != '\0';
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        unlink(path);
    if ((failed || trace) && rank == 0)
        fprintf(stderr,
                "fuzz: loader, seed %llu, rank %d of %d: %s\n  %lld rows%s, limit %lld%s, "
                "interrupted after %lld, batch %lld, shuffle %d, remainder %d, window %lld, "
                "threads %d\n",
                (unsigned long long)seed, rank, size, failure, (long long)plan.rows,
                plan.cut ? " in a file that is cut" : "", (long long)plan.limit,
                plan.late_limit ? " set late" : "", (long long)plan.stop,
                (long long)plan.options.batch_size, plan.options.shuffle,
                (int)plan.options.remainder, (long long)plan.options.window_bytes,
                plan.options.io_threads);
    return !failed;
}
