/* SPDX-License-Identifier: MIT
 *
 * Softmax2d: softmax over the channels of images. */
#include "core/tensor/tensor.h"
#include "ht/nn.h"

static ht_tensor *forward(ht_module *self, ht_tensor *x)
{
    const ht_body *body = x->body;

    (void)self;
    if (body->ndim == 3 || body->ndim == 4)
        return ht_softmax(x, body->ndim - 3);
    HT_FAIL(body->comm, HT_ERR_SHAPE, "Softmax2d: x is %s, expected (N, C, H, W) or (C, H, W)",
            ht__shape_str(body->ndim, body->shape));
    return NULL;
}

static const ht_module_type type = {.name = "Softmax2d", .forward = forward};

ht_module *ht_nn_softmax2d(void)
{
    return ht_module_new(0, &type);
}
