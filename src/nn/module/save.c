/* SPDX-License-Identifier: MIT
 *
 * State of a tree in a separate file, whose names are the dotted names of parameters and buffers: a
 * checkpoint in HDF5, or a safetensors file. HDF5 files without checksums, made by others, can be
 * read too. */
#include "core/io/checkpoint/checkpoint.h"
#include "core/io/safetensors/safetensors.h"
#include "nn/module/file.h"

/* Collective: what one rank lacks is every rank's error. */
static ht_status check(const ht_target *target, ht_module *module)
{
    ht_status status = HT_SUCCESS;
    bool held;

    if (target->comm == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: comm is NULL", target->what);
    held = ht__agree_begin();
    if (HT_IS_NULL(module, target->what, "module") ||
        HT_IS_NULL(target->path, target->what, "path"))
        status = ht_error_get(NULL);
    return ht__agree_end(target->what, target->comm, held, status);
}

/* How a state is written and read. Both are collective and agree. */
typedef struct state_format {
    ht_status (*save)(const ht_target *target, const ht_value *state);
    ht_value *(*load)(const ht_target *target);
} state_format;

static ht_status save(const state_format *format, const ht_target *target, ht_module *module)
{
    ht_scope *scope;
    ht_value *state;
    ht_status status;
    bool held;

    status = check(target, module);
    if (status != HT_SUCCESS)
        return status;
    scope = ht_scope_open();
    held = ht__error_hold(true);
    state = ht_module_state_dict(module);
    ht__error_hold(held);
    status = ht__agree(target->what, target->comm, state != NULL ? HT_SUCCESS : ht_error_get(NULL));
    if (status == HT_SUCCESS)
        status = format->save(target, state);
    ht_scope_close(scope);
    return status;
}

/* No rank changes a parameter unless the file fits the tree on every rank. */
static ht_status load(const state_format *format, const ht_target *target, ht_module *module)
{
    ht_status status;
    ht_scope *scope;
    ht_value *map;

    status = check(target, module);
    if (status == HT_SUCCESS)
        status = ht__module_drain(module);
    if (status != HT_SUCCESS)
        return status;

    scope = ht_scope_open();
    map = format->load(target);
    status = map != NULL ? ht__state_load(&(ht_loading){.what = target->what,
                                                        .source = target->path,
                                                        .tree = ht__module_unwrapped(module),
                                                        .strict = true,
                                                        .comm = target->comm},
                                          map)
                         : ht_error_get(NULL);
    ht_scope_close(scope);
    return status;
}

static ht_status save_hdf5(const ht_target *target, const ht_value *state)
{
    return ht__checkpoint_save(target, state, 1);
}

static ht_value *load_hdf5(const ht_target *target)
{
    return ht__checkpoint_load(target, true);
}

static const state_format hdf5 = {save_hdf5, load_hdf5};

ht_status ht_module_save_state(ht_module *module, const char *path, ht_comm *comm)
{
    const ht_target target = {.what = "ht_module_save_state", .path = path, .comm = comm};

    return save(&hdf5, &target, module);
}

ht_status ht_module_load_state(ht_module *module, const char *path, ht_comm *comm)
{
    const ht_target target = {.what = "ht_module_load_state", .path = path, .comm = comm};

    return load(&hdf5, &target, module);
}

/* PyTorch programs look for this text. */
static ht_status save_safetensors(const ht_target *target, const ht_value *state)
{
    static const ht_safetensors_text metadata[] = {{"format", "pt"}};

    return ht__safetensors_save(target->what, state, target->path, 1, metadata, target->comm);
}

static ht_value *load_safetensors(const ht_target *target)
{
    return ht__safetensors_load(target->what, target->path, target->comm);
}

static const state_format safetensors = {save_safetensors, load_safetensors};

ht_status ht_module_save_safetensors(ht_module *module, const char *path, ht_comm *comm)
{
    const ht_target target = {.what = "ht_module_save_safetensors", .path = path, .comm = comm};

    return save(&safetensors, &target, module);
}

ht_status ht_module_load_safetensors(ht_module *module, const char *path, ht_comm *comm)
{
    const ht_target target = {.what = "ht_module_load_safetensors", .path = path, .comm = comm};

    return load(&safetensors, &target, module);
}
