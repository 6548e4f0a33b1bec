/* SPDX-License-Identifier: MIT
 *
 * A range of one axis. */
#include "core/ops/indexing/key.h"
#include "ht/manipulations.h"

ht_tensor *ht_narrow(ht_tensor *x, int axis, int64_t start, int64_t stop)
{
    ht_index key[HT_MAX_NDIM];

    if (HT_IS_NULL(x, "ht_narrow", "x") || !ht__check_axis("ht_narrow", x, &axis))
        return NULL;
    if (start < 0 || stop < start || stop > x->body->shape[axis]) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                "ht_narrow: [%lld, %lld) is out of range for axis %d of x of shape %s",
                (long long)start, (long long)stop, axis,
                ht__shape_str(x->body->ndim, x->body->shape));
        return NULL;
    }
    for (int i = 0; i < axis; i++)
        key[i] = HT_ALL;
    key[axis] = ht_slice(start, stop);
    return ht__getitem_plain("ht_narrow", x, axis + 1, key);
}
