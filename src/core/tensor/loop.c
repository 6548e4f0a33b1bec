/* SPDX-License-Identifier: MIT
 *
 * Loops over local parts, and the copy on which most moves of data are based. */

#include <string.h>

#include "core/tensor/tensor.h"
#include "ht/kernels/elementwise.h"

ht_kernel_operand ht__operand_of(const ht_body *body, ht_access access)
{
    ht_reach reach = {0};

    for (int i = 0; i < body->ndim; i++)
        ht__reach_along(&reach, body->lshape[i], body->stride[i]);
    return ht__operand_reaching(ht__body_data(body), &reach, (int64_t)ht_dtype_size(body->dtype),
                                access);
}

ht_kernel_operand ht__operand_if_any(const ht_tensor *x, ht_access access)
{
    return x != NULL ? ht__operand_of(x->body, access) : (ht_kernel_operand){.data = NULL};
}

ht_kernel_operand ht__operand_part(const ht_body *body, int64_t first, int64_t count,
                                   ht_access access)
{
    const int64_t size = (int64_t)ht_dtype_size(body->dtype);

    return ht__operand_bytes((char *)ht__body_data(body) + first * size, count * size, access);
}

ht_operand ht__operand(const ht_body *body)
{
    ht_operand operand = {.data = ht__body_data(body), .dtype = body->dtype};

    memcpy(operand.stride, body->stride, sizeof operand.stride); /* faster than the axes alone */
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
    loop->call.operands = HT_LOOP_OPERANDS;
    loop->call.rows = 0;
    for (int k = 0; k < HT_LOOP_OPERANDS; k++)
        loop->operand[k] = (ht_kernel_operand){.data = k < count ? operands[k].data : NULL,
                                               .written = k == 0};
}

void ht__loop_reach(ht_loop *loop, const ht_device *device, int count, const ht_operand operands[],
                    const ht_reach beyond[])
{
    if (device->backend->host_memory)
        return;
    for (int k = 0; k < count; k++) {
        ht_kernel_operand *operand = &loop->operand[k];
        ht_reach reach = beyond != NULL ? beyond[k] : (ht_reach){0};

        for (int axis = 0; axis < loop->ndim; axis++)
            ht__reach_along(&reach, loop->shape[axis], loop->stride[k][axis]);
        *operand = ht__operand_reaching(operand->data, &reach,
                                        (int64_t)ht_dtype_size(operands[k].dtype),
                                        operand->written ? HT_WRITE : HT_READ);
    }
}

/* One element of any dtype, on the host. */
static ht_status convert_number(const char *what, ht_dtype from, const void *value, ht_dtype to,
                                void *element)
{
    ht_loop one = {.call.operands = 2,
                   .operand = {ht__operand_bytes(element, (int64_t)ht_dtype_size(to), HT_WRITE),
                               ht__operand_bytes(value, (int64_t)ht_dtype_size(from), HT_READ)},
                   .ndim = 1,
                   .shape = {1}};

    return HT_LAUNCH(NULL, ht__device_cpu(), HT_KERNEL_CONVERT(to), from, &one, what);
}

ht_status ht__number_element(const char *what, const ht_body *x, ht_number value, ht_dtype dtype,
                             void *element)
{
    if (!ht__check_number(what, x->comm, "the number", dtype, value))
        return HT_ERR_ARGUMENT;
    switch (value.kind) {
    case HT_NUMBER_INTEGER:
        return convert_number(what, HT_INT64, &value.integer, dtype, element);
    case HT_NUMBER_REAL:
        return convert_number(what, HT_FLOAT64, &value.real, dtype, element);
    case HT_NUMBER_COMPLEX:
        break;
    }
    return convert_number(what, HT_COMPLEX128, (const double[]){value.real, value.imaginary}, dtype,
                          element);
}

/* Operands that are numbers, everywhere the same. */
static ht_status convert_numbers(const char *what, const ht_body *y, ht_dtype dtype, int count,
                                 const ht_operand operands[], ht_loop *loop)
{
    ht_status status = HT_SUCCESS;

    for (int k = 1; k < count && status == HT_SUCCESS; k++) {
        if (operands[k].number != NULL)
            status = ht__number_element(what, y, *operands[k].number, dtype, loop->value[k].bytes);
    }
    return status;
}

static ht_status launch(const char *what, ht_kernel kernel, ht_dtype dtype, const ht_body *y,
                        ht_loop *loop, const ht_params *params)
{
    memset(loop->param, 0, sizeof loop->param);
    if (params != NULL)
        memcpy(loop->param, params->param, sizeof loop->param);
    return HT_LAUNCH(y->comm, y->storage->device, kernel, dtype, loop, what);
}

ht_status ht__elementwise(const char *what, ht_kernel kernel, ht_dtype dtype, const ht_body *y,
                          int count, const ht_operand operands[], const ht_params *params)
{
    ht_device *device = y->storage->device;
    ht_loop loop;

    if (!ht__kernel_is_there(device, kernel, dtype))
        return ht__kernel_missing(y->comm, device, kernel, dtype, what);
    if (convert_numbers(what, y, dtype, count, operands, &loop) != HT_SUCCESS)
        return ht_error_get(NULL); /* on ranks without elements, too */
    if (y->lsize == 0)
        return HT_SUCCESS;
    ht__loop_fill(&loop, y->ndim, y->lshape, count, operands);
    ht__loop_reach(&loop, device, count, operands, NULL);
    return launch(what, kernel, dtype, y, &loop, params);
}

bool ht__lies_as(const ht_body *x, const ht_body *y)
{
    if (x->number != NULL || x->ndim != y->ndim)
        return false;
    for (int i = 0; i < y->ndim; i++) {
        if (x->lshape[i] != y->lshape[i] || (y->lshape[i] != 1 && x->stride[i] != y->stride[i]))
            return false;
    }
    return true;
}

ht_status ht__elementwise_dense(const char *what, ht_kernel kernel, ht_dtype dtype, int count,
                                const ht_body *const bodies[], const ht_params *params)
{
    const ht_body *y = bodies[0];
    ht_device *device = y->storage->device;
    ht_loop loop;

    if (!ht__kernel_is_there(device, kernel, dtype))
        return ht__kernel_missing(y->comm, device, kernel, dtype, what);
    if (y->lsize == 0)
        return HT_SUCCESS;
    loop.ndim = 1;
    loop.shape[0] = y->lsize;
    loop.call.operands = HT_LOOP_OPERANDS;
    loop.call.rows = 0;
    for (int k = 0; k < count; k++) {
        loop.stride[k][0] = 1;
        loop.operand[k] = ht__operand_part(bodies[k], 0, y->lsize, k == 0 ? HT_WRITE : HT_READ);
    }
    for (int k = count; k < HT_LOOP_OPERANDS; k++)
        loop.operand[k] = (ht_kernel_operand){.data = NULL};
    return launch(what, kernel, dtype, y, &loop, params);
}

ht_status ht__copy_local(const char *what, const ht_body *y, const ht_body *x)
{
    const ht_operand operands[2] = {ht__operand(y), ht__operand(x)};

    return ht__elementwise(what, HT_KERNEL_CONVERT(y->dtype), x->dtype, y, 2, operands, NULL);
}

ht_status ht__get_local(const char *what, const ht_body *x, void *to)
{
    const size_t bytes = (size_t)x->lsize * ht_dtype_size(x->dtype);

    return ht__device_get(x->storage->device, to, ht__body_data(x), bytes) == 0
               ? HT_SUCCESS
               : ht__kernel_failed(x->comm, what);
}

ht_status ht__set_local(const char *what, const ht_body *x, const void *from)
{
    const size_t bytes = (size_t)x->lsize * ht_dtype_size(x->dtype);

    return ht__device_put(x->storage->device, ht__body_data(x), from, bytes) == 0
               ? HT_SUCCESS
               : ht__kernel_failed(x->comm, what);
}

ht_status ht__fill_local(const char *what, const ht_body *y, ht_number value)
{
    const ht_operand operands[2] = {ht__operand(y), {.number = &value}};

    return ht__elementwise(what, HT_KERNEL_CONVERT(y->dtype), y->dtype, y, 2, operands, NULL);
}
