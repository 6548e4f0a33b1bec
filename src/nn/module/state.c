/* SPDX-License-Identifier: MIT
 *
 * Settings of a complete tree: training or evaluation, dtype, device, gradients. */
#include "core/tensor/graph.h"
#include "nn/module/module.h"

static void set_training(const char *name, ht_module *module, void *training)
{
    (void)name;
    module->training = *(bool *)training;
}

ht_status ht_module_train(ht_module *module)
{
    bool training = true;

    if (HT_IS_NULL(module, "ht_module_train", "module"))
        return ht_error_get(NULL);
    ht__module_walk(module, set_training, &training);
    return HT_SUCCESS;
}

/* All ranks evaluate one model, and each of them may evaluate by itself afterwards. */
static void share_buffers(const char *name, ht_module *module, void *user)
{
    ht_status *status = user;

    (void)name;
    if (*status == HT_SUCCESS && module->calls != NULL && module->calls->evaluated != NULL)
        *status = module->calls->evaluated(module);
}

ht_status ht_module_eval(ht_module *module)
{
    bool training = false;
    ht_status status;

    if (HT_IS_NULL(module, "ht_module_eval", "module"))
        return ht_error_get(NULL);
    status = ht__module_drain(module);
    ht__module_walk(module, set_training, &training);
    ht__module_walk(module, share_buffers, &status);
    return status;
}

bool ht_module_is_training(const ht_module *module)
{
    return HT_IS_THERE(module) && module->training;
}

/* A move of every tensor: how one is made from the old one; both are given what the user asked for.
 */
struct move {
    ht_tensor *(*make)(ht_tensor *x, const struct move *move);
    ht_dtype dtype;
    ht_device *device;
    ht_status status;
};

static ht_tensor *to_dtype(ht_tensor *x, const struct move *move)
{
    /* Counters and indices keep their type. */
    return ht_dtype_is_floating(ht_tensor_dtype(x)) ? ht_astype(x, move->dtype) : x;
}

static ht_tensor *to_device(ht_tensor *x, const struct move *move)
{
    return ht_to_device(x, move->device);
}

static void move_tensor(const char *name, ht_tensor *x, void *user)
{
    struct move *move = user;
    ht_tensor *grad, *y;

    (void)name;
    if (move->status == HT_SUCCESS)
        move->status = ht__grad_get(x, &grad);
    if (move->status != HT_SUCCESS)
        return;
    y = move->make(x, move);
    if (y == x)
        return;
    if (y != NULL && grad != NULL && (grad = move->make(grad, move)) == NULL)
        y = NULL;
    if (y == NULL) {
        move->status = ht_error_get(NULL);
        return;
    }
    ht_tensor_set_grad(x, NULL);
    move->status = ht_tensor_set_(x, y);
    if (move->status == HT_SUCCESS && grad != NULL)
        move->status = ht_tensor_set_grad(x, grad);
}

static ht_status move_all(const char *what, ht_module *module, struct move *move)
{
    bool was;
    ht_scope *scope;

    if (HT_IS_NULL(module, what, "module"))
        return ht_error_get(NULL);
    move->status = ht__module_check_free(what, module);
    if (move->status != HT_SUCCESS)
        return move->status;

    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    ht__module_walk_tensors(module, HT_SLOT_PARAMETER, move_tensor, move);
    ht__module_walk_tensors(module, HT_SLOT_BUFFER, move_tensor, move);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return move->status;
}

ht_status ht_module_to_dtype(ht_module *module, ht_dtype dtype)
{
    struct move move = {.make = to_dtype, .dtype = dtype};

    if (!ht_dtype_is_floating(dtype))
        return HT_FAIL(NULL, HT_ERR_DTYPE,
                       "ht_module_to_dtype: dtype is %s, expected a floating one",
                       ht_dtype_name(dtype));
    return move_all("ht_module_to_dtype", module, &move);
}

ht_status ht_module_to_device(ht_module *module, ht_device *device)
{
    struct move move = {.make = to_device, .device = device};

    if (HT_IS_NULL(device, "ht_module_to_device", "device"))
        return ht_error_get(NULL);
    return move_all("ht_module_to_device", module, &move);
}

struct requirement {
    bool requires_grad;
    ht_status status;
};

static void set_requirement(const char *name, ht_tensor *x, void *user)
{
    struct requirement *r = user;

    (void)name;
    if (r->status == HT_SUCCESS)
        r->status = ht_tensor_set_requires_grad(x, r->requires_grad);
}

ht_status ht_module_requires_grad(ht_module *module, bool requires_grad)
{
    struct requirement r = {.requires_grad = requires_grad};

    if (HT_IS_NULL(module, "ht_module_requires_grad", "module"))
        return ht_error_get(NULL);
    /* A wrapper's complete tree: then no pass reaches it, and none is begun. */
    if (!module->wraps)
        r.status = ht__module_check_free("ht_module_requires_grad", module);
    ht__module_walk_tensors(module, HT_SLOT_PARAMETER, set_requirement, &r);
    return r.status;
}

static void forget_gradient(const char *name, ht_tensor *x, void *user)
{
    (void)name;
    (void)user;
    ht__grad_zero(x);
}

ht_status ht_module_zero_grad(ht_module *module)
{
    if (HT_IS_NULL(module, "ht_module_zero_grad", "module"))
        return ht_error_get(NULL);
    ht__module_walk_tensors(module, HT_SLOT_PARAMETER, forget_gradient, NULL);
    return HT_SUCCESS;
}
