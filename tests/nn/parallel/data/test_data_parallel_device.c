/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* A device whose memory the host cannot reach, and whose work is queued: training on it gives the
 * bits of training on the host. On a GPU, products are others than the host's: there, all ways to
 * average give the same bits. */
#include "backends/cuda/cuda_device.h"
#include "comm_hook_test.h"

/* Each on the host, and then on the device. */
static void check_run(const struct run *run)
{
    ht_device *before = ht_get_device();
    double host[VALUES], device[VALUES];

    ht_use_device(ht_device_get("cpu"));
    train(run, host);
    ht_use_device(ht_device_get("lag:0"));
    train(run, device);
    ht_use_device(before);
    assert_memory_equal(host, device, sizeof host);
}

static void check_runs(struct run run)
{
    static const double sizes[] = {1e-9, 2.1e-4, 1};

    run.steps = 4;
    for (int i = 0; i < 6; i++) {
        run.blocking = i % 2 == 0;
        run.bucket_mb = sizes[i / 2];
        check_run(&run);
    }
}

static void test_optimizers(void **state)
{
    (void)state;
    for (enum optimizer_kind kind = SGD; kind < KINDS; kind++)
        check_runs((struct run){.kind = kind, .schedule = true});
}

static void test_averages(void **state)
{
    (void)state;
    check_runs((struct run){.mean = true});
    check_runs((struct run){.sum = true, .own_gradients = true});
    check_runs((struct run){.uneven = true, .kind = ADAM});
}

static void test_accumulation(void **state)
{
    (void)state;
    check_runs((struct run){.micro = 3});
    check_runs((struct run){.micro = 2, .always_sync = true});
}

static void tied_unused_and_frozen_parameters_on_a_device(void **state)
{
    (void)state;
    check_runs((struct run){.tied = true, .reads = true});
    check_runs((struct run){.skip_fc1 = true, .find_unused = true});
    check_runs((struct run){.frozen = true, .static_graph = true, .kind = ADAM});
}

static void test_clipping(void **state)
{
    (void)state;
    check_runs((struct run){.max_norm = 0.1});
}

static void train_with(ht_device *device, int hook, bool blocking, double mb, double *values)
{
    static const ht_comm_hook hooks[] = {ht_comm_hook_allreduce, ht_comm_hook_bf16,
                                         ht_comm_hook_fp16, ht_comm_hook_power_sgd};
    ht_power_sgd_options options = ht_power_sgd_options_default();
    ht_power_sgd *power;

    options.start_iter = 2;
    options.min_compression_rate = 1;
    ht_use_device(device);
    power = ht_power_sgd_new(&options);
    train_hooked(blocking, mb, SGD, hooks[hook], power, values);
    ht_release(power);
}

static void test_hooks(void **state)
{
    ht_device *before = ht_get_device();
    double host[VALUES], device[VALUES];

    (void)state;
    for (int i = 0; i < 16; i++) {
        train_with(ht_device_get("cpu"), i / 4, i % 2, i & 2 ? 2.1e-4 : 1, host);
        train_with(ht_device_get("lag:0"), i / 4, i % 2, i & 2 ? 2.1e-4 : 1, device);
        ht_use_device(before);
        assert_memory_equal(host, device, sizeof host);
    }
}

/* Averages in step() or later, in buckets of all sizes. */
static void check_ways(struct run run, ht_device *device)
{
    static const double sizes[] = {1e-9, 2.1e-4, 1};
    double first[VALUES], values[VALUES];

    run.steps = 3;
    ht_use_device(device);
    for (int i = 0; i < 6; i++) {
        run.blocking = i % 2 == 0;
        run.bucket_mb = sizes[i / 2];
        train(&run, i == 0 ? first : values);
        if (i > 0)
            assert_memory_equal(values, first, sizeof first);
    }
}

static void a_gpu_has_the_same_average_in_all_ways(void **state)
{
    ht_device *before = ht_get_device(), *gpu = cuda_device();
    double blocking[VALUES], later[VALUES];

    (void)state;
    if (gpu == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    check_ways((struct run){.kind = SGD, .schedule = true}, gpu);
    check_ways((struct run){.kind = ADAM, .uneven = true}, gpu);
    check_ways((struct run){.micro = 2, .own_gradients = true, .mean = true}, gpu);
    check_ways((struct run){.tied = true, .reads = true, .max_norm = 0.1}, gpu);
    for (int hook = 0; hook < 4; hook++) {
        train_with(gpu, hook, true, 2.1e-4, blocking);
        train_with(gpu, hook, false, 2.1e-4, later);
        assert_memory_equal(blocking, later, sizeof later);
    }
    ht_use_device(before);
}

HT_TEST_SUITE(test_data_parallel_device, cmocka_unit_test(test_optimizers),
              cmocka_unit_test(test_averages), cmocka_unit_test(test_accumulation),
              cmocka_unit_test(tied_unused_and_frozen_parameters_on_a_device),
              cmocka_unit_test(test_clipping), cmocka_unit_test(test_hooks),
              cmocka_unit_test(a_gpu_has_the_same_average_in_all_ways));
