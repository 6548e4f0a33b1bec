/* SPDX-License-Identifier: MIT
 *
 * Tensors side by side in one piece of memory. A view for each does the copying: whatever the
 * strides and dtypes, and by memcpy where there is nothing to convert. */
#include "flat_tensors.h"

#include "ht/autograd.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "ht/tensor.h"

static ht_dtype widest(const ht_value *tensors)
{
    for (int i = 0; i < ht_value_count(tensors); i++) {
        if (ht_value_as_tensor(ht_value_at(tensors, i))->body->dtype == HT_FLOAT64)
            return HT_FLOAT64;
    }
    return HT_FLOAT32;
}

static int64_t total(const ht_value *tensors)
{
    int64_t n = 0;

    for (int i = 0; i < ht_value_count(tensors); i++)
        n += ht_value_as_tensor(ht_value_at(tensors, i))->body->lsize;
    return n;
}

/* The next part, and its view of the elements from `start`. */
static bool add_part(ht_flat_tensors *flat, ht_tensor *part, int64_t start)
{
    const ht_body *body = part->body;
    ht_tensor *view = ht_reshape(ht_narrow(flat->all, 0, start, start + body->lsize), body->ndim,
                                 body->shape);

    if (view == NULL)
        return false;
    flat->parts[flat->count] = ht_retain(part);
    flat->views[flat->count++] = ht_retain(view);
    return true;
}

ht_flat_tensors *ht__flat_new(const ht_value *tensors)
{
    size_t count = (size_t)ht_value_count(tensors);
    ht_flat_tensors *flat = ht__alloc(sizeof *flat);
    int64_t n = total(tensors), start = 0;
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false), good;

    flat->parts = ht__alloc(count * sizeof(void *));
    flat->views = ht__alloc(count * sizeof(void *));
    flat->all = ht_retain(
        ht_full_on(1, &n, 0, widest(tensors), HT_NONE, ht__device_cpu(), HT_COMM_SELF));
    good = flat->all != NULL;
    for (int i = 0; i < (int)count && good; i++) {
        ht_tensor *part = ht_value_as_tensor(ht_value_at(tensors, i));

        good = add_part(flat, part, start);
        start += part->body->lsize;
    }
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    if (good)
        return flat;
    ht__flat_free(flat);
    return NULL;
}

void ht__flat_free(ht_flat_tensors *flat)
{
    if (flat == NULL)
        return;
    for (int i = 0; i < flat->count; i++) {
        ht_release(flat->parts[i]);
        ht_release(flat->views[i]);
    }
    ht_release(flat->all);
    ht__free(flat->parts);
    ht__free(flat->views);
    ht__free(flat);
}

static ht_status copy(ht_tensor **to, ht_tensor **from, int count)
{
    bool was = ht_set_grad_enabled(false);
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < count && status == HT_SUCCESS; i++)
        status = ht_copy_(to[i], from[i]);
    ht_set_grad_enabled(was);
    return status;
}

ht_status ht__flat_gather(ht_flat_tensors *flat, int count)
{
    return copy(flat->views, flat->parts, count);
}

ht_status ht__flat_scatter(ht_flat_tensors *flat, int count)
{
    return copy(flat->parts, flat->views, count);
}

ht_status ht__flat_average(ht_flat_tensors *flat, ht_exchange *exchange, int ranks, ht_dtype wire,
                           const char *what)
{
    const ht_body *all = flat->all->body;
    ht_exchange_op *op = ht__exchange_start_as(exchange, ht__flat_data(flat), all->lsize,
                                               all->dtype, wire, 1.0 / ranks, 0);
    ht_status status;

    if (op == NULL)
        return ht_error_get(NULL);
    status = ht__exchange_wait(exchange, op, what);
    ht__exchange_release(exchange, op);
    return status;
}

int64_t ht__flat_elements(const ht_flat_tensors *flat, int count)
{
    int64_t n = 0;

    for (int i = 0; i < count; i++)
        n += flat->parts[i]->body->lsize;
    return n;
}
