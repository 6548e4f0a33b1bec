/* SPDX-License-Identifier: MIT
 *
 * The autograd state of tensors: leaves, gradients, hooks. */
#include "ht/autograd.h"

#include <string.h>

#include "core/tensor/node.h"

static atomic_ullong next_id = 1;

static void destroy_meta(void *object)
{
    ht_grad_meta *meta = object;

    ht_release(meta->grad);
    ht__free(meta->hooks);
    ht__object_fini(meta);
    ht__block_free(meta, sizeof *meta);
}

static ht_kind meta_kind = {.name = "grad_meta", .destroy = destroy_meta};

ht_grad_meta *ht__grad_meta(ht_tensor *x)
{
    if (x->meta == NULL) {
        x->meta = ht__block_alloc(sizeof *x->meta);
        ht__object_init(x->meta, &meta_kind);
        x->meta->leaf = x;
    }
    return x->meta;
}

void ht__grad_zero(ht_tensor *x)
{
    ht_grad_meta *meta = x->meta;

    if (meta == NULL || (meta->unfinished != NULL && *meta->unfinished != 0))
        return;
    meta->overwrite = true;
    meta->zeroings++;
}

bool ht_tensor_requires_grad(const ht_tensor *x)
{
    return HT_IS_THERE(x) && ht__needs_grad(x);
}

bool ht_tensor_is_leaf(const ht_tensor *x)
{
    return HT_IS_THERE(x) && x->node == NULL;
}

ht_status ht_tensor_set_requires_grad(ht_tensor *x, bool requires_grad)
{
    if (HT_IS_NULL(x, "ht_tensor_set_requires_grad", "x"))
        return ht_error_get(NULL);
    if (x->node != NULL)
        return HT_FAIL(x->body->comm, HT_ERR_STATE,
                       "ht_tensor_set_requires_grad: x is the result of %s, expected a leaf",
                       x->node->name);
    if (requires_grad && x->body->number != NULL)
        return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                       "ht_tensor_set_requires_grad: x is a number (ht_scalar), expected a tensor");
    if (requires_grad && !ht_dtype_is_floating(x->body->dtype) &&
        !ht_dtype_is_complex(x->body->dtype))
        return HT_FAIL(x->body->comm, HT_ERR_DTYPE,
                       "ht_tensor_set_requires_grad: x is %s, expected a floating or complex dtype",
                       ht_dtype_name(x->body->dtype));
    if (requires_grad || x->meta != NULL)
        ht__grad_meta(x)->requires_grad = requires_grad;
    return HT_SUCCESS;
}

ht_status ht__grad_get(const ht_tensor *x, ht_tensor **grad)
{
    ht_status status;

    *grad = NULL;
    if (x->meta == NULL)
        return HT_SUCCESS;
    status = ht__grad_await(x->meta);
    if (status == HT_SUCCESS && !x->meta->overwrite)
        *grad = x->meta->grad;
    return status;
}

ht_tensor *ht_tensor_grad(const ht_tensor *x)
{
    ht_tensor *grad;

    return HT_IS_THERE(x) && ht__grad_get(x, &grad) == HT_SUCCESS ? grad : NULL;
}

/* With memory of its own for each element. */
static ht_tensor *dense_copy(const char *what, const ht_body *x)
{
    ht_tensor *y = ht__tensor_new(ht__body_new(what, x->comm, x->storage->device, x->dtype, x->ndim,
                                               x->shape, x->split, x->bounds));

    return y != NULL && ht__copy_local(what, y->body, x) == HT_SUCCESS ? y : NULL;
}

ht_status ht_tensor_set_grad(ht_tensor *x, ht_tensor *grad)
{
    ht_grad_meta *meta;
    ht_status status;

    if (HT_IS_NULL(x, "ht_tensor_set_grad", "x"))
        return ht_error_get(NULL);
    if (grad != NULL && !ht__body_fits(grad->body, x->body))
        return HT_FAIL(x->body->comm, HT_ERR_SHAPE, "ht_tensor_set_grad: grad is %s, expected %s",
                       ht__body_str(grad->body), ht__body_str(x->body));
    meta = ht__grad_meta(x);
    status = ht__grad_await(meta);
    if (status != HT_SUCCESS)
        return status;
    /* Clipping and accumulating write in place, to each element once. */
    if (grad != NULL && grad->body->read_only &&
        (grad = dense_copy("ht_tensor_set_grad", grad->body)) == NULL)
        return ht_error_get(NULL);
    ht_retain(grad);
    ht_release(meta->grad);
    meta->grad = grad;
    meta->overwrite = false;
    meta->zeroings += grad == NULL;
    return HT_SUCCESS;
}

ht_tensor *ht_detach(ht_tensor *x)
{
    if (HT_IS_NULL(x, "ht_detach", "x"))
        return NULL;
    return ht__tensor_view(ht_retain(x->body));
}

static uint64_t add_hook(const char *what, ht_tensor *x, ht_hook hook)
{
    ht_grad_meta *meta;

    if (HT_IS_NULL(x, what, "x"))
        return 0;
    if (hook.gradient == NULL && hook.ready == NULL) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: hook is NULL", what);
        return 0;
    }
    if (!ht__needs_grad(x)) {
        HT_FAIL(x->body->comm, HT_ERR_STATE, "%s: x does not require a gradient", what);
        return 0;
    }
    meta = ht__grad_meta(x);
    if (x->node != NULL) {
        ht__node_watch(x->node, meta);
        hook.of = x->node->sequence;
    }
    hook.id = atomic_fetch_add(&next_id, 1);
    meta->hooks = ht__realloc(meta->hooks, (size_t)(meta->hook_count + 1) * sizeof hook);
    meta->hooks[meta->hook_count++] = hook;
    return hook.id;
}

uint64_t ht_tensor_register_hook(ht_tensor *x, ht_tensor_hook_fn *hook, void *user)
{
    return add_hook("ht_tensor_register_hook", x, (ht_hook){.gradient = hook, .user = user});
}

uint64_t ht_tensor_register_grad_ready_hook(ht_tensor *leaf, ht_grad_ready_fn *hook, void *user)
{
    static const char what[] = "ht_tensor_register_grad_ready_hook";

    if (leaf != NULL && leaf->node != NULL) {
        HT_FAIL(leaf->body->comm, HT_ERR_STATE, "%s: x is the result of %s, expected a leaf", what,
                leaf->node->name);
        return 0;
    }
    return add_hook(what, leaf, (ht_hook){.ready = hook, .user = user});
}

uint64_t ht__register_early_hook(ht_tensor *leaf, ht_grad_ready_fn *hook,
                                 ht_grad_filling_fn *filling, ht_grad_moving_fn *moving, void *user)
{
    return add_hook(
        "ht_nn_data_parallel", leaf,
        (ht_hook){
            .ready = hook, .filling = filling, .moving = moving, .early = true, .user = user});
}

ht_status ht_tensor_remove_hook(ht_tensor *x, uint64_t id)
{
    ht_grad_meta *meta;

    if (HT_IS_NULL(x, "ht_tensor_remove_hook", "x"))
        return ht_error_get(NULL);
    meta = x->meta;
    for (int i = 0; meta != NULL && i < meta->hook_count; i++) {
        if (meta->hooks[i].id != id)
            continue;
        meta->hook_count--;
        memmove(&meta->hooks[i], &meta->hooks[i + 1],
                (size_t)(meta->hook_count - i) * sizeof meta->hooks[0]);
        return HT_SUCCESS;
    }
    return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                   "ht_tensor_remove_hook: id is %llu, expected that of a hook of x",
                   (unsigned long long)id);
}

uint64_t ht__last_hook(const ht_grad_meta *meta)
{
    return meta != NULL && meta->hook_count > 0 ? meta->hooks[meta->hook_count - 1].id : 0;
}

bool ht__next_hook(const ht_grad_meta *meta, uint64_t of, uint64_t after, uint64_t last,
                   ht_hook *hook)
{
    for (int i = 0; i < meta->hook_count && meta->hooks[i].id <= last; i++) {
        if (meta->hooks[i].of == of && meta->hooks[i].id > after) {
            *hook = meta->hooks[i];
            return true;
        }
    }
    return false;
}
