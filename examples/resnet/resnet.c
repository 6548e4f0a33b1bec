/* SPDX-License-Identifier: MIT
 *
 * A ResNet-18 of width 16 on Fashion-MNIST, with random crops and flips, on one rank or on many:
 *     ht-idx2hdf5 /usr/share/datasets/fashion-mnist images.h5
 *     mpirun -n 4 resnet --data images.h5
 * bench/peers/resnet.py is the same program in PyTorch. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "ht.h"

enum { WIDTH = 16, CLASSES = 10, SIDE = 28, PAD = 4, SAMPLE = 16 };

static ht_normalize normalize = {255, 0.286, 0.353, HT_FLOAT32, true};

/* The options. Numbers come first, whole ones before others. */
enum { TRAIN, EPOCHS, BATCH, SEED, WHOLE, LR = WHOLE, NUMBERS };
enum { DATA = NUMBERS, LOAD, SAVE, OUTPUTS, PLAIN, BLOCKING, DOUBLE, DEVICE, OPTIONS };

static const char *values[OPTIONS] = {
    [TRAIN] = "0", [EPOCHS] = "10",      [BATCH] = "128", [LR] = "0.1",
    [SEED] = "1",  [DATA] = "images.h5", [DEVICE] = "cpu"};

static int64_t number(int option)
{
    return strtoll(values[option], NULL, 10);
}

/* Whether an option is a number, at least 0, and whole where only that makes sense. */
static bool is_number(int option)
{
    const char *text = values[option];
    char *end;
    const bool is_right = option < WHOLE ? strtoll(text, &end, 10) >= 0 : strtod(text, &end) >= 0;

    return is_right && end != text && *end == '\0';
}

/* ---- The network, with the names of torchvision's ---- */

typedef struct block {
    ht_module *conv1, *bn1, *conv2, *bn2, *downsample; /* downsample: NULL where the shape stays */
} block;

static ht_tensor *block_forward(ht_module *self, ht_tensor *x)
{
    block *b = ht_module_data(self);
    ht_tensor *y = ht_relu(ht_forward(b->bn1, ht_forward(b->conv1, x)));

    y = ht_forward(b->bn2, ht_forward(b->conv2, y));
    return ht_relu(ht_add(y, b->downsample != NULL ? ht_forward(b->downsample, x) : x));
}

static const ht_module_type block_type = {.name = "BasicBlock", .forward = block_forward};

static ht_module *conv(int64_t in, int64_t out, int64_t kernel, int64_t stride)
{
    ht_conv2d_options o = ht_conv2d_options_default();

    o.stride[0] = o.stride[1] = stride;
    o.padding[0] = o.padding[1] = kernel / 2;
    return ht_nn_conv2d_ext(in, out, kernel, &o, false);
}

static ht_module *new_block(int64_t in, int64_t out)
{
    ht_module *self = ht_module_new(sizeof(block), &block_type);
    block *b = ht_module_data(self);
    int64_t stride = in == out ? 1 : 2;

    ht_module_add(self, "conv1", &b->conv1, conv(in, out, 3, stride));
    ht_module_add(self, "bn1", &b->bn1, ht_nn_batch_norm2d(out, NULL));
    ht_module_add(self, "conv2", &b->conv2, conv(out, out, 3, 1));
    ht_module_add(self, "bn2", &b->bn2, ht_nn_batch_norm2d(out, NULL));
    if (in != out)
        ht_module_add(self, "downsample", &b->downsample,
                      ht_nn_sequential(HT_LIST(ht_module *, conv(in, out, 1, stride),
                                               ht_nn_batch_norm2d(out, NULL))));
    return self;
}

typedef struct resnet {
    ht_module *conv1, *bn1, *layer[4], *fc;
} resnet;

static ht_tensor *resnet_forward(ht_module *self, ht_tensor *x)
{
    resnet *net = ht_module_data(self);

    x = ht_relu(ht_forward(net->bn1, ht_forward(net->conv1, x)));
    for (int i = 0; i < 4; i++)
        x = ht_forward(net->layer[i], x);
    x = ht_adaptive_avg_pool(x, (int64_t[]){1, 1});
    return ht_forward(net->fc, ht_flatten(x, 1));
}

static const ht_module_type resnet_type = {.name = "ResNet", .forward = resnet_forward};

static ht_module *new_resnet(void)
{
    static const char *const names[] = {"layer1", "layer2", "layer3", "layer4"};
    ht_module *self = ht_module_new(sizeof(resnet), &resnet_type);
    resnet *net = ht_module_data(self);
    int64_t in = WIDTH;

    ht_module_add(self, "conv1", &net->conv1, conv(1, in, 3, 1));
    ht_module_add(self, "bn1", &net->bn1, ht_nn_batch_norm2d(in, NULL));
    for (int i = 0; i < 4; i++) {
        int64_t out = WIDTH << i;

        ht_module_add(
            self, names[i], &net->layer[i],
            ht_nn_sequential(HT_LIST(ht_module *, new_block(in, out), new_block(out, out))));
        in = out;
    }
    ht_module_add(self, "fc", &net->fc, ht_nn_linear(in, CLASSES));
    return self;
}

/* ---- Training ---- */

struct run {
    ht_dataloader *train, *test;
    ht_module *net, *model; /* model: the data-parallel wrapper of net */
    ht_optimizer *sgd;
    ht_scheduler *schedule;
};

/* One number below `end` for each row of this rank. All ranks draw one tensor, of which each has
 * its part. */
static ht_tensor *draw(int64_t end)
{
    return ht_tensor_local(ht_randint(0, end, HT_SHAPE(number(BATCH), 1, 1), HT_INT64, 0));
}

/* images[n, 0, y, x] with random y and x: each image is moved by up to PAD pixels, and half of them
 * are flipped. */
static ht_tensor *crop_and_flip(ht_tensor *images)
{
    ht_number black = ht_number_real(-normalize.mean / normalize.std);
    ht_tensor *padded = ht_pad(images, 4, (int64_t[]){PAD, PAD, PAD, PAD}, black);
    ht_tensor *n = ht_arange(0, (double)ht_tensor_shape(images)[0], 1, HT_INT64, HT_LOCAL);
    ht_tensor *pixels = ht_arange(0, SIDE, 1, HT_INT64, HT_LOCAL);
    ht_tensor *y = ht_add(draw(2 * PAD + 1), ht_expand_dims(pixels, 1)); /* (N, SIDE, 1) */
    ht_tensor *flipped = ht_flip(pixels, HT_AXES(0));
    ht_tensor *x = ht_add(draw(2 * PAD + 1), ht_where(draw(2), flipped, pixels)); /* (N, 1, SIDE) */

    n = ht_reshape(n, HT_SHAPE(-1, 1, 1));
    return ht_expand_dims(ht_getitem(padded, HT_KEY(n, 0, y, x)), 1);
}

/* An epoch. Returns the mean of the loss over all ranks. */
static double train(struct run *run)
{
    ht_metric *mean = ht_metric_mean(HT_COMM_WORLD);
    ht_batch batch;
    double result;

    ht_module_train(run->model);
    while (ht_dataloader_next(run->train, &batch)) {
        ht_scope *step = ht_scope_open();
        ht_tensor *images = values[PLAIN] != NULL ? batch.data : crop_and_flip(batch.data), *loss;

        ht_optimizer_zero_grad(run->sgd);
        loss = ht_cross_entropy(ht_forward(run->model, images), batch.target, HT_MEAN);
        ht_backward(loss);
        ht_optimizer_step(run->sgd);
        ht_scheduler_step(run->schedule);
        ht_metric_add(mean, ht_item(loss), (double)batch.rows);
        ht_scope_close(step);
    }
    result = ht_metric_result(mean);
    ht_release(mean);
    return result;
}

/* The share of test images, over all ranks, whose class is found. */
static double test(struct run *run)
{
    ht_metric *accuracy = ht_metric_accuracy(1, HT_COMM_WORLD);
    bool grad = ht_set_grad_enabled(false);
    ht_batch batch;
    double result;

    ht_module_eval(run->model);
    while (ht_dataloader_next(run->test, &batch)) {
        ht_scope *step = ht_scope_open();

        if (batch.rows > 0) /* a rank may have fewer rows than others */
            ht_metric_update(accuracy, ht_forward(run->model, batch.data), batch.target);
        ht_scope_close(step);
    }
    ht_set_grad_enabled(grad);
    result = ht_metric_result(accuracy);
    ht_release(accuracy);
    return result;
}

static ht_dataloader *open_rows(int64_t limit, bool shuffle, int count, const char *const names[])
{
    ht_dataset *rows = ht_dataset_hdf5(values[DATA], count, names, HT_COMM_WORLD);
    ht_dataloader_options o = ht_dataloader_options_default();
    ht_dataloader *loader;

    if (limit > 0)
        ht_dataset_limit(rows, limit);
    o.batch_size = number(BATCH);
    o.shuffle = shuffle && values[PLAIN] == NULL;
    o.seed = (uint64_t)number(SEED);
    o.device = ht_get_device();
    o.remainder = shuffle ? HT_REMAINDER_DROP : HT_REMAINDER_UNEVEN;
    o.transform = ht_transform_normalize;
    o.user = &normalize;
    loader = ht_auto_dataloader(rows, &o, HT_BATCH_EXACT);
    ht_release(rows);
    return loader;
}

static void open_run(struct run *run)
{
    ht_sgd_options sgd = ht_sgd_options_default();
    ht_one_cycle_lr_options cycle = ht_one_cycle_lr_options_default();
    ht_data_parallel_options parallel = ht_data_parallel_options_default();
    int64_t steps;

    normalize.dtype = values[DOUBLE] != NULL ? HT_FLOAT64 : HT_FLOAT32;
    ht_nn_seed((uint64_t)number(SEED));     /* of initial values */
    ht_random_seed((uint64_t)number(SEED)); /* of crops and flips */
    run->train = open_rows(number(TRAIN), true,
                           HT_LIST(const char *, "train/images", "train/labels"));
    run->test = open_rows(0, false, HT_LIST(const char *, "test/images", "test/labels"));
    run->net = new_resnet();
    ht_module_to_dtype(run->net, normalize.dtype);
    if (values[LOAD] != NULL)
        ht_module_load_safetensors(run->net, values[LOAD], HT_COMM_WORLD);
    sgd.momentum = 0.9;
    sgd.weight_decay = 5e-4;
    run->sgd = ht_optim_sgd(ht_module_parameters(run->net), atof(values[LR]), &sgd);
    parallel.blocking = values[BLOCKING] != NULL;
    run->model = ht_auto_model(run->net, run->sgd, true, &parallel); /* true: SyncBatchNorm */
    steps = number(EPOCHS) * ht_dataloader_batches(run->train);
    cycle.cycle_momentum = false;
    run->schedule = ht_optim_one_cycle_lr(run->sgd, atof(values[LR]), steps > 0 ? steps : 1,
                                          &cycle);
}

static void close_run(struct run *run)
{
    ht_release(run->schedule);
    ht_release(run->model);
    ht_release(run->sgd);
    ht_release(run->net);
    ht_release(run->test);
    ht_release(run->train);
}

/* Some test images and the outputs for them, for comparisons with PyTorch. */
static void write_outputs(ht_module *net)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *rows = ht_load_hdf5(values[DATA], "test/images", HT_FLOAT32, HT_LOCAL);
    ht_tensor *x = ht_transform_normalize(ht_narrow(rows, 0, 0, SAMPLE), 0, &normalize);
    ht_value *map = ht_value_map();

    ht_module_eval(net);
    ht_value_set(map, "inputs", ht_value_tensor(x));
    ht_value_set(map, "outputs", ht_value_tensor(ht_detach(ht_forward(net, x))));
    ht_safetensors_save(map, values[OUTPUTS], HT_COMM_WORLD);
    ht_scope_close(scope);
}

/* ---- The command line ---- */

static const char help[] =
    "usage: [mpirun -n RANKS] resnet [OPTION]...\n"
    "Trains a ResNet-18 of width 16, data-parallel over the ranks.\n"
    "  --data FILE     images, from ht-idx2hdf5 (images.h5)\n"
    "  --train N       only the first N training images\n"
    "  --epochs N      (10)    --batch N  images of a step on all ranks (128)\n"
    "  --lr X          highest learning rate of the cycle (0.1)\n"
    "  --seed N        (1)     --blocking  average and update within each step\n"
    "  --plain         images in the order of the file, without crops and flips\n"
    "  --double        compute in float64\n"
    "  --device NAME   compute on it: cuda, for example (cpu)\n"
    "  --load FILE     start from a safetensors file; --save FILE writes one at the end\n"
    "  --outputs FILE  write some test images and the outputs for them\n";

static bool parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"train", 1, NULL, TRAIN},       {"epochs", 1, NULL, EPOCHS},
        {"batch", 1, NULL, BATCH},       {"lr", 1, NULL, LR},
        {"seed", 1, NULL, SEED},         {"data", 1, NULL, DATA},
        {"load", 1, NULL, LOAD},         {"save", 1, NULL, SAVE},
        {"outputs", 1, NULL, OUTPUTS},   {"plain", 0, NULL, PLAIN},
        {"blocking", 0, NULL, BLOCKING}, {"double", 0, NULL, DOUBLE},
        {"device", 1, NULL, DEVICE},     {NULL, 0, NULL, 0}};
    int option;

    opterr = ht_comm_rank(HT_COMM_WORLD) == 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == '?')
            return false;
        values[option] = optarg != NULL ? optarg : "yes";
        if (option < NUMBERS && !is_number(option))
            return false;
    }
    return optind == argc;
}

int main(int argc, char **argv)
{
    struct run run;
    bool speaks;

    if (ht_init(NULL, NULL) != HT_SUCCESS)
        return 1;
    speaks = ht_comm_rank(HT_COMM_WORLD) == 0;
    setvbuf(stdout, NULL, _IOLBF, 0); /* each line shows at once, in a file too */
    if (!parse(argc, argv)) {
        if (speaks)
            fputs(help, stderr);
        ht_finalize();
        return 2;
    }
    ht_use_device(ht_device_get(values[DEVICE]));
    open_run(&run);
    if (number(EPOCHS) > 0 && ht_dataloader_batches(run.train) == 0) {
        if (speaks)
            fputs("resnet: there are fewer training images than a batch has\n", stderr);
        close_run(&run);
        ht_finalize();
        return 1;
    }
    for (int64_t epoch = 1; epoch <= number(EPOCHS); epoch++) {
        double loss = train(&run), accuracy = test(&run);

        if (speaks)
            printf("epoch %d: loss %.6f, test accuracy %.4f\n", (int)epoch, loss, accuracy);
    }
    if (values[SAVE] != NULL)
        ht_module_save_safetensors(run.net, values[SAVE], HT_COMM_WORLD);
    if (values[OUTPUTS] != NULL)
        write_outputs(run.net);
    close_run(&run);
    return ht_finalize();
}
