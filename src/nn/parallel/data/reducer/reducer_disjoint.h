/* SPDX-License-Identifier: MIT
 *
 * Checks that parameters do not share memory, or wrappers. */
#ifndef HT_NN_PARALLEL_DATA_REDUCER_REDUCER_DISJOINT_H
#define HT_NN_PARALLEL_DATA_REDUCER_REDUCER_DISJOINT_H

#include "ht/module.h"

/* No two trainable parameters may lie on one memory: records the error, and leaves it to the
 * caller to report it. */
ht_status ht__module_check_disjoint(const char *what, ht_module *module);

/* Whether some wrapper averages the gradient of this parameter. */
bool ht__parameter_is_wrapped(const ht_tensor *parameter);

#endif
