/* SPDX-License-Identifier: MIT
 *
 * ht_value: a tensor, a number, a list of values, or a map from strings to values. Modules, hooks,
 * collate functions and gathers pass values on.
 *
 * Values are counted. Constructors retain their arguments. No call here is collective.
 * Result: constructors return scoped values (ht/object.h).
 *
 * ht_value_append, ht_value_set and ht_value_tensors report a NULL operand (ht/error.h). All other
 * calls record no error: for NULL, or a value of another kind, they return what their comments say.
 *
 * States: objects save what a run needs to resume as a value, mostly a map
 * (ht_optimizer_state_dict, ...), and load it from one. A NULL state is HT_ERR_ARGUMENT of the call
 * that loads it. HT_ERR_FORMAT says that a state does not fit: it is of another kind, or an entry
 * is missing or invalid. Entries that the call does not know are ignored. Comments name what
 * differs.
 */
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

/* Returns a value that holds tensor, which is retained; NULL for NULL, without an error. */
HT_API ht_value *ht_value_tensor(ht_tensor *tensor);

/* Returns a value that holds number. */
HT_API ht_value *ht_value_number(double number);

/* Returns an empty list. */
HT_API ht_value *ht_value_list(void);

/* Returns an empty map. */
HT_API ht_value *ht_value_map(void);

/* Returns a list of count values, one for each of tensors, which are retained.
 *
 * count: 0 gives an empty list; tensors may then be NULL.
 * Errors: HT_ERR_ARGUMENT, with NULL, if tensors or one of its items is NULL, or if count is below
 * 0. */
HT_API ht_value *ht_value_tensors(int count, ht_tensor *const tensors[]);

/* Returns the kind of value; HT_VALUE_NONE for NULL. */
HT_API ht_value_kind ht_value_get_kind(const ht_value *value);

/* Returns the tensor in value; borrowed; NULL if value is of another kind or NULL. */
HT_API ht_tensor *ht_value_as_tensor(const ht_value *value);

/* Returns the number in value; 0 if value is of another kind or NULL. */
HT_API double ht_value_as_number(const ht_value *value);

/* Returns the number of items in value; 0 unless it is a list or a map, and for NULL. */
HT_API int ht_value_count(const ht_value *value);

/* Appends item to list.
 *
 * item: retained.
 * Errors: HT_ERR_ARGUMENT if list is not a list, or either is NULL, or if item is list or contains
 * it. */
HT_API ht_status ht_value_append(ht_value *list, ht_value *item);

/* Returns item number index (from 0) of value, a list or a map; borrowed.
 *
 * The items of a map are in the order of insertion.
 * Result: NULL if index is out of range, or value is of another kind or NULL. */
HT_API ht_value *ht_value_at(const ht_value *value, int index);

/* Sets the item of map at key, and releases the item that was there.
 *
 * key: copied.
 * item: retained.
 * Errors: HT_ERR_ARGUMENT if map is not a map, or one of the three is NULL, or if item is map or
 * contains it. */
HT_API ht_status ht_value_set(ht_value *map, const char *key, ht_value *item);

/* Returns the item of map at key; borrowed. NULL if there is none, map is not a map, or an argument
 * is NULL. */
HT_API ht_value *ht_value_get(const ht_value *map, const char *key);

/* Returns the key at index of map, counted from 0 in the order of insertion; borrowed.
 *
 * Result: NULL if index is out of range, or map is not a map or NULL. */
HT_API const char *ht_value_key(const ht_value *map, int index);

HT_END_DECLS
#endif
