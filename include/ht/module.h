/* SPDX-License-Identifier: MIT
 *
 * Modules: a tree of layers with named slots for children, parameters and buffers.
 *
 * The library allocates the user's struct; a slot is the address of a handle in that struct, so
 * that replacing a child writes the struct's own field and cloning a module rebases its slots.
 * Fields that are not registered are copied bitwise; a type's clone hook mends what that is wrong
 * for. */
#ifndef HT_MODULE_H
#define HT_MODULE_H

#include <stdio.h>

#include "ht/tensor.h"
#include "ht/value.h"

HT_BEGIN_DECLS

/* The type of a setting in the module's struct. */
typedef enum ht_setting_kind {
    HT_SETTING_INT64, /* int64_t */
    HT_SETTING_INT,
    HT_SETTING_DOUBLE,
    HT_SETTING_BOOL
} ht_setting_kind;

typedef enum ht_setting_print {
    HT_PRINT_CHANGED, /* name=VALUE, if the value differs from the default */
    HT_PRINT_ALWAYS,  /* name=VALUE */
    HT_PRINT_VALUE    /* VALUE */
} ht_setting_print;

/* A setting of a layer: a field of its struct, or an array of up to 3 such fields. Printing and
 * range checks come from it. An array of equal values is printed as one value. */
typedef struct ht_module_setting {
    const char *name; /* as the constructor calls it; NULL ends a table */
    size_t offset;    /* in the module's struct */
    ht_setting_kind kind;
    int count;        /* of the array; 0: not an array */
    double usual;     /* the default */
    double low, high; /* finite values from low to high are valid; both 0: any value */
    ht_setting_print print;
} ht_module_setting;

/* What a module can do. Give forward for the one-tensor form, or forward_value for any values. */
typedef struct ht_module_type {
    const char *name;
    ht_tensor *(*forward)(ht_module *self, ht_tensor *x);
    ht_value *(*forward_value)(ht_module *self, ht_value *inputs);
    void (*describe)(ht_module *self, char *text, size_t size); /* printed instead of settings */
    ht_status (*clone)(ht_module *self, ht_module *copy); /* after fields and slots were copied */
    void (*destroy)(ht_module *self);                     /* before slots are released */
    uint64_t *(*counter)(ht_module *self); /* of what it draws at random; part of checkpoints */
    const ht_module_setting *settings;     /* ended by a name that is NULL; NULL: none */
} ht_module_type;

/* A module with `bytes` of zeroed memory for the user's struct; owned. Not collective. */
HT_API ht_module *ht_module_new(size_t bytes, const ht_module_type *type);

/* A module whose struct is a copy of `data`.
 * Not collective.
 * what: the public constructor, for messages; data: `bytes` of the user's struct, with its settings
 * filled in and its slots NULL.
 * Result: owned.
 * Errors: HT_ERR_ARGUMENT if a setting is out of its range. */
HT_API ht_module *ht_module_new_ext(const char *what, const ht_module_type *type, size_t bytes,
                                    const void *data);
HT_API void *ht_module_data(ht_module *module);
HT_API const ht_module_type *ht_module_get_type(const ht_module *module);

/* Registers what *slot is to hold, and stores it there: the module owns child, parameter or buffer
 * from now on (a NULL one is an error passed through; parameters and buffers are retained from
 * their scope). `slot` lies inside the module's struct, or is NULL (reached by name only).
 * Parameters get requires_grad. A view (of ht_narrow, ht_broadcast_to, ht_tensor_local, ...) gets
 * memory of its own: the handle holds a copy of its values then, and shares nothing any more. */
HT_API ht_status ht_module_add(ht_module *module, const char *name, ht_module **slot,
                               ht_module *child);
HT_API ht_status ht_module_add_parameter(ht_module *module, const char *name, ht_tensor **slot,
                                         ht_tensor *parameter);
HT_API ht_status ht_module_add_buffer(ht_module *module, const char *name, ht_tensor **slot,
                                      ht_tensor *buffer);

/* The output of a module for one tensor, hooks included. Scoped. */
HT_API ht_tensor *ht_forward(ht_module *module, ht_tensor *x);
HT_API ht_value *ht_forward_value(ht_module *module, ht_value *inputs);

/* Training or evaluation, for the whole tree. Modules start in training. eval of a data-parallel
 * wrapper, or of a tree with one, is collective over its communicator: after a synchronised pass it
 * gives rank 0's buffers to all (broadcast_buffers; not in a join). An evaluating forward pass
 * communicates nothing, and one rank may run it alone. */
HT_API ht_status ht_module_train(ht_module *module);
HT_API ht_status ht_module_eval(ht_module *module);
HT_API bool ht_module_is_training(const ht_module *module);

/* Walks the tree in order of registration, each module once, its parameters before its children;
 * `name` is the dotted path. Shared parameters come once, under their first name. */
typedef void ht_module_visit_fn(const char *name, ht_module *module, void *user);
typedef void ht_tensor_visit_fn(const char *name, ht_tensor *tensor, void *user);
HT_API void ht_module_apply(ht_module *module, ht_module_visit_fn *visit, void *user);
HT_API void ht_module_named_parameters(ht_module *module, ht_tensor_visit_fn *visit, void *user);
HT_API void ht_module_named_buffers(ht_module *module, ht_tensor_visit_fn *visit, void *user);

/* The parameters as a list value (scoped); their number; their elements in all. */
HT_API ht_value *ht_module_parameters(ht_module *module);
HT_API int64_t ht_module_parameter_count(ht_module *module);

/* Children by place and name; borrowed. ht_module_find takes a dotted path, "" is the module. */
HT_API int ht_module_child_count(const ht_module *module);
HT_API ht_module *ht_module_child(const ht_module *module, int index, const char **name);
HT_API ht_module *ht_module_find(ht_module *module, const char *path);
HT_API ht_tensor *ht_module_find_parameter(ht_module *module, const char *path);

/* Puts `child` (taken) in the place of the child with this name, slot included. */
HT_API ht_status ht_module_replace(ht_module *module, const char *name, ht_module *child);

/* A copy of the tree with parameters and buffers of its own; shared ones stay shared. Owned. */
HT_API ht_module *ht_module_clone(ht_module *module);

/* Moves parameters and buffers in place: handles stay valid. Refused once a wrapper holds the
 * module. */
HT_API ht_status ht_module_to_dtype(ht_module *module, ht_dtype dtype);
HT_API ht_status ht_module_to_device(ht_module *module, ht_device *device);
/* Refused on a part of what a wrapper holds; on the wrapper itself it rests the whole model. */
HT_API ht_status ht_module_requires_grad(ht_module *module, bool requires_grad);
/* The next gradients begin anew. In the middle of an accumulation that a wrapper counts: nothing.
 */
HT_API ht_status ht_module_zero_grad(ht_module *module);

/* Hooks on forward. A pre hook sees (and may replace) the inputs, a forward hook the output; NULL
 * keeps them. Returned ids remove hooks; 0 is never an id. */
typedef ht_value *ht_module_pre_hook_fn(ht_module *module, ht_value *inputs, void *user);
typedef ht_value *ht_module_hook_fn(ht_module *module, ht_value *inputs, ht_value *output,
                                    void *user);
HT_API uint64_t ht_module_register_forward_pre_hook(ht_module *module, ht_module_pre_hook_fn *hook,
                                                    void *user);
HT_API uint64_t ht_module_register_forward_hook(ht_module *module, ht_module_hook_fn *hook,
                                                void *user);
HT_API ht_status ht_module_remove_hook(ht_module *module, uint64_t id);

/* Writes the tree with types, settings and parameter counts. Not collective. */
HT_API void ht_module_print(ht_module *module, FILE *stream);

/* Parameters and buffers by dotted name, as a map. The tensors are the module's own: copy those
 * that are to stay as they are. Brings a wrapped module up to date first. Loading copies and
 * converts; HT_ERR_FORMAT, with nothing changed, naming all that is missing, unexpected or
 * misshapen. Scoped. Source: torch's state_dict. */
HT_API ht_value *ht_module_state_dict(ht_module *module);
HT_API ht_status ht_module_load_state_dict(ht_module *module, const ht_value *state);

/* Parameters and buffers as data sets of an HDF5 file, by dotted name. Process-local state, the
 * same on all ranks of `comm`: written as a checkpoint is (ht/checkpoint.h), read from files that
 * others made, too, if HDF5's are their first bytes (no user block). load names missing, unexpected
 * and misshapen entries; links in the file are refused, attributes that are no numbers left alone.
 * Collective over `comm`, agrees. */
HT_API ht_status ht_module_save_state(ht_module *module, const char *path, ht_comm *comm);
HT_API ht_status ht_module_load_state(ht_module *module, const char *path, ht_comm *comm);

HT_END_DECLS
#endif
