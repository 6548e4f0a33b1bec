/* SPDX-License-Identifier: MIT
 *
 * The buffers for data that DASO exchanges. */
#include "nn/parallel/daso/average_parameters.h"
#include "nn/parallel/daso/daso.h"

#include "ht/autograd.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "ht/tensor.h"

static void add_parameter(const char *name, ht_tensor *x, void *list)
{
    (void)name;
    if (ht_tensor_requires_grad(x))
        ht_value_append(list, ht_value_tensor(x));
}

/* Counters and the like are the same on all ranks without us. */
static void add_buffer(const char *name, ht_tensor *x, void *list)
{
    (void)name;
    if (ht_dtype_is_floating(x->body->dtype))
        ht_value_append(list, ht_value_tensor(x));
}

/* Memory like `x`, zeroed. */
static ht_tensor *memory_like(const ht_tensor *x)
{
    return ht_retain(ht_full_ext(1, x->body->shape, HT_NUM(0), x->body->dtype, HT_NONE,
                                 ht__device_cpu(), HT_COMM_SELF));
}

/* The data of blocking exchanges; all ranks have the same values in it. */
static ht_value *shared_tensors(ht_daso *daso)
{
    ht_value *list = ht_value_list();

    ht_module_named_parameters(daso->model, add_parameter, list);
    daso->parameters = ht_value_count(list);
    ht_module_named_buffers(daso->model, add_buffer, list);
    daso->states = ht_value_count(list);
    if (daso->options.exchange_momentum)
        ht__daso_list_states(daso->optimizer, list);
    daso->shared = ht_value_count(list);
    return list;
}

static ht_status make_flight(ht_daso *daso, int64_t n)
{
    int64_t chunk = daso->options.sending_chunk_size;

    daso->flight.op_count = n > 0 ? (int)(1 + (n - 1) / chunk) : 0;
    daso->flight.ops = ht__alloc((size_t)daso->flight.op_count * sizeof(void *));
    daso->travelling = memory_like(daso->values);
    return daso->travelling != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static ht_status make_flat(const char *what, ht_daso *daso, const ht_value *list)
{
    daso->flat = ht__average_memory(what, daso->comm, list, daso->everyone);
    if (daso->flat == NULL)
        return ht_error_get(NULL);
    daso->values = ht_retain(
        ht_narrow(daso->flat->all, 0, 0, ht__flat_elements(daso->flat, daso->parameters)));
    return daso->values != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

/* The optimizers' state tensors are exchanged place by place. */
static ht_status make_states(const char *what, ht_daso *daso)
{
    int count = daso->optimizer->count;
    ht_status status = ht__comm_bcast_bytes(daso->comm, &count, sizeof count, 0, what);

    if (status == HT_SUCCESS && count != daso->optimizer->count)
        status = ht__error_set(HT_ERR_SHAPE,
                               "%s: the optimizer has %d parameters on rank 0 and %d on rank %d, "
                               "expected the same on all ranks",
                               what, count, daso->optimizer->count, daso->comm->rank);
    status = ht__agree(what, daso->comm, status);
    return status == HT_SUCCESS ? ht__daso_agree_states(what, daso, false) : status;
}

static ht_status make_buffers(const char *what, ht_daso *daso)
{
    ht_value *list;

    if (daso->options.exchange_momentum && make_states(what, daso) != HT_SUCCESS)
        return ht_error_get(NULL);
    list = shared_tensors(daso);
    if (make_flat(what, daso, list) != HT_SUCCESS ||
        make_flight(daso, ht__flat_elements(daso->flat, daso->parameters)) != HT_SUCCESS)
        return ht_error_get(NULL);
    if (daso->options.outer_lr > 0 && (daso->outer = memory_like(daso->values)) == NULL)
        return ht_error_get(NULL);
    if (!ht__daso_rounds(daso) && daso->options.outer_lr == 0)
        return HT_SUCCESS;
    daso->agreed = ht__flat_new(list, NULL);
    return daso->agreed != NULL ? ht__flat_gather(what, daso->agreed, daso->shared, NULL, NULL)
                                : ht_error_get(NULL);
}

ht_status ht__daso_buffers_init(const char *what, ht_daso *daso)
{
    ht_scope *scope = ht_scope_open();
    bool was = ht_set_grad_enabled(false);
    ht_status status = make_buffers(what, daso);

    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}

static void put_part(ht_flat_tensors *flat, int i, ht_tensor *part)
{
    if (flat == NULL || flat->parts[i] == part)
        return;
    ht_release(flat->parts[i]);
    flat->parts[i] = ht_retain(part);
}

/* Whether the memory is that of these state tensors, whichever they are. */
static bool fits(const ht_daso *daso, const ht_value *states)
{
    bool alike = ht_value_count(states) == daso->shared - daso->states;

    for (int i = 0; i < ht_value_count(states) && alike; i++)
        alike = ht__body_same_shape(ht_value_as_tensor(ht_value_at(states, i))->body,
                                    daso->flat->parts[daso->states + i]->body);
    return alike;
}

/* For state tensors that were added since, all ranks have agreed on zeros. */
static ht_status keep_agreed(ht_flat_tensors *agreed, const ht_flat_tensors *before)
{
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < agreed->count; i++) {
        for (int j = 0; j < before->count && status == HT_SUCCESS; j++) {
            if (agreed->parts[i] == before->parts[j])
                status = ht_copy_(agreed->views[i], before->views[j]);
        }
    }
    return status;
}

/* A momentum has begun, or a state was loaded from before it had. */
static ht_status make_flat_again(const char *what, ht_daso *daso)
{
    ht_flat_tensors *before = daso->agreed;
    ht_value *list = shared_tensors(daso);
    ht_status status;

    ht_release(daso->values);
    daso->values = NULL;
    ht__flat_free(daso->flat);
    status = make_flat(what, daso, list);
    if (status != HT_SUCCESS || before == NULL)
        return status;
    daso->agreed = ht__flat_new(list, NULL);
    status = daso->agreed != NULL ? keep_agreed(daso->agreed, before) : ht_error_get(NULL);
    ht__flat_free(before);
    return status;
}

ht_status ht__daso_renew_states(const char *what, ht_daso *daso, bool averaged)
{
    ht_value *list = ht_value_list();

    if (!daso->options.exchange_momentum)
        return HT_SUCCESS;
    if (ht__daso_agree_states(what, daso, averaged) != HT_SUCCESS)
        return ht_error_get(NULL);
    ht__daso_list_states(daso->optimizer, list);
    if (!fits(daso, list))
        return make_flat_again(what, daso);
    for (int i = 0; i < ht_value_count(list); i++) {
        put_part(daso->flat, daso->states + i, ht_value_as_tensor(ht_value_at(list, i)));
        put_part(daso->agreed, daso->states + i, ht_value_as_tensor(ht_value_at(list, i)));
    }
    return HT_SUCCESS;
}

void ht__daso_buffers_fini(ht_daso *daso)
{
    ht_daso_flight *flight = &daso->flight;

    for (int i = 0; i < flight->op_count; i++)
        ht__exchange_release(daso->groups.between, flight->ops[i]);
    ht__free(flight->ops);
    *flight = (ht_daso_flight){0};
    ht_release(daso->values);
    ht_release(daso->outer);
    ht_release(daso->travelling);
    ht__flat_free(daso->agreed);
    ht__flat_free(daso->flat);
    daso->values = daso->outer = daso->travelling = NULL;
    daso->flat = daso->agreed = NULL;
}
