/* SPDX-License-Identifier: MIT
 *
 * Running a module: forward with its hooks. One tensor through a module without hooks goes straight
 * to the type's function; everything else goes through values. */
#include "nn/module/module.h"

#include <string.h>

#include "core/timeline/timeline.h"

static const char *const kind_names[] = {"nothing", "a tensor", "a number", "a list", "a map"};

/* The one tensor that `value` is, or holds as a list of one. */
static ht_tensor *one_tensor(const ht_value *value)
{
    if (ht_value_get_kind(value) == HT_VALUE_LIST && ht_value_count(value) == 1)
        value = ht_value_at(value, 0);
    return ht_value_as_tensor(value);
}

static ht_value *call_type(ht_module *module, ht_value *inputs)
{
    ht_tensor *x;

    if (module->type->forward_value != NULL)
        return module->type->forward_value(module, inputs);
    x = one_tensor(inputs);
    if (x == NULL) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_forward_value: %s takes one tensor, got %s",
                module->type->name, kind_names[ht_value_get_kind(inputs)]);
        return NULL;
    }
    return ht_value_tensor(module->type->forward(module, x));
}

static uint64_t last_hook(const ht_module *module)
{
    return module->hook_count > 0 ? module->hooks[module->hook_count - 1].id : 0;
}

/* The next of those up to `last`. Hooks may add or remove hooks: the list is read anew for each. */
static bool next_hook(const ht_module *module, uint64_t last, ht_module_hook *hook)
{
    for (int i = 0; i < module->hook_count && module->hooks[i].id <= last; i++) {
        if (module->hooks[i].id <= hook->id)
            continue;
        *hook = module->hooks[i];
        return true;
    }
    return false;
}

static ht_value *run_pre_hooks(ht_module *module, ht_value *inputs)
{
    uint64_t last = last_hook(module);
    ht_module_hook hook = {0};

    while (next_hook(module, last, &hook)) {
        if (hook.pre == NULL)
            continue;
        ht_value *changed = hook.pre(module, inputs, hook.user);
        inputs = changed != NULL ? changed : inputs;
    }
    return inputs;
}

static ht_value *run_hooks(ht_module *module, ht_value *inputs, ht_value *output)
{
    uint64_t last = last_hook(module);
    ht_module_hook hook = {0};

    while (next_hook(module, last, &hook)) {
        if (hook.post == NULL)
            continue;
        ht_value *changed = hook.post(module, inputs, output, hook.user);
        output = changed != NULL ? changed : output;
    }
    return output;
}

/* What a forward puts around itself. */
typedef struct passing {
    int span;
    const char *outer; /* errors name the innermost layer that has a path */
} passing;

static passing enter(ht_module *module)
{
    const bool named = module->path[0] != '\0';
    const passing p = {.span = ht__span_begin(HT_SPAN_FORWARD,
                                              named ? module->path : module->type->name,
                                              module->type->name),
                       .outer = ht__layer};

    if (named)
        ht__layer = module->path;
    ht__watch_at(module->path);
    for (ht_forward_observer *o = module->observers, *next; o != NULL; o = next) {
        next = o->next; /* it may leave */
        if (o->before != NULL)
            o->before(module, o->user);
    }
    return p;
}

static void tell_after(ht_forward_observer *o, ht_module *module, bool failed)
{
    if (o == NULL)
        return;
    tell_after(o->next, module, failed);
    if (o->after != NULL)
        o->after(module, failed, o->user);
}

static void leave(ht_module *module, bool failed, passing p)
{
    tell_after(module->observers, module, failed);
    ht__layer = p.outer;
    ht__span_end(p.span);
}

static ht_value *forward_value(ht_module *module, ht_value *inputs)
{
    ht_value *output;

    inputs = run_pre_hooks(module, inputs);
    output = call_type(module, inputs);
    if (output == NULL)
        return NULL;
    return run_hooks(module, inputs, output);
}

/* An error has left no input: those who wait for this rank in there hear of it. */
static void miss(ht_module *module)
{
    if (module->calls != NULL && module->calls->missed != NULL)
        module->calls->missed(module);
}

ht_value *ht_forward_value(ht_module *module, ht_value *inputs)
{
    if (HT_IS_NULL(module, "ht_forward_value", "the module"))
        return NULL;
    if (HT_IS_NULL(inputs, "ht_forward_value", "the inputs")) {
        miss(module);
        return NULL;
    }

    const passing p = enter(module);
    ht_value *output = forward_value(module, inputs);

    leave(module, output == NULL, p);
    return output;
}

static ht_tensor *forward_tensor(ht_module *module, ht_tensor *x)
{
    ht_value *output;
    ht_tensor *y;

    if (module->hook_count == 0 && module->type->forward != NULL)
        return module->type->forward(module, x);

    output = forward_value(module, ht_value_tensor(x));
    if (output == NULL)
        return NULL;
    y = one_tensor(output);
    if (y == NULL)
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_forward: %s returned %s; use ht_forward_value",
                module->type->name, kind_names[ht_value_get_kind(output)]);
    return y;
}

ht_tensor *ht_forward(ht_module *module, ht_tensor *x)
{
    if (HT_IS_NULL(module, "ht_forward", "the module"))
        return NULL;
    if (HT_IS_NULL(x, "ht_forward", "x")) {
        miss(module);
        return NULL;
    }

    const passing p = enter(module);
    ht_tensor *y = forward_tensor(module, x);

    leave(module, y == NULL, p);
    return y;
}

static uint64_t add_hook(const char *what, ht_module *module, ht_module_hook hook)
{
    static atomic_uint_fast64_t last_id;

    if (HT_IS_NULL(module, what, "the module"))
        return 0;
    if (hook.pre == NULL && hook.post == NULL) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: the hook is NULL", what);
        return 0;
    }
    hook.id = atomic_fetch_add(&last_id, 1) + 1;
    module->hooks = ht__realloc(module->hooks,
                                ((size_t)module->hook_count + 1) * sizeof *module->hooks);
    module->hooks[module->hook_count++] = hook;
    return hook.id;
}

uint64_t ht_module_register_forward_pre_hook(ht_module *module, ht_module_pre_hook_fn *hook,
                                             void *user)
{
    return add_hook("ht_module_register_forward_pre_hook", module,
                    (ht_module_hook){.pre = hook, .user = user});
}

uint64_t ht_module_register_forward_hook(ht_module *module, ht_module_hook_fn *hook, void *user)
{
    return add_hook("ht_module_register_forward_hook", module,
                    (ht_module_hook){.post = hook, .user = user});
}

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
    return HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_module_remove_hook: no hook has the id %llu",
                   (unsigned long long)id);
}
