/* SPDX-License-Identifier: MIT */
/* Shared by the tests of passes over several virtual devices. */
#ifndef HT_TESTS_NN_PARALLEL_DEVICE_DEVICE_PARALLEL_TEST_H
#define HT_TESTS_NN_PARALLEL_DEVICE_DEVICE_PARALLEL_TEST_H

#include "core/device/device.h"
#include "nn/nn_test.h"
#include "tensor_check.h"

static const int ids[] = {0, 1, 2, 3};

/* Skips the test if the backend of the tests' device has fewer devices: virtual ones are the host's. */
static inline void needs_all_devices(void)
{
    if (ht_get_device()->backend->device_count() < (int)(sizeof ids / sizeof *ids))
        HT_TEST_SKIP("the tests' backend has fewer than 4 devices");
}

/* (n, 5) float64 numbers, process-local, the same each time. */
static inline ht_tensor *input(int64_t n, int seed)
{
    double data[64 * 5];

    for (int64_t i = 0; i < 5 * n; i++)
        data[i] = sin(0.7 * (double)i + seed);
    return ht_array(data, HT_SHAPE(n, 5), HT_FLOAT64, HT_LOCAL);
}

static inline ht_module *net_new(void)
{
    ht_module *net;

    ht_nn_seed(3);
    net = ht_nn_sequential(
        HT_LIST(ht_module *, ht_nn_linear(5, 7), ht_nn_relu(), ht_nn_linear(7, 2)));
    ht_module_to_dtype(net, HT_FLOAT64);
    return net;
}

#endif
