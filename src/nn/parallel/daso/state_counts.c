/* SPDX-License-Identifier: MIT
 *
 * Integer buffers in DASO's state, such as num_batches_tracked. Ranks do not average them, so each
 * rank has a row of its own: all elements, one buffer after another, as int64. */
#include "nn/parallel/daso/daso.h"
#include "nn/parallel/daso/state.h"

#include "ht/array.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "ht/tensor.h"

const char ht__daso_counts[] = "integer_buffers";

static void add_integers(const char *name, ht_tensor *x, void *list)
{
    const ht_dtype dtype = x->body->dtype;

    (void)name;
    if (!ht_dtype_is_floating(dtype) && !ht_dtype_is_complex(dtype))
        ht_value_append(list, ht_value_tensor(x));
}

static ht_value *integer_buffers(const ht_daso *daso)
{
    ht_value *list = ht_value_list();

    ht_module_named_buffers(daso->model, add_integers, list);
    return list;
}

static int64_t elements_of(const ht_value *list)
{
    int64_t n = 0;

    for (int i = 0; i < ht_value_count(list); i++)
        n += ht_tensor_size(ht_value_as_tensor(ht_value_at(list, i)));
    return n;
}

int64_t ht__daso_count_elements(const ht_daso *daso)
{
    return elements_of(integer_buffers(daso));
}

ht_status ht__daso_save_counts(const ht_daso *daso, ht_value *map)
{
    const ht_value *list = integer_buffers(daso);
    const int64_t n = elements_of(list);
    int64_t *row, *at;
    ht_status status = HT_SUCCESS;

    if (n == 0)
        return HT_SUCCESS;
    at = row = ht__alloc((size_t)n * sizeof *row);
    for (int i = 0; i < ht_value_count(list) && status == HT_SUCCESS; i++) {
        ht_tensor *x = ht_value_as_tensor(ht_value_at(list, i));

        status = ht_tensor_to_array(x, at, ht_tensor_size(x), HT_INT64);
        at += ht_tensor_size(x);
    }
    if (status == HT_SUCCESS) {
        ht_value *rows = ht__daso_rows(daso, row, n, HT_INT64);

        if (rows != NULL)
            ht_value_set(map, ht__daso_counts, rows);
        else
            status = ht_error_get(NULL);
    }
    ht__free(row);
    return status;
}

static ht_status take(ht_tensor *x, const int64_t *elements)
{
    const ht_body *body = x->body;
    ht_tensor *loaded = ht_array(elements, body->ndim, body->shape, HT_INT64, HT_LOCAL);

    return ht_copy_(x, ht_to_device(ht_astype(loaded, body->dtype), body->storage->device));
}

ht_status ht__daso_load_counts(const ht_daso *daso, const ht_value *state)
{
    const ht_value *list = integer_buffers(daso);
    ht_status status = HT_SUCCESS;
    ht_tensor *row;
    const int64_t *at;

    if (ht_value_get(state, ht__daso_counts) == NULL)
        return HT_SUCCESS;
    row = ht_contiguous(ht_astype(ht__daso_row_of(daso, state, ht__daso_counts, true), HT_INT64));
    if (row == NULL)
        return ht_error_get(NULL);
    at = ht_tensor_data(row);
    for (int i = 0; i < ht_value_count(list) && status == HT_SUCCESS; i++) {
        ht_tensor *x = ht_value_as_tensor(ht_value_at(list, i));

        status = take(x, at);
        at += ht_tensor_size(x);
    }
    return status;
}
