/* SPDX-License-Identifier: MIT
 *
 * Spectral normalisation: W / sigma with sigma = u^T W v, where u and v come from power iterations.
 * Buffers change in forward passes in training, and the graph has copies of them. */
#include <math.h>
#include <string.h>

#include "ht/arithmetics.h"
#include "ht/autograd.h"
#include "ht/factories.h"
#include "ht/linalg.h"
#include "ht/manipulations.h"
#include "ht/parametrize.h"
#include "ht/statistics.h"
#include "nn/module/init.h"
#include "nn/module/inputs.h"
#include "nn/module/module.h"

enum { FIRST_ITERATIONS = 15 };

struct spectral_norm {
    ht_tensor *u, *v; /* slots; NULL for a vector */
    int64_t iterations;
    double eps;
    int dim;
};

static const char what[] = "ht_nn_spectral_norm";

static ht_tensor *normalized(ht_tensor *x, double eps)
{
    return ht_div(x, ht_maximum(ht_norm(x), ht_scalar(eps)));
}

/* The axis dim as rows, and all others as columns. */
static ht_tensor *matrix_of(ht_tensor *weight, int dim)
{
    int order[HT_MAX_NDIM] = {dim}, count = 1;
    const int ndim = ht_tensor_ndim(weight);

    for (int i = 0; i < ndim; i++) {
        if (i != dim)
            order[count++] = i;
    }
    return ht_flatten(dim != 0 ? ht_permute(weight, ndim, order) : weight, 1);
}

/* Goes on from the vectors that are there. */
static ht_status iterate(struct spectral_norm *data, ht_tensor *matrix, int64_t iterations)
{
    ht_scope *scope = ht_scope_open();
    const bool was = ht_set_grad_enabled(false);
    ht_tensor *u = data->u, *v = data->v, *transposed = ht_transpose(matrix, 0, 1);
    ht_status status;

    for (int64_t i = 0; i < iterations; i++) {
        u = normalized(ht_matmul(matrix, v), data->eps);
        v = normalized(ht_matmul(transposed, u), data->eps);
    }
    status = ht_copy_(data->u, u);
    if (status == HT_SUCCESS)
        status = ht_copy_(data->v, v);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    return status;
}

/* A second run (ht_recomputed) gets that of the first one: others may have iterated since. */
static ht_tensor *copy_of(ht_tensor *buffer)
{
    const bool was = ht_set_grad_enabled(false);
    ht_tensor *copy = ht__replay_tensor(ht_copy(buffer));

    ht_set_grad_enabled(was);
    return copy;
}

static ht_tensor *forward(ht_module *self, ht_tensor *weight)
{
    struct spectral_norm *data = ht_module_data(self);
    ht_tensor *matrix;

    if (data->u == NULL)
        return normalized(weight, data->eps);
    matrix = matrix_of(weight, data->dim);
    if (matrix == NULL || (self->training && !ht__replaying() &&
                           iterate(data, matrix, data->iterations) != HT_SUCCESS))
        return NULL;
    return ht_div(weight, ht_vdot(copy_of(data->u), ht_matmul(matrix, copy_of(data->v))));
}

#define SETTING(field, kind) offsetof(struct spectral_norm, field), HT_SETTING_##kind
static const ht_module_setting settings[] = {
    {"n_power_iterations", SETTING(iterations, INT64), .usual = 1, .low = 1, .high = INFINITY},
    {"eps", SETTING(eps, DOUBLE), .usual = 1e-12, .low = 0, .high = INFINITY},
    {"dim", SETTING(dim, INT), .print = HT_PRINT_ALWAYS},
    {.name = NULL}};

static const ht_module_type type = {
    .name = "_SpectralNorm", .forward = forward, .settings = settings};

static int usual_dim(const ht_module *module)
{
    return strncmp(module->type->name, "ConvTranspose", strlen("ConvTranspose")) == 0;
}

/* A random unit vector like the weight. */
static ht_status add_vector(ht_module *self, const char *name, ht_tensor **slot, int64_t length,
                            const ht_tensor *like, double eps)
{
    ht_tensor *x = ht_empty_ext(1, &length, like->body->dtype, HT_NONE, like->body->storage->device,
                                like->body->comm);
    ht_status status = x != NULL ? ht__nn_init_normal(what, x, 0, 1) : ht_error_get(NULL);

    if (status != HT_SUCCESS)
        return status;
    return ht_module_add_buffer(self, name, slot, normalized(x, eps));
}

static ht_status add_vectors(ht_module *self, ht_tensor *weight)
{
    struct spectral_norm *data = ht_module_data(self);
    ht_tensor *matrix = matrix_of(weight, data->dim);
    ht_status status;

    if (matrix == NULL)
        return ht_error_get(NULL);
    status = add_vector(self, "_u", &data->u, ht_tensor_shape(matrix)[0], weight, data->eps);
    if (status == HT_SUCCESS)
        status = add_vector(self, "_v", &data->v, ht_tensor_shape(matrix)[1], weight, data->eps);
    return status == HT_SUCCESS ? iterate(data, matrix, FIRST_ITERATIONS) : status;
}

/* Owned; NULL after an error. */
static ht_module *new_parametrization(const struct spectral_norm *made, ht_tensor *weight)
{
    ht_module *self = ht_module_new_ext(what, &type, sizeof *made, made);
    ht_scope *scope;
    ht_status status = HT_SUCCESS;
    bool was;

    if (self == NULL || ht_tensor_ndim(weight) < 2)
        return self;
    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    status = add_vectors(self, weight);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    if (status == HT_SUCCESS)
        return self;
    ht_release(self);
    return NULL;
}

/* Owned; NULL after an error. */
static ht_module *parametrization_of(ht_module *module, const char *name, struct spectral_norm made)
{
    ht_tensor *weight = ht__module_parameter(what, module, name);

    if (weight == NULL)
        return NULL;
    if (made.dim == HT_NONE)
        made.dim = ht_tensor_ndim(weight) > 1 ? usual_dim(module) : 0;
    return ht__check_axis_of(what, "dim", name, weight, &made.dim)
               ? new_parametrization(&made, weight)
               : NULL;
}

static ht_status normalise(const char *function, ht_module *module, const char *name,
                           const struct spectral_norm *made)
{
    ht_module *parametrization;

    {
        HT_NAMED(function);
        parametrization = parametrization_of(module, name, *made);
    }
    return parametrization != NULL
               ? ht__register_parametrization(function, module, name, parametrization, NULL)
               : ht_error_get(NULL);
}

ht_status ht_nn_spectral_norm_ext(ht_module *module, const char *name, int64_t n_power_iterations,
                                  double eps, int dim)
{
    return normalise(
        "ht_nn_spectral_norm_ext", module, name,
        &(struct spectral_norm){.iterations = n_power_iterations, .eps = eps, .dim = dim});
}

ht_status ht_nn_spectral_norm(ht_module *module, const char *name)
{
    return normalise(what, module, name,
                     &(struct spectral_norm){.iterations = 1, .eps = 1e-12, .dim = HT_NONE});
}
