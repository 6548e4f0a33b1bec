/* SPDX-License-Identifier: MIT
 *
 * The list of a module's hooks: registration, removal, and walks that allow both. */
#include "nn/module/hooks/hooks.h"

#include <string.h>

ht_hook_walk ht__hooks_begin(const ht_module *module, ht_hook_kind kind)
{
    const int count = module->hook_count;

    return (ht_hook_walk){
        .module = module, .kind = kind, .last = count > 0 ? module->hooks[count - 1].id : 0};
}

bool ht__hooks_next(ht_hook_walk *walk)
{
    const ht_module *module = walk->module;

    /* The list is read again for each: it may have changed. */
    for (int i = 0; i < module->hook_count && module->hooks[i].id <= walk->last; i++) {
        if (module->hooks[i].id <= walk->hook.id || module->hooks[i].kind != walk->kind)
            continue;
        walk->hook = module->hooks[i];
        return true;
    }
    return false;
}

bool ht__hooks_any(const ht_module *module, ht_hook_kind kind)
{
    ht_hook_walk walk = ht__hooks_begin(module, kind);

    return ht__hooks_next(&walk);
}

void ht__hooks_copy(const ht_module *module, ht_module *copy)
{
    size_t bytes = (size_t)module->hook_count * sizeof *module->hooks;

    if (bytes == 0)
        return;
    copy->hooks = memcpy(ht__alloc(bytes), module->hooks, bytes);
    copy->hook_count = module->hook_count;
}

static uint64_t add_hook(const char *what, ht_module *module, bool is_there, ht_module_hook hook)
{
    static atomic_uint_fast64_t last_id;

    if (HT_IS_NULL(module, what, "module"))
        return 0;
    if (!is_there) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: hook is NULL", what);
        return 0;
    }
    hook.id = atomic_fetch_add(&last_id, 1) + 1;
    module->hooks = ht__realloc(module->hooks,
                                ((size_t)module->hook_count + 1) * sizeof *module->hooks);
    module->hooks[module->hook_count++] = hook;
    return hook.id;
}

/* The public function `name`, for hooks of a kind and type. */
#define REGISTER(name, type, hook_kind, member)                                                 \
    uint64_t name(ht_module *module, type *hook, void *user)                                    \
    {                                                                                           \
        return add_hook(#name, module, hook != NULL,                                            \
                        (ht_module_hook){.kind = hook_kind, .run.member = hook, .user = user}); \
    }

REGISTER(ht_module_register_forward_pre_hook, ht_module_pre_hook_fn, HT_HOOK_FORWARD_PRE,
         forward_pre)
REGISTER(ht_module_register_forward_hook, ht_module_hook_fn, HT_HOOK_FORWARD, forward)
REGISTER(ht_module_register_full_backward_pre_hook, ht_module_backward_pre_hook_fn,
         HT_HOOK_BACKWARD_PRE, backward_pre)
REGISTER(ht_module_register_full_backward_hook, ht_module_backward_hook_fn, HT_HOOK_BACKWARD,
         backward)
REGISTER(ht_module_register_state_dict_pre_hook, ht_module_state_pre_hook_fn, HT_HOOK_STATE_PRE,
         state_pre)
REGISTER(ht_module_register_state_dict_post_hook, ht_module_state_hook_fn, HT_HOOK_STATE, state)
REGISTER(ht_module_register_load_state_dict_pre_hook, ht_module_state_hook_fn, HT_HOOK_LOAD_PRE,
         state)
REGISTER(ht_module_register_load_state_dict_post_hook, ht_module_load_hook_fn, HT_HOOK_LOAD, load)

ht_status ht_module_remove_hook(ht_module *module, uint64_t id)
{
    for (int i = 0; module != NULL && i < module->hook_count; i++) {
        ht_module_hook *hook = &module->hooks[i];

        if (hook->id != id)
            continue;
        module->hook_count--;
        memmove(hook, hook + 1, (size_t)(module->hook_count - i) * sizeof *hook);
        return HT_SUCCESS;
    }
    return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                   "ht_module_remove_hook: id is %llu, expected that of a hook",
                   (unsigned long long)id);
}
