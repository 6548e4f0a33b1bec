/* SPDX-License-Identifier: MIT
 *
 * Registers and removes parametrizations. */
#include "nn/module/parametrize/compute.h"

#include <string.h>

#include "ht/autograd.h"
#include "ht/parametrize.h"

static const char registering[] = "ht_nn_register_parametrization";
static const char removing[] = "ht_nn_remove_parametrizations";

/* The slot of a parameter, or of one that is parametrized. NULL after an error. */
static ht_slot *find_slot(const char *what, ht_module *module, const char *name, bool parametrized)
{
    ht_slot *slot;

    if (HT_IS_NULL(module, what, "module") || HT_IS_NULL(name, what, "name"))
        return NULL;
    slot = ht__module_slot(module, name);
    if (ht__parametrization_list(module, name) != NULL ||
        (!parametrized && slot != NULL && slot->kind == HT_SLOT_PARAMETER))
        return slot;
    HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: name is '%s', expected a %sparameter of %s", what, name,
            parametrized ? "parametrized " : "", module->type->name);
    return NULL;
}

/* The parameter, or what its parametrizations make now: the slot may be behind its originals. */
static ht_tensor *present_value(const char *what, ht_module *module, ht_slot *slot)
{
    ht_module *list = ht__parametrization_list(module, slot->name);
    ht_tensor *value;
    bool was;

    if (list == NULL)
        return *ht__slot_place(module, slot);
    was = ht_set_grad_enabled(false);
    value = ht__parametrization_value(what, list);
    ht_set_grad_enabled(was);
    return value;
}

ht_tensor *ht__module_parameter(const char *what, ht_module *module, const char *name)
{
    ht_slot *slot = find_slot(what, module, name, false);

    return slot != NULL ? present_value(what, module, slot) : NULL;
}

/* The result of a new parametrization, for the first time. */
static ht_tensor *first_value(ht_module *list, const ht_tensor *like)
{
    ht_tensor *value = ht__parametrization_value(registering, list);

    if (value == NULL ||
        (ht__body_same_shape(value->body, like->body) && value->body->dtype == like->body->dtype))
        return value;
    HT_FAIL(like->body->comm, HT_ERR_SHAPE, "%s: the result is %s, expected one like %s",
            registering, ht__body_str(value->body), ht__body_str(like->body));
    return NULL;
}

static ht_status add_original(ht_module *list, const char *name, const ht_value *original,
                              bool requires_grad)
{
    ht_tensor *x = ht_value_as_tensor(original);
    ht_status status;

    if (x == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: right_inverse gives no tensor for %s",
                       registering, name);
    status = ht_module_add_parameter(list, name, NULL, x);
    return status == HT_SUCCESS ? ht_tensor_set_requires_grad(x, requires_grad) : status;
}

static ht_status add_originals(ht_module *list, const ht_value *originals, bool requires_grad)
{
    ht_status status = HT_SUCCESS;
    char name[32];

    if (ht_value_get_kind(originals) == HT_VALUE_TENSOR)
        return add_original(list, "original", originals, requires_grad);
    if (ht_value_get_kind(originals) != HT_VALUE_LIST || ht_value_count(originals) < 2)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: right_inverse gives neither a tensor nor a list of at least 2",
                       registering);
    for (int i = 0; i < ht_value_count(originals) && status == HT_SUCCESS; i++) {
        snprintf(name, sizeof name, "original%d", i);
        status = add_original(list, name, ht_value_at(originals, i), requires_grad);
    }
    return status;
}

/* A list of one parametrization with its originals, owned; it takes the parametrization. NULL after
 * an error. */
static ht_module *new_list(ht_module *parametrization, ht_right_inverse_fn *right_inverse,
                           ht_tensor *parameter)
{
    const bool requires_grad = ht_tensor_requires_grad(parameter);
    ht_module *list = ht_module_new(0, &ht__parametrization_list_type);
    ht_value *originals = ht_value_tensor(parameter);
    ht_status status;

    if (right_inverse != NULL)
        originals = right_inverse(parametrization, parameter);
    if (originals == NULL && ht_error_get(NULL) != HT_SUCCESS)
        status = ht_error_get(NULL);
    else
        status = add_originals(list, originals, requires_grad);
    if (status != HT_SUCCESS)
        ht_release(parametrization);
    else
        status = ht_module_add(list, "0", NULL, parametrization);
    if (status == HT_SUCCESS && first_value(list, parameter) != NULL)
        return list;
    ht_tensor_set_requires_grad(parameter, requires_grad);
    ht_release(list);
    return NULL;
}

static void set_training(const char *name, ht_module *module, void *training)
{
    (void)name;
    module->training = *(const bool *)training;
}

/* The slot becomes a computed one, which keeps the parameter as its value until the next forward. */
static ht_status install(ht_module *module, const char *name, ht_module *list)
{
    ht_status status = HT_SUCCESS;

    if (ht__parametrization_lists(module) == NULL)
        status = ht_module_add(module, HT_PARAMETRIZATIONS, NULL,
                               ht_module_new(0, &ht__parametrizations_type));
    if (status != HT_SUCCESS) {
        ht_release(list);
        return status;
    }
    ht__module_walk(list, set_training, &module->training);
    status = ht_module_add(ht__parametrization_lists(module), name, NULL, list);
    if (status != HT_SUCCESS)
        return status;
    ht__module_set_path(module, module->path);
    ht__module_slot(module, name)->kind = HT_SLOT_COMPUTED;
    module->compute = ht__parametrize_compute;
    return HT_SUCCESS;
}

/* One more parametrization after those of a list. */
static ht_status extend(ht_module *list, ht_module *parametrization, const ht_tensor *like)
{
    char name[32];
    ht_status status;

    ht__module_walk(parametrization, set_training, &list->training);
    snprintf(name, sizeof name, "%d", ht_module_child_count(list));
    status = ht_module_add(list, name, NULL, parametrization);
    if (status != HT_SUCCESS)
        return status;
    ht__module_set_path(list, list->path);
    if (first_value(list, like) != NULL)
        return HT_SUCCESS;
    ht__module_remove_slot(list, name);
    return ht_error_get(NULL);
}

static ht_status parametrize(const char *what, ht_module *module, ht_slot *slot,
                             ht_module *parametrization, ht_right_inverse_fn *right_inverse)
{
    ht_tensor *value = present_value(what, module, slot);
    ht_module *list = ht__parametrization_list(module, slot->name);

    if (value == NULL) {
        ht_release(parametrization);
        return ht_error_get(NULL);
    }
    if (list != NULL)
        return extend(list, parametrization, value);
    list = new_list(parametrization, right_inverse, value);
    return list != NULL ? install(module, slot->name, list) : ht_error_get(NULL);
}

/* Whether the module can have lists, and no wrapper has its tensors. */
static ht_status check_owner(const char *what, ht_module *module)
{
    if (module->type == &ht__parametrization_list_type)
        return HT_FAIL(
            NULL, HT_ERR_ARGUMENT,
            "%s: module is the list of a parametrized parameter, expected another module", what);
    if (ht__module_slot(module, HT_PARAMETRIZATIONS) != NULL &&
        ht__parametrization_lists(module) == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: module is a %s with a '%s' of its own, expected one without", what,
                       module->type->name, HT_PARAMETRIZATIONS);
    return ht__module_check_free(what, module);
}

ht_status ht__register_parametrization(const char *what, ht_module *module, const char *name,
                                       ht_module *parametrization,
                                       ht_right_inverse_fn *right_inverse)
{
    ht_error_kept earlier;
    ht_slot *slot;
    ht_status status;
    ht_scope *scope;
    bool was;

    if (HT_IS_NULL(parametrization, what, "parametrization"))
        return ht_error_get(NULL);
    slot = find_slot(what, module, name, false);
    status = slot != NULL ? check_owner(what, module) : ht_error_get(NULL);
    if (status != HT_SUCCESS) {
        ht_release(parametrization);
        return status;
    }
    ht__error_set_aside(&earlier);
    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    status = parametrize(what, module, slot, parametrization, right_inverse);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    ht__error_put_back(&earlier);
    return status;
}

ht_status ht_nn_register_parametrization(ht_module *module, const char *name,
                                         ht_module *parametrization,
                                         ht_right_inverse_fn *right_inverse)
{
    return ht__register_parametrization(registering, module, name, parametrization, right_inverse);
}

bool ht_nn_is_parametrized(ht_module *module, const char *name)
{
    if (!HT_IS_THERE(module))
        return false;
    return name == NULL ? module->compute != NULL : ht__parametrization_list(module, name) != NULL;
}

ht_tensor *ht_nn_parametrized(ht_module *module, const char *name)
{
    static const char what[] = "ht_nn_parametrized";

    if (find_slot(what, module, name, true) == NULL || ht__module_drain(module) != HT_SUCCESS)
        return NULL;
    return ht__parametrization_value(what, ht__parametrization_list(module, name));
}

/* The parameter that takes the place of a list, scoped. */
static ht_tensor *replacement(ht_module *list, bool leave_parametrized)
{
    ht_value *originals = ht__parametrization_originals(list);
    ht_tensor *one = ht_value_as_tensor(originals), *value;
    bool requires_grad = ht_tensor_requires_grad(
        one != NULL ? one : ht_value_as_tensor(ht_value_at(originals, 0)));

    if (!leave_parametrized && one != NULL)
        return one;
    if (!leave_parametrized) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT,
                "%s: leave_parametrized is false, expected true for %d originals", removing,
                ht_value_count(originals));
        return NULL;
    }
    value = ht__parametrization_value(removing, list);
    if (value == NULL)
        return NULL;
    if (one != NULL && ht__body_same_shape(one->body, value->body))
        return ht_copy_(one, value) == HT_SUCCESS ? one : NULL;
    value = ht_copy(value);
    if (value == NULL || ht_tensor_set_requires_grad(value, requires_grad) != HT_SUCCESS)
        return NULL;
    return value;
}

static ht_status remove_list(ht_module *module, ht_slot *slot, bool leave_parametrized)
{
    ht_module *lists = ht__parametrization_lists(module);
    ht_tensor *value = replacement(ht__parametrization_list(module, slot->name),
                                   leave_parametrized);
    void **place = ht__slot_place(module, slot);

    if (value == NULL)
        return ht_error_get(NULL);
    ht_retain(value);
    ht_release(*place);
    *place = value;
    slot->kind = HT_SLOT_PARAMETER;
    ht__module_remove_slot(lists, slot->name);
    if (lists->slot_count == 0) {
        ht__module_remove_slot(module, HT_PARAMETRIZATIONS);
        module->compute = NULL;
    }
    return HT_SUCCESS;
}

ht_status ht_nn_remove_parametrizations(ht_module *module, const char *name,
                                        bool leave_parametrized)
{
    ht_slot *slot = find_slot(removing, module, name, true);
    ht_status status;
    ht_scope *scope;
    bool was;

    status = slot != NULL ? ht__module_check_free(removing, module) : ht_error_get(NULL);
    if (status != HT_SUCCESS)
        return status;
    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    status = remove_list(module, slot, leave_parametrized);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}
