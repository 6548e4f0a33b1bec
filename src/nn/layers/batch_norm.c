/* SPDX-License-Identifier: MIT
 *
 * BatchNorm1d, BatchNorm2d, BatchNorm3d and SyncBatchNorm: one layer, whose statistics are over
 * this process or over the ranks of a communicator. */
#include "nn/layers/batch_norm.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "ht/factories.h"
#include "nn/module/module.h"

ht_batch_norm_options ht_batch_norm_options_default(void)
{
    return (ht_batch_norm_options){.size = sizeof(ht_batch_norm_options),
                                   .eps = 1e-5,
                                   .momentum = 0.1,
                                   .affine = true,
                                   .bias = true,
                                   .track_running_stats = true};
}

/* Inputs of each kind: (N, C) and (N, C, L), (N, C, H, W), (N, C, D, H, W); SyncBatchNorm: any. */
static const struct {
    const char *what;
    int from, to;
    const char *axes;
} kinds[4] = {{"ht_nn_sync_batch_norm", 2, HT_MAX_NDIM, "2 to 8 axes"},
              {"ht_nn_batch_norm1d", 2, 3, "2 or 3 axes"},
              {"ht_nn_batch_norm2d", 4, 4, "4 axes"},
              {"ht_nn_batch_norm3d", 5, 5, "5 axes"}};

static bool check_input(const ht_batch_norm_layer *bn, const char *what, ht_tensor *x, int kind)
{
    int ndim = ht_tensor_ndim(x);

    if (ndim >= kinds[kind].from && ndim <= kinds[kind].to && ht_tensor_shape(x)[1] == bn->features)
        return true;
    HT_FAIL(ht_tensor_comm(x), HT_ERR_SHAPE,
            "%s: x is %s, expected %s with %" PRId64 " channels in axis 1", what,
            ht__shape_str(ndim, ht_tensor_shape(x)), kinds[kind].axes, bn->features);
    return false;
}

/* Counts the batch; the weight of the newest in the running statistics. */
static double next_momentum(ht_batch_norm_layer *bn)
{
    double count;

    if (bn->batches == NULL || ht_tensor_item(bn->batches, &count) != HT_SUCCESS)
        return bn->options.momentum;
    ht_fill_(bn->batches, count + 1);
    return bn->options.cumulative_average ? 1 / (count + 1) : bn->options.momentum;
}

static int kind_of(const ht_batch_norm_layer *bn)
{
    return bn->comm != NULL ? 0 : bn->dims;
}

static ht_batch_norm_job job_of(const ht_module *self, const ht_batch_norm_layer *bn)
{
    bool track = self->training && bn->running_mean != NULL && !ht__replaying();

    return (ht_batch_norm_job){
        .what = ht__layer_name(kinds[kind_of(bn)].what, self->path),
        .comm = bn->comm,
        .features = bn->comm != NULL ? bn->features : 0,
        .running_mean = bn->running_mean,
        .running_var = bn->running_var,
        .weight = bn->weight,
        .bias = bn->bias,
        .batch_statistics = self->training || bn->running_mean == NULL,
        .track = track,
        .eps = bn->options.eps,
    };
}

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    ht_batch_norm_layer *bn = ht_module_data(self);
    ht_batch_norm_job job = job_of(self, bn);

    if (!check_input(bn, job.what, x, kind_of(bn))) {
        ht__batch_norm_missed(&job);
        return NULL;
    }
    if (job.comm == NULL)
        job.comm = ht_tensor_split(x) != HT_NONE ? ht_tensor_comm(x) : HT_COMM_SELF;
    if (job.track)
        job.momentum = next_momentum(bn);
    return ht__batch_norm(x, &job);
}

/* The other ranks, which wait for this one, get no input either. */
static void missed(ht_module *module)
{
    const ht_batch_norm_layer *bn = ht_module_data(module);

    if (bn->comm != NULL) {
        ht_batch_norm_job job = job_of(module, bn);

        ht__batch_norm_missed(&job);
    }
}

static const ht_module_calls calls = {.missed = missed};

#define SETTING(field, kind) offsetof(ht_batch_norm_layer, field), HT_SETTING_##kind
static const ht_module_setting settings[] = {
    {"features", SETTING(features, INT64), .low = 1, .high = INFINITY, .print = HT_PRINT_VALUE},
    {"eps", SETTING(options.eps, DOUBLE), .usual = 1e-5, .low = 0, .high = INFINITY,
     .print = HT_PRINT_ALWAYS},
    {"momentum", SETTING(options.momentum, DOUBLE), .usual = 0.1, .low = 0, .high = 1,
     .print = HT_PRINT_ALWAYS},
    {"cumulative_average", SETTING(options.cumulative_average, BOOL), .usual = false},
    {"affine", SETTING(options.affine, BOOL), .usual = true},
    {"bias", SETTING(options.bias, BOOL), .usual = true},
    {"track_running_stats", SETTING(options.track_running_stats, BOOL), .usual = true},
    {.name = NULL}};

static ht_status clone(ht_module *self, ht_module *copy)
{
    ht_batch_norm_layer *bn = ht_module_data(copy);

    (void)self;
    bn->comm = ht_retain(bn->comm);
    return HT_SUCCESS;
}

static void destroy(ht_module *self)
{
    ht_batch_norm_layer *bn = ht_module_data(self);

    ht_release(bn->comm);
}

#define TYPE(type_name)                                                            \
    {                                                                              \
        .name = type_name, .forward = forward, .clone = clone, .destroy = destroy, \
        .settings = settings                                                       \
    }
const ht_module_type ht__batch_norm_types[4] = {TYPE("SyncBatchNorm"), TYPE("BatchNorm1d"),
                                                TYPE("BatchNorm2d"), TYPE("BatchNorm3d")};

ht_batch_norm_layer *ht__batch_norm_of(ht_module *module)
{
    const ht_module_type *type = ht_module_get_type(module);

    for (int i = 0; i < 4; i++) {
        if (type == &ht__batch_norm_types[i])
            return ht_module_data(module);
    }
    return NULL;
}

static ht_module *make(int dims, int64_t features, const ht_batch_norm_options *options,
                       ht_comm *comm)
{
    const int kind = comm != NULL ? 0 : dims;
    const ht_batch_norm_layer data = {
        .comm = comm, .dims = dims, .features = features, .options = *options};
    ht_module *module = ht_module_new_ext(kinds[kind].what, &ht__batch_norm_types[kind],
                                          sizeof data, &data);

    if (module == NULL)
        return NULL;
    ht_retain(comm);
    module->calls = &calls;
    return module;
}

static ht_tensor *filled(double value, int64_t features)
{
    return ht_full_ext(1, &features, HT_NUM(value), HT_FLOAT32, HT_NONE, ht_get_device(),
                       HT_COMM_SELF);
}

static ht_status add_tensors(ht_module *module)
{
    ht_batch_norm_layer *bn = ht_module_data(module);
    ht_status status = HT_SUCCESS;

    if (bn->options.affine) {
        status = ht_module_add_parameter(module, "weight", &bn->weight, filled(1, bn->features));
        if (status == HT_SUCCESS && bn->options.bias)
            status = ht_module_add_parameter(module, "bias", &bn->bias, filled(0, bn->features));
    }
    if (status != HT_SUCCESS || !bn->options.track_running_stats)
        return status;
    status = ht_module_add_buffer(module, "running_mean", &bn->running_mean,
                                  filled(0, bn->features));
    if (status == HT_SUCCESS)
        status = ht_module_add_buffer(module, "running_var", &bn->running_var,
                                      filled(1, bn->features));
    if (status == HT_SUCCESS)
        status = ht_module_add_buffer(module, "num_batches_tracked", &bn->batches,
                                      ht_array(&(int64_t){0}, 0, NULL, HT_INT64, HT_LOCAL));
    return status;
}

static ht_module *make_new(int dims, int64_t features, const ht_batch_norm_options *options,
                           ht_comm *comm)
{
    ht_batch_norm_options o = options != NULL ? *options : ht_batch_norm_options_default();
    ht_module *module;
    ht_scope *scope;
    ht_status status;

    if (HT_CHECK_OPTIONS(NULL, kinds[comm != NULL ? 0 : dims].what, &o, ht_batch_norm_options) !=
            HT_SUCCESS ||
        (module = make(dims, features, &o, comm)) == NULL)
        return NULL;
    scope = ht_scope_open();
    status = add_tensors(module);
    ht_scope_close(scope);
    if (status == HT_SUCCESS)
        return module;
    ht_release(module);
    return NULL;
}

ht_module *ht_nn_batch_norm1d(int64_t features, const ht_batch_norm_options *options)
{
    return make_new(1, features, options, NULL);
}

ht_module *ht_nn_batch_norm2d(int64_t features, const ht_batch_norm_options *options)
{
    return make_new(2, features, options, NULL);
}

ht_module *ht_nn_batch_norm3d(int64_t features, const ht_batch_norm_options *options)
{
    return make_new(3, features, options, NULL);
}

ht_module *ht_nn_sync_batch_norm(int64_t features, const ht_batch_norm_options *options,
                                 ht_comm *comm)
{
    if (comm != NULL)
        return make_new(0, features, options, comm);
    HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_nn_sync_batch_norm: comm is NULL");
    return NULL;
}

/* A parameter that is shared keeps its flag: a frozen one stays frozen. */
static ht_status share_parameter(ht_module *to, const char *name, ht_tensor **slot, ht_tensor *x)
{
    bool trainable = x != NULL && ht_tensor_requires_grad(x);
    ht_status status = x != NULL ? ht_module_add_parameter(to, name, slot, x) : HT_SUCCESS;

    if (x != NULL && status == HT_SUCCESS && !trainable)
        status = ht_tensor_set_requires_grad(x, false);
    return status;
}

static ht_status share_buffer(ht_module *to, const char *name, ht_tensor **slot, ht_tensor *x)
{
    return x != NULL ? ht_module_add_buffer(to, name, slot, x) : HT_SUCCESS;
}

ht_module *ht__batch_norm_remake(ht_module *module, int dims, ht_comm *comm)
{
    ht_batch_norm_layer *from = ht_module_data(module), *to;
    ht_module *made = make(dims, from->features, &from->options, comm);

    to = ht_module_data(made);
    made->training = module->training;
    if (share_parameter(made, "weight", &to->weight, from->weight) == HT_SUCCESS &&
        share_parameter(made, "bias", &to->bias, from->bias) == HT_SUCCESS &&
        share_buffer(made, "running_mean", &to->running_mean, from->running_mean) == HT_SUCCESS &&
        share_buffer(made, "running_var", &to->running_var, from->running_var) == HT_SUCCESS &&
        share_buffer(made, "num_batches_tracked", &to->batches, from->batches) == HT_SUCCESS)
        return made;
    ht_release(made);
    return NULL;
}
