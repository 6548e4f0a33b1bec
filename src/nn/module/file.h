/* SPDX-License-Identifier: MIT
 *
 * What saving and loading a tree's state share. */
#ifndef HT_NN_MODULE_FILE_H
#define HT_NN_MODULE_FILE_H

#include "nn/module/module.h"

struct ht_state_entry {
    char *name;        /* owned; the dotted path */
    ht_tensor *tensor; /* not owned */
};

typedef struct ht_state {
    struct ht_state_entry *entries; /* parameters, then buffers */
    size_t count, capacity;
} ht_state;

ht_state ht__state_collect(ht_module *module);
void ht__state_free(ht_state *state);

/* module/fit.c. Whether `map`, named `source` in the message, holds tensors of the right shapes;
 * if `strict`, one for each entry and nothing else: the error is recorded, not raised.
 * Then its values into the tree. */
ht_status ht__state_fits(const char *what, const char *source, const ht_state *state,
                         const ht_value *map, bool strict);
ht_status ht__state_copy(const ht_state *state, const ht_value *map);

#endif
