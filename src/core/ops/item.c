/* SPDX-License-Identifier: MIT
 *
 * A tensor of one element as a number, on all ranks. */
#include <math.h>
#include <string.h>

#include "core/core.h"

/* The rank that holds the one element of a split tensor of size 1. */
static int owner_of_element(const ht_body *body)
{
    int rank = 0;

    while (body->split != HT_NONE && ht__body_start(body, rank + 1) < 1)
        rank++;
    return rank;
}

/* Its 8 bytes, as float64 or int64, on the rank that has it. */
static ht_status read_element(ht_tensor *x, ht_dtype dtype, void *element)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *host;
    ht_status status;

    ht__compare_pause(1); /* the other ranks do not come here */
    host = ht__on_host(x, dtype);
    ht__compare_pause(-1);
    status = host != NULL ? HT_SUCCESS : ht_error_get(NULL);

    if (host != NULL)
        memcpy(element, ht_tensor_data(host), sizeof(int64_t));
    ht_scope_close(scope);
    return status;
}

static ht_status item(const char *what, ht_tensor *x, ht_dtype dtype, void *value)
{
    int64_t element = 0; /* or the bytes of a double */
    ht_status status = HT_SUCCESS;

    if (HT_IS_NULL(x, what, "x") || HT_IS_NULL(value, what, "the place of the value"))
        return ht_error_get(NULL);
    if (ht_tensor_size(x) != 1)
        return HT_FAIL(x->body->comm, HT_ERR_SHAPE, "%s: expected one element, x is %s", what,
                       ht__shape_str(x->body->ndim, x->body->shape));
    if (ht_dtype_is_complex(x->body->dtype))
        return HT_FAIL(x->body->comm, HT_ERR_DTYPE, "%s: x is %s: no one number", what,
                       ht_dtype_name(x->body->dtype));
    if (dtype == HT_INT64 && ht_dtype_is_floating(x->body->dtype))
        return HT_FAIL(x->body->comm, HT_ERR_DTYPE, "%s: x is %s, an integer dtype is needed", what,
                       ht_dtype_name(x->body->dtype));
    if (x->body->lsize == 1)
        status = read_element(x, dtype, &element);
    if (status == HT_SUCCESS && x->body->split != HT_NONE)
        status = ht__comm_bcast_bytes(x->body->comm, &element, sizeof element,
                                      owner_of_element(x->body), what);
    if (status == HT_SUCCESS)
        memcpy(value, &element, sizeof element);
    return status;
}

ht_status ht_tensor_item(ht_tensor *x, double *value)
{
    return item("ht_tensor_item", x, HT_FLOAT64, value);
}

ht_status ht_tensor_item_i64(ht_tensor *x, int64_t *value)
{
    return item("ht_tensor_item_i64", x, HT_INT64, value);
}

int64_t ht_item_i64(ht_tensor *x)
{
    int64_t value;

    return item("ht_item_i64", x, HT_INT64, &value) == HT_SUCCESS ? value : INT64_MIN;
}

double ht_item(ht_tensor *x)
{
    double value;

    return item("ht_item", x, HT_FLOAT64, &value) == HT_SUCCESS ? value : NAN;
}
