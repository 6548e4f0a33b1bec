/* SPDX-License-Identifier: MIT
 *
 * torch.nn.DataParallel: one process, several devices. Its steps are scatter, replicate, apply and
 * gather. This file has the wrapper, the checks of its arguments, and the order of the steps. */
#include "ht/device_parallel.h"
#include "ht/log.h"

#include <limits.h>
#include <stdio.h>

#include "nn/parallel/device/device_parallel.h"
#include "nn/layers/batch_norm.h"
#include "nn/parallel/data/data_parallel.h"

static const char wrapper_name[] = "ht_nn_device_parallel";

struct device_parallel {
    ht_module *module;
    ht_device_layout layout;
};

/* The first tensor of a tree that is not where it is expected. */
struct search {
    const ht_device *expected; /* NULL: any will do */
    ht_tensor *found;
    char name[256];
};

static void look(const char *name, ht_tensor *x, void *user)
{
    struct search *search = user;

    if (search->found != NULL || x->body->storage->device == search->expected)
        return;
    search->found = x;
    snprintf(search->name, sizeof search->name, "%s", name);
}

static struct search find_tensor(ht_module *module, const ht_device *expected)
{
    struct search search = {.expected = expected};

    ht__module_walk_tensors(module, HT_SLOT_PARAMETER, look, &search);
    if (search.found == NULL)
        ht__module_walk_tensors(module, HT_SLOT_BUFFER, look, &search);
    return search;
}

static ht_status check_places(const char *what, ht_module *module, const ht_device *device)
{
    struct search elsewhere = find_tensor(module, device);

    if (elsewhere.found == NULL)
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_DEVICE,
                   "%s: %s is on %s, expected all parameters and buffers on the first device, %s "
                   "(ht_module_to_device)",
                   what, elsewhere.name, ht_device_name(elsewhere.found->body->storage->device),
                   ht_device_name(device));
}

/* The first module of a tree that cannot run in several copies at the same time. */
struct unfit {
    const char *what;
    ht_status status;
};

static void find_unfit(const char *path, ht_module *module, void *user)
{
    struct unfit *unfit = user;
    const ht_batch_norm_layer *norm = ht__batch_norm_of(module);
    const char *name = path[0] != '\0' ? path : "the module";

    if (unfit->status != HT_SUCCESS)
        return;
    if (norm != NULL && norm->comm != NULL)
        unfit->status = HT_FAIL(NULL, HT_ERR_ARGUMENT,
                                "%s: %s is a SyncBatchNorm, which takes statistics over ranks and "
                                "not over the devices of one: use it with ht_nn_data_parallel, or "
                                "ht_nn_revert_sync_batchnorm",
                                unfit->what, name);
    else if (ht__dp_of(module) != NULL)
        unfit->status = HT_FAIL(NULL, HT_ERR_ARGUMENT,
                                "%s: %s is a DataParallel wrapper, expected a module without one: "
                                "ht_nn_data_parallel goes around ht_nn_device_parallel",
                                unfit->what, name);
    else if (module->type->destroy != NULL && module->type->clone == NULL)
        unfit->status = HT_FAIL(NULL, HT_ERR_UNSUPPORTED,
                                "%s: %s is a %s, which has a destroy hook, expected a clone hook "
                                "too: each further device gets a copy",
                                unfit->what, name, module->type->name);
}

/* The parts would call the collectives of such a module at the same time, in any order, or share
 * what it destroys. */
static ht_status check_layers(const char *what, ht_module *module)
{
    struct unfit unfit = {.what = what};

    ht__module_walk(module, find_unfit, &unfit);
    return unfit.status;
}

static const ht_backend *backend_of(ht_module *module)
{
    struct search first = find_tensor(module, NULL);

    return first.found != NULL ? ht__backend_of(first.found) : ht_get_device()->backend;
}

static ht_device *device_at(const char *what, const ht_backend *backend, int index)
{
    HT_NAMED(what);
    char name[32];
    ht_device *device;

    snprintf(name, sizeof name, "%s:%d", backend->name, index);
    device = ht_device_get(name);
    return device;
}

static ht_status set_devices(const char *what, ht_device_layout *layout, const ht_backend *backend,
                             const int ids[], int count)
{
    if (ids == NULL)
        count = backend == ht__device_cpu()->backend ? 0 : backend->device_count();
    if (count < 0 || count > HT_MAX_REPLICAS)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: %d devices, expected 0 to %d", what, count,
                       HT_MAX_REPLICAS);
    for (int i = 0; i < count; i++) {
        layout->devices[i] = device_at(what, backend, ids != NULL ? ids[i] : i);
        if (layout->devices[i] == NULL)
            return ht_error_get(NULL);
        for (int j = 0; j < i; j++) {
            if (layout->devices[i] == layout->devices[j])
                return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: %s is given twice", what,
                               ht_device_name(layout->devices[i]));
        }
    }
    layout->count = count;
    return HT_SUCCESS;
}

/* The slowest device sets the pace, and the smallest one the size of the batch. */
static void warn_of_imbalance(const char *what, const ht_device_layout *layout)
{
    size_t memory, least_memory = SIZE_MAX, most_memory = 0;
    int cores, least_cores = INT_MAX, most_cores = 0;

    for (int i = 0; i < layout->count; i++) {
        const ht_device *device = layout->devices[i];

        if (device->backend->device_properties == NULL)
            return;
        device->backend->device_properties(device->index, &memory, &cores);
        least_memory = memory < least_memory ? memory : least_memory;
        most_memory = memory > most_memory ? memory : most_memory;
        least_cores = cores < least_cores ? cores : least_cores;
        most_cores = cores > most_cores ? cores : most_cores;
    }
    if ((double)least_memory < 0.75 * (double)most_memory)
        ht_log_write0(HT_LOG_WARN,
                      "%s: the devices are not balanced: memory from %zu to %zu bytes; leave the "
                      "small ones out of device_ids",
                      what, least_memory, most_memory);
    else if (least_cores < 0.75 * most_cores)
        ht_log_write0(HT_LOG_WARN,
                      "%s: the devices are not balanced: %d to %d cores; leave the small ones out "
                      "of device_ids",
                      what, least_cores, most_cores);
}

static ht_status set_output(const char *what, ht_device_layout *layout, const ht_backend *backend,
                            int output_device)
{
    if (layout->count == 0)
        return HT_SUCCESS;
    if (output_device < -1 && output_device != HT_NONE)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: output_device is %d, expected an index, -1 for the host, or HT_NONE "
                       "for the first device",
                       what, output_device);
    if (output_device == -1)
        layout->output = ht__device_cpu();
    else if (output_device == HT_NONE)
        layout->output = layout->devices[0];
    else
        layout->output = device_at(what, backend, output_device);
    return layout->output != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static ht_status fill(const char *what, ht_device_layout *layout, ht_module *module,
                      const int ids[], int count, int output_device, int dim)
{
    const ht_backend *backend = backend_of(module);
    ht_status status = set_devices(what, layout, backend, ids, count);

    layout->dim = dim;
    return status == HT_SUCCESS ? set_output(what, layout, backend, output_device) : status;
}

static ht_value *run_parts(const char *what, ht_module *module, const ht_device_layout *layout,
                           int count, ht_value *const parts[])
{
    ht_module *replicas[HT_MAX_REPLICAS];
    ht_value *outputs[HT_MAX_REPLICAS], *joined = NULL;

    if (ht__device_replicate(what, module, layout, count, replicas) != HT_SUCCESS)
        return NULL;
    if (ht__device_apply(what, layout, count, replicas, parts, outputs) == HT_SUCCESS)
        joined = ht__device_gather(what, layout, count, replicas, outputs);
    for (int i = 0; i < count; i++)
        ht_release(replicas[i]);
    return joined;
}

/* The number of parts; 0 after an error. */
static int prepare(const char *what, ht_module *module, const ht_device_layout *layout,
                   ht_value *inputs, ht_value *parts[])
{
    if (ht__module_drain(module) != HT_SUCCESS ||
        check_places(what, module, layout->devices[0]) != HT_SUCCESS)
        return 0;
    return ht__device_scatter(what, inputs, layout, parts);
}

static ht_value *run_split(const char *what, ht_module *module, const ht_device_layout *layout,
                           ht_value *inputs)
{
    ht_value *parts[HT_MAX_REPLICAS];
    int count;

    if (check_layers(what, module) != HT_SUCCESS)
        return NULL;
    count = prepare(what, module, layout, inputs, parts);
    return count > 0 ? run_parts(what, module, layout, count, parts) : NULL;
}

/* On one device, where layers may wait for other ranks. */
static ht_value *run_alone(const char *what, ht_module *module, const ht_device_layout *layout,
                           ht_value *inputs)
{
    ht_value *parts[HT_MAX_REPLICAS];

    if (prepare(what, module, layout, inputs, parts) > 0)
        return ht_forward_value(module, parts[0]);
    ht__module_missed(module);
    return NULL;
}

static ht_value *run(const char *what, ht_module *module, const ht_device_layout *layout,
                     ht_value *inputs)
{
    if (layout->count == 0)
        return ht_forward_value(module, inputs);
    return layout->count == 1 ? run_alone(what, module, layout, inputs)
                              : run_split(what, module, layout, inputs);
}

static ht_value *run_scoped(const char *what, ht_module *module, const ht_device_layout *layout,
                            ht_value *inputs)
{
    ht_scope *scope = ht_scope_open();

    return ht_scope_return(scope, run(what, module, layout, inputs));
}

static ht_value *forward(ht_module *self, ht_value *inputs)
{
    struct device_parallel *data = ht_module_data(self);

    return run_scoped(wrapper_name, data->module, &data->layout, inputs);
}

static void describe(ht_module *self, char *text, size_t size)
{
    const ht_device_layout *layout = &((struct device_parallel *)ht_module_data(self))->layout;
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < layout->count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s, ",
                                 ht_device_name(layout->devices[i]));
    if (used < size && layout->count > 0)
        snprintf(text + used, size - used, "output=%s, dim=%d", ht_device_name(layout->output),
                 layout->dim);
}

static const ht_module_type type = {
    .name = "DeviceParallel", .forward_value = forward, .describe = describe};

ht_module *ht_nn_device_parallel(ht_module *module, const int device_ids[], int count,
                                 int output_device, int dim)
{
    struct device_parallel *data;
    ht_module *self;

    if (HT_IS_NULL(module, "ht_nn_device_parallel", "module"))
        return NULL;
    self = ht_module_new(sizeof *data, &type);
    data = ht_module_data(self);
    if (fill(wrapper_name, &data->layout, module, device_ids, count, output_device, dim) ==
            HT_SUCCESS &&
        (data->layout.count < 2 || check_layers(wrapper_name, module) == HT_SUCCESS) &&
        ht__module_wrap(self, &data->module, module) == HT_SUCCESS) {
        warn_of_imbalance(wrapper_name, &data->layout);
        return self;
    }
    ht_release(self);
    return NULL;
}

ht_value *ht_device_parallel_forward(ht_module *module, ht_value *inputs, const int device_ids[],
                                     int count, int output_device, int dim)
{
    static const char what[] = "ht_device_parallel_forward";
    ht_device_layout layout = {0};

    if (HT_IS_NULL(module, what, "module") ||
        fill(what, &layout, module, device_ids, count, output_device, dim) != HT_SUCCESS)
        return NULL;
    if (HT_IS_NULL(inputs, what, "inputs")) {
        if (layout.count < 2)
            ht__module_missed(module);
        return NULL;
    }
    return run_scoped(what, module, &layout, inputs);
}
