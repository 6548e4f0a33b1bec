/* SPDX-License-Identifier: MIT
 *
 * The mean of tensors over ranks. The tensors are copied one after another to a buffer, which
 * travels as one sum of the exchange engine, so that all ranks get the same bits. Its engine is not
 * the reducer's: passes of wrappers that are under way start operations at other times on each
 * rank. */
#include "core/tensor/graph.h"
#include "nn/parallel/daso/average_parameters.h"

#include <inttypes.h>

#include "core/exchange/exchange.h"
#include "ht/autograd.h"
#include "ht/averager.h"

static ht_status check_part(const char *what, ht_comm *comm, int index, const ht_value *item)
{
    const ht_tensor *part = ht_value_as_tensor(item);

    if (part == NULL)
        return HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: parameters[%d] is %s, expected a tensor", what,
                       index, ht__value_kind_name(item));
    if (part->body->split != HT_NONE && part->body->comm->size > 1)
        return HT_FAIL(comm, HT_ERR_ARGUMENT,
                       "%s: parameter %d is split along axis %d, expected a process-local tensor",
                       what, index, part->body->split);
    if (part->body->read_only)
        return HT_FAIL(comm, HT_ERR_ARGUMENT,
                       "%s: parameter %d is %s, expected a tensor that can be written", what, index,
                       ht__read_only_name(part->body));
    if (ht_is_grad_enabled() && ht__has_history(part))
        return HT_FAIL(comm, HT_ERR_STATE,
                       "%s: parameter %d is the result of a recorded operation, but an average "
                       "has no gradient",
                       what, index);
    if (!ht_dtype_is_floating(part->body->dtype))
        return HT_FAIL(comm, HT_ERR_DTYPE, "%s: parameter %d is %s, expected a floating dtype",
                       what, index, ht_dtype_name(part->body->dtype));
    return HT_SUCCESS;
}

/* The tensors of a list that take part, as a list: all, or those that are trained. NULL when one
 * cannot, or none is there. Scoped. */
static ht_value *select_parts(const char *what, ht_comm *comm, ht_value *parameters, bool trainable)
{
    ht_value *parts = ht_value_list();

    if (parameters == NULL) {
        if (ht_error_get(NULL) == HT_SUCCESS)
            HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: parameters is NULL", what);
        return NULL;
    }
    for (int i = 0; i < ht_value_count(parameters); i++) {
        ht_value *item = ht_value_at(parameters, i);

        if (check_part(what, comm, i, item) != HT_SUCCESS)
            return NULL;
        if (!trainable || ht_tensor_requires_grad(ht_value_as_tensor(item)))
            ht_value_append(parts, item);
    }
    if (ht_value_count(parts) > 0)
        return parts;
    HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: expected at least one %sparameter", what,
            trainable ? "trainable " : "");
    return NULL;
}

/* Whether memory (or NULL) is that of these tensors as they are now. */
static bool fits(const ht_flat_tensors *flat, const ht_value *parts)
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

/* Sums of different lengths would hang or fail, and memory is made by all ranks or by none. `parts`
 * NULL: this rank has failed with `mine`. *fit, whether memory fits here, becomes whether it does
 * on all ranks. */
static ht_status check_ranks(const char *what, ht_comm *comm, const ht_value *parts, ht_status mine,
                             bool *fit)
{
    enum { FAILED, ELEMENTS, DTYPE, FITS, FIELDS };
    int64_t row[FIELDS] = {parts == NULL}, *all = ht__alloc((size_t)comm->size * sizeof row);
    bool failed = false;
    ht_status status;

    if (parts != NULL) {
        ht_dtype dtype;

        row[ELEMENTS] = ht__flat_size(parts, &dtype);
        row[DTYPE] = dtype;
        row[FITS] = *fit;
    }
    status = ht__comm_allgather_i64(comm, row, FIELDS, all, what);
    *fit = true;
    for (int r = 0; r < comm->size; r++) {
        failed |= all[r * FIELDS + FAILED] != 0;
        *fit &= all[r * FIELDS + FITS] != 0;
    }
    if (status == HT_SUCCESS && failed)
        status = ht__agree(what, comm, mine);
    for (const int64_t *r = all; r < all + comm->size * FIELDS && status == HT_SUCCESS; r += FIELDS)
        if (r[ELEMENTS] != all[ELEMENTS] || r[DTYPE] != all[DTYPE])
            status = HT_FAIL(comm, HT_ERR_SHAPE,
                             "%s: the parameters have %" PRId64 " elements (%s) on rank 0, %" PRId64
                             " (%s) on rank %d, expected the same on all ranks",
                             what, all[ELEMENTS], ht_dtype_name((ht_dtype)all[DTYPE]), r[ELEMENTS],
                             ht_dtype_name((ht_dtype)r[DTYPE]), (int)((r - all) / FIELDS));
    ht__free(all);
    return status;
}

static ht_status make_memory(const char *what, ht_comm *comm, const ht_value *parts,
                             ht_exchange *exchange, ht_flat_tensors **flat)
{
    bool held = ht__error_hold(true);
    ht_status status;

    *flat = ht__flat_new(parts, exchange);
    status = *flat != NULL ? HT_SUCCESS : ht_error_get(NULL);
    ht__error_hold(held);
    status = ht__agree(what, comm, status);
    if (status == HT_SUCCESS)
        return status;
    ht__flat_free(*flat);
    *flat = NULL;
    return status;
}

ht_flat_tensors *ht__average_memory(const char *what, ht_comm *comm, const ht_value *parts,
                                    ht_exchange *exchange)
{
    ht_flat_tensors *flat;
    bool fit = false;

    if (check_ranks(what, comm, parts, HT_SUCCESS, &fit) != HT_SUCCESS ||
        make_memory(what, comm, parts, exchange, &flat) != HT_SUCCESS)
        return NULL;
    return flat;
}

ht_status ht__average_prepare(const char *what, ht_comm *comm, ht_value *parameters, bool trainable,
                              ht_exchange *exchange, ht_flat_tensors **flat)
{
    bool held = ht__error_hold(true), fit;
    ht_value *parts = select_parts(what, comm, parameters, trainable);
    ht_status status = parts != NULL ? HT_SUCCESS : ht_error_get(NULL);

    ht__error_hold(held);
    fit = parts != NULL && fits(*flat, parts);
    status = check_ranks(what, comm, parts, status, &fit);
    if (status != HT_SUCCESS || fit)
        return status;
    ht__flat_free(*flat);
    return make_memory(what, comm, parts, exchange, flat);
}

ht_status ht__average(const char *what, ht_flat_tensors *flat, ht_comm *comm)
{
    ht_exchange *exchange;
    ht_flat_average how;

    if (comm->size == 1)
        return HT_SUCCESS;
    exchange = ht__exchange_get(comm, HT_PURPOSE_AVERAGES);
    if (exchange == NULL)
        return ht_error_get(NULL);
    how = (ht_flat_average){
        .exchange = exchange, .ranks = comm->size, .wire = flat->all->body->dtype, .what = what};
    return ht__flat_average(flat, &how);
}

ht_status ht_average_parameters(ht_value *parameters, ht_comm *comm)
{
    static const char what[] = "ht_average_parameters";
    ht_flat_tensors *flat = NULL;
    ht_scope *scope;
    ht_status status;

    if (comm == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: comm is NULL", what);
    scope = ht_scope_open();
    status = ht__average_prepare(what, comm, parameters, false, NULL, &flat);
    if (status == HT_SUCCESS)
        status = ht__average(what, flat, comm);
    ht__flat_free(flat);
    ht_scope_close(scope);
    return status;
}
