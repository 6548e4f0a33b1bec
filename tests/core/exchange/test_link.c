/* ranks 1 2 3 4 own device */
/* SPDX-License-Identifier: MIT */
/* Averages by linked devices against the exchange, bit for bit, on one node and on several. Devices
 * that cannot be joined have no link on any rank. */
#include "exchange_test.h"

#include <string.h>

#include "backends/cuda/cuda_device.h"
#include "ht.h"
#include "core/exchange/link.h"

enum { MOST = 100003 };

/* A separate device for each rank: devices `shift` ... shift + ranks - 1 of the emulated eight. Each
 * shift is another set. NULL: there are too few. */
static ht_device *own_device(int shift)
{
    ht_driver *driver = ht__driver_find("cuda");
    int count = driver != NULL ? driver->backend.device_count() : 0;
    char name[32];

    ht_error_clear();
    if (count < ht_test_size)
        return NULL;
    snprintf(name, sizeof name, "cuda:%d", (ht_test_rank + shift) % count);
    return ht_device_get(name);
}

static ht_link *link_of(const job *j, ht_device *device)
{
    ht_link *link;

    assert_int_equal(ht__link_get(j->exchange, device, &link), HT_SUCCESS);
    assert_int_equal(ht_error_get(NULL), HT_SUCCESS);
    return link;
}

/* Its link ends with its communicator, in the next split: none is left for the next test. */
static void end_job(job *j)
{
    close_job(j);
    ht_release(ht_comm_split(HT_COMM_WORLD, 0, 0));
}

static void fill_as(ht_dtype dtype, void *data, int64_t n, int64_t from)
{
    if (dtype == HT_FLOAT32)
        fill(data, n, from);
    for (int64_t i = 0; dtype == HT_FLOAT64 && i < n; i++)
        ((double *)data)[i] = contribution(ht_test_rank, from + i);
}

static void wait_for(ht_device *device, ht_link_average *average)
{
    assert_int_equal(ht__link_follow(average), 0);
    assert_int_equal(ht__device_wait_work(device), 0);
}

/* The host's exchange gives the same bits. */
static void expect(const job *j, ht_dtype dtype, const void *found, int64_t n, int64_t from,
                   double scale)
{
    static double data[MOST];

    fill_as(dtype, data, n, from);
    finish(j->exchange, ht__exchange_start(j->exchange, data, n, dtype, scale, 0));
    assert_memory_equal(found, data, (size_t)n * ht_dtype_size(dtype));
}

static void average_once(const job *j, ht_device *device, void *room, ht_dtype dtype, int64_t n,
                         double scale)
{
    static double data[MOST];
    const size_t bytes = (size_t)n * ht_dtype_size(dtype);
    ht_link *link = link_of(j, device);
    ht_link_average average = {0};

    fill_as(dtype, data, n, 7);
    assert_int_equal(ht__device_put(device, room, data, bytes), 0);
    assert_int_equal(ht__link_reserve(link, bytes), 0);
    assert_int_equal(ht__link_begin(&average, link, room, n, dtype, scale), 0);
    wait_for(device, &average);
    memset(data, 0, bytes);
    assert_int_equal(ht__device_get(device, data, room, bytes), 0);
    expect(j, dtype, data, n, 7, scale);
    assert_int_equal(ht__link_end(&average), 0);
}

static void averages_have_the_bits_of_the_exchange(void **state)
{
    static const int64_t sizes[] = {0, 1, 2, 15, 16, 17, 63, 64, 65, 1000, MOST};
    ht_device *device = own_device(0);

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there are fewer devices than ranks");
    for (int per_node = 1; ht_test_size > 1 && per_node <= ht_test_size; per_node++) {
        job j = open_job(per_node);
        void *room = device->backend->memory_alloc(device->stream, MOST * sizeof(double));

        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            average_once(&j, device, room, HT_FLOAT32, sizes[i], 1);
            average_once(&j, device, room, HT_FLOAT32, sizes[i], 1.0 / 3);
            average_once(&j, device, room, HT_FLOAT64, sizes[i], 1.0 / 3);
        }
        device->backend->memory_free(device->stream, room);
        end_job(&j);
    }
}

/* Averages that are under way at the same time, behind work of the device and before other work. */
static void averages_run_between_the_work_before_and_after_them(void **state)
{
    enum { COUNT = 4, N = 3001 };
    static const int64_t shape[] = {N};
    ht_device *device = own_device(0), *before = ht_get_device();
    ht_link_average averages[COUNT] = {{0}};
    ht_tensor *x[COUNT];
    job j;

    (void)state;
    if (device == NULL || ht_test_size == 1)
        HT_TEST_SKIP("there is nothing to link");
    j = open_job(2);
    ht_use_device(device);
    assert_int_equal(ht__link_reserve(link_of(&j, device), N * sizeof(float)), 0);
    for (int i = 0; i < COUNT; i++) {
        x[i] = ht_full_ext(1, shape, HT_NUM(ht_test_rank + 1), HT_FLOAT32, HT_NONE, device,
                           HT_COMM_SELF);
        ht_mul_scalar_(x[i], i + 1);
        assert_int_equal(ht__link_begin(&averages[i], link_of(&j, device),
                                        ht__body_data(x[i]->body), N, HT_FLOAT32, 0.5),
                         0);
    }
    for (int i = COUNT - 1; i >= 0; i--) {
        assert_int_equal(ht__link_follow(&averages[i]), 0);
        ht_mul_scalar_(x[i], 4);
        assert_true(ht_item(ht_sum(x[i], HT_NONE)) ==
                    (double)N * (i + 1) * ht_test_size * (ht_test_size + 1));
        assert_int_equal(ht__link_end(&averages[i]), 0);
    }
    ht_use_device(before);
    end_job(&j);
}

static void a_link_is_made_once_and_ends_with_its_communicator(void **state)
{
    ht_device *device = own_device(0);
    job j, other;

    (void)state;
    if (device == NULL || ht_test_size == 1)
        HT_TEST_SKIP("there is nothing to link");
    j = open_job(2);
    other = open_job(1);
    assert_non_null(link_of(&j, device));
    assert_ptr_equal(link_of(&j, device), link_of(&j, device));
    assert_ptr_not_equal(link_of(&j, device), link_of(&other, device));
    assert_true(device->links >= 2);
    end_job(&j);
    end_job(&other);
    assert_int_equal(device->links, 0);
}

static void ranks_that_share_a_device_are_not_linked(void **state)
{
    ht_device *own = own_device(0), *first = cuda_device();
    job j;

    (void)state;
    if (own == NULL || ht_test_size == 1)
        HT_TEST_SKIP("there is nothing to link");
    j = open_job(2);
    assert_null(link_of(&j, first));
    assert_null(link_of(&j, ht_test_rank < 2 ? first : own)); /* two of them */
    assert_null(link_of(&j, ht_test_rank == 1 ? ht_device_get("cpu") : own));
    assert_null(link_of(&j, ht_test_rank == 1 ? ht_device_get("lag:0") : own));
    assert_non_null(link_of(&j, own));
    end_job(&j);
}

/* A set of devices that was not asked for before, because the answer is kept. */
static void check_failure(const char *variable, const char *value, bool here, int shift)
{
    job j = open_job(2);
    ht_device *device = own_device(shift);

    if (here)
        setenv(variable, value, true);
    assert_null(link_of(&j, device));
    unsetenv(variable);
    assert_null(link_of(&j, device));
    assert_non_null(link_of(&j, own_device(shift + 1)));
    end_job(&j);
}

static void a_failure_on_one_rank_leaves_all_without_a_link(void **state)
{
    ht_device *device = own_device(0);

    (void)state;
    if (device == NULL || ht_test_size == 1 || !cuda_is_emulated(device))
        HT_TEST_SKIP("there is nothing to link, or nothing that fails");
    check_failure("EMULATED_NCCL", "no", ht_test_rank == 1, 0);
    check_failure("EMULATED_NCCL", "old", ht_test_rank == 0, 0);
    check_failure("EMULATED_NCCL_JOIN", "1", true, 0);
    check_failure("EMULATED_MEMORY", "100", ht_test_rank == 1, 4); /* of a device not used so far */
}

/* The variable is read for each link that is asked for. */
static void a_rank_may_turn_nccl_off(void **state)
{
    ht_device *device = own_device(0);
    job j;

    (void)state;
    if (device == NULL || ht_test_size == 1)
        HT_TEST_SKIP("there is nothing to link");
    j = open_job(2);
    if (ht_test_rank == 1)
        setenv("HT_CUDA_NCCL", "0", true);
    assert_null(link_of(&j, device));
    unsetenv("HT_CUDA_NCCL");
    assert_non_null(link_of(&j, device));
    end_job(&j);
}

static void an_error_of_the_messages_is_one_of_the_next_wait(void **state)
{
    ht_device *device = own_device(0);
    ht_link_average average = {0};
    ht_link *link;
    float *room;
    job j;

    (void)state;
    if (device == NULL || ht_test_size == 1 || !cuda_is_emulated(device))
        HT_TEST_SKIP("there is nothing to link, or nothing that fails");
    j = open_job(2);
    link = link_of(&j, device);
    room = device->backend->memory_alloc(device->stream, sizeof *room);
    assert_int_equal(ht__link_reserve(link, sizeof *room), 0);
    setenv("EMULATED_NCCL_ERROR", "6", true);
    if (ht_test_rank != 0) /* rank 0 does not come */
        assert_int_equal(ht__link_begin(&average, link, room, 1, HT_FLOAT32, 1), 0);
    if (ht_test_rank != 0)
        assert_int_not_equal(ht__link_end(&average), 0);
    else
        assert_int_not_equal(ht__device_poll(device), 0);
    assert_message("NCCL: remote process exited or there was a network error");
    unsetenv("EMULATED_NCCL_ERROR");
    assert_int_equal(ht__device_poll(device), 0); /* it is told once */
    assert_int_not_equal(ht__link_begin(&average, link, room, 1, HT_FLOAT32, 1), 0);
    assert_message("NCCL failed before");
    assert_int_equal(ht__link_end(&average), 0);
    device->backend->memory_free(device->stream, room);
    end_job(&j);
}

HT_TEST_SUITE(test_link, cmocka_unit_test(averages_have_the_bits_of_the_exchange),
              cmocka_unit_test(averages_run_between_the_work_before_and_after_them),
              cmocka_unit_test(a_link_is_made_once_and_ends_with_its_communicator),
              cmocka_unit_test(ranks_that_share_a_device_are_not_linked),
              cmocka_unit_test(a_failure_on_one_rank_leaves_all_without_a_link),
              cmocka_unit_test(a_rank_may_turn_nccl_off),
              cmocka_unit_test(an_error_of_the_messages_is_one_of_the_next_wait));
