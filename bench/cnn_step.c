/* SPDX-License-Identifier: MIT
 *
 * Forward and backward of the MNIST network at batch 64 in one process: milliseconds a step.
 *
 * usage: bench/cnn_step [DEVICE], cpu by default */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ht.h"

#define WARM_UP 5
#define STEPS   40

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void step(ht_module *net, ht_tensor *images, ht_tensor *targets)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *loss;

    ht_module_zero_grad(net);
    loss = ht_cross_entropy(ht_forward(net, images), targets, HT_MEAN);
    ht_backward(loss);
    ht_scope_close(scope);
    ht_device_synchronize(ht_get_device());
}

int main(int argc, char **argv)
{
    double times[STEPS];

    ht_init(&argc, &argv);
    ht_use_comm(HT_COMM_SELF);
    ht_use_device(ht_device_get(argc > 1 ? argv[1] : "cpu"));
    ht_module *net = ht_nn_sequential(
        HT_LIST(ht_module *, ht_nn_conv2d(1, 32, 3), ht_nn_relu(), ht_nn_conv2d(32, 64, 3),
                ht_nn_relu(), ht_nn_max_pool2d(2), ht_nn_flatten(1), ht_nn_linear(9216, 128),
                ht_nn_relu(), ht_nn_linear(128, 10)));
    ht_tensor *images = ht_randn(HT_SHAPE(64, 1, 28, 28), HT_FLOAT32, HT_NONE);
    ht_tensor *targets = ht_randint(0, 10, HT_SHAPE(64), HT_INT64, HT_NONE);

    for (int i = -WARM_UP; i < STEPS; i++) {
        double start = now();

        step(net, images, targets);
        if (i >= 0)
            times[i] = now() - start;
    }
    qsort(times, STEPS, sizeof *times, compare);
    printf("step of the MNIST network: best %.1f ms, median %.1f ms\n", times[0], times[STEPS / 2]);
    ht_release(net);
    return ht_finalize() != 0;
}
