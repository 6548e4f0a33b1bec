/* SPDX-License-Identifier: MIT
 *
 * The objects that DASO works on: the model and its wrapper, the length of an epoch, the loss
 * scaler. */
#include "ht/autograd.h"
#include "nn/parallel/daso/daso.h"
#include "nn/parallel/data/data_parallel.h"

#include <inttypes.h>

/* The model's trainable parameters against the optimizer's. */
struct census {
    const ht_optimizer *optimizer;
    const char *without; /* the first parameter that it has not */
    int known;
};

static void count_parameter(const char *name, ht_tensor *x, void *user)
{
    struct census *census = user;

    if (ht__optimizer_find(census->optimizer, x) >= 0)
        census->known++;
    else if (ht_tensor_requires_grad(x) && census->without == NULL)
        census->without = ht__name(name);
}

static ht_status check_model(const char *what, const ht_daso *daso, ht_module *model)
{
    struct census census = {.optimizer = daso->optimizer};

    if (model == NULL)
        return ht__error_set_null(what, "module");
    if (daso->flight.outstanding)
        return ht__error_set(HT_ERR_STATE, "%s: an exchange of the previous model is pending",
                             what);
    ht_module_named_parameters(model, count_parameter, &census);
    if (census.known < daso->optimizer->count)
        return ht__error_set(HT_ERR_ARGUMENT,
                             "%s: of the %d parameters of the %s optimizer, %d are not the "
                             "module's",
                             what, daso->optimizer->count, daso->optimizer->type->name,
                             daso->optimizer->count - census.known);
    if (census.without != NULL)
        return ht__error_set(
            HT_ERR_ARGUMENT,
            "%s: parameter %s of the module is not the %s optimizer's, which would "
            "not update it",
            what, census.without, daso->optimizer->type->name);
    return HT_SUCCESS;
}

/* Gradients that stay on their ranks are not divided by an exchange: they are means at once. */
static ht_status set_apart(ht_module *wrapper, bool apart)
{
    ht__dp_of(wrapper)->reducer->own_means = apart;
    return apart ? ht_data_parallel_no_sync_begin(wrapper) : ht_data_parallel_no_sync_end(wrapper);
}

void ht__daso_drop_model(ht_daso *daso)
{
    ht__daso_buffers_fini(daso);
    if (daso->skips_sync)
        set_apart(daso->wrapper, false);
    ht_release(daso->model);
    ht_release(daso->wrapper);
    daso->model = daso->wrapper = NULL;
    daso->skips_sync = false;
}

ht_status ht__daso_adopt(const char *what, ht_daso *daso, ht_module *model, ht_module *wrapper)
{
    ht_status status = ht__agree(what, daso->comm, check_model(what, daso, model));

    if (status != HT_SUCCESS)
        return status;
    ht__daso_drop_model(daso);
    daso->model = ht_retain(model);
    daso->wrapper = ht_retain(wrapper);
    status = ht__agree(what, daso->comm, ht__daso_buffers_init(what, daso));
    if (status == HT_SUCCESS)
        return ht__daso_prepare(daso);
    ht__daso_drop_model(daso);
    return status;
}

ht_status ht_daso_set_model(ht_daso *daso, ht_module *module)
{
    if (HT_IS_NULL(daso, "ht_daso_set_model", "daso"))
        return ht_error_get(NULL);
    return ht__daso_adopt("ht_daso_set_model", daso, module, NULL);
}

ht_status ht__daso_prepare(ht_daso *daso)
{
    int64_t batches = daso->batches > 0 ? daso->batches : INT64_MAX;
    bool skips_sync = !ht__daso_schedule_local_sync(&daso->schedule, daso->batch, batches);
    ht_status status = HT_SUCCESS;

    if (daso->wrapper == NULL)
        return HT_SUCCESS;
    if (skips_sync != daso->skips_sync)
        status = set_apart(daso->wrapper, skips_sync);
    daso->skips_sync = skips_sync;
    return status;
}

ht_status ht__daso_set_batches(const char *what, ht_daso *daso, int64_t batches)
{
    int64_t range[2] = {batches, -batches};
    ht_status status;

    if (HT_IS_NULL(daso, what, "daso"))
        return ht_error_get(NULL);
    status = ht__comm_allreduce_i64(daso->comm, range, 2, HT_OP_MIN, what);
    if (status != HT_SUCCESS)
        return status;
    if (range[0] != -range[1])
        return HT_FAIL(daso->comm, HT_ERR_ARGUMENT,
                       "%s: an epoch has between %" PRId64 " and %" PRId64
                       " batches on the ranks, expected the same number on all",
                       what, range[0], -range[1]);
    if (batches < 1)
        return HT_FAIL(daso->comm, HT_ERR_ARGUMENT,
                       "%s: last_batch is %" PRId64 ", expected an index of at least 0", what,
                       batches - 1);
    if (daso->batch > 0)
        return HT_FAIL(daso->comm, HT_ERR_STATE,
                       "%s: an epoch is in progress, and %" PRId64 " batches of it are done", what,
                       daso->batch);
    daso->batches = batches;
    return ht__daso_prepare(daso);
}

ht_status ht_daso_set_last_batch(ht_daso *daso, int64_t last_batch)
{
    return ht__daso_set_batches("ht_daso_set_last_batch", daso,
                                last_batch < INT64_MAX ? last_batch + 1 : last_batch);
}

ht_status ht_daso_add_scaler(ht_daso *daso, ht_optim_wrapper *wrapper)
{
    if (HT_IS_NULL(daso, "ht_daso_add_scaler", "daso"))
        return ht_error_get(NULL);
    if (wrapper != NULL && ht_optim_wrapper_optimizer(wrapper) != daso->optimizer)
        return HT_FAIL(daso->comm, HT_ERR_ARGUMENT,
                       "ht_daso_add_scaler: wrapper does not wrap the local optimizer");
    ht_retain(wrapper);
    ht_release(daso->scaler);
    daso->scaler = wrapper;
    daso->stepped = -1;
    daso->scaled = wrapper != NULL ? ht_optim_wrapper_last(wrapper).count : 0;
    return HT_SUCCESS;
}
