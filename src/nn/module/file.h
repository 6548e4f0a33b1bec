/* SPDX-License-Identifier: MIT
 *
 * Shared by saving and loading the state of a tree. */
#ifndef HT_NN_MODULE_FILE_H
#define HT_NN_MODULE_FILE_H

#include "nn/module/module.h"

struct ht_state_entry {
    char *name;                /* owned; the dotted path */
    ht_tensor *tensor;         /* not owned; NULL: extra state */
    ht_module *module;         /* not owned; of extra state */
    const ht_value *item;      /* borrowed, in a load: its value in the map; NULL: missing */
    ht_tensor *made, *earlier; /* scoped, in a load: what tensor becomes, the extra state before */
};

typedef struct ht_state {
    ht_module *tree;                /* borrowed */
    struct ht_state_entry *entries; /* parameters, buffers, extra states */
    size_t count, capacity;
} ht_state;

ht_state ht__state_collect(ht_module *module);
ht_value *ht__state_value(const struct ht_state_entry *entry); /* scoped; NULL after an error */
void ht__state_free(ht_state *state);

/* The entry that `name` calls: by its own name, or by another path of a shared tensor or module.
 * NULL: none. */
struct ht_state_entry *ht__state_find(const ht_state *state, const char *name);

/* module/fit.c. Gives each entry its item of `map`, the last one that calls it. Then whether `map`,
 * named `source` in the message, holds tensors of the right shapes; if `strict`, one for each entry
 * and nothing else: the error is recorded, not raised. */
ht_status ht__state_fits(const char *what, const char *source, ht_state *state, const ht_value *map,
                         bool strict);

/* The items into the tree: extra states, which a module may refuse, then tensors. Until tensors are
 * copied, extra states can be put back. In one scope. */
ht_status ht__state_prepare(ht_state *state);
void ht__state_put_back(ht_state *state);
ht_status ht__state_copy(const ht_state *state);

/* module/load.c. A state from a map or a file into a tree, with its hooks. */
typedef struct ht_loading {
    const char *what, *source; /* for messages */
    ht_module *tree;           /* without wrappers */
    bool strict;
    ht_value **missing, **unexpected; /* as of ht_module_load_state_dict_ext */
    ht_comm *comm;                    /* over which errors are agreed; NULL: alone */
} ht_loading;
ht_status ht__state_load(const ht_loading *loading, ht_value *map);

#endif
