/* SPDX-License-Identifier: MIT
 *
 * AveragedModel: a copy of a module whose parameters are averages over updates. */
#include "ht/arithmetics.h"
#include "ht/autograd.h"
#include "ht/averaged_model.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "nn/module/module.h"

static const char making[] = "ht_nn_averaged_model";
static const char updating[] = "ht_averaged_model_update_parameters";

struct averaged {
    ht_module *module;     /* slot */
    ht_tensor *n_averaged; /* slot; int64 */
    ht_averaged_model_options options;
};

ht_averaged_model_options ht_averaged_model_options_default(void)
{
    return (ht_averaged_model_options){.size = sizeof(ht_averaged_model_options), .decay = -1};
}

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    return ht_forward(((struct averaged *)ht_module_data(self))->module, x);
}

static ht_value *forward_value(ht_module *self, ht_value *inputs)
{
    return ht_forward_value(((struct averaged *)ht_module_data(self))->module, inputs);
}

static const ht_module_type type = {
    .name = "AveragedModel", .forward = forward, .forward_value = forward_value};

ht_module *ht_nn_averaged_model(ht_module *module, const ht_averaged_model_options *options)
{
    struct averaged data = {.options = ht_averaged_model_options_default()}, *made;
    ht_module *self;
    ht_scope *scope;

    if (options != NULL)
        data.options = *options;
    if (HT_IS_NULL(module, making, "module") ||
        HT_CHECK_OPTIONS(NULL, making, &data.options, ht_averaged_model_options) != HT_SUCCESS)
        return NULL;
    if (data.options.decay != -1 && !(data.options.decay >= 0 && data.options.decay <= 1)) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: decay is %g, expected -1 or 0 to 1", making,
                data.options.decay);
        return NULL;
    }
    if (data.options.decay != -1 && data.options.average != NULL) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: decay is %g, expected -1 when average is set", making,
                data.options.decay);
        return NULL;
    }
    self = ht_module_new_ext(making, &type, sizeof data, &data);
    made = ht_module_data(self);
    scope = ht_scope_open();
    HT_NAMED(making);
    if (ht_module_add(self, "module", &made->module,
                      ht_module_clone(ht__module_unwrapped(module))) != HT_SUCCESS ||
        ht_module_add_buffer(self, "n_averaged", &made->n_averaged,
                             ht_zeros(0, NULL, HT_INT64, HT_LOCAL)) != HT_SUCCESS) {
        ht_release(self);
        self = NULL;
    }
    ht_scope_close(scope);
    return self;
}

/* The update of all tensors. */
typedef struct update {
    double count; /* of updates before this one */
    const ht_averaged_model_options *options;
} update;

/* By the program's function. */
static ht_status average_by(ht_tensor *a, ht_tensor *p, const update *u)
{
    ht_tensor *next = u->options->average(a, p, (int64_t)u->count, u->options->user);

    if (HT_IS_NULL(next, updating, "the result of average"))
        return ht_error_get(NULL);
    if (!ht__body_same_shape(a->body, next->body))
        return HT_FAIL(a->body->comm, HT_ERR_SHAPE,
                       "%s: the result of average has shape %s, expected %s", updating,
                       ht__shape_str(next->body->ndim, next->body->shape),
                       ht__shape_str(a->body->ndim, a->body->shape));
    return ht_copy_(a, next);
}

/* As PyTorch's lerp rounds: from the nearer end. */
static ht_status lerp(ht_tensor *a, ht_tensor *p, double weight)
{
    ht_tensor *difference = ht_sub(p, a);

    if (weight < 0.5)
        return ht_add_(a, difference, weight);
    return ht_copy_(a, ht_sub(p, ht_mul_scalar(difference, 1 - weight)));
}

static ht_status average(ht_tensor *a, ht_tensor *p, const update *u)
{
    const double decay = u->options->decay;

    if (u->count == 0)
        return ht_copy_(a, p);
    if (u->options->average != NULL)
        return average_by(a, p, u);
    if (decay < 0)
        return ht_copy_(a, ht_add(a, ht_div_scalar(ht_sub(p, a), u->count + 1)));
    if (ht_dtype_is_floating(a->body->dtype) || ht_dtype_is_complex(a->body->dtype))
        return lerp(a, p, 1 - decay);
    return ht_copy_(a, ht_add(ht_mul_scalar(p, 1 - decay), ht_mul_scalar(a, decay)));
}

static ht_tensor *tensor_at(ht_value *list, int i)
{
    return ht_value_as_tensor(ht_value_at(list, i));
}

/* Refuses values of other shapes than the averages, or another number of them. */
static ht_status refuse(const char *kind, ht_value *averages, ht_value *values)
{
    const int count = ht_value_count(averages);

    if (ht_value_count(values) != count)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: the module has %d %s, expected %d", updating,
                       ht_value_count(values), kind, count);
    for (int i = 0; i < count; i++) {
        const ht_body *a = tensor_at(averages, i)->body, *p = tensor_at(values, i)->body;

        if (!ht__body_same_shape(a, p))
            return HT_FAIL(NULL, HT_ERR_SHAPE, "%s: number %d of the %s is %s, expected %s",
                           updating, i, kind, ht__shape_str(p->ndim, p->shape),
                           ht__shape_str(a->ndim, a->shape));
    }
    return HT_SUCCESS;
}

/* u NULL: copies. */
static ht_status follow(ht_value *averages, ht_value *values, const update *u)
{
    const int count = ht_value_count(averages);
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < count && status == HT_SUCCESS; i++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *a = tensor_at(averages, i), *p = tensor_at(values, i);

        if (u == NULL)
            status = ht_copy_(a, p);
        else
            status = average(a, ht_to_device(p, ht_tensor_device(a)), u);
        ht_scope_close(scope);
    }
    return status;
}

/* All tensors are checked before the first one moves. */
static ht_status update_all(const struct averaged *self, ht_module *module)
{
    ht_value *averages = ht_module_parameters(self->module);
    ht_value *parameters = ht_module_parameters(module);
    ht_value *kept = ht_module_buffers(self->module), *buffers = ht_module_buffers(module);
    update u = {.options = &self->options};
    ht_status status = ht_tensor_item(self->n_averaged, &u.count);

    if (status == HT_SUCCESS)
        status = refuse("parameters", averages, parameters);
    if (status == HT_SUCCESS)
        status = refuse("buffers", kept, buffers);
    if (status == HT_SUCCESS)
        status = follow(averages, parameters, &u);
    if (status == HT_SUCCESS)
        status = follow(kept, buffers, self->options.use_buffers ? &u : NULL);
    return status == HT_SUCCESS ? ht_fill_(self->n_averaged, u.count + 1) : status;
}

ht_status ht_averaged_model_update_parameters(ht_module *averaged, ht_module *module)
{
    ht_scope *scope;
    ht_status status;
    bool was;

    if (HT_IS_NULL(averaged, updating, "averaged") || HT_IS_NULL(module, updating, "module"))
        return ht_error_get(NULL);
    if (ht_module_get_type(averaged) != &type)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: averaged is %s, expected an AveragedModel",
                       updating, ht_module_get_type(averaged)->name);
    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    status = update_all(ht_module_data(averaged), ht__module_unwrapped(module));
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}
