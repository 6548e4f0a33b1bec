/* SPDX-License-Identifier: MIT
 *
 * AdaptiveLogSoftmaxWithLoss: frequent classes in a head, rare ones in clusters with fewer features.
 * The head has a logit for each class before the first cutoff and one for each cluster. In the loss,
 * a cluster computes the rows whose targets it has. A cluster without rows still is in the graph,
 * with gradients of 0, so that a data-parallel wrapper finds all parameters. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/tensor/tensor.h"
#include "ht/activations.h"
#include "ht/arithmetics.h"
#include "ht/autograd.h"
#include "ht/containers.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/logical.h"
#include "ht/losses.h"
#include "ht/manipulations.h"
#include "ht/nn.h"
#include "ht/relational.h"
#include "ht/statistics.h"
#include "nn/module/inputs.h"
#include "nn/module/module.h"

static const char what[] = "ht_nn_adaptive_log_softmax_with_loss";

struct adaptive {
    ht_module *head, *tail; /* slots */
    int64_t in_features, n_classes;
    double div_value;
    bool head_bias;
    int clusters;
    int64_t cutoffs[]; /* where the clusters begin; then the number of classes */
};

static ht_module *cluster(const struct adaptive *data, int index)
{
    return ht_module_child(data->tail, index, NULL);
}

/* -log_softmax(logits) at the target of each row. */
static ht_tensor *losses(ht_tensor *logits, ht_tensor *target)
{
    return ht_cross_entropy(logits, target, HT_NO_REDUCTION);
}

/* Rows whose target is in a cluster; the last one also has targets that are too large, which its
 * loss refuses. */
static ht_tensor *rows_of(const struct adaptive *data, ht_tensor *target, int index)
{
    ht_tensor *rows = ht_ge(target, ht_scalar_ext(HT_NUM(data->cutoffs[index])));

    if (index == data->clusters - 1)
        return rows;
    return ht_logical_and(rows, ht_lt(target, ht_scalar_ext(HT_NUM(data->cutoffs[index + 1]))));
}

/* The target in the head: a frequent class, or the number of the cluster after those. */
static ht_tensor *head_target(const struct adaptive *data, ht_tensor *target)
{
    ht_tensor *result = target;

    for (int i = 0; i < data->clusters; i++)
        result = ht_where(rows_of(data, target, i), ht_scalar_ext(HT_NUM(data->cutoffs[0] + i)),
                          result);
    return ht_astype(result, HT_INT64);
}

/* The logarithm of the probability of each target: x (N, in_features), target (N). After an error the
 * remaining clusters get NULL, so that they tell ranks that wait for this one. */
static ht_tensor *run(const struct adaptive *data, ht_tensor *x, ht_tensor *target)
{
    ht_tensor *sum = losses(ht_forward(data->head, x), head_target(data, target));

    for (int i = 0; i < data->clusters; i++) {
        ht_tensor *rows = rows_of(data, target, i);
        ht_tensor *own = sum != NULL ? ht_getitem(x, HT_KEY(rows)) : NULL;
        ht_tensor *logits = ht_forward(cluster(data, i), own);
        ht_tensor *inside = ht_sub(ht_getitem(target, HT_KEY(rows)),
                                   ht_scalar_ext(HT_NUM(data->cutoffs[i])));

        if (sum == NULL || ht_add_at_(sum, HT_KEY(rows), losses(logits, inside)) != HT_SUCCESS)
            sum = NULL;
    }
    return sum != NULL ? ht_neg(sum) : NULL;
}

static bool check_inputs(const struct adaptive *data, ht_tensor *const in[2])
{
    const ht_body *x = in[0]->body, *target = in[1]->body;
    const int ndim = x->ndim;

    if ((ndim == 1 || ndim == 2) && x->shape[ndim - 1] == data->in_features &&
        target->ndim == ndim - 1 && (ndim == 1 || target->shape[0] == x->shape[0]) &&
        ht_dtype_is_integer(target->dtype))
        return true;
    HT_FAIL(x->comm, HT_ERR_SHAPE,
            "%s: x is %s and target is %s, expected (N, %" PRId64
            ") and N integers, or one sample of them",
            what, ht__body_str(x), ht__body_str(target), data->in_features);
    return false;
}

static ht_value *forward(ht_module *self, ht_value *inputs)
{
    const struct adaptive *data = ht_module_data(self);
    ht_value *result = ht_value_map();
    ht_tensor *in[2], *output;
    bool one;

    if (!ht__inputs(what, inputs, 2, 2, in) || !check_inputs(data, in)) {
        ht__module_missed(self);
        return NULL;
    }
    one = ht_tensor_ndim(in[0]) == 1;
    if (one) {
        in[0] = ht_expand_dims(in[0], 0);
        in[1] = ht_expand_dims(in[1], 0);
    }
    output = run(data, in[0], ht_astype(in[1], HT_INT64));
    if (output == NULL)
        return NULL;
    ht_value_set(result, "loss", ht_value_tensor(ht_neg(ht_mean(output, HT_NONE))));
    if (one)
        output = ht_reshape(output, 0, NULL);
    ht_value_set(result, "output", ht_value_tensor(output));
    return ht__value_complete(result);
}

#define SETTING(field, kind) offsetof(struct adaptive, field), HT_SETTING_##kind
static const ht_module_setting settings[] = {
    {"in_features", SETTING(in_features, INT64), .low = 1, .high = INFINITY,
     .print = HT_PRINT_VALUE},
    {"n_classes", SETTING(n_classes, INT64), .low = 2, .high = INFINITY, .print = HT_PRINT_VALUE},
    {"div_value", SETTING(div_value, DOUBLE), .usual = 4, .low = 1e-6, .high = INFINITY},
    {"head_bias", SETTING(head_bias, BOOL), .usual = false},
    {.name = NULL}};

static const ht_module_type type = {
    .name = "AdaptiveLogSoftmaxWithLoss", .forward_value = forward, .settings = settings};

static ht_module *new_cluster(const char *name, const struct adaptive *data, int index)
{
    const double features = floor((double)data->in_features / pow(data->div_value, index + 1));
    const int64_t classes = data->cutoffs[index + 1] - data->cutoffs[index];

    if (!(features >= 1)) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT,
                "%s: in_features is %" PRId64 ", expected at least div_value^%d = %g", name,
                data->in_features, index + 1, pow(data->div_value, index + 1));
        return NULL;
    }
    if (!(features < 9e15)) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT,
                "%s: div_value is %g, expected one that leaves less than 9e15 features to cluster "
                "%d",
                name, data->div_value, index);
        return NULL;
    }
    return ht_nn_sequential(HT_LIST(ht_module *,
                                    ht_nn_linear_ext(data->in_features, (int64_t)features, false),
                                    ht_nn_linear_ext((int64_t)features, classes, false)));
}

static ht_status check_cutoffs(const char *name, int64_t n_classes, int count,
                               const int64_t cutoffs[])
{
    bool good = count >= 1 && cutoffs != NULL;

    for (int i = 0; i < count && good; i++)
        good = cutoffs[i] > (i > 0 ? cutoffs[i - 1] : 0) && cutoffs[i] < n_classes;
    if (good)
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                   "%s: cutoffs are %s, expected increasing numbers from 1 to n_classes - 1 = "
                   "%" PRId64,
                   name, cutoffs != NULL ? ht__shape_str(count, cutoffs) : "NULL", n_classes - 1);
}

static ht_status add_layers(const char *name, ht_module *self)
{
    struct adaptive *data = ht_module_data(self);
    ht_status status = ht_module_add(
        self, "head", &data->head,
        ht_nn_linear_ext(data->in_features, data->cutoffs[0] + data->clusters, data->head_bias));

    if (status == HT_SUCCESS)
        status = ht_module_add(self, "tail", &data->tail, ht_nn_module_list(0, NULL));
    for (int i = 0; i < data->clusters && status == HT_SUCCESS; i++)
        status = ht_nn_module_list_append(data->tail, new_cluster(name, data, i));
    return status;
}

static ht_module *make(const char *name, int64_t in_features, int64_t n_classes, int count,
                       const int64_t cutoffs[], double div_value, bool head_bias)
{
    const size_t bytes = sizeof(struct adaptive) + ((size_t)(count > 0 ? count : 0) + 1) * 8;
    struct adaptive *made;
    ht_module *self;

    if (check_cutoffs(name, n_classes, count, cutoffs) != HT_SUCCESS)
        return NULL;
    made = ht__alloc(bytes);
    *made = (struct adaptive){.in_features = in_features,
                              .n_classes = n_classes,
                              .div_value = div_value,
                              .head_bias = head_bias,
                              .clusters = count};
    memcpy(made->cutoffs, cutoffs, (size_t)count * sizeof *cutoffs);
    made->cutoffs[count] = n_classes;
    self = ht_module_new_ext(name, &type, bytes, made);
    ht__free(made);
    if (self == NULL || add_layers(name, self) == HT_SUCCESS)
        return self;
    ht_release(self);
    return NULL;
}

ht_module *ht_nn_adaptive_log_softmax_with_loss_ext(int64_t in_features, int64_t n_classes,
                                                    int count, const int64_t cutoffs[],
                                                    double div_value, bool head_bias)
{
    return make("ht_nn_adaptive_log_softmax_with_loss_ext", in_features, n_classes, count, cutoffs,
                div_value, head_bias);
}

ht_module *ht_nn_adaptive_log_softmax_with_loss(int64_t in_features, int64_t n_classes, int count,
                                                const int64_t cutoffs[])
{
    return make(what, in_features, n_classes, count, cutoffs, 4, false);
}

/* The struct of a layer of this file, for rows x. NULL after an error. */
static const struct adaptive *layer_of(const char *name, ht_module *module, ht_tensor *x)
{
    const struct adaptive *data;

    if (HT_IS_NULL(module, name, "module") || HT_IS_NULL(x, name, "x"))
        return NULL;
    module = ht__module_unwrapped(module);
    if (module->type != &type) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: module is %s, expected %s", name, module->type->name,
                type.name);
        return NULL;
    }
    data = ht_module_data(module);
    if (ht_tensor_ndim(x) == 2 && ht_tensor_shape(x)[1] == data->in_features)
        return data;
    HT_FAIL(ht_tensor_comm(x), HT_ERR_SHAPE, "%s: x is %s, expected (N, %" PRId64 ")", name,
            ht__shape_str(ht_tensor_ndim(x), ht_tensor_shape(x)), data->in_features);
    return NULL;
}

static ht_tensor *all_classes(const struct adaptive *data, ht_tensor *x)
{
    ht_tensor *head = ht_log_softmax(ht_forward(data->head, x), 1), *result;
    ht_tensor **parts = ht__alloc(((size_t)data->clusters + 1) * sizeof *parts);

    parts[0] = ht_narrow(head, 1, 0, data->cutoffs[0]);
    for (int i = 0; i < data->clusters; i++) {
        const int64_t at = data->cutoffs[0] + i;

        parts[i + 1] = ht_add(ht_log_softmax(ht_forward(cluster(data, i), x), 1),
                              ht_narrow(head, 1, at, at + 1));
    }
    result = ht_concatenate(data->clusters + 1, parts, 1);
    ht__free(parts);
    return result;
}

ht_tensor *ht_nn_adaptive_log_prob(ht_module *module, ht_tensor *x)
{
    const struct adaptive *data = layer_of("ht_nn_adaptive_log_prob", module, x);

    return data != NULL ? all_classes(data, x) : NULL;
}

ht_tensor *ht_nn_adaptive_predict(ht_module *module, ht_tensor *x)
{
    const struct adaptive *data = layer_of("ht_nn_adaptive_predict", module, x);
    bool was = ht_set_grad_enabled(false);
    ht_tensor *classes = data != NULL ? ht_argmax(all_classes(data, x), 1) : NULL;

    ht_set_grad_enabled(was);
    return classes;
}
