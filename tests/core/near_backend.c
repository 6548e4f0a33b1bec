/* SPDX-License-Identifier: MIT */
/* A backend whose memory the host reaches, with a single kernel: test_near_device.c loads it. */
#include <stdlib.h>
#include <string.h>

#include "ht/kernels/elementwise.h"

static int device_count(void)
{
    return 2;
}

static int device_open(int index, void **stream)
{
    (void)index;
    *stream = NULL;
    return 0;
}

static void device_close(void *stream)
{
    (void)stream;
}

static void *memory_alloc(void *stream, size_t bytes)
{
    (void)stream;
    return malloc(bytes);
}

static void memory_free(void *stream, void *memory)
{
    (void)stream;
    free(memory);
}

static int memory_copy(void *stream, void *to, const void *from, size_t bytes, ht_copy_kind kind)
{
    (void)stream;
    (void)kind;
    memcpy(to, from, bytes);
    return 0;
}

/* Without events no call could wait for it. */
static int side_copy(void *stream, void *to, const void *from, size_t bytes, ht_copy_kind kind,
                     void *after, void *event)
{
    (void)after;
    (void)event;
    return memory_copy(stream, to, from, bytes, kind);
}

/* y = -x where both are dense. */
static int neg_float32(void *stream, const ht_kernel_call *call)
{
    const ht_loop *loop = (const ht_loop *)call;
    const float *x = loop->operand[1].data;
    float *y = loop->operand[0].data;

    (void)stream;
    if (loop->ndim > 1 || loop->stride[0][0] != 1 || loop->stride[1][0] != 1)
        return HT_KERNEL_REFUSED;
    for (int64_t i = 0; i < loop->shape[0]; i++)
        y[i] = -x[i];
    return 0;
}

/* HT_NEAR_FLAW: the flaw of this backend. */
int ht_backend_open(uint32_t abi, const ht_backend_services *services, ht_backend *backend)
{
    const char *flaw = getenv("HT_NEAR_FLAW") != NULL ? getenv("HT_NEAR_FLAW") : "";

    if (abi != HT_BACKEND_ABI || strcmp(flaw, "refuses") == 0)
        return 1;
    *backend = (ht_backend){
        .abi = HT_BACKEND_ABI,
        .size = sizeof *backend,
        .name = strcmp(flaw, "name") == 0 ? "far" : "near",
        .host_memory = true,
        .device_count = device_count,
        .device_open = device_open,
        .device_close = device_close,
        .memory_alloc = memory_alloc,
        .memory_free = memory_free,
        .memory_copy = strcmp(flaw, "copy") == 0 ? NULL : memory_copy,
        .side_copy = strcmp(flaw, "side_copy") == 0 ? side_copy : NULL,
    };
    services->add(backend, services->kernel("NEG"), HT_FLOAT32, neg_float32);
    return 0;
}
