/* SPDX-License-Identifier: MIT
 *
 * Initialisation of parameters. The k-th tensor initialised since ht_nn_seed gets the k-th draw, so
 * that all ranks that build the same model have the same parameters without a word between them. */
#include "core/ops/creation/random_stream.h"
#include "core/ops/ops.h"
#include "nn/module/init.h"
#include "nn/module/module.h"

#include <math.h>

#include "ht/factories.h"
#include "ht/kernels/random.h"

#define STREAM \
    0x6e6e2e696e697400u /* "nn.init": never the numbers of ht_random with the same seed */

static atomic_uint_fast64_t seed, draws;

void ht_nn_seed(uint64_t value)
{
    atomic_store(&seed, value);
    atomic_store(&draws, 0);
}

uint64_t ht__nn_seed_get(void)
{
    return atomic_load(&seed);
}

void ht__nn_init_get_state(uint64_t *seed_now, uint64_t *draws_now)
{
    *seed_now = atomic_load(&seed);
    *draws_now = atomic_load(&draws);
}

void ht__nn_init_set_state(uint64_t seed_now, uint64_t draws_now)
{
    atomic_store(&seed, seed_now);
    atomic_store(&draws, draws_now);
}

uint64_t ht__nn_draw_seed(const ht_module *layer)
{
    uint64_t key = ht__random_mix(ht__nn_seed_get(), (uint64_t)ht__process.rank);

    for (const char *c = layer->path; *c != '\0'; c++)
        key = ht__random_mix(key, (unsigned char)*c);
    if (layer->replica > 0)
        key = ht__random_mix(key, 256 + (uint64_t)layer->replica); /* beyond any byte of a path */
    return ht__replay(key);
}

/* The place of this rank's slab among the elements of the global tensor. */
static ht_random_draw draw_of(const ht_body *body, double low, double high)
{
    int axis = body->split != HT_NONE ? body->split : 0;
    ht_random_draw job = {.outer = 1, .inner = 1, .inner_global = 1, .a = low, .b = high};

    for (int i = 0; i < axis; i++)
        job.outer *= body->shape[i];
    for (int i = axis; i < body->ndim; i++) {
        job.inner *= body->lshape[i];
        job.inner_global *= body->shape[i];
    }
    if (body->split != HT_NONE && body->shape[axis] > 0)
        job.start = body->split_start * (job.inner_global / body->shape[axis]);
    job.seed = ht__random_mix(ht__nn_seed_get(), STREAM);
    job.draw = atomic_fetch_add(&draws, 1);
    return job;
}

/* Fills x with the next draw, by the kernel of a distribution with two parameters. */
static ht_status draw(const char *what, ht_tensor *x, ht_kernel kernel, double a, double b)
{
    const ht_body *body = x->body;

    if (!ht__has_kernel(what, x, kernel))
        return HT_ERR_UNSUPPORTED;

    ht_random_call job = {
        .call.operands = 1, .out = ht__operand_of(body, HT_WRITE), .draw = draw_of(body, a, b)};
    if (body->lsize > 0 && HT_RUN(x, kernel, &job, what) != HT_SUCCESS)
        return ht_error_get(NULL);
    ht__storage_touch(body->storage);
    return HT_SUCCESS;
}

/* A leaf that requires gradients can be written, because nothing is recorded. */
static ht_status check_writable(const char *what, ht_tensor *x)
{
    const bool was = ht_set_grad_enabled(false);
    const ht_status status = ht__check_in_place(what, "x", x, NULL);

    ht_set_grad_enabled(was);
    return status;
}

ht_status ht__nn_init_check(const char *what, ht_tensor *x)
{
    if (HT_IS_NULL(x, what, "x") || check_writable(what, x) != HT_SUCCESS)
        return ht_error_get(NULL);

    const ht_body *body = x->body;

    if (!ht_dtype_is_floating(body->dtype) || !ht__body_is_contiguous(body))
        return HT_FAIL(body->comm, HT_ERR_ARGUMENT,
                       "%s: x is %s %s, expected a contiguous tensor of a floating dtype", what,
                       ht_dtype_name(body->dtype), ht__shape_str(body->ndim, body->shape));
    return HT_SUCCESS;
}

ht_status ht__nn_init_uniform(const char *what, ht_tensor *x, double low, double high)
{
    if (ht__nn_init_check(what, x) != HT_SUCCESS ||
        ht__random_check_range(what, x->body, low, high) != HT_SUCCESS)
        return ht_error_get(NULL);
    return draw(what, x, HT_KERNEL_RANDOM_UNIFORM, low, high);
}

ht_status ht__nn_init_normal(const char *what, ht_tensor *x, double mean, double std)
{
    if (ht__nn_init_check(what, x) != HT_SUCCESS)
        return ht_error_get(NULL);
    if (!isfinite(mean) || !(std >= 0) || !isfinite(std))
        return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                       "%s: mean is %g and std %g, expected finite numbers and std of at least 0",
                       what, mean, std);
    return draw(what, x, HT_KERNEL_RANDOM_NORMAL, mean, std);
}

ht_status ht_nn_init_uniform(ht_tensor *x, double low, double high)
{
    return ht__nn_init_uniform("ht_nn_init_uniform", x, low, high);
}

ht_status ht_nn_init_normal(ht_tensor *x, double mean, double std)
{
    return ht__nn_init_normal("ht_nn_init_normal", x, mean, std);
}

bool ht__nn_check_size(const char *what, const char *name, int64_t size)
{
    if (size < INT64_C(1) << 59)
        return true;
    HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: %s is %lld, expected less than 2^59", what, name,
            (long long)size);
    return false;
}

ht_tensor *ht__nn_parameter(int ndim, const int64_t shape[], double bound)
{
    ht_tensor *x = ht_empty(ndim, shape, HT_FLOAT32, HT_LOCAL);

    if (x == NULL || ht_nn_init_uniform(x, -bound, bound) != HT_SUCCESS)
        return NULL;
    return x;
}

ht_tensor *ht__nn_normal(int ndim, const int64_t shape[])
{
    ht_tensor *x = ht_empty(ndim, shape, HT_FLOAT32, HT_LOCAL);
    ht_random_call job = {.call.operands = 1};

    if (x == NULL || !ht__has_kernel("the initialisation of a layer", x, HT_KERNEL_RANDOM_NORMAL))
        return NULL;
    job.out = ht__operand_of(x->body, HT_WRITE);
    job.draw = draw_of(x->body, 0, 1);
    if (x->body->lsize > 0 &&
        HT_RUN(x, HT_KERNEL_RANDOM_NORMAL, &job, "the initialisation of a layer") != HT_SUCCESS)
        return NULL;
    return x;
}

ht_tensor *ht__nn_filled(int ndim, const int64_t shape[], double value)
{
    return ht_full(ndim, shape, value, HT_FLOAT32, HT_LOCAL);
}

/* The end of a constructor: the module, or NULL after an error. */
static ht_module *finished(ht_module *module, ht_status status)
{
    if (status == HT_SUCCESS)
        return module;
    ht_release(module);
    return NULL;
}

ht_module *ht__nn_add_affine(ht_module *module, int ndim, const int64_t shape[], ht_tensor **weight,
                             ht_tensor **bias)
{
    ht_scope *scope = ht_scope_open();
    ht_status status = HT_SUCCESS;

    if (weight != NULL)
        status = ht_module_add_parameter(module, "weight", weight, ht__nn_filled(ndim, shape, 1));
    if (status == HT_SUCCESS && bias != NULL)
        status = ht_module_add_parameter(module, "bias", bias, ht__nn_filled(ndim, shape, 0));
    ht_scope_close(scope);
    return finished(module, status);
}

ht_module *ht__nn_add_uniform(ht_module *module, int ndim, const int64_t shape[], int64_t outputs,
                              double bound, ht_tensor **weight, ht_tensor **bias)
{
    ht_scope *scope = ht_scope_open();
    ht_status status = ht_module_add_parameter(module, "weight", weight,
                                               ht__nn_parameter(ndim, shape, bound));

    if (status == HT_SUCCESS && bias != NULL)
        status = ht_module_add_parameter(module, "bias", bias,
                                         ht__nn_parameter(1, &outputs, bound));
    ht_scope_close(scope);
    return finished(module, status);
}
