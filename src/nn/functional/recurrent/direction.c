/* SPDX-License-Identifier: MIT
 *
 * One layer in one direction: its node, and views of the result. With a projection, h depends on it
 * at each step: a step is a node of one step, a product, and a choice where rows may have ended. */
#include "nn/functional/recurrent/direction.h"

#include "core/base/base.h"
#include "core/ops/ops.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/manipulations.h"

enum { X = HT_CELL_WEIGHTS, OPERANDS };

static const ht_operand_rule rules[OPERANDS] = {
    {"x", "LNi", HT_DTYPE_FLOATING, HT_SPLIT_ANY, HT_LAYOUT_ROWS, HT_CAST_LOW, HT_REQUIRED},
    {"weight_ih", "Gi", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ROWS, HT_CAST_LOW, HT_REQUIRED},
    {"weight_hh", "GR", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ROWS, HT_CAST_LOW, HT_REQUIRED},
    {"bias_ih", "G", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ROWS, HT_CAST_LOW, HT_OPTIONAL},
    {"bias_hh", "G", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ROWS, HT_CAST_LOW, HT_OPTIONAL},
    {"weight_hr", "RU", HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ROWS, HT_CAST_LOW, HT_OPTIONAL},
};

bool ht__recurrent_weights(const char *what, ht_cell cell, ht_tensor **x, ht_tensor *weights[],
                           int64_t features[2])
{
    ht_tensor *in[OPERANDS] = {*x};
    const ht_body *w_hh, *w_hr;

    for (int i = 0; i < HT_CELL_WEIGHTS; i++)
        in[i + 1] = weights[i];
    if (!HT_PREPARE(what, rules, in))
        return false;
    *x = in[0];
    for (int i = 0; i < HT_CELL_WEIGHTS; i++)
        weights[i] = in[i + 1];
    w_hh = weights[HT_W_HH]->body;
    w_hr = weights[HT_W_HR] != NULL ? weights[HT_W_HR]->body : NULL;
    features[0] = w_hr != NULL ? w_hr->shape[1] : w_hh->shape[1];
    features[1] = w_hh->shape[1];
    if (features[0] > 0 && w_hh->shape[0] == features[0] * ht__cell_gates(cell) &&
        (w_hr == NULL || features[1] < features[0]))
        return true;
    HT_FAIL((*x)->body->comm, HT_ERR_SHAPE,
            "%s: weight_hh is %s, expected %d rows for each of %lld units", what,
            ht__shape_str(w_hh->ndim, w_hh->shape), ht__cell_gates(cell), (long long)features[0]);
    return false;
}

/* (N, features) with the rows of x. */
static ht_tensor *new_state(const char *what, const ht_tensor *x, int64_t features)
{
    const ht_body *body = x->body;
    const int64_t shape[] = {body->shape[1], features};

    return ht__tensor_new(ht__body_new(what, body->comm, body->storage->device, body->dtype, 2,
                                       shape, body->split == HT_NONE ? HT_NONE : 0, body->bounds));
}

ht_tensor *ht__recurrent_state(const char *what, const ht_tensor *x, ht_tensor *states,
                               int64_t index, int64_t features)
{
    ht_tensor *like = new_state(what, x, features);

    if (like == NULL)
        return NULL;
    if (states == NULL)
        return ht_fill_(like, 0) == HT_SUCCESS ? like : NULL;
    states = ht_squeeze(ht_narrow(states, 0, index, index + 1), 0);
    return states != NULL ? ht_contiguous(ht__match_slabs(what, states, like->body)) : NULL;
}

static bool run_whole(const ht_recurrent_layer *layer, ht_recurrent_result *result)
{
    const int64_t steps = layer->x->body->shape[0], last = layer->reverse ? 0 : steps - 1;
    ht_tensor *all = ht__recurrent_layer(layer);

    result->y = layer->cell == HT_CELL_LSTM ? ht_narrow(all, 0, 0, steps) : all;
    result->h = ht_narrow(all, 0, last, last + 1);
    result->c = layer->cell == HT_CELL_LSTM ? ht_narrow(all, 0, steps, steps + 1) : NULL;
    return result->y != NULL && result->h != NULL &&
           (result->c != NULL || layer->cell != HT_CELL_LSTM);
}

static ht_tensor *slice(ht_tensor *x, int64_t index)
{
    return ht_squeeze(ht_narrow(x, 0, index, index + 1), 0);
}

/* h and c after step `step`. */
static bool project_step(ht_recurrent_layer *layer, ht_tensor *x, ht_tensor *w_hr, ht_tensor *mask,
                         int64_t step)
{
    ht_tensor *both, *h, *c;

    layer->x = ht_contiguous(ht_narrow(x, 0, step, step + 1));
    both = layer->x != NULL ? ht__recurrent_layer(layer) : NULL;
    h = ht_linear(slice(both, 0), w_hr, NULL);
    c = slice(both, 1);
    if (mask != NULL) {
        ht_tensor *has_step = slice(mask, step);

        h = ht_where(has_step, h, layer->h);
        c = ht_where(has_step, c, layer->c);
    }
    layer->h = ht_contiguous(h);
    layer->c = ht_contiguous(c);
    return layer->h != NULL && layer->c != NULL;
}

static bool run_projected(ht_recurrent_layer *layer, ht_tensor *w_hr, ht_tensor *mask,
                          ht_recurrent_result *result)
{
    ht_tensor *x = layer->x;
    const int64_t steps = x->body->shape[0];
    ht_tensor **h = ht__alloc((size_t)steps * sizeof(ht_tensor *));
    bool good = true;

    layer->lengths = NULL; /* the mask has them */
    for (int64_t turn = 0; good && turn < steps; turn++) {
        const int64_t step = layer->reverse ? steps - 1 - turn : turn;

        good = project_step(layer, x, w_hr, mask, step);
        h[step] = layer->h;
    }
    result->y = good ? ht_stack((int)steps, h, 0) : NULL;
    result->h = good ? ht_expand_dims(layer->h, 0) : NULL;
    result->c = good ? ht_expand_dims(layer->c, 0) : NULL;
    ht__free(h);
    return result->y != NULL && result->h != NULL && result->c != NULL;
}

bool ht__recurrent_direction(ht_recurrent_layer *layer, ht_tensor *const weights[], ht_tensor *mask,
                             ht_recurrent_result *result)
{
    layer->w_ih = weights[HT_W_IH];
    layer->w_hh = weights[HT_W_HH];
    layer->b_ih = weights[HT_B_IH];
    layer->b_hh = weights[HT_B_HH];
    return weights[HT_W_HR] == NULL ? run_whole(layer, result)
                                    : run_projected(layer, weights[HT_W_HR], mask, result);
}
