/* SPDX-License-Identifier: MIT
 *
 * A tensor of one element as a number, on all ranks. */
#include <math.h>
#include <string.h>

#include "core/ops/ops.h"

/* The rank that holds the one element of a split tensor of size 1. */
static int owner_of_element(const ht_body *body)
{
    int rank = 0;

    while (body->split != HT_NONE && ht__body_start(body, rank + 1) < 1)
        rank++;
    return rank;
}

/* Its bytes, as `dtype`, on the rank that has it. */
static ht_status read_element(const char *what, ht_tensor *x, ht_dtype dtype, void *element)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *host;
    ht_status status;

    ht__compare_pause(1); /* the other ranks do not come here */
    host = ht__on_host(what, x, dtype);
    ht__compare_pause(-1);
    status = host != NULL ? HT_SUCCESS : ht_error_get(NULL);

    if (host != NULL)
        memcpy(element, ht_tensor_data(host), ht_dtype_size(dtype));
    ht_scope_close(scope);
    return status;
}

static ht_number number_of(ht_dtype dtype, const void *element)
{
    double parts[2];
    int64_t integer;

    if (dtype == HT_INT64) {
        memcpy(&integer, element, sizeof integer);
        return ht_number_integer(integer);
    }
    memcpy(parts, element, ht_dtype_size(dtype));
    return dtype == HT_FLOAT64 ? ht_number_real(parts[0]) : ht_number_complex(parts[0], parts[1]);
}

static ht_status item(const char *what, ht_tensor *x, ht_number *value)
{
    double element[2] = {0}; /* or the bytes of an int64 */
    ht_dtype dtype;
    ht_status status = HT_SUCCESS;

    if (HT_IS_NULL(x, what, "x") || HT_IS_NULL_ON(x->body->comm, value, what, "value"))
        return ht_error_get(NULL);
    if (ht_tensor_size(x) != 1)
        return HT_FAIL(x->body->comm, HT_ERR_SHAPE, "%s: x is %s, expected one element", what,
                       ht__shape_str(x->body->ndim, x->body->shape));
    dtype = ht__dtype_widest(x->body->dtype);
    if (x->body->lsize == 1)
        status = read_element(what, x, dtype, element);
    if (status == HT_SUCCESS && x->body->split != HT_NONE)
        status = ht__comm_bcast_bytes(x->body->comm, element, sizeof element,
                                      owner_of_element(x->body), what);
    if (status == HT_SUCCESS)
        *value = number_of(dtype, element);
    return status;
}

ht_status ht__item(const char *what, ht_tensor *x, double *value)
{
    ht_number number;
    ht_status status;

    if (HT_IS_NULL(x, what, "x") || HT_IS_NULL_ON(x->body->comm, value, what, "value"))
        return ht_error_get(NULL);
    if (ht_dtype_is_complex(x->body->dtype))
        return HT_FAIL(x->body->comm, HT_ERR_DTYPE,
                       "%s: x is %s, which a double cannot hold; use %s_ext", what,
                       ht_dtype_name(x->body->dtype), what);
    status = item(what, x, &number);
    if (status == HT_SUCCESS)
        *value = number.real;
    return status;
}

ht_status ht_tensor_item(ht_tensor *x, double *value)
{
    return ht__item("ht_tensor_item", x, value);
}

ht_status ht_tensor_item_ext(ht_tensor *x, ht_number *value)
{
    return item("ht_tensor_item_ext", x, value);
}

double ht_item(ht_tensor *x)
{
    double value;

    return ht__item("ht_item", x, &value) == HT_SUCCESS ? value : NAN;
}

ht_number ht_item_ext(ht_tensor *x)
{
    ht_number value;

    return item("ht_item_ext", x, &value) == HT_SUCCESS ? value : ht_number_real(NAN);
}
