/* SPDX-License-Identifier: MIT
 *
 * Copies of a module on other devices. All parameters travel as one block of bytes. Those of a copy
 * are views of it, whose gradients return to the module's parameters, one node each. The nodes are
 * older than those of the forward pass, so that they come last in backward and always in the same
 * order. So sums of three and more gradients have the same bits each time. Buffers have separate
 * memory, because a module may write them. */
#include <string.h>

#include "ht/autograd.h"
#include "nn/parallel/device/device_parallel.h"
#include "ht/factories.h"

#define ALIGNMENT 64 /* of each parameter: bytes */

typedef struct broadcast {
    const char *what;
    ht_tensor **parameters; /* the module's, each once; not owned */
    int64_t *offset;        /* in the block, in bytes */
    int count, capacity;
    int64_t bytes;
    ht_tensor *block; /* scoped; bytes on the device of the copy that is being made */
    ht_device *device;
} broadcast;

static void add_parameter(const char *name, ht_tensor *x, void *user)
{
    broadcast *all = user;
    int64_t bytes = x->body->lsize * (int64_t)ht_dtype_size(x->body->dtype);

    (void)name;
    if (all->count == all->capacity) {
        all->capacity = all->capacity > 0 ? 2 * all->capacity : 32;
        all->parameters = ht__realloc(all->parameters,
                                      (size_t)all->capacity * sizeof *all->parameters);
        all->offset = ht__realloc(all->offset, (size_t)all->capacity * sizeof *all->offset);
    }
    all->parameters[all->count] = x;
    all->offset[all->count++] = all->bytes;
    all->bytes += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* A parameter's place in a block; owned. */
static ht_body *place_in(const broadcast *all, ht_tensor *block, int index)
{
    const ht_body *like = all->parameters[index]->body;
    ht_body *body = ht__body_view(like);

    ht_release(body->storage);
    body->storage = ht_retain(block->body->storage);
    body->offset = all->offset[index] / (int64_t)ht_dtype_size(like->dtype);
    body->read_only = HT_WRITABLE;
    ht__body_lay_row_major(body);
    return body;
}

static ht_status pack(const broadcast *all, ht_tensor *block)
{
    ht_status status = HT_SUCCESS;

    for (int i = 0; i < all->count && status == HT_SUCCESS; i++) {
        ht_body *place = place_in(all, block, i);

        status = ht__copy_local(all->what, place, all->parameters[i]->body);
        ht_release(place);
    }
    return status;
}

/* All parameters in one block. On the host the first copy's block is filled at once: one pass over
 * memory less. */
static ht_tensor *pack_new(const broadcast *all, const ht_device_layout *layout)
{
    ht_device *source = layout->devices[0];
    bool direct = source->backend->host_memory;
    ht_tensor *block = ht__tensor_new(ht__body_new(all->what, HT_COMM_SELF,
                                                   direct ? layout->devices[1] : source, HT_UINT8,
                                                   1, &all->bytes, HT_NONE, NULL));

    if (block == NULL || pack(all, block) != HT_SUCCESS)
        return NULL;
    return block;
}

static void send_back(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_to_device(g, *(ht_device **)ht_node_context(node, 0));
}

static ht_tensor *parameter_copy(const broadcast *all, int index)
{
    ht_tensor *x = all->parameters[index];
    ht_tensor *y = ht__tensor_view(place_in(all, all->block, index));
    ht_node *node = ht_node_new(all->what, send_back, 1, &x);

    if (node == NULL)
        return ht_retain(y);
    *(ht_device **)ht_node_context(node, sizeof(ht_device *)) = x->body->storage->device;
    return ht_retain(ht_node_set_output(node, y));
}

static ht_tensor *buffer_copy(ht_tensor *x, ht_device *device)
{
    bool was = ht_set_grad_enabled(false);
    ht_tensor *y = ht_retain(ht_to_device(x, device));

    ht_set_grad_enabled(was);
    return y;
}

/* Modules ask for their tensors in the order in which they were listed, more or less. */
static ht_tensor *copy_of(ht_tensor *x, void *user)
{
    const broadcast *all = user;

    for (int i = 0; i < all->count; i++) {
        if (all->parameters[i] == x)
            return parameter_copy(all, i);
    }
    return buffer_copy(x, all->device);
}

static void set_replica(const char *name, ht_module *module, void *number)
{
    (void)name;
    module->replica = *(int *)number;
}

static ht_module *copy_to(broadcast *all, ht_module *module, ht_tensor *packed, ht_device *device,
                          int number)
{
    bool was = ht_set_grad_enabled(false);
    ht_module *copy;

    all->device = device;
    all->block = ht_to_device(packed, device);
    ht_set_grad_enabled(was);
    if (all->block == NULL)
        return NULL;
    copy = ht__module_copy(module, copy_of, all);
    if (copy == NULL)
        return NULL;
    ht__module_set_path(copy, module->path);
    ht__module_walk(copy, set_replica, &number);
    return copy;
}

static ht_status copy_all(broadcast *all, ht_module *module, const ht_device_layout *layout,
                          int count, ht_module *replicas[])
{
    ht_tensor *packed = pack_new(all, layout);

    for (int i = 1; i < count; i++) {
        replicas[i] = packed != NULL ? copy_to(all, module, packed, layout->devices[i], i) : NULL;
        if (replicas[i] != NULL)
            continue;
        while (--i > 0)
            ht_release(replicas[i]);
        return ht_error_get(NULL);
    }
    return HT_SUCCESS;
}

ht_status ht__device_replicate(const char *what, ht_module *module, const ht_device_layout *layout,
                               int count, ht_module *replicas[])
{
    broadcast all = {.what = what};
    ht_status status = HT_SUCCESS;
    ht_scope *scope = ht_scope_open();

    if (count > 1) {
        ht__module_walk_tensors(module, HT_SLOT_PARAMETER, add_parameter, &all);
        status = copy_all(&all, module, layout, count, replicas);
    }
    if (status == HT_SUCCESS)
        replicas[0] = ht_retain(module);
    ht__free(all.parameters);
    ht__free(all.offset);
    ht_scope_close(scope);
    return status;
}
