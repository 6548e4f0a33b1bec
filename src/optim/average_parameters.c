/* SPDX-License-Identifier: MIT
 *
 * The mean of tensors over ranks: side by side in one buffer, which travels as one sum of the
 * exchange engine, so that all ranks get the same bits. */
#include "average_parameters.h"

#include <inttypes.h>

#include "core/exchange.h"
#include "ht/autograd.h"
#include "ht/averager.h"

static ht_status check_part(const char *what, ht_comm *comm, int index, const ht_tensor *part)
{
    if (part == NULL)
        return HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: parameter %d is not a tensor", what, index);
    if (part->body->split != HT_NONE && part->body->comm->size > 1)
        return HT_FAIL(comm, HT_ERR_ARGUMENT,
                       "%s: parameter %d is split along axis %d, it must be process-local", what,
                       index, part->body->split);
    if (!ht_dtype_is_floating(part->body->dtype))
        return HT_FAIL(comm, HT_ERR_DTYPE, "%s: parameter %d is %s, a floating dtype is needed",
                       what, index, ht_dtype_name(part->body->dtype));
    return HT_SUCCESS;
}

ht_value *ht__average_select(const char *what, ht_comm *comm, ht_value *parameters, bool trainable)
{
    ht_value *parts = ht_value_list();

    if (parameters == NULL) {
        if (ht_error_get(NULL) == HT_SUCCESS)
            HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: the list of parameters is NULL", what);
        return NULL;
    }
    for (int i = 0; i < ht_value_count(parameters); i++) {
        ht_value *item = ht_value_at(parameters, i);
        ht_tensor *part = ht_value_as_tensor(item);

        if (check_part(what, comm, i, part) != HT_SUCCESS)
            return NULL;
        if (!trainable || ht_tensor_requires_grad(part))
            ht_value_append(parts, item);
    }
    if (ht_value_count(parts) > 0)
        return parts;
    HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: there is no %sparameter", what,
            trainable ? "trainable " : "");
    return NULL;
}

bool ht__average_fits(const ht_flat_tensors *flat, const ht_value *parts)
{
    if (flat == NULL || flat->count != ht_value_count(parts))
        return false;
    for (int i = 0; i < flat->count; i++) {
        ht_tensor *part = ht_value_as_tensor(ht_value_at(parts, i));

        if (flat->parts[i] != part || part->body->lsize != flat->views[i]->body->lsize ||
            (part->body->dtype == HT_FLOAT64 && flat->all->body->dtype != HT_FLOAT64))
            return false;
    }
    return true;
}

/* Sums of different lengths would never end, or not well. */
static ht_status check_ranks(const char *what, ht_comm *comm, const ht_flat_tensors *flat)
{
    int64_t mine[2] = {0, 0}, *all = ht__alloc((size_t)comm->size * sizeof mine);
    ht_status status;

    if (flat != NULL) {
        mine[0] = flat->all->body->lsize;
        mine[1] = flat->all->body->dtype;
    }
    status = ht__comm_allgather_i64(comm, mine, 2, all, what);
    for (int r = 1; r < comm->size && status == HT_SUCCESS; r++) {
        if (all[2 * r] != all[0] || all[2 * r + 1] != all[1])
            status = HT_FAIL(comm, HT_ERR_SHAPE,
                             "%s: the parameters have %" PRId64 " elements (%s) on rank 0, %" PRId64
                             " (%s) on rank %d",
                             what, all[0], ht_dtype_name((ht_dtype)all[1]), all[2 * r],
                             ht_dtype_name((ht_dtype)all[2 * r + 1]), r);
    }
    ht__free(all);
    return status;
}

ht_flat_tensors *ht__average_memory(const char *what, ht_comm *comm, const ht_value *parts,
                                    ht_exchange *exchange)
{
    ht_flat_tensors *flat = ht__flat_new(parts, exchange);

    if (check_ranks(what, comm, flat) == HT_SUCCESS && flat != NULL)
        return flat;
    ht__flat_free(flat);
    return NULL;
}

ht_status ht__average(const char *what, ht_flat_tensors *flat, ht_comm *comm)
{
    ht_exchange *exchange;
    ht_flat_average how;

    if (comm->size == 1)
        return HT_SUCCESS;
    exchange = ht__exchange_get(comm, HT_PURPOSE_REDUCER);
    if (exchange == NULL)
        return ht_error_get(NULL);
    how = (ht_flat_average){
        .exchange = exchange, .ranks = comm->size, .wire = flat->all->body->dtype, .what = what};
    return ht__flat_average(flat, &how);
}

ht_status ht_average_parameters(ht_value *parameters, ht_comm *comm)
{
    static const char what[] = "ht_average_parameters";
    ht_scope *scope = ht_scope_open();
    ht_value *parts;
    ht_flat_tensors *flat = NULL;
    ht_status status = HT_SUCCESS;

    if (comm == NULL)
        status = HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: the communicator is NULL", what);
    parts = status == HT_SUCCESS ? ht__average_select(what, comm, parameters, false) : NULL;
    if (parts != NULL)
        flat = ht__average_memory(what, comm, parts, NULL);
    status = flat != NULL ? ht__average(what, flat, comm) : ht_error_get(NULL);
    ht__flat_free(flat);
    ht_scope_close(scope);
    return status;
}
