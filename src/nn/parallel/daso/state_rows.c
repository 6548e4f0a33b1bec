/* SPDX-License-Identifier: MIT
 *
 * Tensors in DASO's state: rows that are each rank's own, and values that all ranks have. */
#include "nn/parallel/daso/state.h"

#include "ht/factories.h"
#include "ht/manipulations.h"
#include "ht/statistics.h"
#include "ht/tensor.h"

ht_value *ht__daso_rows(const ht_daso *daso, const void *mine, int64_t n, ht_dtype dtype)
{
    int64_t shape[2] = {1, n};

    return ht_value_tensor(
        ht_array_from_local_ext(mine, 2, shape, dtype, 0, ht_get_device(), daso->comm));
}

ht_value *ht__daso_flat_rows(const ht_daso *daso, const ht_flat_tensors *flat)
{
    const ht_body *all = flat->all->body;

    return ht__daso_rows(daso, ht__flat_data(flat), all->lsize, all->dtype);
}

/* Where `flat` memory is: loaded tensors are on the current device. */
static ht_tensor *on_host(ht_tensor *x)
{
    return x != NULL ? ht_to_device(x, ht__device_cpu()) : NULL;
}

ht_tensor *ht__daso_whole(const ht_value *state, const char *name)
{
    return on_host(ht_value_as_tensor(ht_value_get(state, name)));
}

const double *ht__daso_saved_nodes(const ht_value *state)
{
    return ht_tensor_data(ht_contiguous(ht_astype(ht__daso_whole(state, "nodes"), HT_FLOAT64)));
}

bool ht__daso_is_same_job(const ht_daso *daso, const ht_value *state)
{
    return ht__daso_same_layout(daso, ht__daso_saved_nodes(state),
                                (int64_t)ht_value_as_number(ht_value_get(state, "ranks")));
}

ht_tensor *ht__daso_row_of(const ht_daso *daso, const ht_value *state, const char *name, bool most)
{
    ht_tensor *x = ht_value_as_tensor(ht_value_get(state, name));

    if (!ht__daso_is_same_job(daso, state))
        x = ht_tensor_local(ht_resplit(most ? ht_max(x, 0) : ht_mean(x, 0), HT_NONE));
    else if (x->body->comm->size == 1)
        x = ht_flatten(ht_narrow(x, 0, daso->comm->rank, daso->comm->rank + 1), 0);
    else
        x = ht_flatten(ht_tensor_local(ht_resplit(x, 0)), 0);
    return on_host(x);
}
