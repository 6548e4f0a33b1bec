/* SPDX-License-Identifier: MIT
 *
 * Draws of random tensors: one draw number each, the elements keyed by their global index. */
#include "ht/random.h"

#include "core.h"
#include "ht/factories.h"

static uint64_t seed_now;
static uint64_t draw_now;

void ht_random_seed(uint64_t seed)
{
    seed_now = seed;
    draw_now = 0;
}

void ht_random_get_state(uint64_t *seed, uint64_t *draw)
{
    *seed = seed_now;
    *draw = draw_now;
}

void ht_random_set_state(uint64_t seed, uint64_t draw)
{
    seed_now = seed;
    draw_now = draw;
}

static int64_t product(const int64_t shape[], int from, int to)
{
    int64_t size = 1;

    for (int i = from; i < to; i++)
        size *= shape[i];
    return size;
}

ht_status ht__random_fill(const char *what, ht_tensor *x, ht_random_kernel kernel, uint64_t seed,
                          uint64_t draw, double a, double b)
{
    const ht_body *body = x->body;
    ht_device *device = body->storage->device;
    int split = body->split != HT_NONE ? body->split : 0;
    int64_t inner = product(body->shape, split + 1, body->ndim);
    ht_random random = {.dtype = body->dtype, .seed = seed, .draw = draw, .a = a, .b = b};

    if (device->backend->kernels.random[kernel] == NULL)
        return ht__kernel_missing(what, x);
    if (!ht__body_is_contiguous(body))
        return HT_FAIL(body->comm, HT_ERR_ARGUMENT, "%s: x is not contiguous", what);
    if (body->lsize == 0)
        return HT_SUCCESS;
    random.outer = product(body->shape, 0, split);
    random.inner = body->lsize / random.outer;
    random.inner_global = body->ndim > 0 ? inner * body->shape[split] : 1;
    random.start = body->split_start * inner;
    if (device->backend->kernels.random[kernel](device->stream, &random, ht__body_data(body)) != 0)
        return ht__kernel_failed(body->comm, what);
    return HT_SUCCESS;
}

static ht_status draw_into(const char *what, ht_tensor *x, ht_random_kernel kernel, double a,
                           double b)
{
    if (HT_IS_NULL(x, what, "x"))
        return ht_error_get(NULL);
    if (ht__check_in_place(what, x) != HT_SUCCESS)
        return HT_ERR_STATE;
    ht__storage_touch(x->body->storage);
    return ht__random_fill(what, x, kernel, seed_now, draw_now++, a, b);
}

ht_status ht_uniform_(ht_tensor *x, double low, double high)
{
    return draw_into("ht_uniform_", x, HT_RANDOM_UNIFORM, low, high);
}

ht_status ht_normal_(ht_tensor *x, double mean, double std)
{
    return draw_into("ht_normal_", x, HT_RANDOM_NORMAL, mean, std);
}

ht_tensor *ht_rand(int ndim, const int64_t shape[], ht_dtype dtype, int split)
{
    ht_tensor *x = ht__new_here("ht_rand", ndim, shape, dtype, split);

    return draw_into("ht_rand", x, HT_RANDOM_UNIFORM, 0, 1) == HT_SUCCESS ? x : NULL;
}

ht_tensor *ht_randn(int ndim, const int64_t shape[], ht_dtype dtype, int split)
{
    ht_tensor *x = ht__new_here("ht_randn", ndim, shape, dtype, split);

    return draw_into("ht_randn", x, HT_RANDOM_NORMAL, 0, 1) == HT_SUCCESS ? x : NULL;
}

ht_tensor *ht_randint(int64_t low, int64_t high, int ndim, const int64_t shape[], ht_dtype dtype,
                      int split)
{
    ht_tensor *x;

    if (low >= high || low < -((int64_t)1 << 53) || high > (int64_t)1 << 53) {
        HT_FAIL(ht__comm_in_use("ht_randint"), HT_ERR_ARGUMENT,
                "ht_randint: no integers in [%lld, %lld)", (long long)low, (long long)high);
        return NULL;
    }
    x = ht__new_here("ht_randint", ndim, shape, dtype, split);
    return draw_into("ht_randint", x, HT_RANDOM_INTEGER, (double)low, (double)high) == HT_SUCCESS
               ? x
               : NULL;
}
