/* SPDX-License-Identifier: MIT
 *
 * A batch as a value, for steps and modules that take values. */
#include "utils/data/data.h"

ht_value *ht_batch_value(const ht_batch *batch)
{
    static const char what[] = "ht_batch_value";
    ht_value *map, *arrays;

    if (HT_IS_NULL(batch, what, "batch") || HT_IS_NULL(batch->data, what, "batch.data"))
        return NULL;
    map = ht_value_map();
    arrays = ht_value_list();
    ht_value_set(map, "data", ht_value_tensor(batch->data));
    if (batch->target != NULL)
        ht_value_set(map, "target", ht_value_tensor(batch->target));
    for (int i = 2; i < batch->count; i++)
        ht_value_append(arrays, ht_value_tensor(batch->arrays[i]));
    if (batch->count > 2)
        ht_value_set(map, "more", arrays);
    return map;
}
