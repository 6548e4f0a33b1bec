/* ranks 1 2 own device */
/* SPDX-License-Identifier: MIT */
/* The CUDA module's devices on a runtime that needs no GPU: copies, events, memory that is used up,
 * and errors of kernels, which come late. */
#include <stdlib.h>
#include <string.h>

#include "core/tensor/tensor.h"
#include "cuda_device.h"
#include "ht/kernels/elementwise.h"
#include "tensor_check.h"

enum { COUNT = 5000 };

static const ht_backend *backend;
static void *stream;

static int open_device(void **state)
{
    const ht_device *device = cuda_device();

    (void)state;
    if (device != NULL) {
        backend = device->backend;
        stream = device->stream;
    }
    return 0;
}

/* The program may reuse its memory as soon as the copy from it returns. */
static void copies_take_their_source_at_once(void **state)
{
    (void)state;
    if (backend == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    char from[100], to[100];
    char *remote = backend->memory_alloc(stream, 2 * sizeof from);

    assert_non_null(remote);
    memset(from, 7, sizeof from);
    assert_int_equal(
        backend->memory_copy(stream, remote, from, sizeof from, HT_COPY_HOST_TO_DEVICE), 0);
    memset(from, 8, sizeof from);
    assert_int_equal(
        backend->memory_copy(stream, remote + sizeof from, remote, sizeof from, HT_COPY_ON_DEVICE),
        0);
    assert_int_equal(
        backend->memory_copy(stream, to, remote + sizeof from, sizeof to, HT_COPY_DEVICE_TO_HOST),
        0);
    assert_int_equal(backend->synchronize(stream), 0);
    for (size_t i = 0; i < sizeof to; i++)
        assert_int_equal(to[i], 7);
    backend->memory_free(stream, remote);
}

static void an_event_passes_after_the_work_before_it(void **state)
{
    (void)state;
    if (backend == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    char *remote = backend->memory_alloc(stream, 100), *pinned = backend->host_alloc(100);
    void *event;

    assert_non_null(remote);
    assert_non_null(pinned);
    assert_int_equal(backend->event_new(stream, &event), 0);
    memset(pinned, 1, 100);
    for (int i = 0; i < 3; i++) /* there and back */
        assert_int_equal(
            backend->memory_copy(stream, i % 2 == 0 ? remote : pinned, i % 2 == 0 ? pinned : remote,
                                 100, i % 2 == 0 ? HT_COPY_HOST_TO_DEVICE : HT_COPY_DEVICE_TO_HOST),
            0);
    assert_int_equal(backend->event_record(stream, event), 0);
    while (backend->event_done(event) == 0)
        ;
    assert_int_equal(backend->event_done(event), 1);
    assert_int_equal(backend->event_wait(event), 0);
    assert_int_equal(backend->poll(stream), 0);
    backend->event_free(event);
    backend->host_free(pinned);
    backend->memory_free(stream, remote);
}

/* The stream of one device waits for the other's work. */
static void a_stream_waits_for_another(void **state)
{
    (void)state;
    if (backend == NULL || backend->device_count() < 2)
        HT_TEST_SKIP("there are no two devices of CUDA");
    const ht_device *second = ht_device_get("cuda:1");
    char *remote = backend->memory_alloc(stream, 100), *pinned = backend->host_alloc(300);
    char *other = backend->memory_alloc(second->stream, 100);
    void *event;

    assert_non_null(pinned);
    assert_int_equal(backend->event_new(stream, &event), 0);
    memset(pinned, 0, 300);
    memset(pinned, 5, 100);
    backend->memory_copy(stream, remote, pinned, 100, HT_COPY_HOST_TO_DEVICE);
    backend->memory_copy(stream, pinned + 100, remote, 100, HT_COPY_DEVICE_TO_HOST);
    assert_int_equal(backend->event_record(stream, event), 0);
    assert_int_equal(backend->stream_wait(second->stream, event), 0);
    backend->memory_copy(second->stream, other, pinned + 100, 100, HT_COPY_HOST_TO_DEVICE);
    backend->memory_copy(second->stream, pinned + 200, other, 100, HT_COPY_DEVICE_TO_HOST);
    assert_int_equal(backend->synchronize(second->stream), 0);
    for (int i = 200; i < 300; i++)
        assert_int_equal(pinned[i], 5);
    backend->event_free(event);
    backend->host_free(pinned);
    backend->memory_free(second->stream, other);
    backend->memory_free(stream, remote);
}

/* The last line of the log. */
static char line[400];

static void keep_line(ht_log_level level, const char *text, void *user)
{
    (void)level;
    (void)user;
    snprintf(line, sizeof line, "%s", text);
}

static void memory_that_runs_out_is_reported(void **state)
{
    (void)state;
    if (backend == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    const size_t bytes = (size_t)1 << 40;

    line[0] = '\0';
    ht_log_set_sink(keep_line, NULL);
    assert_null(backend->memory_alloc(stream, bytes));
    assert_string_equal(line, ""); /* libht frees what it keeps, and asks again */
    assert_null(backend->memory_alloc(stream, bytes));
    ht_log_set_sink(NULL, NULL);
    assert_non_null(strstr(line, "cuda:0: out of memory: 1048576 MiB requested, "));
    assert_non_null(strstr(line, " MiB in use by this process"));
}

static void tensors_are_computed_on_the_device(void **state)
{
    (void)state;
    if (backend == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    ht_device *device = ht_device_get("cuda:0");
    ht_scope *scope = ht_scope_open();
    const int64_t shape[] = {COUNT}, before = ht_device_fallbacks(device);
    ht_tensor *x = ht_full_ext(1, shape, HT_NUM(1.5), HT_FLOAT32, 0, device, HT_COMM_WORLD);
    ht_tensor *y = ht_full_ext(1, shape, HT_NUM(1.5), HT_FLOAT32, 0, ht_device_get("cpu"),
                               HT_COMM_WORLD);

    ht_test_expect_same(ht_to_device(ht_exp(ht_add(ht_mul(x, x), x)), ht_device_get("cpu")),
                        ht_exp(ht_add(ht_mul(y, y), y)), 0);
    assert_int_equal(ht_device_fallbacks(device), before);
    ht_scope_close(scope);
}

/* Runs one kernel of a device that the runtime lets fail; NULL, or the message of the error that
 * the launch returned. */
static const char *launch_faulty(ht_device *device)
{
    float *remote = device->backend->memory_alloc(device->stream, 400);
    ht_loop loop = {.call = {.bytes = sizeof loop, .operands = 2, .what = "the test"},
                    .operand = {{.data = remote}, {.data = remote}},
                    .ndim = 1,
                    .shape = {100},
                    .stride = {{1}, {1}}};
    const char *message = NULL;

    assert_non_null(remote);
    loop.call.kernel = HT_KERNEL_NEG;
    loop.call.dtype = HT_FLOAT32;
    setenv("EMULATED_FAULT", "1", true);
    if (device->kernels->at[HT_KERNEL_NEG][HT_FLOAT32](device->stream, &loop.call) != 0)
        ht_error_get(&message);
    device->backend->memory_free(device->stream, remote);
    return message;
}

/* The error stays with the device, so each part uses another device. */
static void an_error_of_a_kernel_comes_late_and_is_named_on_request(void **state)
{
    ht_device *late, *at_once;
    const char *message;

    (void)state;
    if (backend == NULL || !cuda_is_emulated(ht_device_get("cuda:0")))
        HT_TEST_SKIP("cuda:0 is not emulated");
    late = ht_device_get("cuda:6");
    setenv("HT_CUDA_SYNC", "1", true);
    at_once = ht_device_get("cuda:7");
    unsetenv("HT_CUDA_SYNC");
    assert_null(launch_faulty(late));
    assert_int_not_equal(backend->synchronize(late->stream), 0);
    ht_error_get(&message);
    assert_string_equal(message, "cuda:6: an illegal memory access was encountered, in the test or "
                                 "before it; HT_CUDA_SYNC=1 names the operation");
    assert_string_equal(launch_faulty(at_once),
                        "the test: cuda:7: an illegal memory access was encountered");
    ht_error_clear();
    assert_int_not_equal(backend->poll(at_once->stream), 0);
    ht_error_clear();
    unsetenv("EMULATED_FAULT");
}

HT_TEST_SUITE(test_cuda_device,
              cmocka_unit_test_setup(copies_take_their_source_at_once, open_device),
              cmocka_unit_test_setup(an_event_passes_after_the_work_before_it, open_device),
              cmocka_unit_test_setup(a_stream_waits_for_another, open_device),
              cmocka_unit_test_setup(memory_that_runs_out_is_reported, open_device),
              cmocka_unit_test_setup(tensors_are_computed_on_the_device, open_device),
              cmocka_unit_test_setup(an_error_of_a_kernel_comes_late_and_is_named_on_request,
                                     open_device));
