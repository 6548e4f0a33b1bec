/* ranks 1 2 3 4 own device */
/* SPDX-License-Identifier: MIT */
/* Ranks with a separate device each: the devices average the gradients, and give the bits of the
 * host's exchange, which serves ranks that share a device. */
#include "backends/cuda/cuda_device.h"
#include "comm_hook_test.h"

static int count_of_devices(void)
{
    ht_driver *driver = ht__driver_find("cuda");

    ht_error_clear();
    return driver != NULL ? driver->backend.device_count() : 0;
}

/* Device number `first` + rank. */
static ht_device *own_device(int first)
{
    char name[32];

    snprintf(name, sizeof name, "cuda:%d", (first + ht_test_rank) % count_of_devices());
    return ht_device_get(name);
}

static bool can_link(void)
{
    return ht_test_size > 1 && count_of_devices() > ht_test_size;
}

/* None of the ranks has it alone. */
static ht_device *shared_device(void)
{
    char name[32];

    snprintf(name, sizeof name, "cuda:%d", count_of_devices() - 1);
    return ht_device_get(name);
}

static void train_on(ht_device *device, const struct run *run, double values[VALUES])
{
    ht_device *before = ht_get_device();

    ht_use_device(device);
    train(run, values);
    ht_use_device(before);
}

/* All ways to average have the bits of the first one, on shared devices. */
static void check_runs(struct run run)
{
    static const double sizes[] = {1e-9, 2.1e-4, 1};
    double shared[VALUES], linked[VALUES];

    run.steps = 4;
    run.blocking = true;
    train_on(shared_device(), &run, shared);
    for (int i = 0; i < 6; i++) {
        run.blocking = i % 2 == 0;
        run.bucket_mb = sizes[i / 2];
        train_on(own_device(0), &run, linked);
        assert_memory_equal(linked, shared, sizeof shared);
    }
    assert_true(own_device(0)->links > 0);
    assert_int_equal(shared_device()->links, 0);
}

static void linked_devices_average_as_the_host_does(void **state)
{
    (void)state;
    if (!can_link())
        HT_TEST_SKIP("there is nothing to link");
    check_runs((struct run){.kind = SGD, .schedule = true});
    check_runs((struct run){.kind = ADAM, .uneven = true});
    check_runs((struct run){.mean = true, .own_gradients = true});
    check_runs((struct run){.sum = true});
}

static void accumulated_clipped_and_unused_gradients_are_averaged(void **state)
{
    (void)state;
    if (!can_link())
        HT_TEST_SKIP("there is nothing to link");
    check_runs((struct run){.micro = 3});
    check_runs((struct run){.micro = 2, .always_sync = true});
    check_runs((struct run){.tied = true, .reads = true, .max_norm = 0.1});
    check_runs((struct run){.skip_fc1 = true, .find_unused = true});
    check_runs((struct run){.frozen = true, .static_graph = true});
}

static void train_with(ht_device *device, ht_comm_hook hook, bool blocking, double *values)
{
    ht_device *before = ht_get_device();

    ht_use_device(device);
    train_hooked(blocking, 2.1e-4, SGD, hook, NULL, values);
    ht_use_device(before);
}

/* Its sums are the host's. */
static void a_hook_works_on_separate_devices(void **state)
{
    static const ht_comm_hook hooks[] = {ht_comm_hook_allreduce, ht_comm_hook_bf16};
    double shared[VALUES], own[VALUES];

    (void)state;
    if (!can_link())
        HT_TEST_SKIP("there is nothing to link");
    for (int i = 0; i < 4; i++) {
        train_with(shared_device(), hooks[i / 2], true, shared);
        train_with(own_device(0), hooks[i / 2], i % 2 == 0, own);
        assert_memory_equal(own, shared, sizeof shared);
    }
}

/* The devices of each failure are another set, because the answer is kept for a set. */
static void check_staged(const char *variable, const char *value, bool here, int first)
{
    const struct run run = {.steps = 3};
    ht_device *device = own_device(first);
    double shared[VALUES], own[VALUES];
    const int links = device->links;

    train_on(shared_device(), &run, shared);
    if (here)
        setenv(variable, value, true);
    train_on(device, &run, own);
    unsetenv(variable);
    assert_int_equal(device->links, links);
    assert_memory_equal(own, shared, sizeof shared);
}

static void ranks_that_cannot_be_linked_train_all_the_same(void **state)
{
    (void)state;
    if (!can_link() || !cuda_is_emulated(own_device(0)))
        HT_TEST_SKIP("there is nothing to link, or nothing that fails");
    check_staged("EMULATED_NCCL", "no", ht_test_rank == 1, 1);
    check_staged("EMULATED_NCCL_JOIN", "1", true, 2);
    check_staged("HT_CUDA_NCCL", "0", ht_test_rank == 0, 3);
}

HT_TEST_SUITE(test_data_parallel_link, cmocka_unit_test(linked_devices_average_as_the_host_does),
              cmocka_unit_test(accumulated_clipped_and_unused_gradients_are_averaged),
              cmocka_unit_test(a_hook_works_on_separate_devices),
              cmocka_unit_test(ranks_that_cannot_be_linked_train_all_the_same));
