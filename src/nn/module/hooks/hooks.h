/* SPDX-License-Identifier: MIT
 *
 * The hooks of a module, and where they run. */
#ifndef HT_NN_MODULE_HOOKS_HOOKS_H
#define HT_NN_MODULE_HOOKS_HOOKS_H

#include "ht/module_hooks.h"
#include "nn/module/module.h"

typedef enum ht_hook_kind {
    HT_HOOK_FORWARD_PRE,
    HT_HOOK_FORWARD,
    HT_HOOK_BACKWARD_PRE,
    HT_HOOK_BACKWARD,
    HT_HOOK_STATE_PRE,
    HT_HOOK_STATE,
    HT_HOOK_LOAD_PRE,
    HT_HOOK_LOAD
} ht_hook_kind;

struct ht_module_hook {
    uint64_t id;
    ht_hook_kind kind;
    union {
        ht_module_pre_hook_fn *forward_pre;
        ht_module_hook_fn *forward;
        ht_module_backward_pre_hook_fn *backward_pre;
        ht_module_backward_hook_fn *backward;
        ht_module_state_pre_hook_fn *state_pre;
        ht_module_state_hook_fn *state; /* STATE and LOAD_PRE */
        ht_module_load_hook_fn *load;
    } run;
    void *user;
};

/* A walk over the hooks of one kind that were there when it began. Hooks may add or remove hooks. */
typedef struct ht_hook_walk {
    const ht_module *module;
    ht_hook_kind kind;
    uint64_t last;
    ht_module_hook hook; /* the present one */
} ht_hook_walk;
ht_hook_walk ht__hooks_begin(const ht_module *module, ht_hook_kind kind);
bool ht__hooks_next(ht_hook_walk *walk); /* false at the end */
bool ht__hooks_any(const ht_module *module, ht_hook_kind kind);

void ht__hooks_copy(const ht_module *module, ht_module *copy);

/* hooks/backward.c: around one forward. begin replaces *inputs, end returns another output; both
 * give NULL after an error. begin's result is NULL if module has no hooks of the backward pass. */
typedef struct ht_backward_hooks ht_backward_hooks;
ht_backward_hooks *ht__backward_hooks_begin(ht_module *module, ht_value **inputs);
ht_value *ht__backward_hooks_end(ht_backward_hooks *hooks, ht_value *output);

/* hooks/state.c: the hooks of all modules of a tree. The maps that they return are scoped; NULL
 * after an error. */
ht_status ht__hooks_before_state(ht_module *tree);
ht_value *ht__hooks_after_state(const char *what, ht_module *tree, ht_value *state);
ht_value *ht__hooks_before_load(const char *what, ht_module *tree, ht_value *state);
ht_status ht__hooks_after_load(ht_module *tree, ht_value *missing, ht_value *unexpected);
bool ht__hooks_in_tree(ht_module *tree, ht_hook_kind kind);

#endif
