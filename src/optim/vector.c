/* SPDX-License-Identifier: MIT
 *
 * The parameters of a list as one vector, and back. */
#include "optim/optim.h"

#include "ht/autograd.h"
#include "ht/manipulations.h"

/* The entries of the list, which the caller frees; NULL after an error. */
static ht_tensor **tensors_of(const char *what, ht_value *list, int *count)
{
    ht_tensor **all;

    *count = ht_value_count(list);
    if (list == NULL && ht_error_get(NULL) != HT_SUCCESS)
        return NULL;
    if (*count == 0) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: parameters is empty, expected at least one tensor",
                what);
        return NULL;
    }
    all = ht__alloc((size_t)*count * sizeof *all);
    for (int i = 0; i < *count; i++) {
        all[i] = ht_value_as_tensor(ht_value_at(list, i));
        if (all[i] == NULL) {
            HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: parameters[%d] is %s, expected a tensor", what, i,
                    ht__value_kind_name(ht_value_at(list, i)));
            ht__free(all);
            return NULL;
        }
    }
    return all;
}

ht_tensor *ht_parameters_to_vector(ht_value *parameters)
{
    int count;
    static const char what[] = "ht_parameters_to_vector";
    ht_tensor **all = tensors_of(what, parameters, &count), *vector;

    if (all == NULL)
        return NULL;
    for (int i = 0; i < count; i++)
        all[i] = ht_tensor_ndim(all[i]) == 0 ? ht_expand_dims(all[i], 0) : ht_flatten(all[i], 0);
    HT_NAMED(what);
    vector = ht_concatenate(count, all, 0);
    ht__free(all);
    return vector;
}

/* Each parameter takes the elements that follow those of the one before. */
static ht_status distribute(ht_tensor *vector, int count, ht_tensor *const parameters[])
{
    ht_status status = HT_SUCCESS;
    int64_t begin = 0;

    for (int i = 0; i < count && status == HT_SUCCESS; i++) {
        const ht_body *body = parameters[i]->body;
        const int64_t end = begin + ht_tensor_size(parameters[i]);

        status = ht_copy_(parameters[i],
                          ht_reshape(ht_narrow(vector, 0, begin, end), body->ndim, body->shape));
        begin = end;
    }
    return status;
}

static ht_status check_vector(const char *what, const ht_tensor *vector, int count,
                              ht_tensor *const parameters[])
{
    int64_t size = 0;

    for (int i = 0; i < count; i++)
        size += ht_tensor_size(parameters[i]);
    if (vector->body->ndim == 1 && vector->body->shape[0] == size)
        return HT_SUCCESS;
    return HT_FAIL(vector->body->comm, HT_ERR_SHAPE,
                   "%s: vector is %s, expected (%lld), the elements of all parameters", what,
                   ht__shape_str(vector->body->ndim, vector->body->shape), (long long)size);
}

ht_status ht_vector_to_parameters(ht_tensor *vector, ht_value *parameters)
{
    static const char what[] = "ht_vector_to_parameters";
    ht_tensor **all;
    ht_scope *scope;
    ht_status status;
    bool was;
    int count;

    if (HT_IS_NULL(vector, what, "vector"))
        return ht_error_get(NULL);
    all = tensors_of(what, parameters, &count);
    if (all == NULL)
        return ht_error_get(NULL);
    status = check_vector(what, vector, count, all);
    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    HT_NAMED(what);
    if (status == HT_SUCCESS)
        status = distribute(vector, count, all);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    ht__free(all);
    return status;
}
