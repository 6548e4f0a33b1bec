/* SPDX-License-Identifier: MIT
 *
 * Embeddings: rows by index, with a gradient that leaves out padding and counts indices. */
#include <math.h>

#include "ht/autograd.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/manipulations.h"
#include "ht/relational.h"
#include "nn/functional/embedding/lookup.h"

enum { INDICES, WEIGHT, OPERANDS };

static const ht_operand_rule rules[OPERANDS] = {
    {"indices", NULL, HT_DTYPE_INTEGER, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_INDEX, HT_REQUIRED},
    {"weight", "rc", HT_DTYPE_FLOATING, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_NONE, HT_REQUIRED},
};

ht_embedding_options ht_embedding_options_default(void)
{
    return (ht_embedding_options){.size = sizeof(ht_embedding_options),
                                  .padding_idx = HT_NO_PADDING,
                                  .max_norm = INFINITY,
                                  .norm_type = 2};
}

static ht_tensor *embedding(const char *what, ht_tensor *indices, ht_tensor *weight,
                            const ht_embedding_options *options)
{
    ht_embedding_options o = options != NULL ? *options : ht_embedding_options_default();
    ht_tensor *in[OPERANDS] = {indices, weight}, *y;

    if (!HT_PREPARE(what, rules, in) ||
        HT_CHECK_OPTIONS(in[INDICES]->body->comm, what, &o, ht_embedding_options) != HT_SUCCESS ||
        !ht__lookup_begin(what, in[INDICES], in[WEIGHT], &o.padding_idx, o.max_norm, o.norm_type))
        return NULL;
    y = ht_take(in[WEIGHT], in[INDICES], 0);
    if (o.scale_grad_by_freq)
        y = ht__scale_gradient(what, y,
                               ht__inverse_frequency(in[INDICES], in[INDICES], in[WEIGHT]));
    if (o.padding_idx == HT_NO_PADDING || y == NULL)
        return y;
    return ht_where(ht_expand_dims(ht_eq(in[INDICES], ht_scalar((double)o.padding_idx)), -1),
                    ht_detach(y), y);
}

ht_tensor *ht_embedding(ht_tensor *indices, ht_tensor *weight)
{
    return embedding("ht_embedding", indices, weight, NULL);
}

ht_tensor *ht_embedding_ext(ht_tensor *indices, ht_tensor *weight,
                            const ht_embedding_options *options)
{
    return embedding("ht_embedding_ext", indices, weight, options);
}
