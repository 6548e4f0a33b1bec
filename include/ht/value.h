/* SPDX-License-Identifier: MIT
 *
 * ht_value: what flows through modules, hooks, collate and gather: a tensor, a number, a list of
 * values, or a map from strings to values. Values are counted; constructors return scoped values
 * (ht/object.h) and retain what they are given. NULL operands give NULL. Not collective. */
#ifndef HT_VALUE_H
#define HT_VALUE_H

#include "ht/error.h"

HT_BEGIN_DECLS

typedef enum ht_value_kind {
    HT_VALUE_NONE,
    HT_VALUE_TENSOR,
    HT_VALUE_NUMBER,
    HT_VALUE_LIST,
    HT_VALUE_MAP
} ht_value_kind;

HT_API ht_value *ht_value_tensor(ht_tensor *tensor);
HT_API ht_value *ht_value_number(double number);
HT_API ht_value *ht_value_list(void);
HT_API ht_value *ht_value_map(void);

/* A list of `count` tensors. */
HT_API ht_value *ht_value_tensors(int count, ht_tensor *const tensors[]);

HT_API ht_value_kind ht_value_get_kind(const ht_value *value); /* NONE for NULL */

/* The tensor (borrowed) or number inside; NULL and 0 when the value is of another kind. */
HT_API ht_tensor *ht_value_as_tensor(const ht_value *value);
HT_API double ht_value_as_number(const ht_value *value);

/* Lists and maps. `item` is retained. append: HT_ERR_ARGUMENT when `list` is none; set replaces. */
HT_API int ht_value_count(const ht_value *value);
HT_API ht_status ht_value_append(ht_value *list, ht_value *item);
HT_API ht_value *ht_value_at(const ht_value *value,
                             int index); /* list item or map item; borrowed */
HT_API ht_status ht_value_set(ht_value *map, const char *key, ht_value *item);
HT_API ht_value *ht_value_get(const ht_value *map,
                              const char *key);                  /* borrowed; NULL when absent */
HT_API const char *ht_value_key(const ht_value *map, int index); /* in order of insertion */

HT_END_DECLS
#endif
