/* SPDX-License-Identifier: MIT
 *
 * ModuleList, ModuleDict, ParameterList and ParameterDict: items without a forward. */
#include "ht/containers.h"
#include "nn/layers/containers/children.h"

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    HT_FAIL(ht_tensor_comm(x), HT_ERR_UNSUPPORTED, "ht_forward: %s has no forward; call its items",
            ht_module_get_type(self)->name);
    return NULL;
}

static const ht_module_type module_list = {.name = "ModuleList", .forward = forward};
static const ht_module_type module_dict = {.name = "ModuleDict", .forward = forward};
static const ht_module_type parameter_list = {.name = "ParameterList", .forward = forward};
static const ht_module_type parameter_dict = {.name = "ParameterDict", .forward = forward};

ht_module *ht_nn_module_list(int count, ht_module *const modules[])
{
    return ht__new_with_children("ht_nn_module_list", &module_list, count, NULL, modules);
}

ht_status ht_nn_module_list_append(ht_module *list, ht_module *module)
{
    static const char what[] = "ht_nn_module_list_append";

    if (!HT_IS_NULL(list, what, "list") && !HT_IS_NULL(module, what, "module"))
        return ht__append_child(what, list, module);
    ht_release(module);
    return ht_error_get(NULL);
}

ht_module *ht_nn_module_dict(int count, const char *const names[], ht_module *const modules[])
{
    const bool bad = count > 0 && HT_IS_NULL(names, "ht_nn_module_dict", "names");

    if (!bad)
        return ht__new_with_children("ht_nn_module_dict", &module_dict, count, names, modules);
    for (int i = 0; modules != NULL && i < count; i++)
        ht_release(modules[i]);
    return NULL;
}

static ht_module *new_with_parameters(const char *what, const ht_module_type *type, int count,
                                      const char *const names[], ht_tensor *const parameters[])
{
    ht_module *self;
    ht_status status = HT_SUCCESS;

    if (!ht__is_list(what, count, parameters, "parameters"))
        return NULL;
    self = ht_module_new(0, type);
    for (int i = 0; i < count && status == HT_SUCCESS; i++) {
        if (ht__is_missing(what, "parameters", i, parameters[i]))
            status = ht_error_get(NULL);
        else if (names == NULL)
            status = ht__append_parameter(what, self, parameters[i]);
        else
            status = ht__module_add_parameter(what, self, names[i], parameters[i]);
    }
    if (status == HT_SUCCESS)
        return self;
    ht_release(self);
    return NULL;
}

ht_module *ht_nn_parameter_list(int count, ht_tensor *const parameters[])
{
    return new_with_parameters("ht_nn_parameter_list", &parameter_list, count, NULL, parameters);
}

ht_status ht_nn_parameter_list_append(ht_module *list, ht_tensor *parameter)
{
    static const char what[] = "ht_nn_parameter_list_append";

    if (HT_IS_NULL(list, what, "list") || HT_IS_NULL(parameter, what, "parameter"))
        return ht_error_get(NULL);
    return ht__append_parameter(what, list, parameter);
}

ht_module *ht_nn_parameter_dict(int count, const char *const names[], ht_tensor *const parameters[])
{
    if (count > 0 && HT_IS_NULL(names, "ht_nn_parameter_dict", "names"))
        return NULL;
    return new_with_parameters("ht_nn_parameter_dict", &parameter_dict, count, names, parameters);
}
