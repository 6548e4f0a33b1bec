/* SPDX-License-Identifier: MIT
 *
 * A model for the world as it is. One rank is wrapped like many, so that options, averages and stop
 * requests mean the same there. */
#include "core/comm/comm.h"
#include "core/device/device.h"
#include "ht/auto.h"
#include "ht/autograd.h"

#include "ht/device_parallel.h"
#include "ht/log.h"
#include "ht/nn.h"
#include "nn/parallel/data/data_parallel.h"

static const char what[] = "ht_auto_model";

static ht_status check_mine(ht_module *module, const ht_data_parallel_options *options)
{
    if (HT_IS_NULL(module, what, "module"))
        return ht_error_get(NULL);
    if (options != NULL && options->device_id_count != 0)
        return HT_FAIL(HT_COMM_WORLD, HT_ERR_ARGUMENT,
                       "%s: device_ids is set, expected NULL: the device is the current one, %s "
                       "(ht_use_device)",
                       what, ht_device_name(ht_get_device()));
    HT_NAMED(what);
    return ht_module_to_device(module, ht_get_device());
}

/* Collective: what one rank finds is every rank's error. */
static ht_status check(ht_module *module, const ht_data_parallel_options *options)
{
    bool held = ht__agree_begin();

    return ht__agree_end(what, HT_COMM_WORLD, held, check_mine(module, options));
}

/* The conversion takes over what it is given, and may put another root in its place. */
static ht_module *wrap(ht_module *module, ht_optimizer *optimizer, bool sync_bn,
                       const ht_data_parallel_options *options)
{
    ht_module *wrapper;

    module = ht_retain(module);
    if (sync_bn && ht_comm_size(HT_COMM_WORLD) > 1)
        module = ht_nn_convert_sync_batchnorm(module, HT_COMM_WORLD);
    /* Where that failed on this rank alone, the wrapper has all ranks say so. */
    wrapper = ht__dp_wrap(what, module, HT_COMM_WORLD, optimizer, options);
    ht_release(module); /* the wrapper holds it */
    return wrapper;
}

/* One rank has its accelerators to itself, unless the program chose one of them. The host's further
 * devices are virtual: a program asks for them by name. */
static bool has_devices_to_share(void)
{
    const ht_device *device = ht_get_device();

    return device->backend != ht__device_cpu()->backend && device->index == 0 &&
           device->backend->device_count() > 1;
}

/* A wrapper refuses a model that nothing can be averaged of; one rank can run it. */
static bool is_trainable(ht_module *module)
{
    ht_scope *scope = ht_scope_open();
    ht_value *all = ht_module_parameters(module);
    bool found = false;

    for (int i = 0; i < ht_value_count(all); i++)
        found |= ht_tensor_requires_grad(ht_value_as_tensor(ht_value_at(all, i)));
    ht_scope_close(scope);
    return found;
}

ht_module *ht_auto_model(ht_module *module, ht_optimizer *optimizer, bool sync_bn,
                         const ht_data_parallel_options *options)
{
    int ranks = ht_comm_size(HT_COMM_WORLD);
    bool share = ranks == 1 && has_devices_to_share(), wraps;

    if (check(module, options) != HT_SUCCESS)
        return NULL;
    wraps = ranks > 1 || is_trainable(module);
    ht_log_write0(HT_LOG_INFO, "%s: %d rank%s, device %s: %s%s", what, ranks, ranks > 1 ? "s" : "",
                  ht_device_name(ht_get_device()),
                  share   ? "DeviceParallel"
                  : wraps ? "DataParallel"
                          : "the model as it is",
                  ranks > 1 && sync_bn ? ", SyncBatchNorm" : "");
    if (share)
        return ht_nn_device_parallel(module, NULL, 0, HT_NONE, 0);
    return wraps ? wrap(module, optimizer, sync_bn, options) : ht_retain(module);
}

ht_optimizer *ht_auto_optim(ht_optimizer *optimizer)
{
    return optimizer;
}
