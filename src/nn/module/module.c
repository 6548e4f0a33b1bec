/* SPDX-License-Identifier: MIT
 *
 * A module: its memory, and its registered parameters, buffers and children. */
#include "core/ops/ops.h"
#include "nn/module/module.h"

#include <stdint.h>
#include <string.h>

static void destroy(void *object)
{
    ht_module *module = object;

    ht__module_gone(module);
    if (module->type->destroy != NULL && !module->half_made) {
        HT_UNNAMED();
        module->type->destroy(module);
    }
    for (int i = 0; i < module->slot_count; i++) {
        ht_release(*ht__slot_place(module, &module->slots[i]));
        ht__free(module->slots[i].name);
    }
    ht__free(module->slots);
    ht__free(module->hooks);
    ht__object_fini(module);
    ht__free(module);
}

ht_kind ht__module_kind = {.name = "module", .destroy = destroy};

ht_module *ht_module_new(size_t bytes, const ht_module_type *type)
{
    if (type == NULL || type->name == NULL) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_module_new: type.name is NULL, expected a name");
        return NULL;
    }
    if (type->forward == NULL && type->forward_value == NULL) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT,
                "ht_module_new: type %s has neither forward nor forward_value", type->name);
        return NULL;
    }

    ht_module *module = ht__alloc(sizeof *module + bytes);

    ht__object_init(module, &ht__module_kind);
    module->type = type;
    module->path = "";
    module->training = true;
    module->bytes = bytes;
    return module;
}

void *ht_module_data(ht_module *module)
{
    return HT_IS_THERE(module) ? module->data : NULL;
}

const ht_module_type *ht_module_get_type(const ht_module *module)
{
    return HT_IS_THERE(module) ? module->type : NULL;
}

/* Checks what every registration needs; *offset is where `place` lies in the user's struct. A
 * missing handle is an error that was reported where it arose, or one of the caller's.
 * handle_name: that of the argument. */
static ht_status check_slot(const char *what, ht_module *module, const char *name,
                            const void *place, const char *handle_name, const void *handle,
                            ptrdiff_t *offset)
{
    uintptr_t start, at = (uintptr_t)place;

    if (module == NULL || handle == NULL) {
        ht_status earlier = ht_error_get(NULL);

        if (earlier != HT_SUCCESS)
            return earlier;
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: %s for '%s' is NULL", what,
                       module == NULL ? "module" : handle_name, name != NULL ? name : "");
    }
    if (name == NULL || name[0] == '\0' || strchr(name, '.') != NULL || strchr(name, '/') != NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: name is '%s', expected one that is not empty and has no '.' or '/'",
                       what, name != NULL ? name : "");
    if (ht__module_slot(module, name) != NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: name is '%s', expected one that %s does not have", what, name,
                       module->type->name);
    if (module->guard != NULL)
        return ht__module_check_free(what, module);

    *offset = -1;
    if (place == NULL)
        return HT_SUCCESS;
    start = (uintptr_t)module->data;
    if (at < start || at + sizeof(void *) > start + module->bytes || at % sizeof(void *) != 0)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: the slot of '%s' is not a handle inside the %zu bytes of %s", what,
                       name, module->bytes, module->type->name);
    *offset = (ptrdiff_t)(at - start);
    return HT_SUCCESS;
}

struct search {
    const ht_module *wanted;
    bool found;
};

static void compare(const char *name, ht_module *module, void *user)
{
    struct search *search = user;

    (void)name;
    search->found |= module == search->wanted;
}

bool ht__module_contains(ht_module *module, const ht_module *wanted)
{
    struct search search = {.wanted = wanted};

    ht__module_walk(module, compare, &search);
    return search.found;
}

ht_status ht__module_add(const char *what, ht_module *module, const char *name, ht_module **slot,
                         ht_module *child)
{
    ptrdiff_t offset;
    ht_status status = check_slot(what, module, name, slot, "child", child, &offset);

    if (status != HT_SUCCESS) {
        ht_release(child);
        return status;
    }
    if (ht__module_contains(child, module)) {
        status = HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: '%s' contains the module it is added to", what,
                         name);
        ht_release(child);
        return status;
    }
    ht__module_new_slot(module, name, HT_SLOT_CHILD, offset, child);
    ht__module_set_path(module, module->path);
    return HT_SUCCESS;
}

ht_status ht_module_add(ht_module *module, const char *name, ht_module **slot, ht_module *child)
{
    return ht__module_add("ht_module_add", module, name, slot, child);
}

/* A view could not be given another body later, by to_dtype or by a wrapper that renews buffers:
 * the handle gets separate memory. */
static ht_status own_memory(const char *what, ht_tensor *tensor)
{
    ht_scope *scope;
    ht_status status;
    bool was;

    if (!tensor->view && !tensor->body->read_only)
        return HT_SUCCESS;
    if (tensor->node != NULL)
        return HT_FAIL(tensor->body->comm, HT_ERR_ARGUMENT,
                       "%s: tensor is the result of an operation, expected a leaf", what);
    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);

    ht_tensor *copy = ht_copy(tensor);

    ht_set_grad_enabled(was);
    if (copy != NULL)
        ht__without_base(tensor);
    status = copy != NULL ? ht__tensor_set(what, tensor, copy) : ht_error_get(NULL);
    ht_scope_close(scope);
    return status;
}

static ht_status add_tensor(const char *what, ht_module *module, const char *name,
                            ht_slot_kind kind, ht_tensor **slot, ht_tensor *tensor)
{
    ptrdiff_t offset;
    ht_status status = check_slot(what, module, name, slot,
                                  kind == HT_SLOT_PARAMETER ? "parameter" : "buffer", tensor,
                                  &offset);

    if (status == HT_SUCCESS)
        status = own_memory(what, tensor);
    if (status == HT_SUCCESS && kind == HT_SLOT_PARAMETER) {
        HT_NAMED(what);

        status = ht_tensor_set_requires_grad(tensor, true);
    }
    if (status != HT_SUCCESS)
        return status;
    ht__module_new_slot(module, name, kind, offset, ht_retain(tensor));
    return HT_SUCCESS;
}

ht_status ht__module_add_parameter(const char *what, ht_module *module, const char *name,
                                   ht_tensor *parameter)
{
    return add_tensor(what, module, name, HT_SLOT_PARAMETER, NULL, parameter);
}

ht_status ht_module_add_parameter(ht_module *module, const char *name, ht_tensor **slot,
                                  ht_tensor *parameter)
{
    return add_tensor("ht_module_add_parameter", module, name, HT_SLOT_PARAMETER, slot, parameter);
}

ht_status ht_module_add_buffer(ht_module *module, const char *name, ht_tensor **slot,
                               ht_tensor *buffer)
{
    return add_tensor("ht_module_add_buffer", module, name, HT_SLOT_BUFFER, slot, buffer);
}

ht_status ht_module_add_buffer_ext(ht_module *module, const char *name, ht_tensor **slot,
                                   ht_tensor *buffer, bool persistent)
{
    ht_status status = add_tensor("ht_module_add_buffer_ext", module, name, HT_SLOT_BUFFER, slot,
                                  buffer);

    if (status == HT_SUCCESS)
        ht__module_slot(module, name)->transient = !persistent;
    return status;
}
