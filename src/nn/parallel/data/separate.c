/* SPDX-License-Identifier: MIT
 *
 * A data-parallel wrapper for each submodule: mmengine's MMSeparateDistributedDataParallel. */
#include <string.h>

#include "nn/parallel/data/data_parallel.h"
#include "nn/parallel/data/reducer/reducer_disjoint.h"

static const char name[] = "ht_nn_data_parallel_separate";

struct search {
    const ht_optimizer *optimizer; /* NULL: any trainable parameter counts */
    int found;
};

static void count_parameter(const char *path, ht_tensor *x, void *user)
{
    struct search *search = user;

    (void)path;
    search->found += search->optimizer != NULL ? ht__optimizer_find(search->optimizer, x) >= 0
                                               : ht_tensor_requires_grad(x);
}

/* How many parameters of the tree the optimizer holds; NULL: how many are trainable. */
static int count_parameters(ht_module *tree, const ht_optimizer *optimizer)
{
    struct search search = {.optimizer = optimizer};

    ht__module_walk_tensors(tree, HT_SLOT_PARAMETER, count_parameter, &search);
    return search.found;
}

static bool is_trainable(ht_module *module, ht_slot *slot)
{
    if (slot->kind == HT_SLOT_COMPUTED) {
        ht_module *lists = ht_module_find(module, "parametrizations");

        return count_parameters(ht_module_find(lists, slot->name), NULL) > 0;
    }
    return slot->kind == HT_SLOT_PARAMETER &&
           ht_tensor_requires_grad(*ht__slot_place(module, slot));
}

/* A parameter of the module itself would belong to no wrapper, and so would the originals of it. */
static ht_status check_root(ht_module *module, ht_comm *comm)
{
    for (int i = 0; i < module->slot_count; i++) {
        ht_slot *slot = &module->slots[i];

        if (is_trainable(module, slot))
            return HT_FAIL(
                comm, HT_ERR_ARGUMENT,
                "%s: parameter %s is not in a submodule, so its gradient would not be averaged",
                name, slot->name);
    }
    return HT_SUCCESS;
}

static ht_status check_optimizers(ht_module *module, ht_comm *comm, int count,
                                  ht_optimizer *const optimizers[])
{
    if (count < 0 || (count > 0 && optimizers == NULL))
        return HT_FAIL(
            comm, HT_ERR_ARGUMENT,
            "%s: optimizers is NULL or count is negative (%d), expected an array of that length",
            name, count);
    for (int i = 0; i < count; i++) {
        if (optimizers[i] == NULL)
            return HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: optimizers[%d] is NULL", name, i);
        if (count_parameters(module, optimizers[i]) == 0)
            return HT_FAIL(comm, HT_ERR_ARGUMENT,
                           "%s: optimizers[%d] holds no parameter of the module", name, i);
    }
    return HT_SUCCESS;
}

static bool is_wrapped(ht_module *module, int slot)
{
    return module->slots[slot].kind == HT_SLOT_CHILD &&
           count_parameters(*ht__slot_place(module, &module->slots[slot]), NULL) > 0;
}

/* All ranks wrap each submodule, and the same number of them. */
static ht_status check_ranks(ht_module *module, ht_comm *comm)
{
    int64_t mine = 0, first;
    ht_status status;

    for (int i = 0; i < module->slot_count; i++)
        mine += is_wrapped(module, i);
    first = mine;
    status = ht__comm_bcast_bytes(comm, &first, sizeof first, 0, name);
    if (status == HT_SUCCESS && first != mine)
        status = ht__error_set(
            HT_ERR_ARGUMENT,
            "%s: rank %d has %d submodules to train, rank 0 has %d, expected the "
            "same on all ranks",
            name, comm->rank, (int)mine, (int)first);
    return ht__agree(name, comm, status);
}

/* Collective: what one rank finds is every rank's error. */
static ht_status check(ht_module *module, ht_comm *comm, int count,
                       ht_optimizer *const optimizers[])
{
    ht_status status;
    bool held;

    if (comm == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: comm is NULL", name);
    held = ht__agree_begin();
    if (HT_IS_NULL(module, name, "module"))
        status = ht_error_get(NULL);
    else
        status = ht__module_check_free(name, module);
    if (status == HT_SUCCESS)
        status = check_optimizers(module, comm, count, optimizers);
    if (status == HT_SUCCESS)
        status = check_root(module, comm);
    if (status == HT_SUCCESS)
        status = ht__module_check_disjoint(name, module);
    status = ht__agree_end(name, comm, held, status);
    return status == HT_SUCCESS ? check_ranks(module, comm) : status;
}

/* The child with the optimizers that hold some of its parameters; one that holds others too is
 * refused there. */
static ht_module *wrap_child(ht_module *child, ht_comm *comm, int count,
                             ht_optimizer *const optimizers[],
                             const ht_data_parallel_options *options)
{
    ht_data_parallel_options o = options != NULL ? *options : ht_data_parallel_options_default();
    ht_optimizer **own = ht__alloc(((size_t)count + 1) * sizeof *own);
    ht_module *wrapper;

    o.optimizer_count = 0;
    for (int i = 0; i < count; i++) {
        if (count_parameters(child, optimizers[i]) > 0)
            own[o.optimizer_count++] = optimizers[i];
    }
    o.optimizers = own;
    wrapper = ht__dp_wrap(name, child, comm, NULL, &o);
    ht__free(own);
    return wrapper;
}

/* Past the guards that the wrappers have just set. */
static void put_in_place(ht_module *module, ht_module **wrappers)
{
    for (int i = 0; i < module->slot_count; i++) {
        void **place = ht__slot_place(module, &module->slots[i]);

        if (wrappers[i] == NULL)
            continue;
        ht_release(*place);
        *place = wrappers[i];
    }
    ht__module_set_path(module, module->path);
}

ht_status ht_nn_data_parallel_separate(ht_module *module, ht_comm *comm, int count,
                                       ht_optimizer *const optimizers[],
                                       const ht_data_parallel_options *options)
{
    ht_status status = check(module, comm, count, optimizers);
    ht_module **wrappers;

    if (status != HT_SUCCESS)
        return status;
    wrappers = ht__alloc(((size_t)module->slot_count + 1) * sizeof *wrappers);
    for (int i = 0; i < module->slot_count && status == HT_SUCCESS; i++) {
        ht_slot *slot = &module->slots[i];

        if (!is_wrapped(module, i))
            continue;
        wrappers[i] = wrap_child(*ht__slot_place(module, slot), comm, count, optimizers, options);
        status = wrappers[i] != NULL ? HT_SUCCESS : ht_error_get(NULL);
    }
    if (status == HT_SUCCESS)
        put_in_place(module, wrappers);
    for (int i = 0; i < module->slot_count && status != HT_SUCCESS; i++)
        ht_release(wrappers[i]); /* all children stay as they were */
    ht__free(wrappers);
    return status;
}
