/* SPDX-License-Identifier: MIT
 *
 * Unflatten: several axes in the place of one. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ht/containers.h"
#include "ht/manipulations.h"
#include "nn/module/module.h"

struct unflatten {
    int axis, ndim;
    int64_t shape[HT_MAX_NDIM];
};

/* *rest: the length that a -1 among `shape` means. */
static bool check_product(const ht_body *x, int axis, int ndim, const int64_t shape[],
                          int64_t *rest)
{
    int64_t product = 1;
    int rests = 0;
    bool fits = true;

    for (int i = 0; i < ndim; i++) {
        rests += shape[i] == -1;
        fits = fits && (shape[i] == -1 ||
                        (shape[i] >= 0 && !__builtin_mul_overflow(product, shape[i], &product)));
    }
    fits = fits && (rests == 0   ? product == x->shape[axis]
                    : rests == 1 ? product > 0 && x->shape[axis] % product == 0
                                 : false);
    *rest = fits && rests == 1 ? x->shape[axis] / product : 0;
    if (fits)
        return true;
    HT_FAIL(x->comm, HT_ERR_SHAPE,
            "ht_unflatten: shape is %s, expected one with %" PRId64 " elements",
            ht__shape_str(ndim, shape), x->shape[axis]);
    return false;
}

ht_tensor *ht_unflatten(ht_tensor *x, int axis, int ndim, const int64_t shape[])
{
    int64_t whole[2 * HT_MAX_NDIM], rest;
    int most;

    if (HT_IS_NULL(x, "ht_unflatten", "x") || !ht__check_axis("ht_unflatten", x, &axis) ||
        HT_IS_NULL(shape, "ht_unflatten", "shape"))
        return NULL;
    most = HT_MAX_NDIM + 1 - x->body->ndim;
    if (ndim < 1 || ndim > most) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "ht_unflatten: ndim is %d, expected 1 to %d", ndim,
                most);
        return NULL;
    }
    if (!check_product(x->body, axis, ndim, shape, &rest))
        return NULL;
    memcpy(whole, x->body->shape, (size_t)axis * sizeof *whole);
    for (int i = 0; i < ndim; i++)
        whole[axis + i] = shape[i] == -1 ? rest : shape[i];
    memcpy(whole + axis + ndim, x->body->shape + axis + 1,
           (size_t)(x->body->ndim - 1 - axis) * sizeof *whole);
    return ht_reshape(x, x->body->ndim - 1 + ndim, whole);
}

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    const struct unflatten *layer = ht_module_data(self);

    return ht_unflatten(x, layer->axis, layer->ndim, layer->shape);
}

static void describe(ht_module *self, char *text, size_t size)
{
    const struct unflatten *layer = ht_module_data(self);

    snprintf(text, size, "axis=%d, %s", layer->axis, ht__shape_str(layer->ndim, layer->shape));
}

static const ht_module_type type = {.name = "Unflatten", .forward = forward, .describe = describe};

ht_module *ht_nn_unflatten(int axis, int ndim, const int64_t shape[])
{
    struct unflatten data = {.axis = axis, .ndim = ndim};

    if (ndim < 1 || ndim > HT_MAX_NDIM) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "ht_nn_unflatten: ndim is %d, expected 1 to %d", ndim,
                HT_MAX_NDIM);
        return NULL;
    }
    if (HT_IS_NULL(shape, "ht_nn_unflatten", "shape"))
        return NULL;
    memcpy(data.shape, shape, (size_t)ndim * sizeof *shape);
    return ht_module_new_ext("ht_nn_unflatten", &type, sizeof data, &data);
}
