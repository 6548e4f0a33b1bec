/* SPDX-License-Identifier: MIT
 *
 * State of a tree in an HDF5 file of its own: a checkpoint whose names are the dotted names of
 * parameters and buffers. Files without checksums, made by others, can be read too. */
#include "core/io/checkpoint/checkpoint.h"
#include "nn/module/file.h"

/* Collective: what one rank lacks is every rank's error. */
static ht_status check(const ht__target *target, ht_module *module)
{
    ht_status status = HT_SUCCESS;
    bool held;

    if (target->comm == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: the communicator is NULL", target->what);
    held = ht__agree_begin();
    if (HT_IS_NULL(module, target->what, "the module") ||
        HT_IS_NULL(target->path, target->what, "the path"))
        status = ht_error_get(NULL);
    return ht__agree_end(target->what, target->comm, held, status);
}

ht_status ht_module_save_state(ht_module *module, const char *path, ht_comm *comm)
{
    const ht__target target = {.what = "ht_module_save_state", .path = path, .comm = comm};
    ht_scope *scope;
    ht_value *state;
    ht_status status;
    bool held;

    status = check(&target, module);
    if (status != HT_SUCCESS)
        return status;
    scope = ht_scope_open();
    held = ht__error_hold(true);
    state = ht_module_state_dict(module);
    ht__error_hold(held);
    status = ht__agree(target.what, comm, state != NULL ? HT_SUCCESS : ht_error_get(NULL));
    if (status == HT_SUCCESS)
        status = ht__checkpoint_save(&target, state, 1);
    ht_scope_close(scope);
    return status;
}

/* Nobody changes a parameter unless the file fits the tree on every rank. */
ht_status ht_module_load_state(ht_module *module, const char *path, ht_comm *comm)
{
    const ht__target target = {.what = "ht_module_load_state", .path = path, .comm = comm};
    ht_status status;
    ht_scope *scope;
    ht_value *map;
    ht_state state;

    status = check(&target, module);
    if (status == HT_SUCCESS)
        status = ht__module_drain(module);
    if (status != HT_SUCCESS)
        return status;

    scope = ht_scope_open();
    state = ht__state_collect(ht__module_unwrapped(module));
    map = ht__checkpoint_load(&target, true);
    status = map != NULL
                 ? ht__agree(target.what, comm, ht__state_fits(target.what, path, &state, map))
                 : ht_error_get(NULL);
    if (status == HT_SUCCESS)
        status = ht__agree(target.what, comm, ht__state_copy(&state, map));
    ht__state_free(&state);
    ht_scope_close(scope);
    return status;
}
