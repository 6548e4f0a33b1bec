/* SPDX-License-Identifier: MIT
 *
 * DASO's state. Values that all ranks share are numbers; values that differ between ranks are rows
 * of tensors that are split over the ranks. Parameters are rows only in the middle of a cycling
 * epoch, when they differ; the optimizer's state and integer buffers always may. */
#include "core/ops/ops.h"
#include "nn/parallel/daso/daso.h"
#include "nn/parallel/daso/state.h"
#include "nn/parallel/data/data_parallel.h"

#include "ht/autograd.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "ht/tensor.h"

const ht_daso_number ht__daso_numbers[HT_DASO_NUMBERS] = {
    {"epoch", offsetof(ht_daso, schedule.epoch)},
    {"global_skip", offsetof(ht_daso, schedule.global_skip)},
    {"local_skip", offsetof(ht_daso, schedule.local_skip)},
    {"wait", offsetof(ht_daso, schedule.wait)},
    {"batch", offsetof(ht_daso, batch)},
    {"batches", offsetof(ht_daso, batches)},
    {"sends", offsetof(ht_daso, sends)},
    {"updates", offsetof(ht_daso, updates)},
};

static ht_status add_parameters(ht_daso *daso, ht_value *map)
{
    ht_status status;

    if (daso->outer != NULL)
        ht_value_set(map, "outer", ht_value_tensor(ht_copy(daso->outer)));
    if (!ht__daso_skips_sync(daso->schedule.global_skip, daso->batch, daso->batches))
        return HT_SUCCESS;
    status = ht__flat_gather("ht_daso_state_dict", daso->flat, daso->shared, NULL, NULL);
    if (status != HT_SUCCESS)
        return status;
    ht_value_set(map, "values", ht__daso_flat_rows(daso, daso->flat));
    if (daso->agreed != NULL)
        ht_value_set(map, "agreed", ht_value_tensor(ht_copy(daso->agreed->all)));
    return HT_SUCCESS;
}

static ht_value *nodes_of_ranks(const ht_daso *daso)
{
    int64_t ranks = daso->comm->size;

    return ht_value_tensor(ht_array(daso->groups.node_of, 1, &ranks, HT_FLOAT64, HT_LOCAL));
}

ht_value *ht_daso_state_dict(ht_daso *daso)
{
    ht_scope *scope;
    ht_value *map;
    ht_status status;
    bool was;

    if (HT_IS_NULL(daso, "ht_daso_state_dict", "daso"))
        return NULL;
    if (daso->model == NULL) {
        HT_FAIL(daso->comm, HT_ERR_STATE, "ht_daso_state_dict: the model is missing");
        return NULL;
    }
    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    map = ht_value_map();
    status = ht__daso_receive(daso);
    if (status == HT_SUCCESS)
        status = ht__daso_renew_states("ht_daso_state_dict", daso, false);
    for (int i = 0; i < HT_DASO_NUMBERS; i++)
        ht_value_set(map, ht__daso_numbers[i].name,
                     ht_value_number((double)*ht__daso_number(daso, i)));
    ht_value_set(map, "ranks", ht_value_number(daso->comm->size));
    ht_value_set(map, "nodes", nodes_of_ranks(daso));
    ht_value_set(map, "elements", ht_value_number((double)daso->values->body->lsize));
    ht_value_set(map, "detector", ht_plateau_detector_get_state(daso->schedule.detector));
    if (daso->wrapper != NULL)
        ht_value_set(map, "buffers_current",
                     ht_value_number(ht__dp_of(daso->wrapper)->buffers_current));
    if (status == HT_SUCCESS)
        status = add_parameters(daso, map);
    if (status == HT_SUCCESS)
        status = ht__daso_save_counts(daso, map);
    if (status == HT_SUCCESS)
        status = ht__daso_save_optimizer(daso, map);
    ht_set_grad_enabled(was);
    return ht_scope_return(scope, status == HT_SUCCESS ? ht__value_complete(map) : NULL);
}
