/* SPDX-License-Identifier: MIT
 *
 * Running a module: forward with its hooks. One tensor through a module without hooks goes straight
 * to the type's function; everything else goes through values. */
#include "nn/module/module.h"

#include "core/timeline/timeline.h"
#include "nn/module/hooks/hooks.h"

/* The one tensor that `value` is, or holds as a list of one. */
static ht_tensor *one_tensor(const ht_value *value)
{
    if (ht_value_get_kind(value) == HT_VALUE_LIST && ht_value_count(value) == 1)
        value = ht_value_at(value, 0);
    return ht_value_as_tensor(value);
}

/* By slot, as containers run their children: one in two slots is missed twice. */
void ht__module_missed(ht_module *module)
{
    if (module->calls != NULL && module->calls->missed != NULL) {
        module->calls->missed(module);
        return;
    }
    for (int i = 0; i < module->slot_count; i++) {
        if (module->slots[i].kind == HT_SLOT_CHILD)
            ht__module_missed(*ht__slot_place(module, &module->slots[i]));
    }
}

static ht_value *call_type(ht_module *module, ht_value *inputs)
{
    ht_tensor *x;

    if (module->type->forward_value != NULL)
        return module->type->forward_value(module, inputs);
    x = one_tensor(inputs);
    if (x == NULL) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_forward_value: %s takes one tensor, got %s",
                module->type->name, ht__value_kind_name(inputs));
        ht__module_missed(module);
        return NULL;
    }
    return ht_value_tensor(module->type->forward(module, x));
}

/* The value after a hook, which returns another one, or NULL to keep it. NULL after its error. */
static ht_value *after_hook(ht_value *value, ht_value *changed)
{
    if (ht_error_get(NULL) != HT_SUCCESS)
        return NULL;
    return changed != NULL ? changed : value;
}

static ht_value *run_pre_hooks(ht_module *module, ht_value *inputs)
{
    ht_hook_walk walk = ht__hooks_begin(module, HT_HOOK_FORWARD_PRE);
    ht_error_kept earlier;

    ht__error_set_aside(&earlier);
    while (inputs != NULL && ht__hooks_next(&walk))
        inputs = after_hook(inputs, walk.hook.run.forward_pre(module, inputs, walk.hook.user));
    ht__error_put_back(&earlier);
    return inputs;
}

static ht_value *run_hooks(ht_module *module, ht_value *inputs, ht_value *output)
{
    ht_hook_walk walk = ht__hooks_begin(module, HT_HOOK_FORWARD);
    ht_error_kept earlier;

    ht__error_set_aside(&earlier);
    while (output != NULL && ht__hooks_next(&walk))
        output = after_hook(output, walk.hook.run.forward(module, inputs, output, walk.hook.user));
    ht__error_put_back(&earlier);
    return output;
}

/* The state that a forward sets and restores. */
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

/* Whether a pass gave no output. A NULL of the type's own function without an error becomes one. */
static bool has_failed(const char *what, const ht_module *module, const void *output)
{
    if (output == NULL && ht_error_get(NULL) == HT_SUCCESS)
        HT_FAIL(NULL, HT_ERR_STATE, "%s: %s returned NULL without an error", what,
                module->type->name);
    return output == NULL;
}

static ht_value *forward_value(ht_module *module, ht_value *inputs)
{
    ht_backward_hooks *hooks = NULL;
    ht_value *output = NULL;

    inputs = run_pre_hooks(module, inputs);
    if (inputs != NULL)
        hooks = ht__backward_hooks_begin(module, &inputs);
    if (inputs != NULL)
        output = call_type(module, inputs);
    else
        ht__module_missed(module);
    if (output != NULL)
        output = run_hooks(module, inputs, output);
    return ht__backward_hooks_end(hooks, output);
}

ht_value *ht_forward_value(ht_module *module, ht_value *inputs)
{
    if (HT_IS_NULL(module, "ht_forward_value", "module"))
        return NULL;
    if (HT_IS_NULL(inputs, "ht_forward_value", "inputs")) {
        ht__module_missed(module);
        return NULL;
    }

    const passing p = enter(module);
    ht_value *output = NULL;

    if (module->compute == NULL || module->compute("ht_forward_value", module))
        output = forward_value(module, inputs);
    else
        ht__module_missed(module);

    leave(module, has_failed("ht_forward_value", module, output), p);
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
                module->type->name, ht__value_kind_name(output));
    return y;
}

ht_tensor *ht_forward(ht_module *module, ht_tensor *x)
{
    if (HT_IS_NULL(module, "ht_forward", "module"))
        return NULL;
    if (HT_IS_NULL(x, "ht_forward", "x")) {
        ht__module_missed(module);
        return NULL;
    }

    const passing p = enter(module);
    ht_tensor *y = NULL;

    if (module->compute == NULL || module->compute("ht_forward", module))
        y = forward_tensor(module, x);
    else
        ht__module_missed(module);

    leave(module, has_failed("ht_forward", module, y), p);
    return y;
}
