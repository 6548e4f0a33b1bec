/* SPDX-License-Identifier: MIT
 *
 * Turning the BatchNorm layers of a tree into SyncBatchNorm, and back. */
#include "ht/log.h"
#include "nn/layers/batch_norm.h"
#include "nn/module/module.h"

/* The layer that replaces another one: itself (NULL), or another with the same tensors. */
typedef ht_module *exchange_fn(ht_module *layer, ht_comm *comm, bool *failed);

static ht_module *to_sync(ht_module *layer, ht_comm *comm, bool *failed)
{
    ht_batch_norm_layer *bn = ht__batch_norm_of(layer);
    ht_module *made;

    if (bn == NULL || bn->comm == comm)
        return NULL;
    made = ht__batch_norm_remake(layer, bn->dims, comm);
    *failed |= made == NULL;
    return made;
}

/* One that was made as SyncBatchNorm takes whatever BatchNorm1d does not. */
static ht_module *to_plain(ht_module *layer, ht_comm *comm, bool *failed)
{
    ht_batch_norm_layer *bn = ht__batch_norm_of(layer);
    ht_module *made;

    (void)comm;
    if (bn == NULL || bn->comm == NULL)
        return NULL;
    made = ht__batch_norm_remake(layer, bn->dims > 0 ? bn->dims : 2, NULL);
    *failed |= made == NULL;
    return made;
}

static void exchange_children(ht_module *module, ht_comm *comm, exchange_fn *exchange, bool *failed)
{
    for (int i = 0; i < ht_module_child_count(module) && !*failed; i++) {
        const char *name;
        ht_module *child = ht_module_child(module, i, &name);
        ht_module *made = exchange(child, comm, failed);

        if (made != NULL)
            *failed |= ht_module_replace(module, name, made) != HT_SUCCESS;
        else if (!*failed)
            exchange_children(child, comm, exchange, failed);
    }
}

struct search {
    const ht_comm *comm;    /* of the layers that stay */
    const ht_module *layer; /* found; NULL: none */
};

static void find_parametrized(const char *name, ht_module *module, void *user)
{
    struct search *search = user;
    const ht_batch_norm_layer *bn = ht__batch_norm_of(module);

    (void)name;
    if (bn != NULL && bn->comm != search->comm && module->compute != NULL)
        search->layer = module;
}

/* Before the first exchange: another layer would have the value of a parameter, not its originals. */
static ht_status check(const char *what, ht_module *module, ht_comm *comm)
{
    struct search search = {.comm = comm};

    ht__module_walk(module, find_parametrized, &search);
    if (search.layer == NULL)
        return ht__module_check_free(what, module);
    return HT_FAIL(NULL, HT_ERR_STATE,
                   "%s: %s is parametrized, expected a layer without parametrizations", what,
                   search.layer->path[0] != '\0' ? search.layer->path : search.layer->type->name);
}

static ht_module *exchange_all(const char *what, ht_module *module, ht_comm *comm,
                               exchange_fn *exchange)
{
    bool failed = module == NULL || check(what, module, comm) != HT_SUCCESS;
    ht_module *made = failed ? NULL : exchange(module, comm, &failed);

    if (made == NULL && !failed)
        exchange_children(module, comm, exchange, &failed);
    if (failed) {
        ht_release(module);
        return NULL;
    }
    if (made == NULL)
        return module;
    ht_release(module);
    return made;
}

static void find_layer(const char *name, ht_module *module, void *found)
{
    (void)name;
    *(bool *)found |= ht__batch_norm_of(module) != NULL;
}

ht_module *ht_nn_convert_sync_batchnorm(ht_module *module, ht_comm *comm)
{
    static const char what[] = "ht_nn_convert_sync_batchnorm";
    bool found = false;

    if (comm == NULL) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: comm is NULL", what);
        ht_release(module);
        return NULL;
    }
    module = exchange_all(what, module, comm, to_sync);
    if (module != NULL)
        ht__module_walk(module, find_layer, &found);
    if (module != NULL && !found)
        ht_log_write0(HT_LOG_WARN, "%s: the module has no BatchNorm layer, so nothing is converted",
                      what);
    return module;
}

ht_module *ht_nn_revert_sync_batchnorm(ht_module *module)
{
    return exchange_all("ht_nn_revert_sync_batchnorm", module, NULL, to_plain);
}
