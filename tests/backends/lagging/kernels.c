/* SPDX-License-Identifier: MIT */
/* Kernels of the device's own; the others are the host's. All are given real addresses, when their
 * turn in the queue comes. */
#include "ht/kernels/elementwise.h"
#include "lagging.h"

/* Where element `index` of the loop, counted row by row, lies in an operand. */
static const float *element(const ht_loop *loop, int operand, int64_t index)
{
    const float *data = loop->operand[operand].data;
    int64_t at = 0;

    if (data == NULL)
        return (const float *)(const void *)loop->value[operand].bytes;
    for (int axis = loop->ndim - 1; axis >= 0; axis--) {
        at += index % loop->shape[axis] * loop->stride[operand][axis];
        index /= loop->shape[axis];
    }
    return data + at;
}

static int add_float32(void *stream, const ht_kernel_call *call)
{
    const ht_loop *loop = (const ht_loop *)call;
    int64_t count = 1;

    (void)stream;
    for (int axis = 0; axis < loop->ndim; axis++)
        count *= loop->shape[axis];
    for (int64_t i = 0; i < count; i++)
        *(float *)(uintptr_t)element(loop, 0, i) = *element(loop, 1, i) + *element(loop, 2, i);
    return 0;
}

static struct {
    const char *name;
    ht_dtype dtype;
    ht_kernel_fn *run;
    ht_kernel kernel; /* looked up once, as each call asks */
} own[] = {
    {"ADD", HT_FLOAT32, add_float32, -1},
};

void lag_kernels_begin(void)
{
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        own[i].kernel = lag_core->kernel(own[i].name);
}

ht_kernel_fn *lag_kernel(ht_kernel kernel, ht_dtype dtype)
{
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (own[i].kernel == kernel && own[i].dtype == dtype)
            return own[i].run;
    }
    return lag_core->host_kernel(kernel, dtype);
}
