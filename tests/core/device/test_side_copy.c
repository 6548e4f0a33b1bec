/* ranks 1 2 */
/* SPDX-License-Identifier: MIT */
/* Copies in parallel with the work of a device: when they begin, what they wait for, and what waits
 * for them.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/cuda_device.h"

static const ht_device *find(const char *name)
{
    return strcmp(name, "cuda:0") == 0 ? cuda_device() : ht_device_get(name);
}

static const char *const names[] = {"lag:0", "cuda:0"};

static void *host_memory(const ht_backend *backend, bool pinned, size_t bytes)
{
    void *memory = pinned ? backend->host_alloc(bytes) : malloc(bytes);

    assert_non_null(memory);
    return memory;
}

static void host_free(const ht_backend *backend, bool pinned, void *memory)
{
    if (pinned)
        backend->host_free(memory);
    else
        free(memory);
}

static void fill(unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 251);
}

/* To the device, from one place to another on it, and back: only the copies in the middle are in
 * the order of the work. */
static void there_and_back(const ht_device *device, size_t bytes, bool pinned)
{
    const ht_backend *backend = device->backend;
    char *remote = backend->memory_alloc(device->stream, 2 * bytes);
    unsigned char *from = host_memory(backend, pinned, bytes), *wanted = malloc(bytes),
                  *to = host_memory(backend, pinned, bytes);
    void *event;

    assert_non_null(remote);
    assert_non_null(wanted);
    assert_int_equal(backend->event_new(device->stream, &event), 0);
    fill(from, bytes);
    memcpy(wanted, from, bytes);
    assert_int_equal(backend->side_copy(device->stream, remote, from, bytes, HT_COPY_HOST_TO_DEVICE,
                                        NULL, event),
                     0);
    if (!pinned)
        memset(from, 0, bytes);
    assert_int_equal(backend->stream_wait(device->stream, event), 0);
    assert_int_equal(
        backend->memory_copy(device->stream, remote + bytes, remote, bytes, HT_COPY_ON_DEVICE), 0);
    assert_int_equal(backend->side_copy(device->stream, to, remote + bytes, bytes,
                                        HT_COPY_DEVICE_TO_HOST, NULL, event),
                     0);
    assert_int_equal(backend->event_wait(event), 0);
    assert_memory_equal(to, wanted, bytes);
    backend->event_free(event);
    host_free(backend, pinned, to);
    host_free(backend, pinned, from);
    free(wanted);
    backend->memory_free(device->stream, remote);
}

static const size_t sizes[] = {1, 65536, 65537, 4u << 20, (17u << 20) + 3};

static void copies_of_any_size_arrive(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
            const ht_device *device = find(names[n]);

            if (device != NULL && device->backend->side_copy != NULL)
                there_and_back(device, sizes[i / 2], i % 2);
        }
    }
}

/* The same sizes in the order of the work. */
static void ordinary_copies_of_any_size_arrive(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes * sizeof names / sizeof *names; i++) {
        const ht_device *device = find(names[i % 2]);
        const size_t bytes = sizes[i / 2];
        unsigned char *from = malloc(bytes), *to = malloc(bytes), *wanted = malloc(bytes);
        void *remote;

        assert_true(from != NULL && to != NULL && wanted != NULL);
        fill(from, bytes);
        memcpy(wanted, from, bytes);
        if (device != NULL) {
            remote = device->backend->memory_alloc(device->stream, bytes);
            assert_non_null(remote);
            assert_int_equal(ht__device_put(device, remote, from, bytes), 0);
            memset(from, 0, bytes);
            assert_int_equal(ht__device_get(device, to, remote, bytes), 0);
            assert_memory_equal(to, wanted, bytes);
            device->backend->memory_free(device->stream, remote);
        }
        free(from);
        free(to);
        free(wanted);
    }
}

/* Whether the device does its work only when a thread waits. */
static bool is_late(const ht_device *device)
{
    if (device == NULL || device->backend->side_copy == NULL || getenv("LAG_RUN") != NULL ||
        getenv("EMULATED_RUN") != NULL)
        return false;
    return strcmp(device->name, "cuda:0") != 0 || cuda_is_emulated(device);
}

/* Later work is done, ordinary copies too, but the copy is not, until a thread waits for it. */
static void later_work_does_not_wait_for_a_copy(void **state)
{
    enum { BYTES = 100000 };
    int tried = 0;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const ht_device *device = find(names[i]);
        const ht_backend *backend = device != NULL ? device->backend : NULL;
        unsigned char *remote, *pinned, *to, *other;
        void *copied, *worked;

        if (!is_late(device))
            continue;
        remote = backend->memory_alloc(device->stream, 2 * BYTES);
        pinned = backend->host_alloc(BYTES);
        to = malloc(BYTES);
        other = malloc(BYTES);
        assert_true(remote != NULL && pinned != NULL && to != NULL && other != NULL);
        assert_int_equal(backend->event_new(device->stream, &copied), 0);
        assert_int_equal(backend->event_new(device->stream, &worked), 0);
        fill(pinned, BYTES);
        backend->memory_copy(device->stream, remote, pinned, BYTES, HT_COPY_HOST_TO_DEVICE);
        assert_int_equal(backend->side_copy(device->stream, to, remote, BYTES,
                                            HT_COPY_DEVICE_TO_HOST, NULL, copied),
                         0);
        memset(to, 0, BYTES);
        backend->memory_copy(device->stream, remote + BYTES, remote, BYTES, HT_COPY_ON_DEVICE);
        assert_int_equal(backend->event_record(device->stream, worked), 0);
        assert_int_equal(backend->event_wait(worked), 0);
        assert_int_equal(ht__device_get(device, other, remote + BYTES, BYTES), 0);
        assert_memory_equal(other, pinned, BYTES);
        assert_int_equal(ht__device_put(device, remote + BYTES, other, BYTES), 0);
        assert_int_equal(ht__device_get(device, other, remote + BYTES, 1), 0);
        assert_int_equal(to[1], 0);
        while (backend->event_done(copied) == 0)
            ;
        assert_int_equal(backend->event_done(copied), 1);
        assert_memory_equal(to, pinned, BYTES);
        backend->event_free(copied);
        backend->event_free(worked);
        free(to);
        free(other);
        backend->host_free(pinned);
        backend->memory_free(device->stream, remote);
        tried++;
    }
    if (tried == 0)
        HT_TEST_SKIP("no device is late");
}

/* A copy that begins after an event does not wait for work that was given since: that work finds
 * the copied values. */
static void a_copy_waits_for_its_event_alone(void **state)
{
    enum { BYTES = 300000 };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const ht_device *device = find(names[i]);
        const ht_backend *backend = device != NULL ? device->backend : NULL;
        unsigned char *remote, *from, *to;
        void *event;

        if (!is_late(device))
            continue;
        remote = backend->memory_alloc(device->stream, 2 * BYTES);
        from = malloc(BYTES);
        to = malloc(BYTES);
        assert_true(remote != NULL && from != NULL && to != NULL);
        assert_int_equal(backend->event_new(device->stream, &event), 0);
        fill(from, BYTES);
        assert_int_equal(backend->event_record(device->stream, event), 0);
        backend->memory_copy(device->stream, remote + BYTES, remote, BYTES, HT_COPY_ON_DEVICE);
        assert_int_equal(backend->side_copy(device->stream, remote, from, BYTES,
                                            HT_COPY_HOST_TO_DEVICE, event, event),
                         0);
        assert_int_equal(backend->event_wait(event), 0);
        assert_int_equal(ht__device_get(device, to, remote + BYTES, BYTES), 0);
        assert_memory_equal(to, from, BYTES);
        backend->event_free(event);
        free(from);
        free(to);
        backend->memory_free(device->stream, remote);
    }
}

/* The wait for a device is for its copies, too. */
static void a_wait_for_the_device_is_for_copies_too(void **state)
{
    enum { BYTES = 200000 };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const ht_device *device = find(names[i]);
        const ht_backend *backend = device != NULL ? device->backend : NULL;
        unsigned char *remote, *from, *to;
        void *event;

        if (backend == NULL || backend->side_copy == NULL)
            continue;
        remote = backend->memory_alloc(device->stream, BYTES);
        from = malloc(BYTES);
        to = malloc(BYTES);
        assert_true(remote != NULL && from != NULL && to != NULL);
        assert_int_equal(backend->event_new(device->stream, &event), 0);
        fill(from, BYTES);
        assert_int_equal(ht__device_put(device, remote, from, BYTES), 0);
        assert_int_equal(backend->side_copy(device->stream, to, remote, BYTES,
                                            HT_COPY_DEVICE_TO_HOST, NULL, event),
                         0);
        assert_int_equal(ht__device_wait(device), 0);
        assert_memory_equal(to, from, BYTES);
        backend->event_free(event);
        free(from);
        free(to);
        backend->memory_free(device->stream, remote);
    }
}

HT_TEST_SUITE(test_side_copy, cmocka_unit_test(copies_of_any_size_arrive),
              cmocka_unit_test(ordinary_copies_of_any_size_arrive),
              cmocka_unit_test(later_work_does_not_wait_for_a_copy),
              cmocka_unit_test(a_copy_waits_for_its_event_alone),
              cmocka_unit_test(a_wait_for_the_device_is_for_copies_too));
