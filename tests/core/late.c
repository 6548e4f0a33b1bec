/* SPDX-License-Identifier: MIT */
/* A program that has started MPI finalises it while it holds handles, as Python does at exit, for
 * tests/core/late.sh: late HOW FILE. HOW is "left" (MPI_Finalize alone), "ended" (ht_finalize, then
 * MPI_Finalize) or "after" (the other way around). Each handle is released then. "again" starts libht
 * once MPI is finalised. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "ht.h"

enum { ROWS = 48, MOST = 40 };

static void *held[MOST];
static int count;

static void hold(void *handle)
{
    if (handle == NULL || count == MOST)
        MPI_Abort(MPI_COMM_WORLD, 3);
    held[count++] = handle;
}

static void hold_tensors(void)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_ones(HT_SHAPE(ROWS, 3), HT_FLOAT32, 0), *y = ht_sum(x, HT_NONE);
    ht_value *map = ht_value_map();

    ht_tensor_set_requires_grad(x, true);
    hold(ht_retain(x));
    hold(ht_retain(ht_mul(x, x))); /* of a graph */
    hold(ht_retain(ht_narrow(ht_detach(x), 0, 2, 5)));
    hold(ht_retain(ht_array((float[]){1, 2}, HT_SHAPE(2), HT_FLOAT32, HT_LOCAL)));
    hold(ht_retain(ht_fft(ht_resplit(ht_detach(x), 1), HT_NONE, 1, HT_FFT_BACKWARD)));
    ht_value_set(map, "y", ht_value_tensor(y));
    hold(ht_retain(map));
    hold(ht_irecv(HT_COMM_SELF, y, 0, 7)); /* never waited for */
    hold(ht_isend(HT_COMM_SELF, ht_copy(y), 0, 7));
    ht_scope_close(scope);
    ht_ones(HT_SHAPE(5), HT_FLOAT32, 0); /* left to the root scope */
}

static void hold_comms(void)
{
    ht_comm *half = ht_comm_split(HT_COMM_WORLD, ht_comm_rank(HT_COMM_WORLD) % 2, 0);

    hold(half);
    hold(ht_retain(HT_COMM_WORLD));
    hold(ht_metric_mean(half));
    hold(ht_retain(ht_ones_ext(HT_SHAPE(4), HT_FLOAT32, 0, ht_get_device(), half)));
}

/* A loader in the middle of an epoch, with threads that read ahead. */
static void hold_data(const char *file)
{
    static const char *const names[] = {"data"};
    ht_dataloader_options options = ht_dataloader_options_default();
    ht_dataset *dataset;
    ht_dataloader *loader;
    ht_batch batch;

    ht_save_hdf5(ht_ones(HT_SHAPE(ROWS, 3), HT_FLOAT32, 0), file, "data", "w");
    dataset = ht_dataset_hdf5(file, 1, names, HT_COMM_WORLD);
    options.batch_size = 2;
    loader = ht_dataloader_new(dataset, &options);
    if (!ht_dataloader_next(loader, &batch))
        MPI_Abort(MPI_COMM_WORLD, 4);
    hold(dataset);
    hold(loader);
}

/* Two wrappers after a step, one with a pass whose sums are under way. */
static void hold_training(void)
{
    const int64_t rows[] = {2, 3};

    for (int i = 0; i < 2; i++) {
        ht_scope *scope = ht_scope_open();
        ht_module *net = ht_nn_linear(3, 4), *dp;
        ht_optimizer *sgd = ht_optim_sgd(ht_module_parameters(net), 0.1, NULL);

        dp = ht_nn_data_parallel(net, HT_COMM_WORLD, sgd, i == 0);
        for (int step = 0; step < 2; step++) {
            ht_tensor *x = ht_ones(2, rows, HT_FLOAT32, HT_LOCAL);

            ht_data_parallel_backward(dp, ht_sum(ht_forward(dp, x), HT_NONE));
            if (step == 0)
                ht_optimizer_step(sgd);
        }
        hold(dp);
        hold(sgd);
        hold(net);
        ht_scope_close(scope);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int level, leaks = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (strcmp(how, "again") == 0) {
        MPI_Finalize();
        return ht_init_comm(MPI_COMM_WORLD) == HT_SUCCESS ? 5 : 6; /* it ends the process */
    }
    ht_init(&argc, &argv);
    hold_tensors();
    hold_comms();
    hold_data(argc > 2 ? argv[2] : "late.h5");
    hold_training();
    if (strcmp(how, "ended") == 0)
        leaks = ht_finalize();
    MPI_Finalize();
    if (strcmp(how, "after") == 0)
        ht_finalize();
    while (count > 0)
        ht_release(held[--count]);
    return strcmp(how, "ended") == 0 && leaks == 0 ? 5 : 0;
}
