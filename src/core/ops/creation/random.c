/* SPDX-License-Identifier: MIT
 *
 * Draws of random tensors. Each draw has a number (random_state.c), and its elements are keyed by
 * their global index. */
#include "core/ops/ops.h"
#include "ht/random.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/kernels/random.h"
#include "ht/logical.h"
#include "ht/relational.h"

static int64_t product(const int64_t shape[], int from, int to)
{
    int64_t size = 1;

    for (int i = from; i < to; i++)
        size *= shape[i];
    return size;
}

void ht__random_place(const ht_body *body, ht_random_draw *random)
{
    int split = body->split != HT_NONE ? body->split : 0;
    int64_t inner = product(body->shape, split + 1, body->ndim);

    random->outer = product(body->shape, 0, split);
    random->inner = body->lsize / random->outer;
    random->inner_global = body->ndim > 0 ? inner * body->shape[split] : 1;
    random->start = body->split_start * inner;
}

/* Fills a contiguous x. */
static ht_status run(const char *what, ht_tensor *x, ht_kernel kernel, ht_random_draw *random)
{
    if (x->body->lsize == 0)
        return HT_SUCCESS;
    ht__random_place(x->body, random);

    ht_random_call call = {
        .call.operands = 1, .out = ht__operand_of(x->body, HT_WRITE), .draw = *random};
    return HT_RUN(x, kernel, &call, what);
}

static ht_status fill(const char *what, ht_tensor *x, ht_kernel kernel, ht_random_draw *random)
{
    ht_scope *scope;
    ht_tensor *dense;
    ht_status status;

    if (!ht__has_kernel(what, x, kernel))
        return HT_ERR_UNSUPPORTED;
    if (ht__body_is_contiguous(x->body))
        return run(what, x, kernel, random);

    scope = ht_scope_open();
    dense = ht__tensor_new(ht__body_new(what, x->body->comm, x->body->storage->device,
                                        x->body->dtype, x->body->ndim, x->body->shape,
                                        x->body->split, x->body->bounds));
    status = dense != NULL ? run(what, dense, kernel, random) : ht_error_get(NULL);
    if (status == HT_SUCCESS)
        status = ht__copy_local(what, x->body, dense->body);
    ht_scope_close(scope);
    return status;
}

ht_status ht__random_fill(const char *what, ht_tensor *x, ht_kernel kernel, uint64_t seed,
                          uint64_t draw, double a, double b)
{
    return fill(what, x, kernel, &(ht_random_draw){.seed = seed, .draw = draw, .a = a, .b = b});
}

static ht_status draw_into(const char *what, ht_tensor *x, ht_kernel kernel, ht_random_draw random)
{
    if (ht__check_in_place(what, "x", x, NULL) != HT_SUCCESS)
        return HT_ERR_STATE;
    ht__storage_touch(x->body->storage);
    ht__written(what, x, NULL);
    ht__random_next(x->body->comm, &random.seed, &random.draw);
    return fill(what, x, kernel, &random);
}

/* The largest number of a floating dtype; 0 of others. */
static double largest(ht_dtype dtype)
{
    switch (dtype) {
    case HT_FLOAT16:
        return 65504;
    case HT_BFLOAT16:
        return 0x1.fep127;
    case HT_FLOAT32:
        return FLT_MAX;
    case HT_FLOAT64:
        return DBL_MAX;
    default:
        return 0;
    }
}

static ht_status check_floating(const char *what, ht_comm *comm, const char *name, ht_dtype dtype)
{
    if (ht_dtype_is_floating(dtype))
        return HT_SUCCESS;
    return HT_FAIL(comm, HT_ERR_DTYPE, "%s: %s is %s, expected a floating dtype", what, name,
                   ht_dtype_name(dtype));
}

ht_status ht__random_check_range(const char *what, const ht_body *x, double low, double high)
{
    double limit = largest(x->dtype);

    if (low <= high && low >= -limit && high <= limit && high - low <= limit)
        return HT_SUCCESS;
    return HT_FAIL(x->comm, HT_ERR_ARGUMENT,
                   "%s: the range is [%g, %g) of %s, expected low <= high, and at most %g for "
                   "both and for their difference",
                   what, low, high, ht_dtype_name(x->dtype), limit);
}

ht_status ht_uniform_(ht_tensor *x, double low, double high)
{
    static const char what[] = "ht_uniform_";

    if (HT_IS_NULL(x, what, "x") || check_floating(what, x->body->comm, "x", x->body->dtype) ||
        ht__random_check_range(what, x->body, low, high))
        return ht_error_get(NULL);
    return draw_into(what, x, HT_KERNEL_RANDOM_UNIFORM, (ht_random_draw){.a = low, .b = high});
}

static ht_status normal_into(const char *what, ht_tensor *x, double mean, double std)
{
    double limit;

    if (HT_IS_NULL(x, what, "x") || check_floating(what, x->body->comm, "x", x->body->dtype))
        return ht_error_get(NULL);
    limit = largest(x->body->dtype);
    if (!(fabs(mean) <= limit) || !(std >= 0 && std <= limit))
        return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                       "%s: mean is %g and std is %g for %s, expected at most %g, and std of at "
                       "least 0",
                       what, mean, std, ht_dtype_name(x->body->dtype), limit);
    return draw_into(what, x, HT_KERNEL_RANDOM_NORMAL, (ht_random_draw){.a = mean, .b = std});
}

ht_status ht_normal_(ht_tensor *x, double mean, double std)
{
    return normal_into("ht_normal_", x, mean, std);
}

static ht_tensor *new_drawn(const char *what, int ndim, const int64_t shape[], ht_dtype dtype,
                            ht_place place, ht_kernel kernel, ht_random_draw random)
{
    ht_tensor *x = ht__new_at(what, ndim, shape, dtype, place);

    return x != NULL && draw_into(what, x, kernel, random) == HT_SUCCESS ? x : NULL;
}

/* Uniform below 1, or normal. An invalid dtype is reported by the check of the shape. */
static ht_tensor *draw(const char *what, int ndim, const int64_t shape[], ht_dtype dtype,
                       ht_place place, ht_kernel kernel)
{
    if (place.comm == NULL || ((unsigned)dtype < HT_DTYPE_COUNT &&
                               check_floating(what, place.comm, "dtype", dtype) != HT_SUCCESS))
        return NULL;
    return new_drawn(what, ndim, shape, dtype, place, kernel, (ht_random_draw){.a = 0, .b = 1});
}

ht_tensor *ht_rand(int ndim, const int64_t shape[], ht_dtype dtype, int split)
{
    static const char what[] = "ht_rand";

    return draw(what, ndim, shape, dtype, ht__place_here(what, split), HT_KERNEL_RANDOM_UNIFORM);
}

ht_tensor *ht_rand_ext(int ndim, const int64_t shape[], ht_dtype dtype, int split,
                       ht_device *device, ht_comm *comm)
{
    static const char what[] = "ht_rand_ext";

    return draw(what, ndim, shape, dtype, ht__place_at(what, split, device, comm),
                HT_KERNEL_RANDOM_UNIFORM);
}

ht_tensor *ht_randn(int ndim, const int64_t shape[], ht_dtype dtype, int split)
{
    static const char what[] = "ht_randn";

    return draw(what, ndim, shape, dtype, ht__place_here(what, split), HT_KERNEL_RANDOM_NORMAL);
}

ht_tensor *ht_randn_ext(int ndim, const int64_t shape[], ht_dtype dtype, int split,
                        ht_device *device, ht_comm *comm)
{
    static const char what[] = "ht_randn_ext";

    return draw(what, ndim, shape, dtype, ht__place_at(what, split, device, comm),
                HT_KERNEL_RANDOM_NORMAL);
}

/* Whether integers from low to last are numbers of a dtype, rounded in a floating one. */
static bool holds(ht_dtype dtype, int64_t low, int64_t last)
{
    int bits = 8 * (int)ht_dtype_size(dtype);

    if (ht_dtype_is_floating(dtype))
        return (double)low >= -largest(dtype) && (double)last <= largest(dtype);
    if (dtype == HT_BOOL || dtype == HT_UINT8)
        return low >= 0 && last <= (dtype == HT_BOOL ? 1 : UINT8_MAX);
    return bits == 64 || (low >= -((int64_t)1 << (bits - 1)) && last < (int64_t)1 << (bits - 1));
}

static ht_tensor *draw_integers(const char *what, int64_t low, int64_t high, int ndim,
                                const int64_t shape[], ht_dtype dtype, ht_place place)
{
    if (place.comm == NULL)
        return NULL;
    if (ht_dtype_is_complex(dtype)) {
        HT_FAIL(place.comm, HT_ERR_DTYPE, "%s: dtype is %s, expected a real one", what,
                ht_dtype_name(dtype));
        return NULL;
    }
    if (low >= high || ((unsigned)dtype < HT_DTYPE_COUNT && !holds(dtype, low, high - 1))) {
        HT_FAIL(place.comm, HT_ERR_ARGUMENT,
                "%s: the range is [%" PRId64 ", %" PRId64 ") of %s, expected low < high, and "
                "integers that the dtype can hold",
                what, low, high, ht_dtype_name(dtype));
        return NULL;
    }
    return new_drawn(what, ndim, shape, dtype, place, HT_KERNEL_RANDOM_INTEGER,
                     (ht_random_draw){.low = low, .high = high});
}

ht_tensor *ht_randint(int64_t low, int64_t high, int ndim, const int64_t shape[], ht_dtype dtype,
                      int split)
{
    static const char what[] = "ht_randint";

    return draw_integers(what, low, high, ndim, shape, dtype, ht__place_here(what, split));
}

ht_tensor *ht_randint_ext(int64_t low, int64_t high, int ndim, const int64_t shape[],
                          ht_dtype dtype, int split, ht_device *device, ht_comm *comm)
{
    static const char what[] = "ht_randint_ext";

    return draw_integers(what, low, high, ndim, shape, dtype,
                         ht__place_at(what, split, device, comm));
}

ht_tensor *ht_normal(double mean, double std, int ndim, const int64_t shape[], ht_dtype dtype,
                     int split)
{
    static const char what[] = "ht_normal";
    ht_tensor *x = ht__new_at(what, ndim, shape, dtype, ht__place_here(what, split));

    return x != NULL && normal_into(what, x, mean, std) == HT_SUCCESS ? x : NULL;
}

/* Whether no deviation is below 0; every rank learns of it. */
static bool check_deviations(const char *what, ht_tensor *std)
{
    const ht_number *number = std->body->number;
    double below = 0;
    ht_status status = HT_SUCCESS;

    if (number != NULL)
        below = number->kind == HT_NUMBER_INTEGER ? number->integer < 0 : number->real < 0;
    else
        status = ht__item(what, ht_any(ht_lt(std, ht_scalar(0)), HT_NONE), &below);
    if (status == HT_SUCCESS && below != 0)
        status = HT_FAIL(std->body->comm, HT_ERR_ARGUMENT,
                         "%s: an element of std is below 0, expected at least 0", what);
    return status == HT_SUCCESS;
}

/* Whether mean or std is of a real dtype, on the device, and broadcasts to a checked shape. */
static bool check_moment(const char *what, const char *name, const ht_body *body, int ndim,
                         const int64_t shape[], const ht_device *device)
{
    bool fits = body->ndim <= ndim;

    if (body->number == NULL && body->storage->device != device) {
        HT_FAIL(body->comm, HT_ERR_DEVICE, "%s: %s is on %s, expected %s", what, name,
                body->storage->device->name, device->name);
        return false;
    }
    if (ht_dtype_is_complex(body->dtype)) {
        HT_FAIL(body->comm, HT_ERR_DTYPE, "%s: %s is %s, expected a real dtype", what, name,
                ht_dtype_name(body->dtype));
        return false;
    }
    for (int i = 0; i < body->ndim && fits; i++)
        fits = body->shape[i] == 1 || body->shape[i] == shape[ndim - body->ndim + i];
    if (!fits)
        HT_FAIL(body->comm, HT_ERR_SHAPE, "%s: %s is %s, expected one that broadcasts to %s", what,
                name, ht__shape_str(body->ndim, body->shape), ht__shape_str(ndim, shape));
    return fits;
}

/* Before anything is drawn. */
static bool check_moments(const char *what, ht_tensor *mean, ht_tensor *std, int ndim,
                          const int64_t shape[], ht_place place)
{
    return place.comm != NULL && ht__check_shape(what, place.comm, ndim, shape, &place.split) &&
           check_moment(what, "mean", mean->body, ndim, shape, place.device) &&
           check_moment(what, "std", std->body, ndim, shape, place.device) &&
           check_deviations(what, std);
}

ht_tensor *ht_normal_ext(ht_tensor *mean, ht_tensor *std, int ndim, const int64_t shape[],
                         ht_dtype dtype, int split, ht_device *device, ht_comm *comm)
{
    static const char what[] = "ht_normal_ext";
    ht_place place;
    ht_tensor *x, *y;

    if (HT_IS_NULL(mean, what, "mean") || HT_IS_NULL(std, what, "std"))
        return NULL;
    place = ht__place_at(what, split, device, comm);
    if (!check_moments(what, mean, std, ndim, shape, place))
        return NULL;
    x = draw(what, ndim, shape, dtype, place, HT_KERNEL_RANDOM_NORMAL);
    y = x != NULL ? ht_add(ht_mul(x, std), mean) : NULL;
    return y != NULL ? ht_astype(ht__match_slabs(what, y, x->body), dtype) : NULL;
}
