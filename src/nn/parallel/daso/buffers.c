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

ht_status ht__daso_add_states(ht_optimizer *optimizer, bool resting, ht_value *list)
{
    for (int i = 0; i < optimizer->count; i++) {
        const ht_optimizer_entry *entry = &optimizer->entries[i];
        const ht_update_call *settings = &optimizer->groups[entry->group].settings;

        if (ht__optimizer_make_state(optimizer, i, settings) != HT_SUCCESS)
            return ht_error_get(NULL);
        for (int s = 0; s < HT_OPTIMIZER_STATES; s++) {
            if (entry->state[s] != NULL &&
                (resting || ht__optimizer_uses(optimizer->type, settings, s)))
                ht_value_append(list, ht_value_tensor(entry->state[s]));
        }
    }
    return HT_SUCCESS;
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
    if (daso->options.exchange_momentum &&
        ht__daso_add_states(daso->optimizer, true, list) != HT_SUCCESS)
        return NULL;
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

static ht_status make_buffers(const char *what, ht_daso *daso)
{
    ht_value *list = shared_tensors(daso);
    int64_t n;

    if (ht__agree(what, daso->comm, list != NULL ? HT_SUCCESS : ht_error_get(NULL)) != HT_SUCCESS)
        return ht_error_get(NULL);
    daso->flat = ht__average_memory(what, daso->comm, list, daso->everyone);
    if (daso->flat == NULL)
        return ht_error_get(NULL);
    n = ht__flat_elements(daso->flat, daso->parameters);
    daso->values = ht_retain(ht_narrow(daso->flat->all, 0, 0, n));
    if (daso->values == NULL || make_flight(daso, n) != HT_SUCCESS)
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

ht_status ht__daso_renew_states(const char *what, ht_daso *daso)
{
    ht_value *list;

    if (!daso->options.exchange_momentum)
        return HT_SUCCESS;
    list = ht_value_list();
    if (ht__daso_add_states(daso->optimizer, true, list) != HT_SUCCESS)
        return ht_error_get(NULL);
    if (ht_value_count(list) != daso->shared - daso->states)
        return HT_FAIL(daso->comm, HT_ERR_STATE,
                       "%s: the optimizer keeps %d tensors, but kept %d when the model was set",
                       what, ht_value_count(list), daso->shared - daso->states);
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
