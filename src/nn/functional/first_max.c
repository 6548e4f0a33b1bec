/* SPDX-License-Identifier: MIT
 *
 * The maximum along an axis: the element at argmax is chosen, all others count as 0. */
#include "nn/functional/first_max.h"

#include "core/tensor/tensor.h"
#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/manipulations.h"
#include "ht/relational.h"
#include "ht/statistics.h"

ht_tensor *ht__first_max(ht_tensor *x, int axis)
{
    ht_reduce_options options = ht_reduce_options_default();
    int64_t shape[HT_MAX_NDIM];
    ht_tensor *places;

    if (x == NULL || !ht__check_axis("ht__first_max", x, &axis))
        return NULL;
    for (int i = 0; i < x->body->ndim; i++)
        shape[i] = i == axis ? x->body->shape[axis] : 1;
    places = ht_arange_ext(HT_NUM(0), HT_NUM(shape[axis]), HT_NUM(1), HT_INT64, HT_NONE,
                           x->body->storage->device, x->body->comm);
    options.axes = &axis;
    options.count = 1;
    options.keepdims = true;
    return ht_sum(
        ht_where(ht_eq(ht_reshape(places, x->body->ndim, shape), ht_argmax_ext(x, &options)), x,
                 ht_scalar(0)),
        axis);
}
