/* SPDX-License-Identifier: MIT */
#include "programs.h"

#include <stdio.h>
#include <stdlib.h>

static const int64_t matrix[] = {4, 3};

/* The first error of a program: some calls begin by clearing an error that the program has not
 * read. */
static ht_status first;
char ht_test_first_message[1024];

static void look(void)
{
    const char *message;

    if (first != HT_SUCCESS)
        return;
    first = ht_error_get(&message);
    snprintf(ht_test_first_message, sizeof ht_test_first_message, "%s", message);
}

static ht_tensor *make(int split)
{
    return ht_randn(2, matrix, HT_FLOAT64, split);
}

static void elementwise(void)
{
    ht_tensor *x = make(0), *y = make(1), *row = ht_arange(0, 3, 1, HT_INT64, HT_NONE);

    x = ht_add(ht_mul(x, y), ht_div(row, ht_add_scalar(row, 0.5)));
    x = ht_exp(ht_neg(ht_sqrt(ht_maximum(x, ht_ones_like(x)))));
    x = ht_astype(ht_sub_scalar(ht_tanh(x), 1), HT_FLOAT32);
    ht_add_(x, ht_transpose(ht_full(HT_SHAPE(3, 4), 2, HT_FLOAT32, 0), 0, 1), 2);
    ht_mul_scalar_(x, 0.5);
    ht_copy_(x, y);
    ht_fill_(ht_narrow(x, 0, 1, 3), 7);
    ht_uniform_(x, -1, 1);
    ht_equal(x, y, &(bool){false});
    ht_eq(ht_astype(x, HT_INT32), ht_randint(0, 5, 2, matrix, HT_INT32, HT_NONE));
}

static void moves(void)
{
    ht_tensor *x = make(0), *parts[3] = {x, make(HT_NONE), make(1)};
    ht_tensor *all = ht_concatenate(3, parts, 0);

    ht_resplit_(all, 1);
    ht_balance(ht_narrow(all, 0, 2, 9));
    ht_reshape(ht_resplit(all, 0), HT_SHAPE(36));
    ht_flatten(ht_expand_dims(ht_permute(all, HT_AXES(1, 0)), 1), 0);
    ht_contiguous(ht_transpose(ht_tensor_local(all), 0, 1));
    ht_copy(ht_broadcast_to(ht_squeeze(ht_narrow(x, 1, 0, 1), 1), HT_SHAPE(2, 4)));
    ht_to_device(ht_to_device(x, ht_device_get("cpu:1")), ht_device_get("cpu:0"));
    ht_to_device(ht_transpose(x, 0, 1), ht_device_get("cpu:1"));
    ht_channels_last(ht_zeros(HT_SHAPE(2, 3, 4, 5), HT_FLOAT16, 0));
    ht_array((const float[12]){1}, 2, matrix, HT_FLOAT32, 1);
    ht_array((const float[12]){1}, 2, matrix, HT_FLOAT32, HT_LOCAL);
    ht_array_from_local((const float[12]){1}, 2, matrix, HT_FLOAT32, 0);
    ht_eye(5, 4, HT_BOOL, 1);
    ht_linspace(0, 1, 7, HT_FLOAT32, 0);
}

static void reductions(void)
{
    for (int split = 0; split < 2; split++) {
        ht_tensor *x = make(split);
        ht_reduce_options kept = ht_reduce_options_default();
        double number;

        kept.count = 1, kept.keepdims = true;
        for (int axis = 0; axis < 2; axis++) {
            kept.axes = &axis;
            ht_sum_ext(x, &kept);
            ht_std(x, axis);
            ht_argmin(ht_max(x, axis), HT_NONE);
            ht_argmax(x, axis);
            ht_cumsum(x, axis);
        }
        ht_tensor_item(ht_mean(x, HT_NONE), &number);
        ht_item(ht_narrow(ht_narrow(x, 0, 1, 2), 1, 1, 2));
        free(ht_tensor_str(x));
        for (int other = 0; other < 2; other++) {
            ht_matmul(x, ht_transpose(make(other), 0, 1));
            ht_matmul(ht_transpose(x, 0, 1), make(other));
        }
        ht_matmul(ht_eye(4, 3, HT_BOOL, HT_NONE), ht_eye(3, 5, HT_BOOL, HT_NONE));
    }
}

static void gradients(void)
{
    ht_tensor *x = make(0), *w = ht_randn(HT_SHAPE(3, 2), HT_FLOAT64, HT_NONE), *y;

    ht_tensor_set_requires_grad(x, true);
    ht_tensor_set_requires_grad(w, true);
    y = ht_tanh(ht_matmul(x, w));
    y = ht_mul(ht_reshape(ht_astype(y, HT_FLOAT32), HT_SHAPE(8)), ht_flatten(y, 0));
    y = ht_add(ht_mean(y, HT_NONE), ht_sum(ht_std(ht_resplit(x, 1), 0), HT_NONE));
    y = ht_add(y, ht_sum(ht_cumsum(ht_max(w, 1), 0), HT_NONE));
    look();
    ht_backward(y);
    ht_add(ht_tensor_grad(w), ht_tensor_grad(w));
}

/* float64: by the kernels of the library in every build. */
static void convolutions(void)
{
    ht_tensor *x = ht_randn(HT_SHAPE(4, 2, 5, 5), HT_FLOAT64, 0), *y;
    ht_tensor *w = ht_randn(HT_SHAPE(3, 2, 3, 3), HT_FLOAT64, HT_NONE);

    ht_tensor_set_requires_grad(x, true);
    ht_tensor_set_requires_grad(w, true);
    y = ht_conv2d(x, w, NULL, NULL);
    look();
    ht_backward(ht_sum(y, HT_NONE));
}

static void communication_and_files(const char *path)
{
    ht_comm *world = HT_COMM_WORLD;
    ht_comm *half = ht_comm_split(world, ht_comm_rank(world) % 2, 0);
    ht_tensor *x = make(0), *whole = ht_transpose(ht_tensor_local(make(HT_NONE)), 0, 1);
    ht_tensor *sum = ht_zeros_like(whole);
    ht_request *request;

    look();
    ht_bcast(world, whole, 0);
    if (ht_allreduce(world, sum, sum, HT_OP_MAX) == HT_SUCCESS) { /* all ranks have it */
        request = ht_iallreduce(world, whole, sum, HT_OP_SUM);
        ht_wait(&request);
    }
    ht_full_ext(2, matrix, HT_NUM(3), HT_FLOAT32, 0, ht_get_device(), half);
    ht_release(half);
    ht_save_hdf5(x, path, "x", "w");
    look();
    ht_load_hdf5(path, "x", HT_FLOAT32, 1);
}

ht_status ht_test_core_program(const char *path)
{
    ht_scope *scope = ht_scope_open();

    first = HT_SUCCESS;
    elementwise();
    moves();
    reductions();
    gradients();
    look();
    convolutions();
    communication_and_files(path);
    look();
    ht_scope_close(scope);
    ht_barrier(HT_COMM_WORLD);
    if (ht_comm_rank(HT_COMM_WORLD) == 0)
        remove(path);
    return first;
}

enum { ROWS = 12, SIDE = 6, CLASSES = 3 };

static void write_images(const char *path)
{
    ht_scope *scope = ht_scope_open();

    ht_save_hdf5(ht_rand(HT_SHAPE(ROWS, 1, SIDE, SIDE), HT_FLOAT32, 0), path, "images", "w");
    look();
    ht_save_hdf5(ht_randint(0, CLASSES, HT_SHAPE(ROWS), HT_INT64, 0), path, "labels", "a");
    ht_scope_close(scope);
}

static ht_module *new_net(void)
{
    ht_module *layers[] = {
        ht_nn_conv2d(1, 4, 3),     ht_nn_batch_norm2d(4, NULL), ht_nn_relu(),
        ht_nn_max_pool2d(2),       ht_nn_dropout(0.25),         ht_nn_flatten(1),
        ht_nn_linear(16, CLASSES),
    };

    return ht_nn_sequential(sizeof layers / sizeof *layers, layers);
}

/* A step that fails does so on all ranks: they stop at the same step. */
static bool step(ht_module *dp, ht_optimizer *optimizer, const ht_batch *batch)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *loss = ht_cross_entropy(ht_forward(dp, batch->data), batch->target, HT_MEAN);
    ht_status backward, update;

    look();
    ht_optimizer_zero_grad(optimizer);
    backward = ht_data_parallel_backward(dp, loss);
    look();
    update = ht_optimizer_step(optimizer);
    ht_item(loss);
    look();
    ht_scope_close(scope);
    return backward == HT_SUCCESS && update == HT_SUCCESS;
}

static void train(ht_module *dp, ht_optimizer *optimizer, ht_dataloader *loader)
{
    ht_batch batch;

    for (int epoch = 0; epoch < 2; epoch++) {
        while (ht_dataloader_next(loader, &batch)) {
            if (!step(dp, optimizer, &batch))
                return;
        }
        look();
        if (ht_dataloader_status(loader) != HT_SUCCESS)
            return;
    }
}

static void keep(ht_module *net, ht_optimizer *optimizer, const char *path)
{
    char name[512];
    ht_scope *scope = ht_scope_open();
    ht_value *state = ht_value_map();

    snprintf(name, sizeof name, "%s.checkpoint", path);
    ht_value_set(state, "model", ht_module_state_dict(net));
    ht_value_set(state, "optimizer", ht_optimizer_state_dict(optimizer));
    look();
    ht_checkpoint_save(state, name, HT_COMM_WORLD, NULL);
    look();
    state = ht_checkpoint_load(name, HT_COMM_WORLD, NULL);
    if (state != NULL)
        ht_optimizer_load_state_dict(optimizer, ht_value_get(state, "optimizer"));
    ht_scope_close(scope);
    ht_barrier(HT_COMM_WORLD);
    if (ht_comm_rank(HT_COMM_WORLD) == 0) {
        remove(name);
        remove(path);
    }
}

ht_status ht_test_training_program(const char *path, bool thread)
{
    const char *arrays[] = {"images", "labels"};
    ht_dataloader_options options = ht_dataloader_options_default();
    ht_scope *scope = ht_scope_open();
    ht_dataset *dataset;
    ht_dataloader *loader;
    ht_module *net, *dp;
    ht_optimizer *optimizer;

    first = HT_SUCCESS;
    write_images(path);
    look();
    options.batch_size = 3;
    options.io_threads = thread;
    dataset = ht_dataset_hdf5(path, 2, arrays, HT_COMM_WORLD);
    loader = ht_dataloader_new(dataset, &options);
    ht_use_comm(HT_COMM_SELF);
    net = new_net();
    optimizer = ht_optim_adam(ht_module_parameters(net), 1e-2, NULL);
    dp = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, true);
    look();
    train(dp, optimizer, loader);
    keep(net, optimizer, path);
    look();
    ht_use_comm(HT_COMM_WORLD);
    ht_release(dp);
    ht_release(optimizer);
    ht_release(net);
    ht_release(loader);
    ht_release(dataset);
    ht_scope_close(scope);
    look();
    return first;
}
