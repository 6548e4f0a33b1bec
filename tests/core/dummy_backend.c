/* SPDX-License-Identifier: MIT */
/* A backend that test_device.c loads as a module: memory that the host may not touch (addresses are
 * shifted, so that an access crashes), and a few kernels. The others run on the host. It links
 * nothing of libht. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ht/kernels/reduce.h"

#define SHIFT ((size_t)1 << 60)

static const ht_backend_services *core;
static ht_backend *own;

static void *real(const void *memory)
{
    return (void *)((size_t)memory - SHIFT);
}

static int device_count(void)
{
    return 3;
}

/* The second has fewer cores than the first, the third less memory. */
static void device_properties(int index, size_t *memory, int *cores)
{
    *memory = index == 2 ? 749 : 1000;
    *cores = index == 1 ? 74 : 100;
}

static int device_open(int index, void **stream)
{
    *stream = NULL;
    core->log(3, "dummy:%d is open", index);
    return 0;
}

static void device_close(void *stream)
{
    (void)stream;
}

static void *memory_alloc(void *stream, size_t bytes)
{
    (void)stream;
    return (void *)((size_t)malloc(bytes) + SHIFT);
}

static void memory_free(void *stream, void *memory)
{
    (void)stream;
    free(real(memory));
}

static int memory_copy(void *stream, void *to, const void *from, size_t bytes, ht_copy_kind kind)
{
    (void)stream;
    memcpy(kind == HT_COPY_DEVICE_TO_HOST ? to : real(to),
           kind == HT_COPY_HOST_TO_DEVICE ? from : real(from), bytes);
    return 0;
}

static int synchronize(void *stream)
{
    (void)stream;
    if (getenv("HT_DUMMY_STUCK") == NULL)
        return 0;
    core->fail("the dummy device does not answer");
    return 1;
}

/* Where element `index` of the loop, counted row by row, lies in an operand. */
static void *address(const ht_loop *loop, int operand, int64_t index, size_t size)
{
    int64_t at = 0;

    for (int axis = loop->ndim - 1; axis >= 0; axis--) {
        at += index % loop->shape[axis] * loop->stride[operand][axis];
        index /= loop->shape[axis];
    }
    return (char *)real(loop->operand[operand].data) + at * (int64_t)size;
}

static float *element(const ht_loop *loop, int operand, int64_t index)
{
    return address(loop, operand, index, sizeof(float));
}

static int64_t size_of(const ht_loop *loop)
{
    int64_t size = 1;

    for (int axis = 0; axis < loop->ndim; axis++)
        size *= loop->shape[axis];
    return size;
}

static int add_float32(void *stream, const ht_kernel_call *call)
{
    const ht_loop *loop = (const ht_loop *)call;

    (void)stream;
    if (loop->operand[1].data == NULL || loop->operand[2].data == NULL)
        return HT_KERNEL_REFUSED;
    for (int64_t i = 0; i < size_of(loop); i++)
        *element(loop, 0, i) = *element(loop, 1, i) + *element(loop, 2, i);
    return 0;
}

/* The position of the n-th of the reduced elements, counted row by row. */
static int64_t reduced_offset(const ht_reduction *r, int64_t n)
{
    int64_t at = 0;

    for (int axis = r->ndim - 1; axis >= 0; axis--) {
        at += n % r->shape[axis] * r->stride[axis];
        n /= r->shape[axis];
    }
    return at;
}

static int argmax_float32(void *stream, const ht_kernel_call *call)
{
    const ht_reduction *r = (const ht_reduction *)call;
    int64_t count = 1;

    (void)stream;
    for (int axis = 0; axis < r->ndim; axis++)
        count *= r->shape[axis];
    for (int64_t i = 0; i < size_of(&r->loop); i++) {
        const float *x = element(&r->loop, 1, i);
        int64_t best = 0;

        for (int64_t n = 1; n < count; n++)
            best = x[reduced_offset(r, n)] > x[reduced_offset(r, best)] ? n : best;
        *element(&r->loop, 0, i) = x[reduced_offset(r, best)];
        *(int64_t *)address(&r->loop, 2, i, sizeof(int64_t)) = best;
    }
    return 0;
}

static int broken(void *stream, const ht_kernel_call *call)
{
    (void)stream;
    (void)call;
    core->fail("the dummy device is on fire");
    return 1;
}

/* Kernels are added before the first device is open; test_device.c asks for one more after that,
 * through an invalid device. */
static int count_and_come_late(void)
{
    if (getenv("HT_DUMMY_LATE") != NULL &&
        core->add(own, core->kernel("MUL"), HT_FLOAT32, add_float32) == 0)
        return 1000;
    return device_count();
}

static void add(const char *kernel, ht_kernel_fn *run)
{
    core->add(own, core->kernel(kernel), HT_FLOAT32, run);
}

int ht_backend_open(uint32_t abi, const ht_backend_services *services, ht_backend *backend)
{
    const char *pretend = getenv("HT_DUMMY_ABI");

    if (abi != HT_BACKEND_ABI)
        return 1;
    core = services;
    own = backend;
    /* As a module that was compiled before there were events. */
    *backend = (ht_backend){
        .abi = pretend != NULL ? (uint32_t)atoi(pretend) : HT_BACKEND_ABI,
        .size = offsetof(ht_backend, poll),
        .name = "dummy",
        .device_count = count_and_come_late,
        .device_open = device_open,
        .device_close = device_close,
        .memory_alloc = memory_alloc,
        .memory_free = memory_free,
        .memory_copy = memory_copy,
        .synchronize = synchronize,
        .device_properties = device_properties,
    };
    add("ADD", add_float32);
    add("DIV", broken);
    add("ARGMAX", argmax_float32);
    add("A_KERNEL_OF_ANOTHER_VERSION", add_float32);
    core->log(3, "dummy: %s", core->kernel("A_KERNEL_OF_ANOTHER_VERSION") < 0 ? "older" : "newer");
    return 0;
}
