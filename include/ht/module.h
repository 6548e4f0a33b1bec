/* SPDX-License-Identifier: MIT
 *
 * Modules: a tree of layers with named slots for children, parameters and buffers.
 *
 * The library allocates the user's struct. A slot is the address of a handle in that struct, so
 * that replacing a child writes the struct's own field, and cloning a module rebases its slots.
 * Cloning copies unregistered fields bitwise; a type's clone hook corrects fields for which that is
 * wrong.
 *
 * A path is a dotted name, such as "encoder.0.weight". A wrapper (ht_nn_data_parallel, ...) and the
 * module inside it have the same path. As long as a data-parallel wrapper contains a module, the
 * module's tree cannot change (HT_ERR_STATE), and updates of its parameters may be pending.
 * Functions that hand out parameters or buffers bring the module up to date first, and have the
 * errors of its pending passes.
 *
 * No call here is collective, unless its comment says so.
 * Errors: HT_ERR_ARGUMENT for an operand that is NULL. A walk then visits nothing. */
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

/* A setting of a layer: a field of its struct, or an array of up to 3 fields. Printing and range
 * checks use this table. An array of equal values is printed as one value. */
typedef struct ht_module_setting {
    const char *name; /* name of the constructor's parameter; a NULL name ends the table */
    size_t offset;    /* in the module's struct */
    ht_setting_kind kind;
    int count;        /* the length of the array; 0: not an array */
    double usual;     /* the default */
    double low, high; /* finite values from low to high are valid; both 0: any value */
    ht_setting_print print;
} ht_module_setting;

/* The functions of a kind of module; the struct outlives the modules of its kind. One of forward
 * (one tensor) and forward_value (any values) is required; the others may be NULL. */
typedef struct ht_module_type {
    const char *name;
    ht_tensor *(*forward)(ht_module *self, ht_tensor *x);
    ht_value *(*forward_value)(ht_module *self, ht_value *inputs);
    void (*describe)(ht_module *self, char *text, size_t size); /* printed instead of settings */
    ht_status (*clone)(ht_module *self, ht_module *copy); /* after fields and slots were copied */
    void (*destroy)(ht_module *self);                     /* before slots are released */
    uint64_t *(*counter)(ht_module *self); /* counts random draws; part of checkpoints */
    const ht_module_setting *settings;     /* ends with a name that is NULL; NULL: none */
    /* Further state, other than parameters and buffers: a tensor of any shape. The state of the
     * module has it under the name "_extra_state". Set both functions or neither. */
    ht_tensor *(*get_extra_state)(ht_module *self); /* scoped; NULL after an error */
    /* Called before the tensors are loaded, and again with the earlier state if the load fails. */
    ht_status (*set_extra_state)(ht_module *self, ht_tensor *state);
} ht_module_type;

/* Makes a module with `bytes` bytes of zeroed memory for the user's struct.
 *
 * bytes: 0 if the type has no struct.
 * type: borrowed, as long as the module lives.
 * Result: owned, and in training.
 * Errors: HT_ERR_ARGUMENT if type has no name, or neither forward nor forward_value. */
HT_API ht_module *ht_module_new(size_t bytes, const ht_module_type *type);

/* ht_module_new with a copy of the struct `data`, after its settings were checked.
 *
 * what: the public constructor, for messages.
 * type: its table of settings gives the ranges.
 * bytes, data: the size and the struct; 0, NULL: none. Settings are filled in, and slots are NULL.
 * Result: owned, and in training.
 * Errors: also HT_ERR_ARGUMENT if a setting is out of its range. */
HT_API ht_module *ht_module_new_ext(const char *what, const ht_module_type *type, size_t bytes,
                                    const void *data);

/* Returns the user's struct of module, borrowed; NULL for NULL. */
HT_API void *ht_module_data(ht_module *module);

/* Returns the type of module, borrowed; NULL for NULL. */
HT_API const ht_module_type *ht_module_get_type(const ht_module *module);

/* Registers child as a child of module, and stores it in *slot.
 *
 * name: unique in module, not empty, and without '.' and '/'.
 * slot: a field of the module's struct; NULL: the child is reached by its name only.
 * child: owned by module from now on; released after an error. If an earlier error made it NULL,
 * that error is returned.
 * Errors: HT_ERR_ARGUMENT for an invalid name or slot, or if child contains module; HT_ERR_STATE
 * inside a wrapper. */
HT_API ht_status ht_module_add(ht_module *module, const char *name, ht_module **slot,
                               ht_module *child);

/* Registers parameter as a parameter of module, stores it in *slot, and lets it require gradients.
 *
 * A view (of ht_narrow, ht_broadcast_to, ht_tensor_local, ...) gets new memory: the handle then
 * refers to a copy of its values, and shares no memory.
 * name, slot: as for ht_module_add.
 * parameter: a leaf, retained. If an earlier error made it NULL, that error is returned.
 * Errors: HT_ERR_ARGUMENT and HT_ERR_STATE as for ht_module_add. HT_ERR_STATE for a tensor that is
 * not a leaf, HT_ERR_ARGUMENT if it is a view, too. HT_ERR_DTYPE for a dtype without gradients. */
HT_API ht_status ht_module_add_parameter(ht_module *module, const char *name, ht_tensor **slot,
                                         ht_tensor *parameter);

/* Registers buffer as a buffer of module, and stores it in *slot.
 *
 * A buffer is part of the module's state, but not trained. A view gets new memory, like a
 * parameter.
 * name, slot: as for ht_module_add.
 * buffer: retained, of any dtype. If an earlier error made it NULL, that error is returned.
 * Errors: HT_ERR_ARGUMENT and HT_ERR_STATE as for ht_module_add; HT_ERR_ARGUMENT for NULL without
 * an earlier error, and for a view that a recorded operation made. */
HT_API ht_status ht_module_add_buffer(ht_module *module, const char *name, ht_tensor **slot,
                                      ht_tensor *buffer);

/* ht_module_add_buffer with a choice whether buffer is part of the state of module.
 *
 * name, slot: as for ht_module_add.
 * persistent: false keeps buffer out of ht_module_state_dict, and out of files of states.
 * Errors: those of ht_module_add_buffer.
 * Source: torch.nn.Module.register_buffer. */
HT_API ht_status ht_module_add_buffer_ext(ht_module *module, const char *name, ht_tensor **slot,
                                          ht_tensor *buffer, bool persistent);

/* Returns the output of module for one tensor x. Hooks run before and after.
 *
 * x: as the layers of module take it. Layers with parameters take process-local batches (ht/nn.h).
 * Collective if a layer of module is, or a data-parallel wrapper in training.
 * Result: scoped.
 * Errors: those of the layers and hooks. HT_ERR_ARGUMENT if the output is not one tensor.
 * HT_ERR_STATE if the type's own function returns NULL without an error. */
HT_API ht_tensor *ht_forward(ht_module *module, ht_tensor *x);

/* ht_forward for any values: inputs and result are ht_values, scoped.
 *
 * inputs: for a module with the one-tensor form a tensor, or a list of one.
 * Collective as ht_forward is.
 * Errors: those of ht_forward; HT_ERR_ARGUMENT if inputs do not fit the module's form. */
HT_API ht_value *ht_forward_value(ht_module *module, ht_value *inputs);

/* Sets module and all modules below it to training, the mode in which modules start. */
HT_API ht_status ht_module_train(ht_module *module);

/* Sets module and all modules below it to evaluation.
 *
 * For a data-parallel wrapper, or a tree that contains one, it also broadcasts rank 0's buffers
 * (option broadcast_buffers), so that all ranks evaluate one model. In a join it does not.
 * Afterwards a forward pass communicates nothing, and one rank may run it alone.
 * Collective over the wrapper's communicator, if there is a data-parallel wrapper. Each call
 * broadcasts, in evaluation too, so all ranks make the same number of calls.
 * Errors: those of pending passes and of the broadcast; module is in evaluation then, too. */
HT_API ht_status ht_module_eval(ht_module *module);

/* Returns whether module is in training; false for NULL. */
HT_API bool ht_module_is_training(const ht_module *module);

/* Receives a module of a walk; name is its path, valid during the call; user is the walk's. */
typedef void ht_module_visit_fn(const char *name, ht_module *module, void *user);

/* Receives a tensor of a walk; name is its path, valid during the call; user is the walk's. */
typedef void ht_tensor_visit_fn(const char *name, ht_tensor *tensor, void *user);

/* Calls visit with user for module and all modules below it, each once.
 *
 * The walk is depth-first: a module, then its children in order of registration, each with all
 * modules below it. PyTorch visits children first.
 * visit: may replace modules below the one that it receives; the walk then goes through the new
 *   ones. It must not replace the one that it receives, or one above it. */
HT_API void ht_module_apply(ht_module *module, ht_module_visit_fn *visit, void *user);

/* Calls visit with user for each parameter of module and of the modules below it.
 *
 * Modules come as in ht_module_apply, and the tensors of a module in order of registration. A
 * shared parameter comes once, under its first name. */
HT_API void ht_module_named_parameters(ht_module *module, ht_tensor_visit_fn *visit, void *user);

/* ht_module_named_parameters for the buffers of module: calls visit with user for each. */
HT_API void ht_module_named_buffers(ht_module *module, ht_tensor_visit_fn *visit, void *user);

/* Returns the parameters of module as a list value, scoped, in the order of
 * ht_module_named_parameters. */
HT_API ht_value *ht_module_parameters(ht_module *module);

/* Returns the buffers of module as a scoped list value, in the order of ht_module_named_buffers. */
HT_API ht_value *ht_module_buffers(ht_module *module);

/* Returns the number of elements of all parameters of module; 0 for NULL. */
HT_API int64_t ht_module_parameter_count(ht_module *module);

/* Returns the number of children of module, without those further below; 0 for NULL. */
HT_API int ht_module_child_count(const ht_module *module);

/* Returns the child of module at index, borrowed. Returns NULL, without an error, if index is out
 * of range or module is NULL.
 *
 * index: from 0, in order of registration.
 * name: set to the child's name, borrowed, and unchanged if there is none; NULL: not wanted. */
HT_API ht_module *ht_module_child(const ht_module *module, int index, const char **name);

/* Returns the module at path below module, borrowed; NULL, without an error, if there is none or
 * module is NULL.
 *
 * path: dotted; "" or NULL is module itself. */
HT_API ht_module *ht_module_find(ht_module *module, const char *path);

/* Returns the parameter at the dotted path below module, borrowed; NULL, without an error, if there
 * is none.
 *
 * A shared parameter is found at each of its paths. A buffer is not found. */
HT_API ht_tensor *ht_module_find_parameter(ht_module *module, const char *path);

/* Returns the buffer at the dotted path below module, borrowed; NULL, without an error, if there is
 * none.
 *
 * Source: torch.nn.Module.get_buffer. */
HT_API ht_tensor *ht_module_find_buffer(ht_module *module, const char *path);

/* Replaces the child of module called name by child, in its slot as well.
 *
 * child: owned by module from now on; released after an error. If an earlier error made it NULL,
 * that error is returned.
 * Errors: HT_ERR_ARGUMENT unless module has a child called name; HT_ERR_STATE inside a wrapper. */
HT_API ht_status ht_module_replace(ht_module *module, const char *name, ht_module *child);

/* Returns a copy of the tree of module, and copies of its parameters and buffers.
 *
 * Modules and tensors that are shared inside the tree are shared inside the copy. Hooks, modes and
 * requires_grad are copied, gradients are not.
 * Result: owned.
 * Errors: HT_ERR_UNSUPPORTED for a type with a destroy hook and no clone hook (DataParallel). */
HT_API ht_module *ht_module_clone(ht_module *module);

/* Converts floating parameters and buffers of module, and their gradients, to dtype in place.
 *
 * Handles stay valid. Tensors of other dtypes stay as they are.
 * Errors: HT_ERR_DTYPE unless dtype is floating; HT_ERR_STATE if module is wrapped. */
HT_API ht_status ht_module_to_dtype(ht_module *module, ht_dtype dtype);

/* Moves all parameters and buffers of module, and their gradients, to device in place.
 *
 * Handles stay valid.
 * Errors: HT_ERR_STATE if module is wrapped. */
HT_API ht_status ht_module_to_device(ht_module *module, ht_device *device);

/* Sets requires_grad for all parameters of module: false freezes them.
 *
 * A wrapper freezes its complete model, but not a part of it.
 * Errors: HT_ERR_STATE if module lies inside a wrapper. HT_ERR_STATE or HT_ERR_DTYPE if
 * ht_tensor_set_requires_grad refuses a parameter; the ones before it are set. */
HT_API ht_status ht_module_requires_grad(ht_module *module, bool requires_grad);

/* Lets the next gradients of the parameters of module replace the present ones. Until then
 * ht_tensor_grad gives NULL.
 *
 * The next pass may write to the memory of the present gradients. ht_copy keeps one. In PyTorch, a
 * gradient that the program holds stays as it is.
 * In the middle of a group of accumulation_steps passes (ht/data_parallel.h), the parameters of
 * that wrapper keep their gradients. This holds for a module inside it, too. Other parameters of
 * module do not wait for the wrapper. */
HT_API ht_status ht_module_zero_grad(ht_module *module);

/* Receives the inputs of a forward pass of module before it runs; user is as it was registered.
 * Returns other inputs, or NULL to keep these. inputs are borrowed. The result is scoped, or kept
 * alive by the program. A hook reports an error by ht_error_raise, or leaves that of a call that
 * failed. The pass then ends with this error, whatever the hook returns. */
typedef ht_value *ht_module_pre_hook_fn(ht_module *module, ht_value *inputs, void *user);

/* Receives the inputs and the output of a forward pass of module after it ran; user is as it was
 * registered. Returns another output, or NULL to keep this one. Ownership and errors are those of
 * ht_module_pre_hook_fn. */
typedef ht_value *ht_module_hook_fn(ht_module *module, ht_value *inputs, ht_value *output,
                                    void *user);

/* Registers a hook that runs with user before each forward pass of module.
 *
 * Hooks run in the order of registration. Clones of module have them, too.
 * user: not owned. It must live until the hook is removed, or module and its clones are gone.
 * Result: an id for ht_module_remove_hook; 0 after an error and never otherwise.
 * Errors: HT_ERR_ARGUMENT if module or hook is NULL. */
HT_API uint64_t ht_module_register_forward_pre_hook(ht_module *module, ht_module_pre_hook_fn *hook,
                                                    void *user);

/* Registers a hook that runs with user after each forward pass of module that gave an output.
 *
 * Order, result and errors are those of ht_module_register_forward_pre_hook. */
HT_API uint64_t ht_module_register_forward_hook(ht_module *module, ht_module_hook_fn *hook,
                                                void *user);

/* Removes the hook of module that has this id; a hook may call it, also for itself.
 *
 * Errors: HT_ERR_ARGUMENT if module has no hook of this id. */
HT_API ht_status ht_module_remove_hook(ht_module *module, uint64_t id);

/* Writes the tree of module to stream, a line for each module: type, settings, parameter count. The
 * last line has the total, and how many of them are trainable. Each rank that calls it writes. A
 * NULL module prints nothing, without an error. */
HT_API void ht_module_print(ht_module *module, FILE *stream);

/* Writes a table of the modules of module to stream, a line for each: path, type, shape of the
 * output for an input of zeros, parameters without children's, FLOPs. The last line has the totals.
 *
 * The output is that of a forward pass in evaluation, which changes nothing; of several tensors,
 * the shape of the first one is shown. FLOPs count a multiplication and an addition as 2, for the
 * weights of linear, bilinear, convolution and recurrent layers. Other layers, attention too, count
 * 0. A module that runs several times has the FLOPs of all of its runs.
 * ndim, shape: of the input, which is process-local. It has the dtype and device of the first
 *   floating parameter; without one it is of float32 on ht_get_device().
 * Collective as ht_forward is, in evaluation. Each rank that calls it writes.
 * Errors: those of ht_zeros for ndim and shape, and of ht_forward_value. */
HT_API ht_status ht_module_summary(ht_module *module, int ndim, const int64_t shape[],
                                   FILE *stream);

/* ht_module_summary of module to stream, for any inputs (borrowed, as of ht_forward_value).
 *
 * Collective as ht_forward is, in evaluation.
 * Errors: those of ht_forward_value. */
HT_API ht_status ht_module_summary_ext(ht_module *module, ht_value *inputs, FILE *stream);

/* Returns the map from paths to parameters and persistent buffers of module.
 *
 * The tensors are those of module, not copies: copy a tensor that must keep its values. Parameters
 * come before buffers. A shared tensor comes once, under its first path; PyTorch has it under each.
 * Result: scoped; NULL after an error.
 * Errors: those of hooks (ht/module_hooks.h), and of get_extra_state of a type.
 * Source: torch.nn.Module.state_dict. */
HT_API ht_value *ht_module_state_dict(ht_module *module);

/* Copies the tensors of the map state to the parameters and buffers of module.
 *
 * Values are converted to the dtype and device of their parameter or buffer. A tensor that modules
 * share has several paths: state may have any of them; the last one that it has counts.
 * Errors: HT_ERR_FORMAT, naming all entries that do not fit: missing, unexpected, of another shape
 * or communicator, a map, or complex for a real tensor. module is unchanged then. HT_ERR_ARGUMENT
 * unless state is a map.
 * Source: torch.nn.Module.load_state_dict. */
HT_API ht_status ht_module_load_state_dict(ht_module *module, const ht_value *state);

/* ht_module_load_state_dict of module and state that lists what did not match.
 *
 * strict: false leaves entries as they are that state lacks, and ignores items that module lacks.
 *   An item of module that does not fit stays an error.
 * missing: receives the map of tensors of module that state lacks, scoped; NULL: not wanted.
 * unexpected: receives the map of items of state that module lacks, scoped; NULL: not wanted.
 * Errors: those of ht_module_load_state_dict, but for missing and unexpected entries, and maps in
 * state, only if strict.
 * Source: torch.nn.Module.load_state_dict. */
HT_API ht_status ht_module_load_state_dict_ext(ht_module *module, const ht_value *state,
                                               bool strict, ht_value **missing,
                                               ht_value **unexpected);

/* Writes the parameters and buffers of module to the HDF5 file `path`, as data sets called by path.
 *
 * A tensor of the state is process-local, with the same bytes on all ranks of comm, or is split
 * over comm. They are written as a checkpoint is (ht/checkpoint.h), but no earlier file is kept.
 * Collective over comm, agrees.
 * Errors: those of ht_checkpoint_save. */
HT_API ht_status ht_module_save_state(ht_module *module, const char *path, ht_comm *comm);

/* Reads the parameters and buffers of module from the HDF5 file `path`.
 *
 * The file comes from ht_module_save_state or another program. A foreign file begins with HDF5's
 * own bytes: it has no user block. Attributes that are not numbers are ignored.
 * module: unchanged on all ranks unless the file fits on every rank of comm.
 * Collective over comm, agrees.
 * Errors: HT_ERR_IO if the file is missing or cannot be read. HT_ERR_FORMAT for a damaged file or a
 * link in it, or naming all entries that do not fit (ht_module_load_state_dict). */
HT_API ht_status ht_module_load_state(ht_module *module, const char *path, ht_comm *comm);

/* Writes the parameters and buffers of module to the safetensors file `path`, each called by path.
 *
 * A tensor of the state is process-local, and the same on all ranks of comm, or is split over comm.
 * torch.nn.Module.load_state_dict takes the map that safetensors.torch.load_file reads from the
 * file, if no tensor is shared. The metadata has "pt" for "format".
 * Collective over comm, agrees.
 * Errors: those of ht_safetensors_save.
 * Source: safetensors.torch.save_model. */
HT_API ht_status ht_module_save_safetensors(ht_module *module, const char *path, ht_comm *comm);

/* Reads the parameters and buffers of module from the safetensors file `path`.
 *
 * Values are converted to the dtype and device of their parameter or buffer.
 * module: unchanged on all ranks unless the file fits on every rank of comm.
 * Collective over comm, agrees.
 * Errors: those of ht_safetensors_load; HT_ERR_FORMAT, naming all entries that do not fit
 * (ht_module_load_state_dict), such as split ones: the tensors of the file are process-local.
 * Source: safetensors.torch.load_model. */
HT_API ht_status ht_module_load_safetensors(ht_module *module, const char *path, ht_comm *comm);

HT_END_DECLS
#endif
