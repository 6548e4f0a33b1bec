/* SPDX-License-Identifier: MIT
 *
 * The structs of modules, and what wrappers (data parallelism) need of a tree of them. */
#ifndef HT_NN_MODULE_MODULE_H
#define HT_NN_MODULE_MODULE_H

#include <stddef.h>

#include "core/tensor/tensor.h"
#include "ht/module.h"
#include "ht/parametrize.h"

typedef enum ht_slot_kind {
    HT_SLOT_CHILD,
    HT_SLOT_PARAMETER,
    HT_SLOT_BUFFER,
    HT_SLOT_COMPUTED /* a parametrized parameter: the tensor of the last forward */
} ht_slot_kind;

typedef struct ht_slot {
    char *name; /* owned */
    ht_slot_kind kind;
    ptrdiff_t offset; /* of the handle in the user's struct; -1: it is in `held` */
    void *held;
    bool transient; /* a buffer that is not part of the state */
} ht_slot;

typedef struct ht_module_hook ht_module_hook; /* hooks/hooks.h */

/* The observer of each forward of one module: a wrapper that brings its parameters, a profiler.
 * Unlike hooks they see no values and change none, so that a forward of one tensor stays one call.
 * The struct is the observer's, and stays where it is until it leaves; any call may be NULL. */
typedef struct ht_forward_observer {
    void (*before)(ht_module *module, void *user);             /* in the order in which they came */
    void (*after)(ht_module *module, bool failed, void *user); /* in the opposite one */
    void (*gone)(ht_module *module, void *user); /* before it is destroyed: the observer has left */
    void *user;
    struct ht_forward_observer *next; /* the list's */
} ht_forward_observer;

/* The hold of a wrapper on a tree. While it is there, the tree's parameters are the wrapper's: they
 * may be behind (drain brings them up to date), and the tree keeps its shape. */
typedef struct ht_module_guard {
    const char *wrapper_name; /* for messages: "ht_nn_data_parallel" */
    ht_status (*drain)(void *user);
    void *user;
} ht_module_guard;

/* The action of a kind of the library's modules when its ranks meet. */
typedef struct ht_module_calls {
    void (*missed)(ht_module *module);         /* an error has left no input for a forward; NULL */
    ht_status (*evaluated)(ht_module *module); /* collective; NULL */
} ht_module_calls;

struct ht_module {
    ht_object base;
    const ht_module_type *type; /* not owned; lives as long as its modules */
    const char *path;           /* from ht__name; in the tree it was last added to, "" for a root */
    ht_slot *slots;             /* owned, in order of registration */
    int slot_count;
    bool (*compute)(const char *what, ht_module *self); /* renews parametrized slots; NULL: none */
    ht_module_hook *hooks;                              /* owned, in order of registration */
    int hook_count;
    bool training;
    int replica;                    /* which copy of a device-parallel pass it is; 0: no copy */
    bool half_made;                 /* a clone whose clone hook has not run: no destroy hook */
    bool wraps;                     /* ht__module_wrap: slot 0 is the wrapped module */
    ht_forward_observer *observers; /* not owned */
    const ht_module_guard *guard;   /* not owned; NULL: not wrapped */
    const ht_module_calls *calls;   /* not owned; NULL: none */
    size_t bytes;                   /* of data */
    max_align_t data[];             /* the user's struct */
};

extern ht_kind ht__module_kind;

/* The address that holds a slot's handle: the field of the user's struct, or the slot's own. */
void **ht__slot_place(ht_module *module, ht_slot *slot);
ht_slot *ht__module_slot(ht_module *module, const char *name); /* NULL: none of this name */

/* ht_module_add, and ht_module_add_parameter without a place in the struct, as parts of `what`. */
ht_status ht__module_add(const char *what, ht_module *module, const char *name, ht_module **slot,
                         ht_module *child);
ht_status ht__module_add_parameter(const char *what, ht_module *module, const char *name,
                                   ht_tensor *parameter);

/* Takes `handle` (one reference) into a new slot; the name is known to be free. */
void ht__module_new_slot(ht_module *module, const char *name, ht_slot_kind kind, ptrdiff_t offset,
                         void *handle);

void ht__module_remove_slot(ht_module *module, const char *name); /* releases its handle */

/* Makes `path` that of the module, and renews the paths below it. */
void ht__module_set_path(ht_module *module, const char *path);

/* module/settings.c: the settings of `module` as text, "1, 8, kernel=3". */
void ht__module_describe(ht_module *module, char *text, size_t size);

/* module/print.c: the elements of the parameters of the module itself. */
int64_t ht__module_own_parameters(ht_module *module);

/* module/module.c: whether `wanted` is `module` or a module below it. */
bool ht__module_contains(ht_module *module, const ht_module *wanted);

/* module/walk.c: the public walks without their drain. */
void ht__module_walk(ht_module *module, ht_module_visit_fn *visit, void *user);

/* Parameters or buffers, each tensor once, `name` the dotted path. */
void ht__module_walk_tensors(ht_module *module, ht_slot_kind kind, ht_tensor_visit_fn *visit,
                             void *user);

/* The tensors of a state: parameters, then buffers that are part of it. */
void ht__module_walk_state(ht_module *module, ht_tensor_visit_fn *visit, void *user);

/* module/tree.c: the parameter or buffer at a dotted path, without a drain; NULL: none. */
ht_tensor *ht__module_find_tensor(ht_module *module, const char *path);

/* module/clone.c: a copy of the tree whose tensors are what `tensor` makes of the originals, each
 * asked for once; it returns an owned reference, or NULL for a failure. Owned, without paths. */
typedef ht_tensor *ht_module_tensor_fn(ht_tensor *x, void *user);
ht_module *ht__module_copy(ht_module *module, ht_module_tensor_fn *tensor, void *user);

/* A small set of addresses. */
typedef struct ht_address_set {
    const void **places;
    size_t count, capacity;
} ht_address_set;
bool ht__address_add(ht_address_set *set, const void *address); /* false: it was there */
void ht__address_set_free(ht_address_set *set);

/* module/guard.c: for wrappers. Registers `module` (retained) as the child "module" of a wrapper,
 * in *slot. The paths inside stay the same, so that wrapping changes neither dropout masks nor
 * names of saved state. */
ht_status ht__module_wrap(ht_module *wrapper, ht_module **slot, ht_module *module);

/* The module inside wrappers; the module itself when it wraps nothing. */
ht_module *ht__module_unwrapped(ht_module *module);

/* Guards every module of the tree, and `wrapper` itself. HT_ERR_STATE when a part of the tree has a
 * guard already; `what` names the public function. Unguard before the guard's memory goes. */
ht_status ht__module_guard(const char *what, ht_module *wrapper, ht_module *tree,
                           const ht_module_guard *guard);
void ht__module_unguard(ht_module *wrapper, ht_module *tree);

/* Brings every parameter of the tree up to date. A drain point: called by eval, clone, saving,
 * loading, and by code that hands out parameters. */
ht_status ht__module_drain(ht_module *module);

/* HT_ERR_STATE with a message when the tree, or a part of it, is guarded. */
ht_status ht__module_check_free(const char *what, ht_module *module);

/* module/forward.c: an error has left no input for a forward: ranks that wait for this one in the
 * tree get the error. */
void ht__module_missed(ht_module *module);

void ht__module_observe(ht_module *module, ht_forward_observer *observer);
void ht__module_leave(ht_module *module, ht_forward_observer *observer);
void ht__module_gone(ht_module *module); /* about to be destroyed: observers leave */

/* module/parametrize/parametrize.c: the parameter of the module itself, borrowed, or the present value
 * of one that is parametrized, scoped. NULL after an error of the public function `what`. */
ht_tensor *ht__module_parameter(const char *what, ht_module *module, const char *name);

/* ht_nn_register_parametrization; errors name `what` (module/parametrize/parametrize.c). */
ht_status ht__register_parametrization(const char *what, ht_module *module, const char *name,
                                       ht_module *parametrization,
                                       ht_right_inverse_fn *right_inverse);

/* layers/linear.c: a layer that may bring its parameters up to date by itself, part by part. */
bool ht__nn_is_linear(const ht_module *module);

/* layers/recurrent/recurrent.c: one that ht_nn_recurrent_forward runs. */
bool ht__nn_is_recurrent(const ht_module *module);

#endif
