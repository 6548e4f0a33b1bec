/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "core/device/device.h"
#include "ht_test.h"
#include "tensor_check.h"

static const int64_t shape[2] = {5, 3};

static void virtual_devices_account_for_themselves(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_device *third = ht_device_get("cpu:3");
    ht_device_memory before, after;

    assert_ptr_equal(third, ht_device_get("cpu:3"));
    assert_ptr_equal(ht_device_get("cpu"), ht_device_get("cpu:0"));
    ht_device_get_memory(third, &before);
    ht_tensor *x = ht_full_ext(2, shape, HT_NUM(2), HT_FLOAT64, 0, third, HT_COMM_WORLD);
    ht_device_get_memory(third, &after);
    if (ht_tensor_lsize(x) > 0)
        assert_true(after.in_use > before.in_use);
    ht_test_expect_same(ht_add(x, x),
                        ht_full_ext(2, shape, HT_NUM(4), HT_FLOAT64, 0, third, HT_COMM_WORLD), 0);
    ht_scope_close(scope);
    ht_device_get_memory(third, &after);
    assert_true(after.in_use == before.in_use);
}

static void freed_memory_is_handed_out_again(void **state)
{
    ht_use_device(ht_device_get("cpu"));

    (void)state;
    ht_device *cpu = ht_device_get("cpu");
    ht_device_memory before, after;

    for (int step = 0; step < 10; step++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = ht_ones(2, shape, HT_FLOAT32, 0);

        ht_sum(ht_mul(ht_add(x, x), x), HT_NONE);
        ht_scope_close(scope);
        ht_device_get_memory(cpu, step == 1 ? &before : &after);
    }
    assert_int_equal(after.missed, before.missed);
    assert_true(after.allocated > before.allocated);
}

/* Memory in use stays; memory that was only kept for later is returned. */
static void an_emptied_cache_keeps_what_is_in_use(void **state)
{
    (void)state;
    ht_scope *outer = ht_scope_open(), *inner = ht_scope_open();
    ht_device *fourth = ht_device_get("cpu:4");
    ht_device_memory before, after;
    ht_tensor *kept = ht_retain(
        ht_full_ext(2, shape, HT_NUM(3), HT_FLOAT64, HT_NONE, fourth, HT_COMM_SELF));

    ht_full_ext(2, shape, HT_NUM(4), HT_FLOAT64, HT_NONE, fourth, HT_COMM_SELF);
    ht_scope_close(inner);
    ht_device_get_memory(fourth, &before);
    assert_true(before.in_use > 0 && before.cached > 0);
    ht_device_empty_cache(fourth);
    ht_device_get_memory(fourth, &after);
    assert_true(after.cached == 0 && after.in_use == before.in_use);
    ht_test_expect_same(kept, ht_full(2, shape, 3, HT_FLOAT64, HT_NONE), 0);
    ht_full_ext(2, shape, HT_NUM(5), HT_FLOAT64, HT_NONE, fourth, HT_COMM_SELF);
    ht_device_get_memory(fourth, &after);
    assert_true(after.missed > before.missed); /* nothing was there to hand out */
    HT_TEST_EXPECT_ERROR(ht_device_empty_cache(NULL), HT_ERR_ARGUMENT,
                         "ht_device_empty_cache: device is NULL");
    ht_release(kept);
    ht_scope_close(outer);
}

/* Memory that is never written: the system gives no pages for it. */
static void the_cache_is_at_most_as_large_as_the_peak(void **state)
{
    ht_device *fifth = ht_device_get("cpu:5");
    ht_device_memory memory;

    (void)state;
    for (int64_t bytes = 1 << 20; bytes < 200 << 20; bytes += bytes / 5) {
        ht_scope *scope = ht_scope_open();

        ht_empty_ext(1, &bytes, HT_INT8, HT_NONE, fifth, HT_COMM_SELF);
        ht_scope_close(scope);
        ht_device_get_memory(fifth, &memory);
        assert_true(memory.cached > 0);
        assert_true(memory.in_use + memory.cached <= 2 * memory.peak ||
                    memory.in_use + memory.cached <= 64 << 20);
    }
    ht_device_empty_cache(fifth);
}

static void waiting_for_a_device_reports_its_faults(void **state)
{
    (void)state;
    ht_device *dummy = ht_device_get("dummy:0");

    assert_int_equal(ht_device_synchronize(ht_device_get("cpu:4")), HT_SUCCESS);
    assert_int_equal(ht_device_synchronize(dummy), HT_SUCCESS);
    HT_TEST_EXPECT_ERROR(ht_device_synchronize(NULL), HT_ERR_ARGUMENT,
                         "ht_device_synchronize: device is NULL");
    if (ht_test_size > 1)
        return; /* a fault of a device ends the job */
    setenv("HT_DUMMY_STUCK", "1", true);
    HT_TEST_EXPECT_ERROR(ht_device_synchronize(dummy), HT_ERR_DEVICE,
                         "ht_device_synchronize: the dummy device does not answer");
    unsetenv("HT_DUMMY_STUCK");
}

/* tests/core/dummy_backend.c: nothing of the host's may touch its memory. */
static void a_module_backend_computes_and_travels(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_device *dummy = ht_device_get("dummy:1");
    ht_tensor *x = ht_test_randn(2, shape, HT_FLOAT32, 0, 1), *y, *sum;

    assert_non_null(dummy);
    assert_string_equal(ht_device_name(dummy), "dummy:1");
    y = ht_to_device(x, dummy);
    assert_null(ht_tensor_data(y));
    sum = ht_add(y, ht_transpose(ht_transpose(y, 0, 1), 0, 1));
    assert_ptr_equal(ht_tensor_device(sum), dummy);
    ht_test_expect_same(ht_to_device(sum, ht_device_get("cpu")), ht_add(x, x), 0);
    ht_test_expect_same(ht_to_device(ht_resplit(y, HT_NONE), ht_device_get("cpu")), x, 0);
    ht_scope_close(scope);
}

/* Positions of ranks become global ones, in memory of any device. */
static void positions_are_global_on_any_device(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_device *cpu = ht_device_get("cpu"), *dummy = ht_device_get("dummy:0");

    for (uint64_t seed = 0; seed < 8; seed++) {
        ht_tensor *x = ht_test_randn(2, shape, HT_FLOAT32, (int)seed % 2, seed);
        ht_tensor *y = ht_to_device(x, dummy);

        for (int axis = -1; axis < 2; axis++) {
            ht_tensor *found = ht_argmax(y, axis < 0 ? HT_NONE : axis);

            assert_ptr_equal(ht_tensor_device(found), dummy);
            ht_test_expect_same(ht_to_device(found, cpu), ht_argmax(x, axis < 0 ? HT_NONE : axis),
                                0);
        }
    }
    ht_scope_close(scope);
}

/* The dummy has neither of these kernels, and refuses to add a number that is passed by value. */
static void kernels_that_a_device_has_not_run_on_the_host(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_device *cpu = ht_device_get("cpu"), *dummy = ht_device_get("dummy:0");
    ht_tensor *x = ht_test_randn(2, shape, HT_FLOAT32, 0, 5), *y = ht_to_device(x, dummy);
    int64_t before = ht_device_fallbacks(dummy);

    ht_test_expect_same(ht_to_device(ht_exp(y), cpu), ht_exp(x), 0);
    if (ht_tensor_lsize(x) > 0)
        assert_int_equal(ht_device_fallbacks(dummy), before + 1);
    ht_test_expect_same(ht_to_device(ht_sum(y, 0), cpu), ht_sum(x, 0), 0);
    ht_test_expect_same(ht_to_device(ht_cumsum(ht_transpose(y, 0, 1), 1), cpu),
                        ht_cumsum(ht_transpose(x, 0, 1), 1), 0);
    ht_test_expect_same(ht_to_device(ht_add_scalar(y, 2), cpu), ht_add_scalar(x, 2), 0);
    assert_int_equal(ht_device_fallbacks(cpu), 0);
    assert_int_equal(ht_device_fallbacks(NULL), 0);
    ht_error_clear();
    ht_scope_close(scope);
}

static void ht_fallback_error_reports_missing_kernels(void **state)
{
    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_device *dummy = ht_device_get("dummy:0");
    ht_tensor *y = ht_to_device(ht_ones(2, shape, HT_FLOAT32, 0), dummy);

    ht__fallback_is_error = true; /* HT_FALLBACK=error */
    HT_TEST_EXPECT_ERROR(ht_exp(y), HT_ERR_UNSUPPORTED,
                         "ht_exp: dummy:0 has no kernel EXP for float32 (HT_FALLBACK=error "
                         "forbids running it on the host)");
    ht__fallback_is_error = false;
    ht_scope_close(scope);
}

static void kernels_come_before_the_first_device(void **state)
{
    (void)state;
    assert_non_null(ht_device_get("dummy:0"));
    setenv("HT_DUMMY_LATE", "1", true);
    HT_TEST_EXPECT_ERROR(ht_device_get("dummy:77"), HT_ERR_DEVICE, "backend dummy has 3");
    unsetenv("HT_DUMMY_LATE");
}

/* By its number on the node, and by that alone. */
static void a_rank_gets_a_device_of_its_node_in_turn(void **state)
{
    static const char *const backends[] = {"lag", "cuda", "cpu"};
    int local_rank;

    (void)state;
    ht_comm_topology(HT_COMM_WORLD, NULL, NULL, &local_rank, NULL);
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        const ht_driver *driver = ht__driver_find(backends[i]);
        char expected[32];
        int count;

        if (driver == NULL) {
            ht_error_clear();
            continue;
        }
        count = driver->backend.host_memory ? 1 : driver->backend.device_count();
        snprintf(expected, sizeof expected, "%s:%d", backends[i], local_rank % count);
        assert_string_equal(ht_device_name(ht_device_get(backends[i])), expected);
    }
}

static void misuse_is_reported(void **state)
{
    ht_use_device(ht_device_get("cpu"));

    (void)state;
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_ones(2, shape, HT_FLOAT32, HT_NONE);
    ht_tensor *y = ht_to_device(x, ht_device_get("dummy:0"));

    HT_TEST_EXPECT_ERROR(ht_device_get("tpu:0"), HT_ERR_UNSUPPORTED,
                         "no backend 'tpu': libht_tpu.so is neither in HT_BACKEND_PATH nor in");
    HT_TEST_EXPECT_ERROR(ht_device_get("cpu:99"), HT_ERR_DEVICE, "no device cpu:99");
    HT_TEST_EXPECT_ERROR(ht_device_get("cpu:x"), HT_ERR_ARGUMENT, "name is 'cpu:x', expected cpu");
    HT_TEST_EXPECT_ERROR(ht_add(x, y), HT_ERR_DEVICE, "ht_add: a is on cpu:0, b is on dummy:0");
    if (ht_test_size == 1) /* on more ranks a device fault ends the job */
        HT_TEST_EXPECT_ERROR(ht_div(y, y), HT_ERR_DEVICE, "the dummy device is on fire");
    ht_scope_close(scope);
}

HT_TEST_SUITE(test_device, cmocka_unit_test(virtual_devices_account_for_themselves),
              cmocka_unit_test(freed_memory_is_handed_out_again),
              cmocka_unit_test(an_emptied_cache_keeps_what_is_in_use),
              cmocka_unit_test(the_cache_is_at_most_as_large_as_the_peak),
              cmocka_unit_test(waiting_for_a_device_reports_its_faults),
              cmocka_unit_test(a_module_backend_computes_and_travels),
              cmocka_unit_test(positions_are_global_on_any_device),
              cmocka_unit_test(kernels_that_a_device_has_not_run_on_the_host),
              cmocka_unit_test(ht_fallback_error_reports_missing_kernels),
              cmocka_unit_test(kernels_come_before_the_first_device),
              cmocka_unit_test(a_rank_gets_a_device_of_its_node_in_turn),
              cmocka_unit_test(misuse_is_reported));
