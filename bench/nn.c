/* SPDX-License-Identifier: MIT
 *
 * Times layers, forward and backward, with gradients of the input and of all parameters, in one
 * process: the best of many runs. One line of JSON for each case: {"case", "ms"}.
 * bench/peers/nn.py times the same work in PyTorch; bench/nn.sh runs both in turns.
 *
 * usage: bench/nn [--repeat N] [--device DEVICE] [CASE ...], on the CPU by default */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ht.h"
#include "nn_models.h"

enum { BATCH = 64, CLASSES = 1000, WORDS = 10000, MAX_AXES = 5 };

static ht_module *layer_norm(void)
{
    return ht_nn_layer_norm(HT_SHAPE(256));
}

static ht_module *conv1d(void)
{
    ht_conv_options o = ht_conv_options_default();

    o.padding[0] = 1;
    return ht_nn_conv1d(64, 64, 3, &o, true);
}

static ht_module *conv3d(void)
{
    ht_conv_options o = ht_conv_options_default();

    o.padding[0] = o.padding[1] = o.padding[2] = 1;
    return ht_nn_conv3d(16, 16, 3, &o, true);
}

static ht_module *conv_transpose2d(void)
{
    ht_conv_options o = ht_conv_options_default();

    for (int i = 0; i < 2; i++) {
        o.stride[i] = 2;
        o.padding[i] = 1;
    }
    return ht_nn_conv_transpose2d(32, 32, 4, &o, true);
}

static ht_module *avg_pool2d(void)
{
    ht_pool_options o = ht_pool_options_default();

    o.kernel[0] = o.kernel[1] = 2;
    return ht_nn_avg_pool2d(&o);
}

static ht_module *upsample(void)
{
    ht_upsample_options o = ht_upsample_options_default();

    o.mode = HT_UPSAMPLE_LINEAR;
    o.scale[0] = o.scale[1] = 2;
    return ht_nn_upsample(&o);
}

static ht_module *batch_norm2d(void)
{
    return ht_nn_batch_norm2d(64, NULL);
}

static ht_module *group_norm(void)
{
    return ht_nn_group_norm(8, 64);
}

static ht_module *embedding(void)
{
    return ht_nn_embedding(WORDS, 256);
}

static ht_module *softmax(void)
{
    return ht_nn_softmax(-1);
}

static ht_module *lstm(void)
{
    ht_recurrent_options o = ht_recurrent_options_default();

    o.batch_first = true;
    return ht_nn_lstm_ext(256, 256, &o);
}

static const struct bench_case {
    const char *name;
    ht_module *(*layer)(void); /* NULL: cross entropy of x */
    int64_t shape[MAX_AXES];
    int64_t below; /* 0: x is normal; else integers below this */
} cases[] = {
    {"layer_norm", layer_norm, {BATCH, 128, 256}, 0},
    {"group_norm", group_norm, {BATCH, 64, 32, 32}, 0},
    {"batch_norm2d", batch_norm2d, {BATCH, 64, 32, 32}, 0},
    {"gelu", ht_nn_gelu, {BATCH, 128, 256}, 0},
    {"silu", ht_nn_silu, {BATCH, 128, 256}, 0},
    {"cross_entropy", NULL, {BATCH * 32, CLASSES}, 0},
    {"embedding", embedding, {BATCH, 128}, WORDS},
    {"avg_pool2d", avg_pool2d, {BATCH, 32, 32, 32}, 0},
    {"upsample", upsample, {BATCH, 32, 16, 16}, 0},
    {"conv1d", conv1d, {BATCH, 64, 128}, 0},
    {"conv3d", conv3d, {8, 16, 8, 16, 16}, 0},
    {"conv_transpose2d", conv_transpose2d, {BATCH, 32, 16, 16}, 0},
    {"softmax", softmax, {BATCH * 32, CLASSES}, 0},
    {"attention_128", bench_attention, {BATCH, 8, 128, 64}, 0},
    {"attention_1024", bench_attention, {2, 8, 1024, 64}, 0},
    {"lstm", lstm, {BATCH, 64, 256}, 0},
    {"resnet18", bench_resnet18, {BATCH, 3, 32, 32}, 0},
    {"transformer", bench_transformer, {BATCH, 128, 256}, 0},
};

static int axes_of(const struct bench_case *bench)
{
    int ndim = 0;

    while (ndim < MAX_AXES && bench->shape[ndim] > 0)
        ndim++;
    return ndim;
}

static ht_tensor *input_of(const struct bench_case *bench)
{
    ht_tensor *x;

    if (bench->below > 0)
        return ht_randint(0, bench->below, axes_of(bench), bench->shape, HT_INT64, HT_NONE);
    x = ht_randn(axes_of(bench), bench->shape, HT_FLOAT32, HT_NONE);
    ht_tensor_set_requires_grad(x, true);
    return x;
}

/* Milliseconds of one forward and backward pass; negative after an error. */
static double run_once(ht_module *layer, ht_tensor *x, ht_tensor *target, ht_tensor *grad)
{
    ht_scope *scope = ht_scope_open();
    double begin = MPI_Wtime();
    ht_tensor *y = layer != NULL ? ht_forward(layer, x) : ht_cross_entropy(x, target, HT_MEAN);
    ht_status status = y == NULL      ? ht_error_get(NULL)
                       : grad != NULL ? ht_backward_ext(y, grad, false)
                                      : ht_backward(y);

    ht_device_synchronize(ht_get_device());
    begin = (MPI_Wtime() - begin) * 1e3;
    if (layer != NULL)
        ht_module_zero_grad(layer);
    if (ht_tensor_requires_grad(x))
        ht_tensor_set_grad(x, NULL);
    ht_scope_close(scope);
    return status == HT_SUCCESS ? begin : -1;
}

static double best_of(const struct bench_case *bench, int repeat)
{
    ht_scope *scope = ht_scope_open();
    ht_module *layer = bench->layer != NULL ? bench->layer() : NULL;
    ht_tensor *x = input_of(bench), *target = NULL, *grad = NULL, *y;
    double best = -1;

    if (layer == NULL)
        target = ht_randint(0, CLASSES, HT_SHAPE(bench->shape[0]), HT_INT64, HT_NONE);
    else if ((y = ht_forward(layer, x)) != NULL)
        grad = ht_randn(ht_tensor_ndim(y), ht_tensor_shape(y), HT_FLOAT32, HT_NONE);
    for (int i = -2; i < repeat; i++) {
        double ms = run_once(layer, x, target, grad);

        best = i <= 0 || ms < best ? ms : best;
    }
    ht_release(layer);
    ht_scope_close(scope);
    return best;
}

static bool asked_for(const char *name, int count, char *names[])
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return count == 0;
}

int main(int argc, char **argv)
{
    const char *device = "cpu";
    int repeat = 20, first = 1;

    for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
        if (strcmp(argv[first], "--repeat") == 0)
            repeat = atoi(argv[first + 1]);
        else
            device = argv[first + 1];
    }
    if (ht_init(&argc, &argv) != HT_SUCCESS)
        return 1;
    ht_use_device(ht_device_get(device));
    ht_random_seed(1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!asked_for(cases[i].name, argc - first, argv + first))
            continue;
        printf("{\"case\": \"%s\", \"ms\": %.3f}\n", cases[i].name, best_of(&cases[i], repeat));
        fflush(stdout);
    }
    return ht_finalize();
}
