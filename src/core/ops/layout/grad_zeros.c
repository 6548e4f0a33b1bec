/* SPDX-License-Identifier: MIT
 *
 * Zeros for the gradient of a tensor of which a view showed a part. */
#include "core/ops/ops.h"
#include "ht/factories.h"
#include "ht/manipulations.h"

ht_tensor *ht__grad_zeros(const char *what, const ht_body *x, const ht_tensor *g)
{
    ht_tensor *whole = ht__tensor_new(ht__body_new(what, x->comm, g->body->storage->device,
                                                   g->body->dtype, x->ndim, x->shape, x->split,
                                                   x->bounds));

    return whole != NULL && ht_fill_(whole, 0) == HT_SUCCESS ? whole : NULL;
}
