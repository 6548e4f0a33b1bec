/* SPDX-License-Identifier: MIT
 *
 * Items of containers, by name or by number. */
#ifndef HT_NN_LAYERS_CONTAINERS_CHILDREN_H
#define HT_NN_LAYERS_CONTAINERS_CHILDREN_H

#include "nn/module/module.h"

/* Whether items is a list of count items; false after an error of `what`, which names the list. */
bool ht__is_list(const char *what, int count, const void *items, const char *name);

/* Whether items[i] is NULL; true after the error of `what`, which names it. */
bool ht__is_missing(const char *what, const char *items, int i, const void *item);

/* A module of this type with `count` children, which it takes over also after an error; names NULL:
 * "0", "1", ... Owned. */
ht_module *ht__new_with_children(const char *what, const ht_module_type *type, int count,
                                 const char *const names[], ht_module *const modules[]);

/* self with these children, taken over as by the above; NULL after an error of `what`, when self is
 * released. */
ht_module *ht__take_children(const char *what, ht_module *self, int count,
                             const char *const names[], ht_module *const modules[]);

/* Adds a child, which is taken over, or a parameter under the number of those that are there; errors
 * are those of `what`. */
ht_status ht__append_child(const char *what, ht_module *module, ht_module *child);
ht_status ht__append_parameter(const char *what, ht_module *module, ht_tensor *parameter);

/* Slots first to end - 1, one after another, with x at the start. */
ht_tensor *ht__run_children(ht_module *self, int first, int end, ht_tensor *x);

#endif
