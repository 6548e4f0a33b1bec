/* SPDX-License-Identifier: MIT
 *
 * Loops over local parts, and the copy that most moves of data come down to. */
#include "core/core.h"

ht_operand ht__operand(const ht_body *body)
{
    ht_operand operand = {.data = ht__body_data(body)};

    for (int i = 0; i < body->ndim; i++)
        operand.stride[i] = body->stride[i];
    return operand;
}

static bool continues(const ht_loop *loop, int axis, int count, const ht_operand operands[],
                      int source)
{
    int64_t length = loop->shape[axis];

    for (int k = 0; k < count; k++) {
        if (loop->stride[k][axis] * length != operands[k].stride[source])
            return false;
    }
    return true;
}

void ht__loop_fill(ht_loop *loop, int ndim, const int64_t lshape[], int count,
                   const ht_operand operands[])
{
    int order[HT_MAX_NDIM], axes = 0;
    int merged = 0; /* axes of the loop so far, innermost first */

    for (int i = 0; i < ndim; i++) {
        int j = axes;

        if (lshape[i] == 1)
            continue;
        for (; j > 0 && operands[0].stride[order[j - 1]] < operands[0].stride[i]; j--)
            order[j] = order[j - 1];
        order[j] = i;
        axes++;
    }
    for (int i = axes - 1; i >= 0; i--) {
        int source = order[i];

        if (merged > 0 && continues(loop, merged - 1, count, operands, source)) {
            loop->shape[merged - 1] *= lshape[source];
            continue;
        }
        loop->shape[merged] = lshape[source];
        for (int k = 0; k < count; k++)
            loop->stride[k][merged] = operands[k].stride[source];
        merged++;
    }
    if (merged == 0) {
        loop->shape[0] = 1;
        for (int k = 0; k < count; k++)
            loop->stride[k][0] = 0;
        merged = 1;
    }
    loop->ndim = merged;
    for (int i = 0; i < merged / 2; i++) { /* the innermost axis belongs last */
        int j = merged - 1 - i;
        int64_t length = loop->shape[i];

        loop->shape[i] = loop->shape[j];
        loop->shape[j] = length;
        for (int k = 0; k < count; k++) {
            int64_t stride = loop->stride[k][i];

            loop->stride[k][i] = loop->stride[k][j];
            loop->stride[k][j] = stride;
        }
    }
    for (int k = 0; k < count; k++)
        loop->data[k] = operands[k].data;
}

ht_status ht__copy_local(const char *what, const ht_body *y, const ht_body *x)
{
    ht_operand operands[2] = {ht__operand(y), ht__operand(x)};
    ht_device *device = y->storage->device;
    ht_loop_fn convert = device->backend->kernels.convert[x->dtype][y->dtype];
    ht_loop loop;

    if (y->lsize == 0)
        return HT_SUCCESS;
    if (convert == NULL)
        return HT_FAIL(y->comm, HT_ERR_UNSUPPORTED, "%s: device %s cannot convert %s to %s", what,
                       ht_device_name(device), ht_dtype_name(x->dtype), ht_dtype_name(y->dtype));
    ht__loop_fill(&loop, y->ndim, y->lshape, 2, operands);
    if (convert(device->stream, &loop) != 0)
        return ht__kernel_failed(y->comm, what);
    return HT_SUCCESS;
}

/* One element of any dtype, on the host. */
static ht_status convert_number(const char *what, ht_dtype from, const void *value, ht_dtype to,
                                void *element)
{
    ht_device *cpu = ht__device_cpu();
    ht_loop one = {.ndim = 1, .shape = {1}, .data = {element, (void *)value}};

    if (cpu->backend->kernels.convert[from][to](cpu->stream, &one) != 0)
        return ht__kernel_failed(NULL, what);
    return HT_SUCCESS;
}

ht_status ht__fill_local(const char *what, const ht_body *y, ht_number value)
{
    return ht__fill_local_from(what, y, value.exact ? HT_INT64 : HT_FLOAT64, &value.as);
}

ht_status ht__fill_local_from(const char *what, const ht_body *y, ht_dtype dtype, const void *value)
{
    ht_device *device = y->storage->device;
    ht_operand operands[2] = {ht__operand(y)};
    _Alignas(16) char element[16];
    size_t got = 0, bytes = ht_dtype_size(y->dtype);
    void *remote = NULL;
    ht_loop loop;
    int failed = 0;

    if (y->lsize == 0)
        return HT_SUCCESS;
    if (device->backend->kernels.convert[y->dtype][y->dtype] == NULL)
        return HT_FAIL(y->comm, HT_ERR_UNSUPPORTED, "%s: device %s cannot fill %s", what,
                       ht_device_name(device), ht_dtype_name(y->dtype));
    if (convert_number(what, dtype, value, y->dtype, element) != HT_SUCCESS)
        return ht_error_get(NULL);
    operands[1].data = element;
    if (!device->backend->host_memory) {
        operands[1].data = remote = ht__device_alloc(device, bytes, &got);
        if (remote == NULL)
            return HT_FAIL_HERE(y->comm, HT_ERR_MEMORY, "%s: out of memory on %s", what,
                                ht_device_name(device));
        failed = device->backend->memory_copy(device->stream, remote, element, bytes,
                                              HT_COPY_HOST_TO_DEVICE);
    }
    ht__loop_fill(&loop, y->ndim, y->lshape, 2, operands);
    failed = failed || device->backend->kernels.convert[y->dtype][y->dtype](device->stream, &loop);
    ht__device_free(device, remote, got);
    return failed ? ht__kernel_failed(y->comm, what) : HT_SUCCESS;
}
