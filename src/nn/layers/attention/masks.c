/* SPDX-License-Identifier: MIT
 *
 * The masks of MultiheadAttention. A bool there leaves out a key where it is true, the opposite of
 * the mask of ht_scaled_dot_product_attention. */
#include <math.h>
#include <string.h>

#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/logical.h"
#include "ht/manipulations.h"
#include "nn/layers/attention/multihead.h"

#define WHAT "ht_nn_multihead_attention"

static bool has_shape(const ht_tensor *x, int ndim, const int64_t shape[])
{
    return ht__same_shape(x->body->ndim, x->body->shape, ndim, shape);
}

static bool check_mask(const char *name, const ht_tensor *mask, bool fits, int ndim,
                       const int64_t shape[])
{
    const ht_body *body = mask->body;

    if (body->dtype != HT_BOOL && !ht_dtype_is_floating(body->dtype)) {
        HT_FAIL(body->comm, HT_ERR_DTYPE, "%s: %s is %s, expected bool or a floating dtype", WHAT,
                name, ht_dtype_name(body->dtype));
        return false;
    }
    if (fits)
        return true;
    HT_FAIL(body->comm, HT_ERR_SHAPE, "%s: %s is %s, expected %s", WHAT, name,
            ht__shape_str(body->ndim, body->shape), ht__shape_str(ndim, shape));
    return false;
}

bool ht__multihead_check_masks(const ht_multihead_inputs *in, const ht_multihead_lengths *n)
{
    const int64_t heads[3] = {n->batch * n->heads, n->rows, n->keys};
    const int64_t padding[2] = {n->batch, n->keys};

    if (in->attn_mask != NULL &&
        !check_mask("attn_mask", in->attn_mask,
                    has_shape(in->attn_mask, 2, heads + 1) || has_shape(in->attn_mask, 3, heads),
                    in->attn_mask->body->ndim == 3 ? 3 : 2,
                    in->attn_mask->body->ndim == 3 ? heads : heads + 1))
        return false;
    return in->key_padding_mask == NULL ||
           check_mask("key_padding_mask", in->key_padding_mask,
                      has_shape(in->key_padding_mask, 2, padding), 2, padding);
}

/* A mask with four axes, and columns of zeros for the extra keys. */
static ht_tensor *extended(ht_tensor *mask, const int64_t shape[4], int64_t extra)
{
    const int64_t zeros[4] = {shape[0], shape[1], shape[2], extra};
    ht_tensor *parts[2] = {ht_reshape(mask, 4, shape), NULL};

    if (parts[0] == NULL || extra == 0)
        return parts[0];
    parts[1] = ht_full_ext(4, zeros, ht_number_integer(0), parts[0]->body->dtype, HT_NONE,
                           ht_tensor_device(mask), ht_tensor_comm(mask));
    return ht_concatenate(2, parts, 3);
}

/* -inf where a bool is true, else 0. Numbers stay. */
static ht_tensor *numbers_of(ht_tensor *mask, ht_dtype dtype)
{
    if (mask == NULL || mask->body->dtype != HT_BOOL)
        return ht_astype(mask, dtype);
    return ht_astype(ht_where(mask, ht_scalar(-INFINITY), ht_scalar(0)), dtype);
}

ht_tensor *ht__multihead_mask(const ht_multihead_inputs *in, const ht_multihead_lengths *n,
                              bool as_numbers)
{
    const ht_dtype dtype = in->query->body->dtype;
    const bool per_head = in->attn_mask != NULL && in->attn_mask->body->ndim == 3;
    const int64_t attention[4] = {per_head ? n->batch : 1, per_head ? n->heads : 1, n->rows,
                                  n->keys};
    const int64_t padding[4] = {n->batch, 1, 1, n->keys};
    ht_tensor *const given[2] = {in->attn_mask, in->key_padding_mask};
    ht_tensor *mask = NULL;

    for (int i = 0; i < 2; i++)
        as_numbers |= given[i] != NULL && given[i]->body->dtype != HT_BOOL;
    for (int i = 0; i < 2; i++) {
        ht_tensor *one;

        if (given[i] == NULL)
            continue;
        one = extended(given[i], i == 0 ? attention : padding, n->extra);
        if (as_numbers)
            one = numbers_of(one, dtype);
        if (one == NULL)
            return NULL;
        if (mask != NULL)
            one = as_numbers ? ht_add(mask, one) : ht_logical_or(mask, one);
        mask = one;
    }
    return as_numbers ? mask : ht_logical_not(mask);
}
