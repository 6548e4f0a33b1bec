/* SPDX-License-Identifier: MIT
 *
 * Calls that agree, made wrongly on one rank: all ranks get the same error, and the right call
 * after it succeeds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

static char path[512];

static ht_status status_of(const void *object)
{
    return object != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static ht_value *numbers(int64_t length)
{
    ht_value *list = ht_value_list();

    ht_value_append(list, ht_value_tensor(ht_full_ext(1, &length, HT_NUM(1), HT_FLOAT64, HT_NONE,
                                                      ht_device_get("cpu"), HT_COMM_SELF)));
    return list;
}

static ht_status average(bool odd)
{
    return ht_average_parameters(numbers(odd ? 3 : 4), HT_COMM_WORLD);
}

static ht_status averager(bool odd)
{
    int size = ht_comm_size(HT_COMM_WORLD);
    ht_hierarchical_averager *made = ht_hierarchical_averager_new(
        HT_COMM_WORLD, HT_SHAPE(odd ? 0 : 1), (int[]){size}, 0);
    ht_status status = status_of(made);

    ht_release(made);
    return status;
}

static ht_status averager_step(bool odd)
{
    int size = ht_comm_size(HT_COMM_WORLD);
    ht_hierarchical_averager *made = ht_hierarchical_averager_new(HT_COMM_WORLD, HT_SHAPE(1),
                                                                  (int[]){size}, 0);
    ht_value *list = numbers(4);
    ht_status status;

    ht_tensor_set_requires_grad(ht_value_as_tensor(ht_value_at(list, 0)), true);
    status = ht_hierarchical_averager_average_parameters(made, odd ? NULL : list);
    ht_release(made);
    return status;
}

static ht_status save(const char *to, void *odd)
{
    (void)to;
    return *(bool *)odd ? ht_error_raise(HT_COMM_SELF, HT_ERR_IO, "save: this one fails")
                        : HT_SUCCESS;
}

static ht_status keep(bool odd)
{
    ht_keep_best *best = ht_keep_best_new(path, 2, false, save, &odd, HT_COMM_WORLD);
    ht_status status = ht_keep_best_step(best, 1, 0);

    ht_release(best);
    return status;
}

static ht_status checkpoint(bool odd)
{
    ht_value *map = ht_value_map();
    ht_status status;

    ht_value_set(map, "n", ht_value_number(1));
    status = ht_checkpoint_save(odd ? NULL : map, path, HT_COMM_WORLD, NULL);
    ht_barrier(HT_COMM_WORLD);
    if (ht_comm_rank(HT_COMM_WORLD) == 0)
        unlink(path);
    return status;
}

static ht_status module_state(bool odd)
{
    ht_module *net = ht_nn_linear(2, 2);
    ht_status status = ht_module_save_state(odd ? NULL : net, path, HT_COMM_WORLD);

    ht_release(net);
    ht_barrier(HT_COMM_WORLD);
    if (ht_comm_rank(HT_COMM_WORLD) == 0)
        unlink(path);
    return status;
}

static ht_status wrapper(bool odd)
{
    ht_module *net = ht_nn_linear(2, 2),
              *made = ht_nn_data_parallel(odd ? NULL : net, HT_COMM_WORLD, NULL, true);
    ht_status status = status_of(made);

    ht_release(made);
    ht_release(net);
    return status;
}

static ht_status automatic(bool odd)
{
    ht_module *net = ht_nn_linear(2, 2), *made = ht_auto_model(odd ? NULL : net, NULL, false, NULL);
    ht_status status = status_of(made);

    ht_release(made);
    ht_release(net);
    return status;
}

static ht_status separate(bool odd)
{
    ht_module *layers[] = {ht_nn_linear(2, 2), ht_nn_linear(2, 2)};
    ht_module *net = ht_nn_sequential(2, layers);
    ht_status status = ht_nn_data_parallel_separate(odd ? NULL : net, HT_COMM_WORLD, 0, NULL, NULL);

    ht_release(net);
    return status;
}

static ht_status metric(bool odd)
{
    ht_metric *made = ht_metric_accuracy(1, HT_COMM_WORLD);
    ht_status status;

    if (odd)
        ht_metric_update(made, ht_value_as_tensor(ht_value_at(numbers(3), 0)), NULL);
    ht_error_clear();
    status = status_of(ht_metric_compute(made));
    ht_release(made);
    return status;
}

static ht_status metric_state(bool odd)
{
    ht_metric *made = ht_metric_mean(HT_COMM_WORLD);
    ht_value *state = ht_metric_state_dict(made);
    ht_status status = ht_metric_load_state_dict(made, odd ? ht_value_map() : state);

    ht_release(made);
    return status;
}

static ht_status run_log(bool odd)
{
    ht_run_log_options options = ht_run_log_options_default();
    ht_run_log *log;
    ht_value *row = ht_value_map();
    ht_status status;

    options.csv = path;
    log = ht_run_log_new(&options, HT_COMM_WORLD);
    ht_value_set(row, "epoch", ht_value_number(1));
    status = ht_run_log_add(log, odd ? NULL : row);
    ht_release(log);
    ht_barrier(HT_COMM_WORLD);
    if (ht_comm_rank(HT_COMM_WORLD) == 0)
        unlink(path);
    return status;
}

static ht_status run_log_new(bool odd)
{
    ht_run_log_options options = ht_run_log_options_default();
    ht_run_log *log;
    ht_status status;

    options.size = odd ? 1 : options.size;
    log = ht_run_log_new(&options, HT_COMM_WORLD);
    status = status_of(log);
    ht_release(log);
    return status;
}

/* A file of rows, as loaders read them. */
static ht_dataset *dataset(void)
{
    static const char *const names[] = {"rows"};
    int64_t shape[] = {12, 2};

    ht_save_hdf5(ht_ones(2, shape, HT_FLOAT32, 0), path, "rows", "w");
    return ht_dataset_hdf5(path, 1, names, HT_COMM_WORLD);
}

static ht_status loader_end(ht_dataset *rows, ht_dataloader *loader, ht_status status)
{
    ht_release(loader);
    ht_release(rows);
    ht_barrier(HT_COMM_WORLD);
    if (ht_comm_rank(HT_COMM_WORLD) == 0)
        unlink(path);
    return status;
}

static ht_status loader(bool odd)
{
    ht_dataset *rows = dataset();
    ht_dataloader_options options = ht_dataloader_options_default();
    ht_dataloader *made;

    options.batch_size = odd ? 0 : 3;
    made = ht_dataloader_new(rows, &options);
    return loader_end(rows, made, status_of(made));
}

static ht_status loader_automatic(bool odd)
{
    ht_dataset *rows = dataset();
    ht_dataloader_options options = ht_dataloader_options_default();
    ht_dataloader *made;

    options.batch_size = 12;
    made = ht_auto_dataloader(rows, &options, odd ? (ht_batch_policy)17 : HT_BATCH_ROUND_UP);
    return loader_end(rows, made, status_of(made));
}

static ht_status loader_state(bool odd)
{
    ht_dataset *rows = dataset();
    ht_dataloader *made = ht_dataloader_new(rows, NULL);
    ht_value *state = ht_dataloader_state_dict(made);

    return loader_end(rows, made,
                      ht_dataloader_load_state_dict(made, odd ? ht_value_map() : state));
}

static const struct row {
    const char *name;
    ht_status (*call)(bool odd);
} rows[] = {{"ht_average_parameters", average},
            {"ht_hierarchical_averager_new", averager},
            {"ht_hierarchical_averager_average_parameters", averager_step},
            {"ht_keep_best_step", keep},
            {"ht_checkpoint_save", checkpoint},
            {"ht_module_save_state", module_state},
            {"ht_nn_data_parallel", wrapper},
            {"ht_auto_model", automatic},
            {"ht_nn_data_parallel_separate", separate},
            {"ht_metric_compute", metric},
            {"ht_metric_load_state_dict", metric_state},
            {"ht_run_log_add", run_log},
            {"ht_run_log_new", run_log_new},
            {"ht_dataloader_new", loader},
            {"ht_auto_dataloader", loader_automatic},
            {"ht_dataloader_load_state_dict", loader_state}};
enum { ROWS = sizeof rows / sizeof *rows };

/* "" or the fault, the same on all ranks. */
static void check_row(const struct row *row, int odd_rank, char *failure, size_t room)
{
    bool odd = ht_comm_rank(HT_COMM_WORLD) == odd_rank;
    const bool differs = ht_comm_size(HT_COMM_WORLD) == 1 && row->call == average;

    for (int right = 0; right < 2 && failure[0] == '\0'; right++) {
        ht_scope *scope = ht_scope_open();
        int mine[2] = {(int)row->call(odd && right == 0)}, most[2];

        mine[1] = -mine[0];
        MPI_Allreduce(mine, most, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (most[0] != -most[1])
            snprintf(failure, room, "%s: %s on one rank, %s on another", row->name,
                     ht_status_name((ht_status)most[0]), ht_status_name((ht_status)-most[1]));
        else if ((most[0] == HT_SUCCESS) != (right == 1) && !differs)
            snprintf(failure, room, "%s: %s%s", row->name, ht_status_name((ht_status)most[0]),
                     right ? " after an error" : " where one rank passes a wrong argument");
        ht_error_clear();
        ht_scope_close(scope);
    }
}

bool family_agrees(uint64_t seed, bool trace)
{
    char failure[512] = "";
    struct random random = {hash_of(seed, 3131)};
    int rank = ht_comm_rank(HT_COMM_WORLD), size = ht_comm_size(HT_COMM_WORLD);
    const struct row *row = &rows[random_below(&random, ROWS)];
    int odd = (int)random_below(&random, size);
    int64_t objects = objects_alive(), left[2];

    snprintf(path, sizeof path, "%s/agrees.h5", fuzz_folder);
    if (trace && rank == 0)
        fprintf(stderr, "  %s, wrong on rank %d\n", row->name, odd);
    check_row(row, odd, failure, sizeof failure);
    left[0] = objects_alive() - objects;
    MPI_Allreduce(left, left + 1, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (failure[0] == '\0' && left[1] > 0)
        snprintf(failure, sizeof failure, "%s: %lld objects are left", row->name,
                 (long long)left[1]);
    if (failure[0] != '\0' && rank == 0)
        fprintf(stderr, "fuzz: agrees, seed %llu, %d ranks: %s\n  %s, wrong on rank %d\n",
                (unsigned long long)seed, size, failure, row->name, odd);
    return failure[0] == '\0';
}
