/* ranks 1 own device */
/* SPDX-License-Identifier: MIT */
/* Errors in the data that kernels of several threads find at once: each report is that of one call. */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_device.h"
#include "ht/kernels/nn.h"

enum { THREADS = 3, ROWS = 8, CALLS = 40, LONGEST = 200 };

/* Each thread's calls have their bad target in the thread's row, and the thread's number of
 * classes. */
typedef struct caller {
    ht_device *device;
    int number, failed; /* failed: how many calls, or reports that no thread's call explains */
    int reports;
    char odd[LONGEST]; /* one of these reports */
    ht_rows_call call;
} caller;

static void message_of(int number, char *text)
{
    snprintf(text, LONGEST, "the test: target %d of row %d is outside the %d classes",
             1000 + number, number + 1, 10 + number);
}

static void prepare(caller *c, ht_device *device, int number)
{
    int64_t target[ROWS] = {0};
    const size_t bytes = (size_t)ROWS * (size_t)(10 + number) * sizeof(float);
    void *room = cuda_room(device, bytes + sizeof target + ROWS * sizeof(float));

    *c = (caller){.device = device, .number = number};
    target[number + 1] = 1000 + number;
    ht__device_put(device, room, target, sizeof target);
    c->call = (ht_rows_call){.call = {.bytes = sizeof c->call,
                                      .kernel = HT_KERNEL_NLL_FORWARD,
                                      .dtype = HT_FLOAT32,
                                      .operands = 4,
                                      .what = "the test"},
                             .rows = ROWS,
                             .columns = 10 + number,
                             .ignore = -1};
    c->call.target.data = room;
    c->call.y.data = (char *)room + sizeof target;
    c->call.x.data = (char *)c->call.y.data + ROWS * sizeof(float);
}

/* Whether the message of a report is that of some thread's call. */
static bool is_of_a_call(const char *message)
{
    char text[LONGEST];

    for (int number = 0; number < THREADS; number++) {
        message_of(number, text);
        if (strcmp(message, text) == 0)
            return true;
    }
    return false;
}

static void look(caller *c, int (*wait)(void *stream))
{
    const char *message;

    if (wait(c->device->stream) == 0)
        return;
    ht_error_get(&message);
    c->reports++;
    if (!is_of_a_call(message)) {
        c->failed++;
        snprintf(c->odd, sizeof c->odd, "%s", message);
    }
    ht_error_clear();
}

static void *call_and_look(void *user)
{
    caller *c = user;

    for (int i = 0; i < CALLS; i++) {
        if (c->device->kernels->at[HT_KERNEL_NLL_FORWARD][HT_FLOAT32](c->device->stream,
                                                                      &c->call.call) != 0)
            c->failed++;
        look(c, c->device->backend->poll);
    }
    look(c, c->device->backend->synchronize);
    return NULL;
}

static void calls_of_threads_report_their_own_faults(void **state)
{
    ht_device *device = cuda_device();
    caller callers[THREADS];
    pthread_t threads[THREADS];
    int reports = 0;

    (void)state;
    if (device == NULL)
        HT_TEST_SKIP("there is no module for CUDA");
    for (int i = 0; i < THREADS; i++)
        prepare(&callers[i], device, i);
    setenv("EMULATED_PAUSE", "100", true);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_and_look, &callers[i]), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    unsetenv("EMULATED_PAUSE");
    for (int i = 0; i < THREADS; i++) {
        if (callers[i].failed > 0)
            fail_msg("thread %d: %d calls or reports failed: %s", i, callers[i].failed,
                     callers[i].odd);
        reports += callers[i].reports;
    }
    assert_true(reports > 0);
    while (device->backend->synchronize(device->stream) != 0) /* one may wait behind the last */
        ht_error_clear();
}

/* The result of a poll in the middle of the kernel that notes a fault. */
static caller *looking;
static int looks;

static void poll_before_it_is_published(void)
{
    looks++;
    look(looking, looking->device->backend->poll);
}

/* The variable emulated_before_publish of the module that has been loaded. */
static void (**find_hook(const ht_device *device))(void)
{
    int (*const poll)(void *stream) = device->backend->poll;
    void *at, *module;
    Dl_info info;

    memcpy(&at, &poll, sizeof at);
    assert_int_not_equal(dladdr(at, &info), 0);
    module = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(module);
    at = dlsym(module, "emulated_before_publish");
    dlclose(module); /* it stays loaded */
    assert_non_null(at);
    return at;
}

static void a_fault_is_seen_once_it_is_complete(void **state)
{
    ht_device *device = cuda_device();
    caller c;

    (void)state;
    if (device == NULL || !cuda_is_emulated(device))
        HT_TEST_SKIP("cuda:0 is not emulated");
    prepare(&c, device, 0);
    looking = &c;
    *find_hook(device) = poll_before_it_is_published;
    assert_int_equal(
        device->kernels->at[HT_KERNEL_NLL_FORWARD][HT_FLOAT32](device->stream, &c.call.call), 0);
    while (looks == 0)
        look(&c, device->backend->poll);
    *find_hook(device) = NULL;
    assert_int_equal(c.failed, 0);
    assert_int_equal(c.reports, 1); /* of the poll that went on after the look */
    assert_int_equal(looks, 1);
    assert_int_equal(device->backend->synchronize(device->stream), 0);
}

HT_TEST_SUITE(test_cuda_fault,
              cmocka_unit_test_teardown(a_fault_is_seen_once_it_is_complete, cuda_close),
              cmocka_unit_test_teardown(calls_of_threads_report_their_own_faults, cuda_close));
