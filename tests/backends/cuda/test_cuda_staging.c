/* ranks 1 2 own device */
/* SPDX-License-Identifier: MIT */
/* Copies of the CUDA module between a device and memory of the host that is not pinned, where
 * something fails, and from two threads at once. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_device.h"
#include "ht/kernels/elementwise.h"

enum { BYTES = 9 << 20, ROUNDS = 8 }; /* three pieces */

/* The tests use an emulated device each; NULL: there is none. */
static const ht_device *open_device(const char *name)
{
    const ht_device *first = cuda_device();

    return first != NULL && cuda_is_emulated(first) ? ht_device_get(name) : NULL;
}

static unsigned char *numbers(unsigned seed)
{
    unsigned char *made = malloc(BYTES);

    assert_non_null(made);
    for (size_t i = 0; i < BYTES; i++)
        made[i] = (unsigned char)(i * 7 + i / 251 + seed);
    return made;
}

static char *remote_of(const ht_device *device)
{
    char *made = device->backend->memory_alloc(device->stream, 2 * (size_t)BYTES);

    assert_non_null(made);
    return made;
}

/* Runs a kernel over some elements of it: 0, or not 0 after an error. */
static int negate(const ht_device *device, void *remote)
{
    ht_loop loop = {.call = {.bytes = sizeof loop, .operands = 2, .what = "the test"},
                    .operand = {{.data = remote}, {.data = remote}},
                    .ndim = 1,
                    .shape = {100},
                    .stride = {{1}, {1}}};

    loop.call.kernel = HT_KERNEL_NEG;
    loop.call.dtype = HT_FLOAT32;
    return device->kernels->at[HT_KERNEL_NEG][HT_FLOAT32](device->stream, &loop.call);
}

static void expect_message(const char *part)
{
    const char *message;

    ht_error_get(&message);
    assert_non_null(strstr(message, part));
    ht_error_clear();
}

/* The first piece is under way when the second one fails: bytes written after that are not
 * overwritten. */
static void an_ordinary_copy_that_fails_halfway_writes_nothing_later(void **state)
{
    const ht_device *device = open_device("cuda:2");
    unsigned char *from, *to;
    const ht_backend *backend;
    char *remote;
    void *event;

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("cuda:0 is not emulated");
    backend = device->backend;
    remote = remote_of(device);
    from = numbers(1);
    to = numbers(2);
    assert_int_equal(backend->event_new(device->stream, &event), 0);
    memset(to, 0, BYTES);
    assert_int_equal(ht__device_put(device, remote + BYTES, to, BYTES), 0);
    assert_int_equal(ht__device_wait(device), 0);
    setenv("EMULATED_COPY_FAULT", "2", true);
    assert_int_not_equal(ht__device_put(device, remote, from, BYTES), 0);
    unsetenv("EMULATED_COPY_FAULT");
    expect_message("cuda:2: a copy fails, as asked for");
    assert_int_equal(
        backend->memory_copy(device->stream, remote, remote + BYTES, BYTES, HT_COPY_ON_DEVICE), 0);
    assert_int_equal(backend->event_record(device->stream, event), 0);
    assert_int_equal(backend->event_wait(event), 0);
    assert_int_equal(ht__device_wait(device), 0);
    assert_int_equal(ht__device_get(device, from, remote, BYTES), 0);
    assert_memory_equal(from, to, BYTES);
    assert_int_equal(negate(device, remote), 0); /* the error was reported once */
    backend->event_free(event);
    backend->memory_free(device->stream, remote);
    free(from);
    free(to);
}

/* The same for copies in parallel with the work, in both directions. */
static void a_side_copy_that_fails_halfway_has_ended(void **state)
{
    const ht_device *device = open_device("cuda:3");
    ht_side_copy copy = {0};
    unsigned char *from, *to;
    char *remote;

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("cuda:0 is not emulated");
    remote = remote_of(device);
    from = numbers(3);
    to = numbers(4);
    assert_int_equal(ht__device_put(device, remote, from, BYTES), 0);
    setenv("EMULATED_COPY_FAULT", "2", true);
    assert_int_equal(ht__fetch_begin(&copy, device, to, remote, BYTES), -1);
    expect_message("a copy fails, as asked for");
    memset(to, 0, BYTES);
    setenv("EMULATED_COPY_FAULT", "3", true);
    assert_int_equal(ht__ahead_begin(&copy, device, remote, from, BYTES), -1);
    expect_message("a copy fails, as asked for");
    unsetenv("EMULATED_COPY_FAULT");
    assert_int_equal(ht__fetch_begin(&copy, device, from, remote, BYTES), 0);
    assert_int_equal(ht__device_wait(device), 0);
    assert_int_equal(ht__fetch_done(&copy), 1);
    for (size_t i = 0; i < BYTES; i++) {
        if (to[i] != 0)
            fail_msg("byte %zu was written late", i);
    }
    setenv("EMULATED_COPY_FAULT", "1", true);
    assert_int_equal(ht__fetch_back(&copy, remote, from, BYTES), -1);
    unsetenv("EMULATED_COPY_FAULT");
    expect_message("a copy fails, as asked for");
    assert_int_equal(ht__side_copy_end(&copy), 0);
    assert_int_equal(negate(device, remote), 0);
    device->backend->memory_free(device->stream, remote);
    free(from);
    free(to);
}

/* Then the driver copies, without a kernel. */
static void copies_do_without_pinned_memory(void **state)
{
    const ht_device *device = open_device("cuda:4");
    ht_side_copy copy = {0};
    unsigned char *from, *to;
    char *remote;

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("cuda:0 is not emulated");
    remote = remote_of(device);
    from = numbers(5);
    to = numbers(6);
    setenv("EMULATED_PINNED", "1", true);
    assert_int_equal(ht__device_put(device, remote, from, BYTES), 0);
    assert_int_equal(negate(device, remote + BYTES), 0);
    assert_int_equal(ht__device_get(device, to, remote, BYTES), 0);
    assert_memory_equal(from, to, BYTES);
    from[BYTES / 2] ^= 1;
    assert_int_equal(ht__ahead_begin(&copy, device, remote, from, BYTES), 0);
    assert_int_equal(ht__ahead_join(&copy), 0);
    assert_int_equal(ht__fetch_begin(&copy, device, to, remote, BYTES), 0);
    assert_int_equal(ht__side_copy_end(&copy), 0);
    assert_int_equal(negate(device, remote + BYTES), 0);
    unsetenv("EMULATED_PINNED");
    assert_memory_equal(from, to, BYTES);
    device->backend->memory_free(device->stream, remote);
    free(from);
    free(to);
}

/* A wait that ends by an error leaves no copy to the host behind. */
static void an_error_of_the_device_calls_copies_off(void **state)
{
    const ht_device *device = open_device("cuda:5");
    ht_side_copy copy = {0};
    unsigned char *to;
    char *remote;

    (void)state;
    if (device == NULL || getenv("EMULATED_RUN") != NULL)
        HT_TEST_SKIP("no device does its work late");
    remote = remote_of(device);
    to = numbers(7);
    setenv("EMULATED_FAULT", "1", true);
    assert_int_equal(negate(device, remote), 0);
    unsetenv("EMULATED_FAULT");
    assert_int_equal(ht__fetch_begin(&copy, device, to, remote, BYTES), 0);
    assert_int_not_equal(ht__device_wait(device), 0);
    expect_message("cuda:5: an illegal memory access was encountered");
    assert_int_equal(ht__side_copy_end(&copy), -1);
    ht_error_clear();
    device->backend->memory_free(device->stream, remote);
    free(to);
}

struct loader {
    const ht_device *device;
    char *remote;
    unsigned char *from;
    int failed;
};

static void *load(void *user)
{
    struct loader *loader = user;
    ht_side_copy copy = {0};

    for (int i = 0; i < ROUNDS; i++) {
        loader->failed |= ht__ahead_begin(&copy, loader->device, loader->remote, loader->from,
                                          BYTES) != 0;
        loader->failed |= ht__ahead_join(&copy) != 0;
    }
    loader->failed |= ht__side_copy_end(&copy) != 0;
    return NULL;
}

/* One copies ahead, as a loader does, the other one there and back in both ways. */
static void two_threads_copy_at_once(void **state)
{
    const ht_device *device = cuda_device();
    struct loader loader;
    ht_side_copy copy = {0};
    unsigned char *from, *to;
    pthread_t thread;
    char *remote;

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    remote = remote_of(device);
    from = numbers(8);
    to = numbers(9);
    loader = (struct loader){device, remote_of(device), numbers(10), 0};
    assert_int_equal(pthread_create(&thread, NULL, load, &loader), 0);
    for (int i = 0; i < ROUNDS; i++) {
        from[i] ^= 1;
        assert_int_equal(ht__device_put(device, remote, from, BYTES), 0);
        assert_int_equal(ht__fetch_begin(&copy, device, to, remote, BYTES), 0);
        while (ht__fetch_done(&copy) == 0)
            ;
        assert_memory_equal(from, to, BYTES);
        assert_int_equal(ht__fetch_back(&copy, remote + BYTES, to, BYTES), 0);
        memset(to, 0, BYTES);
        assert_int_equal(ht__device_get(device, to, remote + BYTES, BYTES), 0);
        assert_memory_equal(from, to, BYTES);
    }
    pthread_join(thread, NULL);
    assert_int_equal(loader.failed, 0);
    assert_int_equal(ht__device_get(device, to, loader.remote, BYTES), 0);
    assert_memory_equal(loader.from, to, BYTES);
    assert_int_equal(ht__side_copy_end(&copy), 0);
    device->backend->memory_free(device->stream, loader.remote);
    device->backend->memory_free(device->stream, remote);
    free(loader.from);
    free(from);
    free(to);
}

HT_TEST_SUITE(test_cuda_staging,
              cmocka_unit_test(an_ordinary_copy_that_fails_halfway_writes_nothing_later),
              cmocka_unit_test(a_side_copy_that_fails_halfway_has_ended),
              cmocka_unit_test(copies_do_without_pinned_memory),
              cmocka_unit_test(an_error_of_the_device_calls_copies_off),
              cmocka_unit_test(two_threads_copy_at_once));
