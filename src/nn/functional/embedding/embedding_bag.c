/* SPDX-License-Identifier: MIT
 *
 * Bags of embeddings. Bags of different lengths become rows of one length, whose places behind the
 * end of a bag are masked like those of padding: memory is bags times the longest bag. */
#include <math.h>
#include <string.h>

#include "core/ops/ops.h"
#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/logical.h"
#include "ht/manipulations.h"
#include "ht/relational.h"
#include "ht/statistics.h"
#include "nn/functional/embedding/lookup.h"
#include "nn/functional/first_max.h"

enum { INDICES, WEIGHT, OFFSETS, SAMPLE_WEIGHTS, OPERANDS };

static const ht_operand_rule rules[OPERANDS] = {
    {"indices", NULL, HT_DTYPE_INTEGER, HT_SPLIT_BATCH, HT_LAYOUT_ANY, HT_CAST_INDEX, HT_REQUIRED},
    {"weight", "rc", HT_DTYPE_FLOATING, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_NONE, HT_REQUIRED},
    {"offsets", "B", HT_DTYPE_INTEGER, HT_SPLIT_NONE, HT_LAYOUT_ROWS, HT_CAST_INDEX, HT_OPTIONAL},
    {"per_sample_weights", NULL, HT_DTYPE_FLOATING, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_NONE,
     HT_OPTIONAL},
};

ht_embedding_bag_options ht_embedding_bag_options_default(void)
{
    return (ht_embedding_bag_options){.size = sizeof(ht_embedding_bag_options),
                                      .padding_idx = HT_NO_PADDING,
                                      .max_norm = INFINITY,
                                      .norm_type = 2};
}

/* Rows of indices, and which of their places count (NULL: all). */
typedef struct bags {
    ht_tensor *indices, *inside, *sample_weights;
} bags;

static bool check_options(ht_tensor *const in[], const ht_embedding_bag_options *o)
{
    const ht_body *x = in[INDICES]->body;
    const char *wrong = NULL;

    if ((unsigned)o->mode > HT_BAG_MAX)
        wrong = "mode is invalid, expected an ht_bag_mode";
    else if (o->mode == HT_BAG_MAX && o->scale_grad_by_freq)
        wrong = "scale_grad_by_freq is true, expected false with HT_BAG_MAX";
    else if (o->mode != HT_BAG_SUM && in[SAMPLE_WEIGHTS] != NULL)
        wrong = "per_sample_weights is set, expected NULL unless mode is HT_BAG_SUM";
    else if (x->ndim == 2 && in[OFFSETS] != NULL)
        wrong = "offsets is set, expected NULL with indices of two axes";
    if (wrong != NULL) {
        HT_FAIL(x->comm, HT_ERR_ARGUMENT, "ht_embedding_bag: %s", wrong);
        return false;
    }
    if ((x->ndim == 1 && in[OFFSETS] != NULL) || x->ndim == 2)
        return true;
    HT_FAIL(x->comm, HT_ERR_SHAPE,
            "ht_embedding_bag: indices are %s, expected two axes, or one axis and offsets",
            ht__shape_str(x->ndim, x->shape));
    return false;
}

static bool check_sample_weights(ht_tensor *const in[])
{
    const ht_body *x = in[INDICES]->body, *w;

    if (in[SAMPLE_WEIGHTS] == NULL)
        return true;
    w = in[SAMPLE_WEIGHTS]->body;
    if (!ht__body_same_shape(x, w)) {
        HT_FAIL(x->comm, HT_ERR_SHAPE,
                "ht_embedding_bag: per_sample_weights are %s, expected the shape %s of indices",
                ht__shape_str(w->ndim, w->shape), ht__shape_str(x->ndim, x->shape));
        return false;
    }
    if (w->dtype == in[WEIGHT]->body->dtype)
        return true;
    HT_FAIL(x->comm, HT_ERR_DTYPE,
            "ht_embedding_bag: weight is %s, per_sample_weights are %s, expected the same dtype",
            ht_dtype_name(in[WEIGHT]->body->dtype), ht_dtype_name(w->dtype));
    return false;
}

/* The ends of `count` bags in `end`, and their longest length; negative after an error. */
static int64_t ends_of_bags(ht_tensor *const in[], const int64_t offsets[], int64_t count,
                            int64_t end[])
{
    const ht_body *x = in[INDICES]->body;
    int64_t longest = 0;

    for (int64_t i = 0; i < count; i++) {
        end[i] = i + 1 < in[OFFSETS]->body->shape[0] ? offsets[i + 1] : x->shape[0];
        if (offsets[0] != 0 || end[i] < offsets[i] || end[i] > x->shape[0]) {
            HT_FAIL(x->comm, HT_ERR_ARGUMENT,
                    "ht_embedding_bag: offsets are not ascending from 0 to at most %lld",
                    (long long)x->shape[0]);
            return -1;
        }
        longest = end[i] - offsets[i] > longest ? end[i] - offsets[i] : longest;
    }
    return longest;
}

/* places[i][k] = offsets[i] + k inside of bag i, else 0; inside says which. */
static void fill_places(const int64_t offsets[], const int64_t end[], int64_t count,
                        int64_t longest, int64_t *places, bool *inside)
{
    for (int64_t i = 0; i < count; i++) {
        for (int64_t k = 0; k < longest; k++, places++, inside++) {
            *inside = offsets[i] + k < end[i];
            *places = *inside ? offsets[i] + k : 0;
        }
    }
}

static bool cut(ht_tensor *const in[], bool include_last, bags *b)
{
    ht_tensor *offsets = ht__on_host("ht_embedding_bag", in[OFFSETS], HT_INT64), *places = NULL;
    const ht_body *x = in[INDICES]->body;
    const int64_t given = in[OFFSETS]->body->shape[0];
    const int64_t count = include_last && given > 0 ? given - 1 : given;
    const int64_t *from = offsets != NULL ? ht__body_data(offsets->body) : NULL;
    int64_t shape[2] = {count, 0}, *end, *place;
    bool *inside;

    if (offsets == NULL)
        return false;
    end = ht__alloc((size_t)(count + 1) * sizeof *end);
    shape[1] = ends_of_bags(in, from, count, end);
    if (shape[1] >= 0) {
        place = ht__alloc((size_t)(count * shape[1] + 1) * sizeof *place);
        inside = ht__alloc((size_t)(count * shape[1] + 1) * sizeof *inside);
        fill_places(from, end, count, shape[1], place, inside);
        places = ht_array_ext(place, 2, shape, HT_INT64, HT_NONE, x->storage->device, x->comm);
        b->inside = ht_array_ext(inside, 2, shape, HT_BOOL, HT_NONE, x->storage->device, x->comm);
        ht__free(inside);
        ht__free(place);
    }
    ht__free(end);
    if (places == NULL || b->inside == NULL)
        return false;
    b->indices = ht_take(in[INDICES], places, 0);
    if (b->sample_weights != NULL)
        b->sample_weights = ht_take(b->sample_weights, places, 0);
    return b->indices != NULL;
}

/* The rows of each bag as one; `inside` (bags, length, 1) or NULL. */
static ht_tensor *reduce(ht_tensor *rows, ht_tensor *inside, ht_bag_mode mode)
{
    ht_tensor *count;

    if (rows == NULL)
        return NULL;
    if (mode == HT_BAG_MAX && rows->body->shape[1] > 0) {
        if (inside == NULL)
            return ht__first_max(rows, 1);
        count = ht_sum(inside, 1);
        return ht_where(ht_gt(count, ht_scalar(0)),
                        ht__first_max(ht_where(inside, rows, ht_scalar(-INFINITY)), 1),
                        ht_scalar(0));
    }
    if (inside != NULL)
        rows = ht_where(inside, rows, ht_scalar(0));
    if (mode != HT_BAG_MEAN || rows == NULL)
        return ht_sum(rows, 1);
    if (inside == NULL)
        return ht_div_scalar(ht_sum(rows, 1), fmax(1, (double)rows->body->shape[1]));
    count = ht_astype(ht_maximum(ht_sum(inside, 1), ht_scalar(1)), rows->body->dtype);
    return ht_div(ht_sum(rows, 1), count);
}

static ht_tensor *without_padding(ht_tensor *indices, ht_tensor *inside, int64_t padding_idx)
{
    ht_tensor *kept;

    if (padding_idx == HT_NO_PADDING)
        return inside;
    kept = ht_ne(indices, ht_scalar((double)padding_idx));
    return inside != NULL ? ht_logical_and(inside, kept) : kept;
}

ht_tensor *ht_embedding_bag(ht_tensor *indices, ht_tensor *weight, ht_tensor *offsets,
                            const ht_embedding_bag_options *options)
{
    ht_embedding_bag_options o = options != NULL ? *options : ht_embedding_bag_options_default();
    ht_tensor *in[OPERANDS] = {indices, weight, offsets, o.per_sample_weights}, *rows;
    bool masked;
    bags b;

    if (!HT_PREPARE("ht_embedding_bag", rules, in) ||
        HT_CHECK_OPTIONS(in[INDICES]->body->comm, "ht_embedding_bag", &o,
                         ht_embedding_bag_options) != HT_SUCCESS ||
        !check_options(in, &o) || !check_sample_weights(in) ||
        !ht__lookup_begin("ht_embedding_bag", in[INDICES], in[WEIGHT], &o.padding_idx, o.max_norm,
                          o.norm_type))
        return NULL;
    b = (bags){.indices = in[INDICES], .sample_weights = in[SAMPLE_WEIGHTS]};
    if (in[OFFSETS] != NULL && !cut(in, o.include_last_offset, &b))
        return NULL;
    rows = ht_take(in[WEIGHT], b.indices, 0);
    if (o.scale_grad_by_freq)
        rows = ht__scale_gradient("ht_embedding_bag", rows,
                                  ht__inverse_frequency(b.indices, in[INDICES], in[WEIGHT]));
    if (in[SAMPLE_WEIGHTS] != NULL)
        rows = ht_mul(rows, ht_expand_dims(b.sample_weights, -1));
    masked = b.inside != NULL || o.padding_idx != HT_NO_PADDING;
    if (masked && (b.inside = ht_expand_dims(without_padding(b.indices, b.inside, o.padding_idx),
                                             -1)) == NULL)
        return NULL;
    return reduce(rows, b.inside, o.mode);
}
