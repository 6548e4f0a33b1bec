/* SPDX-License-Identifier: MIT
 *
 * The check of a normalised shape. */
#include "nn/functional/norm/row_norm.h"

static bool check_parameter(const char *what, const char *name, int ndim, const int64_t shape[],
                            const ht_tensor *x)
{
    if (x == NULL || ht__same_shape(ndim, shape, x->body->ndim, x->body->shape))
        return true;
    HT_FAIL(x->body->comm, HT_ERR_SHAPE, "%s: %s is %s, expected the normalised shape %s", what,
            name, ht__shape_str(x->body->ndim, x->body->shape), ht__shape_str(ndim, shape));
    return false;
}

bool ht__check_last_axes(const char *what, const ht_tensor *x, int ndim, const int64_t shape[],
                         const ht_tensor *weight, const ht_tensor *bias)
{
    const ht_body *body = x->body;
    const int leading = body->ndim - ndim;

    if (ndim < 1 || ndim > HT_MAX_NDIM) {
        HT_FAIL(body->comm, HT_ERR_ARGUMENT, "%s: ndim is %d, expected 1 to %d", what, ndim,
                HT_MAX_NDIM);
        return false;
    }
    if (HT_IS_NULL(shape, what, "shape"))
        return false;
    if (leading < 0 || !ht__same_shape(ndim, shape, ndim, body->shape + leading)) {
        HT_FAIL(body->comm, HT_ERR_SHAPE, "%s: x is %s, expected last axes of %s", what,
                ht__shape_str(body->ndim, body->shape), ht__shape_str(ndim, shape));
        return false;
    }
    if (body->split != HT_NONE && body->split >= leading) {
        HT_FAIL(body->comm, HT_ERR_ARGUMENT,
                "%s: x is split along axis %d, expected a split of an axis that is not normalised",
                what, body->split);
        return false;
    }
    return check_parameter(what, "weight", ndim, shape, weight) &&
           check_parameter(what, "bias", ndim, shape, bias);
}
