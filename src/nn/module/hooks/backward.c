/* SPDX-License-Identifier: MIT
 *
 * Hooks of the backward pass. A joint before a module's forward and one after it see the gradients
 * of all of its inputs and of all of its outputs. */
#include "nn/module/hooks/hooks.h"
#include "nn/module/hooks/joint.h"

static const char before[] = "ht_module_register_full_backward_pre_hook";
static const char after[] = "ht_module_register_full_backward_hook";

/* One forward of a module, kept by the graph. */
struct ht_backward_hooks {
    ht_object base;
    ht_module *module; /* owned */
    int input_count, output_count;
    bool joined;              /* an input needs a gradient */
    ht_tensor **grad_outputs; /* owned, while a pass is inside the module */
};

static void forget_grads(ht_backward_hooks *hooks)
{
    for (int i = 0; hooks->grad_outputs != NULL && i < hooks->output_count; i++)
        ht_release(hooks->grad_outputs[i]);
    ht__free(hooks->grad_outputs);
    hooks->grad_outputs = NULL;
}

static void destroy(void *object)
{
    ht_backward_hooks *hooks = object;

    forget_grads(hooks);
    ht_release(hooks->module);
    ht__object_fini(hooks);
    ht__free(hooks);
}

static ht_kind kind = {.name = "backward hooks", .destroy = destroy};

/* The tensors of a value, in order; those of `by` take their places if it is not NULL. */
struct tensors {
    ht_tensor **list; /* owned */
    int count;
    ht_tensor *const *by;
};

static ht_value *visit(struct tensors *tensors, ht_value *value)
{
    const ht_value_kind value_kind = ht_value_get_kind(value);
    const bool is_map = value_kind == HT_VALUE_MAP;
    const int at = tensors->count;
    ht_value *items;

    if (value_kind == HT_VALUE_TENSOR) {
        tensors->count++;
        if (tensors->by != NULL)
            return ht_value_tensor(tensors->by[at]);
        tensors->list = ht__realloc(tensors->list, (size_t)tensors->count * sizeof(void *));
        tensors->list[at] = ht_value_as_tensor(value);
    }
    if (value_kind != HT_VALUE_LIST && !is_map)
        return value;
    items = is_map ? ht_value_map() : ht_value_list();
    for (int i = 0; i < ht_value_count(value); i++) {
        ht_value *item = visit(tensors, ht_value_at(value, i));

        if (is_map)
            ht_value_set(items, ht_value_key(value, i), item);
        else
            ht_value_append(items, item);
    }
    return items;
}

/* Joins the tensors of a value. NULL after an error. */
static ht_value *join(const char *what, ht_value *value, ht_joint_fn *run, ht_backward_hooks *hooks,
                      int *count, bool *joined)
{
    struct tensors tensors = {0};
    ht_status status;

    visit(&tensors, value);
    *count = tensors.count;
    status = ht__joint(what, tensors.count, tensors.list, run, hooks, joined);
    if (status == HT_SUCCESS && *joined)
        value = visit(&(struct tensors){.by = tensors.list}, value);
    ht__free(tensors.list);
    return status == HT_SUCCESS ? value : NULL;
}

/* The pass has gone through the module, or there is nothing left to go through. */
static void run_hooks(ht_backward_hooks *hooks, ht_tensor *grad_inputs[])
{
    ht_hook_walk walk = ht__hooks_begin(hooks->module, HT_HOOK_BACKWARD);
    ht_tensor **outputs = hooks->grad_outputs, **none = NULL;

    if (outputs == NULL) /* the inputs were reached by another way than through the output */
        outputs = none = ht__alloc(((size_t)hooks->output_count + 1) * sizeof *none);
    while (ht__hooks_next(&walk))
        walk.hook.run.backward(hooks->module, hooks->input_count, grad_inputs, hooks->output_count,
                               outputs, walk.hook.user);
    ht__free(none);
    forget_grads(hooks);
}

static void inputs_reached(ht_tensor *grads[], void *user)
{
    run_hooks(user, grads);
}

static void outputs_reached(ht_tensor *grads[], void *user)
{
    ht_backward_hooks *hooks = user;
    ht_hook_walk walk = ht__hooks_begin(hooks->module, HT_HOOK_BACKWARD_PRE);
    ht_tensor **none;

    while (ht__hooks_next(&walk))
        walk.hook.run.backward_pre(hooks->module, hooks->output_count, grads, walk.hook.user);
    forget_grads(hooks); /* of a pass that failed */
    hooks->grad_outputs = ht__alloc(((size_t)hooks->output_count + 1) * sizeof(void *));
    for (int i = 0; i < hooks->output_count; i++)
        hooks->grad_outputs[i] = ht_retain(grads[i]);
    if (hooks->joined)
        return;
    none = ht__alloc(((size_t)hooks->input_count + 1) * sizeof *none);
    run_hooks(hooks, none);
    ht__free(none);
}

ht_backward_hooks *ht__backward_hooks_begin(ht_module *module, ht_value **inputs)
{
    ht_backward_hooks *hooks;

    if (!ht__hooks_any(module, HT_HOOK_BACKWARD) && !ht__hooks_any(module, HT_HOOK_BACKWARD_PRE))
        return NULL;
    hooks = ht__alloc(sizeof *hooks);
    ht__object_init(hooks, &kind);
    hooks->module = ht_retain(module);
    *inputs = join(after, *inputs, inputs_reached, hooks, &hooks->input_count, &hooks->joined);
    return hooks;
}

ht_value *ht__backward_hooks_end(ht_backward_hooks *hooks, ht_value *output)
{
    bool joined;

    if (hooks == NULL)
        return output;
    if (output != NULL)
        output = join(before, output, outputs_reached, hooks, &hooks->output_count, &joined);
    ht_release(hooks);
    return output;
}
