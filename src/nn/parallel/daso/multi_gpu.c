/* SPDX-License-Identifier: MIT
 *
 * DataParallelMultiGPU: the data-parallel wrapper of a node, for jobs in which DASO exchanges
 * between nodes. */
#include "nn/parallel/data/data_parallel.h"
#include "nn/parallel/daso/daso.h"

static const char name[] = "ht_nn_data_parallel_multi_gpu";

static ht_status check_mine(const ht_module *module, const ht_daso *daso, const ht_comm *comm)
{
    if (module == NULL || daso == NULL || comm == NULL)
        return ht_error_get(NULL) != HT_SUCCESS
                   ? ht_error_get(NULL)
                   : ht__error_set(HT_ERR_ARGUMENT, "%s: %s is NULL", name,
                                   module == NULL ? "module"
                                   : daso == NULL ? "daso"
                                                  : "comm");
    if (comm == daso->comm)
        return HT_SUCCESS;
    return ht__error_set(HT_ERR_COMM,
                         "%s: the communicator has %d ranks, expected that of DASO, which has %d",
                         name, comm->size, daso->comm->size);
}

static ht_status check(const ht_module *module, const ht_daso *daso, ht_comm *comm)
{
    ht_comm *all = daso != NULL ? daso->comm : comm;
    ht_status status;

    if (all == NULL)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: daso and comm are NULL, expected one of them",
                       name);
    status = check_mine(module, daso, comm);
    return ht__agree(name, all, status);
}

/* All ranks of all nodes begin with the same parameters; inside a node nothing is left to
 * compare. */
static ht_status start(ht_module *module, ht_daso *daso)
{
    HT_NAMED(name);
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_status status;

    options.optimizers = &daso->optimizer;
    options.optimizer_count = 1;
    status = ht__dp_check(module, daso->comm, &options, HT_SUCCESS);
    if (status == HT_SUCCESS)
        status = ht__dp_broadcast_state(module, daso->comm, 1, &daso->optimizer, 0);
    return status;
}

ht_module *ht_nn_data_parallel_multi_gpu(ht_module *module, ht_daso *daso, ht_comm *comm)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_module *wrapper;

    if (check(module, daso, comm) != HT_SUCCESS || start(module, daso) != HT_SUCCESS)
        return NULL;
    options.blocking = true;
    options.init_sync = false;
    wrapper = ht__dp_wrap(name, module, daso->groups.node, NULL, &options);
    if (wrapper == NULL || ht__daso_adopt(name, daso, module, wrapper) == HT_SUCCESS)
        return wrapper;
    ht_release(wrapper);
    return NULL;
}
