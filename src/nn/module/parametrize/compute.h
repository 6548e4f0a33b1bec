/* SPDX-License-Identifier: MIT
 *
 * Values of parametrized slots. A module with such slots has a child "parametrizations", which has
 * one child for each of them: a list of modules, with the originals as its parameters. */
#ifndef HT_NN_MODULE_PARAMETRIZE_COMPUTE_H
#define HT_NN_MODULE_PARAMETRIZE_COMPUTE_H

#include "nn/module/module.h"

#define HT_PARAMETRIZATIONS "parametrizations"

extern const ht_module_type ht__parametrizations_type;     /* the child of the module */
extern const ht_module_type ht__parametrization_list_type; /* a child of that */

/* The child that has the lists of the module; NULL: none. */
ht_module *ht__parametrization_lists(ht_module *module);

/* The list of the slot `name`; NULL unless it is parametrized. */
ht_module *ht__parametrization_list(ht_module *module, const char *name);

/* The originals of a list as a value: the one tensor, or a list of them. Scoped. */
ht_value *ht__parametrization_originals(ht_module *list);

/* The result that a list computes from its originals. Scoped; NULL after an error of the public
 * function `what`. */
ht_tensor *ht__parametrization_value(const char *what, ht_module *list);

/* Renews the parametrized slots of the module itself. False after an error. */
bool ht__parametrize_compute(const char *what, ht_module *module);

#endif
