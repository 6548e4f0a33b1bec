/* SPDX-License-Identifier: MIT
 *
 * Helpers of updates by operations. */
#include "ht/arithmetics.h"
#include "optim/rules/rule.h"

ht_tensor *ht__optim_lerp(ht_tensor *start, ht_tensor *end, double weight)
{
    ht_tensor *way = ht_sub(end, start);

    return weight < 0.5 ? ht_add(start, ht_mul_scalar(way, weight))
                        : ht_sub(end, ht_mul_scalar(way, 1 - weight));
}

ht_status ht__optim_set(int count, ht_tensor *const old[], ht_tensor *const values[])
{
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < count; i++) {
        if (values[i] == NULL)
            return ht_error_get(NULL);
    }
    for (int i = 0; i < count && status == HT_SUCCESS; i++)
        status = ht_copy_(old[i], values[i]);
    return status;
}
