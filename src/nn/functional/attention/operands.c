/* SPDX-License-Identifier: MIT
 *
 * Operands of attention: leading axes are broadcast, and a split operand leads the others. */
#include <math.h>
#include <string.h>

#include "core/ops/ops.h"
#include "ht/manipulations.h"
#include "nn/functional/attention/attention.h"
#include "nn/functional/dropout.h"

enum {
    QUERY = HT_ATTENTION_QUERY,
    KEY = HT_ATTENTION_KEY,
    VALUE = HT_ATTENTION_VALUE,
    MASK = HT_ATTENTION_MASK,
    OPERANDS = HT_ATTENTION_OPERANDS
};

static const ht_operand_rule rules[OPERANDS] = {
    {"query", "*LE", HT_DTYPE_FLOATING, HT_SPLIT_BATCH, HT_LAYOUT_ANY, HT_CAST_LOW, HT_REQUIRED},
    {"key", "*SE", HT_DTYPE_SAME, HT_SPLIT_BATCH, HT_LAYOUT_ANY, HT_CAST_LOW, HT_REQUIRED},
    {"value", "*SV", HT_DTYPE_SAME, HT_SPLIT_BATCH, HT_LAYOUT_ANY, HT_CAST_LOW, HT_REQUIRED},
    {"attn_mask", NULL, HT_DTYPE_ANY, HT_SPLIT_BATCH, HT_LAYOUT_ANY, HT_CAST_NONE, HT_OPTIONAL},
};

/* Leading axes of all operands. */
typedef struct leads {
    int count;
    int64_t shape[HT_MAX_NDIM];
} leads;

/* Heads are the last leading axis; groups of query's heads share those of key and value. */
static bool is_grouped(const ht_attention_options *options, const leads *all, int axis)
{
    return options->enable_gqa && axis == all->count - 1;
}

/* The length of leading axis `axis` of x, counted among those of all operands. */
static int64_t lead_of(const ht_tensor *x, const leads *all, int axis)
{
    const int own = axis - (all->count - (x->body->ndim - 2));

    return own < 0 ? 1 : x->body->shape[own];
}

static bool do_not_fit(const char *what, ht_tensor *const in[], int i, const char *expected)
{
    const ht_body *q = in[QUERY]->body, *x = in[i]->body;

    HT_FAIL(q->comm, HT_ERR_SHAPE, "%s: query is %s, %s is %s: %s", what,
            ht__shape_str(q->ndim, q->shape), rules[i].name, ht__shape_str(x->ndim, x->shape),
            expected);
    return false;
}

static bool find_leads(const char *what, const ht_attention_options *options, ht_tensor *const in[],
                       leads *all)
{
    *all = (leads){.count = 0};
    for (int i = QUERY; i <= VALUE; i++)
        all->count = in[i]->body->ndim - 2 > all->count ? in[i]->body->ndim - 2 : all->count;
    for (int axis = 0; axis < all->count; axis++) {
        all->shape[axis] = 1;
        for (int i = QUERY; i <= VALUE; i++) {
            const int64_t length = lead_of(in[i], all, axis);

            if (i != QUERY && is_grouped(options, all, axis)) {
                if (length == 0 ? all->shape[axis] != 0 : all->shape[axis] % length != 0)
                    return do_not_fit(what, in, i, "its heads do not divide those of query");
                continue;
            }
            if (length != 1 && all->shape[axis] != 1 && length != all->shape[axis])
                return do_not_fit(what, in, i, "the leading axes do not broadcast");
            all->shape[axis] = length != 1 ? length : all->shape[axis];
        }
    }
    if (options->enable_gqa && all->count == 0)
        return do_not_fit(what, in, KEY, "enable_gqa needs an axis of heads");
    return true;
}

static bool check_mask(const char *what, ht_tensor *const in[], const leads *all)
{
    const ht_body *q = in[QUERY]->body, *mask = in[MASK]->body;
    const int64_t rest[2] = {q->shape[q->ndim - 2], in[KEY]->body->shape[in[KEY]->body->ndim - 2]};
    bool fits = mask->ndim >= 1 && mask->ndim <= all->count + 2;

    if (mask->dtype != HT_BOOL && mask->dtype != HT_FLOAT32 && mask->dtype != q->dtype) {
        HT_FAIL(q->comm, HT_ERR_DTYPE, "%s: query is %s, attn_mask is %s, expected bool or %s",
                what, ht_dtype_name(q->dtype), ht_dtype_name(mask->dtype), ht_dtype_name(q->dtype));
        return false;
    }
    for (int i = 0; fits && i < mask->ndim; i++) {
        const int axis = all->count + 2 - mask->ndim + i;
        const int64_t length = axis < all->count ? all->shape[axis] : rest[axis - all->count];

        fits = mask->shape[i] == 1 || mask->shape[i] == length;
    }
    return fits || do_not_fit(what, in, MASK, "it does not broadcast to (..., L, S)");
}

static bool check_options(const char *what, ht_tensor *const in[],
                          const ht_attention_options *options)
{
    ht_comm *comm = in[QUERY]->body->comm;

    if (options->is_causal && in[MASK] != NULL) {
        HT_FAIL(comm, HT_ERR_ARGUMENT,
                "%s: attn_mask and is_causal are set, expected at most one of them", what);
        return false;
    }
    if (isinf(options->scale)) {
        HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: scale is %g, expected a finite number", what,
                options->scale);
        return false;
    }
    for (int i = QUERY; i <= VALUE; i++) {
        if (in[i]->body->split != HT_NONE && in[i]->body->ndim == 2) {
            HT_FAIL(comm, HT_ERR_ARGUMENT,
                    "%s: %s is split along axis 0; only a batch axis may be split", what,
                    rules[i].name);
            return false;
        }
    }
    return ht__check_probability(what, in[QUERY], options->dropout_p);
}

/* x with all leading axes, but its own length of the axis of heads where they are grouped. */
static ht_tensor *with_leads(const char *what, const ht_attention_options *options,
                             const leads *all, int i, ht_tensor *x)
{
    int64_t shape[HT_MAX_NDIM];

    memcpy(shape, all->shape, sizeof shape);
    if (i != QUERY && is_grouped(options, all, all->count - 1))
        shape[all->count - 1] = lead_of(x, all, all->count - 1);
    memcpy(shape + all->count, x->body->shape + x->body->ndim - 2, 2 * sizeof *shape);
    if (ht__same_shape(all->count + 2, shape, x->body->ndim, x->body->shape))
        return x;
    return ht__broadcast_to(what, rules[i].name, x, all->count + 2, shape);
}

/* Query, key and value in the slabs of the first one that is split. */
static bool match_slabs(const char *what, ht_tensor *in[])
{
    const ht_body *like = NULL;

    for (int i = QUERY; i <= VALUE && like == NULL; i++)
        like = in[i]->body->split != HT_NONE ? in[i]->body : NULL;
    if (like != NULL && like->split != 0) {
        HT_FAIL(like->comm, HT_ERR_ARGUMENT, "%s: only axis 0 of all leading axes may be split",
                what);
        return false;
    }
    for (int i = QUERY; like != NULL && i <= VALUE; i++) {
        /* Grouped heads that are axis 0 themselves have slabs of their own. */
        if (in[i]->body->shape[0] != like->shape[0]) {
            HT_FAIL(like->comm, HT_ERR_ARGUMENT,
                    "%s: the axis of heads is split; with enable_gqa it may not be", what);
            return false;
        }
        in[i] = ht__match_slabs(what, in[i], like);
        if (in[i] == NULL)
            return false;
    }
    return true;
}

/* The mask has query's slabs if it has its batch axis, else it is replicated. */
static ht_tensor *lay_out_mask(const char *what, const ht_tensor *query, const ht_tensor *key,
                               ht_tensor *mask)
{
    const ht_body *q = query->body;
    const int last = mask->body->ndim - 1;
    int64_t shape[HT_MAX_NDIM];

    memcpy(shape, mask->body->shape, sizeof shape);
    shape[last] = key->body->shape[key->body->ndim - 2];
    if (shape[last] != mask->body->shape[last])
        mask = ht__broadcast_to(what, "attn_mask", mask, last + 1, shape);
    if (mask != NULL && mask->body->dtype != HT_BOOL)
        mask = ht_astype(mask, q->dtype);
    if (mask == NULL)
        return NULL;
    if (q->split != HT_NONE && mask->body->ndim == q->ndim && mask->body->shape[0] == q->shape[0] &&
        q->shape[0] != 1) {
        mask = ht__match_slabs(what, mask, q);
    } else {
        HT_NAMED(what);
        mask = ht_resplit(mask, HT_NONE);
    }
    return mask != NULL ? ht_contiguous(mask) : NULL;
}

bool ht__attention_prepare(const char *what, const ht_attention_options *options,
                           ht_tensor *in[OPERANDS])
{
    leads all;

    if (!HT_PREPARE(what, rules, in) || !check_options(what, in, options) ||
        !find_leads(what, options, in, &all) || (in[MASK] != NULL && !check_mask(what, in, &all)))
        return false;
    for (int i = QUERY; i <= VALUE; i++) {
        in[i] = with_leads(what, options, &all, i, in[i]);
        if (in[i] != NULL && ht_dtype_size(in[i]->body->dtype) < 4)
            in[i] = ht_astype(in[i], HT_FLOAT32);
        if (in[i] == NULL)
            return false;
    }
    if (!match_slabs(what, in))
        return false;
    for (int i = QUERY; i <= VALUE; i++) {
        in[i] = ht_contiguous(in[i]);
        if (in[i] == NULL)
            return false;
    }
    if (in[MASK] != NULL)
        in[MASK] = lay_out_mask(what, in[QUERY], in[KEY], in[MASK]);
    return options->attn_mask == NULL || in[MASK] != NULL;
}

void ht__attention_set_mask(ht_attention_call *job, const ht_tensor *query, const ht_tensor *mask)
{
    const ht_body *q = query->body;
    int64_t stride[HT_MAX_NDIM];

    job->leads = q->ndim - 2;
    memcpy(job->lead, q->lshape, (size_t)job->leads * sizeof *job->lead);
    memset(job->mask_stride, 0, sizeof job->mask_stride);
    if (mask == NULL)
        return;
    job->mask_is_bool = mask->body->dtype == HT_BOOL;
    ht__strides_row_major(mask->body->ndim, mask->body->lshape, stride);
    for (int i = 0; i + 1 < mask->body->ndim; i++)
        job->mask_stride[q->ndim - mask->body->ndim + i] = mask->body->shape[i] != 1 ? stride[i]
                                                                                     : 0;
}
