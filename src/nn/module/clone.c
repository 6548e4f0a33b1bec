/* SPDX-License-Identifier: MIT
 *
 * Copying a tree: structs bitwise, slots rebased, tensors copied or made of the originals in
 * another way. Shared tensors stay shared. */
#include "ht/autograd.h"
#include "nn/module/hooks/hooks.h"

#include <string.h>

/* Originals and their copies. Trees are small where it matters, so a search is a walk over the
 * list. */
struct copies {
    const void **from;
    void **to;
    size_t count, capacity;
    ht_module_tensor_fn *tensor;
    void *user; /* of tensor */
};

static void remember(struct copies *copies, const void *from, void *to)
{
    if (copies->count == copies->capacity) {
        copies->capacity = copies->capacity > 0 ? 2 * copies->capacity : 32;
        copies->from = ht__realloc(copies->from, copies->capacity * sizeof *copies->from);
        copies->to = ht__realloc(copies->to, copies->capacity * sizeof *copies->to);
    }
    copies->from[copies->count] = from;
    copies->to[copies->count++] = to;
}

/* The copy made earlier, with one more reference; NULL when there is none. */
static void *copy_of(const struct copies *copies, const void *from)
{
    for (size_t i = 0; i < copies->count; i++) {
        if (copies->from[i] == from)
            return ht_retain(copies->to[i]);
    }
    return NULL;
}

static ht_tensor *copy_tensor(struct copies *copies, ht_tensor *x)
{
    ht_tensor *y = copy_of(copies, x);

    if (y != NULL)
        return y;
    y = copies->tensor(x, copies->user);
    if (y != NULL)
        remember(copies, x, y);
    return y;
}

static ht_module *copy_module(struct copies *copies, ht_module *module);

static bool copy_slots(struct copies *copies, ht_module *module, ht_module *copy)
{
    /* Fields first hold the original's handles: empty them, so that a failure releases none of
     * those. */
    memcpy(copy->data, module->data, module->bytes);
    for (int i = 0; i < module->slot_count; i++)
        ht__module_new_slot(copy, module->slots[i].name, module->slots[i].kind,
                            module->slots[i].offset, NULL);
    for (int i = 0; i < module->slot_count; i++)
        copy->slots[i].transient = module->slots[i].transient;
    for (int i = 0; i < module->slot_count; i++) {
        void *original = *ht__slot_place(module, &module->slots[i]);
        void **place = ht__slot_place(copy, &copy->slots[i]);

        *place = module->slots[i].kind == HT_SLOT_CHILD ? (void *)copy_module(copies, original)
                                                        : (void *)copy_tensor(copies, original);
        if (*place == NULL)
            return false;
    }
    return true;
}

/* The hook's messages name the functions that it calls. */
static bool run_hook(ht_module *module, ht_module *copy)
{
    ht_status status;

    if (module->type->clone == NULL)
        return true;
    {
        HT_UNNAMED();
        status = module->type->clone(module, copy);
    }
    if (status != HT_SUCCESS && ht_error_get(NULL) == HT_SUCCESS)
        HT_FAIL(NULL, status, "ht_module_clone: the clone hook of %s failed and gave no reason",
                module->type->name);
    return status == HT_SUCCESS;
}

static ht_module *copy_module(struct copies *copies, ht_module *module)
{
    const ht_module_type *type = module->type;
    ht_module *copy = copy_of(copies, module);

    if (copy != NULL)
        return copy;
    if (type->destroy != NULL && type->clone == NULL) {
        HT_FAIL(NULL, HT_ERR_UNSUPPORTED,
                "ht_module_clone: type %s has a destroy hook but no clone hook: a copy of it would "
                "destroy the same things twice",
                type->name);
        return NULL;
    }

    copy = ht_module_new(module->bytes, type);
    copy->training = module->training;
    copy->calls = module->calls;
    copy->compute = module->compute;
    copy->half_made = true;
    if (!copy_slots(copies, module, copy) || !run_hook(module, copy)) {
        ht_release(copy);
        return NULL;
    }
    copy->half_made = false;
    ht__hooks_copy(module, copy);
    remember(copies, module, copy);
    return copy;
}

ht_module *ht__module_copy(ht_module *module, ht_module_tensor_fn *tensor, void *user)
{
    struct copies copies = {.tensor = tensor, .user = user};
    ht_module *copy = copy_module(&copies, module);

    ht__free(copies.from);
    ht__free(copies.to);
    return copy;
}

static ht_tensor *clone_tensor(ht_tensor *x, void *unused)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *y = ht_retain(ht_copy(x));

    (void)unused;
    ht_scope_close(scope);
    if (y != NULL && ht_tensor_requires_grad(x))
        ht_tensor_set_requires_grad(y, true);
    return y;
}

ht_module *ht_module_clone(ht_module *module)
{
    ht_module *copy;
    bool was;

    if (HT_IS_NULL(module, "ht_module_clone", "module") || ht__module_drain(module) != HT_SUCCESS)
        return NULL;
    was = ht_set_grad_enabled(false);
    copy = ht__module_copy(module, clone_tensor, NULL);
    ht_set_grad_enabled(was);
    if (copy != NULL)
        ht__module_set_path(copy, "");
    return copy;
}
