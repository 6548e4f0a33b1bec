/* SPDX-License-Identifier: MIT
 *
 * The hold of a wrapper on a tree: the wrapped child, the guard on its modules, draining, and the
 * observers of forward. */
#include "nn/module/module.h"

#include <string.h>

ht_status ht__module_wrap(ht_module *wrapper, ht_module **slot, ht_module *module)
{
    ptrdiff_t offset = (char *)slot - (char *)wrapper->data;

    ht__module_new_slot(wrapper, "module", HT_SLOT_CHILD, offset, ht_retain(module));
    wrapper->wraps = true;
    wrapper->training = module->training;
    return HT_SUCCESS;
}

ht_module *ht__module_unwrapped(ht_module *module)
{
    while (module != NULL && module->wraps)
        module = *ht__slot_place(module, &module->slots[0]);
    return module;
}

static void find_guard(const char *name, ht_module *module, void *user)
{
    const ht_module_guard **found = user;

    (void)name;
    if (*found == NULL)
        *found = module->guard;
}

ht_status ht__module_check_free(const char *what, ht_module *module)
{
    const ht_module_guard *guard = NULL;

    ht__module_walk(module, find_guard, &guard);
    if (guard == NULL)
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_STATE,
                   "%s: %s holds this module; first change the module, then make its optimizer, "
                   "then wrap it",
                   what, guard->wrapper_name);
}

static void set_guard(const char *name, ht_module *module, void *guard)
{
    (void)name;
    module->guard = guard;
}

ht_status ht__module_guard(const char *what, ht_module *wrapper, ht_module *tree,
                           const ht_module_guard *guard)
{
    ht_status status = ht__module_check_free(what, tree);

    if (status != HT_SUCCESS)
        return status;
    ht__module_walk(tree, set_guard, (void *)guard);
    wrapper->guard = guard;
    return HT_SUCCESS;
}

void ht__module_unguard(ht_module *wrapper, ht_module *tree)
{
    ht__module_walk(tree, set_guard, NULL);
    wrapper->guard = NULL;
}

struct draining {
    const ht_module_guard *last; /* neighbours mostly share one guard: drained once */
    ht_status status;
};

static void drain_one(const char *name, ht_module *module, void *user)
{
    struct draining *draining = user;

    (void)name;
    if (module->guard == NULL || module->guard == draining->last || draining->status != HT_SUCCESS)
        return;
    draining->last = module->guard;
    draining->status = module->guard->drain(module->guard->user);
}

ht_status ht__module_drain(ht_module *module)
{
    struct draining draining = {.status = HT_SUCCESS};

    ht__module_walk(module, drain_one, &draining);
    return draining.status;
}

void ht__module_observe(ht_module *module, ht_forward_observer *observer)
{
    ht_forward_observer **link = &module->observers;

    while (*link != NULL)
        link = &(*link)->next;
    observer->next = NULL;
    *link = observer;
}

void ht__module_leave(ht_module *module, ht_forward_observer *observer)
{
    ht_forward_observer **link = &module->observers;

    while (*link != NULL && *link != observer)
        link = &(*link)->next;
    if (*link != NULL)
        *link = observer->next;
}

void ht__module_gone(ht_module *module)
{
    while (module->observers != NULL) {
        ht_forward_observer *observer = module->observers;

        module->observers = observer->next;
        if (observer->gone != NULL)
            observer->gone(module, observer->user);
    }
}
