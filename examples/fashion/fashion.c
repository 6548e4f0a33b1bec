/* SPDX-License-Identifier: MIT
 *
 * A perceptron on MNIST-format images, on one rank or on many, that goes on where it was stopped:
 *     ht-idx2hdf5 /usr/share/datasets/fashion-mnist images.h5
 *     mpirun -n 4 fashion images.h5 run.h5 10      (images, checkpoint, epochs in all) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ht.h"

struct run {
    ht_dataloader *train, *test;
    ht_module *model;
    ht_optim_wrapper *wrapper;
};

static ht_value *forward(ht_module *model, ht_value *data, ht_forward_mode mode, void *user)
{
    ht_tensor *y = ht_forward(model, ht_value_as_tensor(ht_value_get(data, "data")));
    ht_tensor *target = ht_value_as_tensor(ht_value_get(data, "target"));

    (void)user;
    return ht_value_tensor(mode == HT_FORWARD_LOSS ? ht_cross_entropy(y, target, HT_MEAN) : y);
}

/* An epoch of training or of testing: the metric, over all ranks, of what its steps gave. */
static double pass(struct run *run, ht_dataloader *loader, ht_metric *metric)
{
    bool training = loader == run->train;
    ht_step_options options = ht_step_options_default();
    ht_batch batch;
    double result;

    options.forward = forward;
    (training ? ht_module_train : ht_module_eval)(run->model);
    while (ht_dataloader_next(loader, &batch)) {
        ht_scope *step = ht_scope_open();
        ht_value *data = ht_batch_value(&batch);
        ht_value *made = training ? ht_train_step(run->model, data, run->wrapper, &options)
                                  : ht_val_step(run->model, data, &options);

        if (training)
            ht_metric_add(metric, ht_log_number(made, "loss"), (double)batch.rows);
        else
            ht_metric_update(metric, ht_value_as_tensor(made), batch.target);
        ht_scope_close(step);
    }
    result = ht_metric_result(metric);
    ht_release(metric);
    return result;
}

static ht_dataloader *open_rows(const char *path, int count, const char *const names[])
{
    static ht_normalize normalize = {255, 0.3, 0.35, HT_FLOAT32, false};
    ht_dataset *rows = ht_dataset_hdf5(path, count, names, HT_COMM_WORLD);
    ht_dataloader_options options = ht_dataloader_options_default();
    ht_dataloader *loader;

    options.batch_size = 240; /* of all ranks together */
    options.transform = ht_transform_normalize;
    options.user = &normalize;
    loader = ht_auto_dataloader(rows, &options, HT_BATCH_EXACT);
    ht_release(rows);
    return loader;
}

static void save(struct run *run, const char *path)
{
    ht_scope *scope = ht_scope_open();
    ht_value *state = ht_value_map();

    ht_value_set(state, "model", ht_module_state_dict(run->model));
    ht_value_set(state, "wrapper", ht_optim_wrapper_state_dict(run->wrapper));
    ht_value_set(state, "train", ht_dataloader_state_dict(run->train));
    ht_checkpoint_save(state, path, HT_COMM_WORLD, NULL);
    ht_scope_close(scope);
}

static const char help[] =
    "usage: [mpirun -n RANKS] fashion IMAGES.h5 CHECKPOINT.h5 EPOCHS\n"
    "\n"
    "Trains a perceptron for EPOCHS in all, and resumes from CHECKPOINT.h5 if "
    "it exists.\n"
    "ht-idx2hdf5 makes IMAGES.h5.\n";

/* The exit status: what could not be printed, as to a full device, is a failure. */
static int end(int status)
{
    if (ht_finalize() > 0 && status == 0)
        status = 1;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fputs("fashion: cannot write to the output\n", stderr);
    return status != 0 ? status : 1;
}

/* Rank 0 alone says how it is called. */
static int say_usage(bool asked)
{
    if (ht_comm_rank(HT_COMM_WORLD) == 0)
        fputs(help, asked ? stdout : stderr);
    return end(asked ? 0 : 2);
}

int main(int argc, char **argv)
{
    struct run run;
    ht_module *module;
    ht_optimizer *adam;

    if (ht_init(NULL, NULL) != HT_SUCCESS)
        return 1;
    if (argc != 4)
        return say_usage(argc == 2 && strcmp(argv[1], "--help") == 0);
    module = ht_nn_sequential(HT_LIST(ht_module *, ht_nn_flatten(1), ht_nn_linear(784, 128),
                                      ht_nn_batch_norm1d(128, NULL), ht_nn_relu(),
                                      ht_nn_linear(128, 10)));
    adam = ht_optim_adam(ht_module_parameters(module), 0.001, NULL);
    run.train = open_rows(argv[1], HT_LIST(const char *, "train/images", "train/labels"));
    run.test = open_rows(argv[1], HT_LIST(const char *, "test/images", "test/labels"));
    run.model = ht_auto_model(module, adam, true, NULL);
    ht_release(module); /* the wrapper holds it */
    run.wrapper = ht_optim_wrapper_new(adam, NULL);
    if (access(argv[2], F_OK) == 0) {
        ht_value *state = ht_checkpoint_load(argv[2], HT_COMM_WORLD, NULL);

        ht_module_load_state_dict(run.model, ht_value_get(state, "model"));
        ht_optim_wrapper_load_state_dict(run.wrapper, ht_value_get(state, "wrapper"));
        ht_dataloader_load_state_dict(run.train, ht_value_get(state, "train"));
    }
    while (ht_dataloader_epoch(run.train) < atoi(argv[3])) {
        double loss = pass(&run, run.train, ht_metric_mean(HT_COMM_WORLD));
        double accuracy = pass(&run, run.test, ht_metric_accuracy(1, HT_COMM_WORLD));

        if (ht_comm_rank(HT_COMM_WORLD) == 0)
            printf("loss %.17g, test accuracy %.4f\n", loss, accuracy);
        save(&run, argv[2]);
    }
    ht_release(run.train);
    ht_release(run.test);
    ht_release(run.wrapper);
    ht_release(run.model);
    ht_release(adam);
    return end(0);
}
