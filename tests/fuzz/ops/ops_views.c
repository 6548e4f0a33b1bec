/* SPDX-License-Identifier: MIT
 *
 * Views: other shapes over the same memory. */
#include <string.h>

#include "fuzz/fuzz.h"

static bool generate_one(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick_any(run);
    return s->arg[0] >= 0;
}

/* A view of x, cut off from the graph where nothing is recorded. */
static struct array view_of(struct run *run, const struct array *x)
{
    struct array y = array_view(x);

    y.cut = x->cut || !run->recording;
    y.view = true;
    return y;
}

static bool generate_permute(struct run *run, const struct op *op, struct statement *s)
{
    if (!generate_one(run, op, s) || array_of(run, s, 0)->ndim > MAX_NUMBERS)
        return false;
    for (int i = 0; i < array_of(run, s, 0)->ndim; i++) {
        int j = (int)random_below(&run->random, i + 1);

        s->n[i] = s->n[j];
        s->n[j] = i;
    }
    return true;
}

static struct outcome call_permute(struct run *run, const struct statement *s)
{
    int axes[HT_MAX_NDIM] = {0};

    for (int i = 0; i < MAX_NUMBERS; i++)
        axes[i] = (int)s->n[i];
    return made(ht_permute(tensor_of(run, s, 0), array_of(run, s, 0)->ndim, axes));
}

static int reference_permute(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    unsigned seen = 0;

    for (int i = 0; i < x->ndim && i < MAX_NUMBERS; i++)
        seen |= s->n[i] >= 0 && s->n[i] < x->ndim ? 1u << s->n[i] : 0;
    if (x->ndim > MAX_NUMBERS)
        return WANT_ANYTHING;
    if (seen != (1u << x->ndim) - 1)
        return HT_ERR_ARGUMENT;
    *out = view_of(run, x);
    for (int i = 0; i < x->ndim; i++) {
        out->shape[i] = x->shape[s->n[i]];
        out->stride[i] = x->stride[s->n[i]];
    }
    return WANT_SUCCESS;
}

static bool generate_transpose(struct run *run, const struct op *op, struct statement *s)
{
    if (!generate_one(run, op, s) || array_of(run, s, 0)->ndim == 0)
        return false;
    s->n[0] = random_axis(run, array_of(run, s, 0)->ndim);
    s->n[1] = random_axis(run, array_of(run, s, 0)->ndim);
    return true;
}

static struct outcome call_transpose(struct run *run, const struct statement *s)
{
    return made(ht_transpose(tensor_of(run, s, 0), (int)s->n[0], (int)s->n[1]));
}

static int reference_transpose(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int a = (int)s->n[0], b = (int)s->n[1];

    if (!axis_of(&a, x->ndim) || !axis_of(&b, x->ndim))
        return WANT_FAILURE;
    *out = view_of(run, x);
    out->shape[a] = x->shape[b];
    out->stride[a] = x->stride[b];
    out->shape[b] = x->shape[a];
    out->stride[b] = x->stride[a];
    return WANT_SUCCESS;
}

static bool generate_narrow(struct run *run, const struct op *op, struct statement *s)
{
    const struct array *x;
    int axis;

    if (!generate_one(run, op, s) || array_of(run, s, 0)->ndim == 0)
        return false;
    x = array_of(run, s, 0);
    s->n[0] = axis = random_axis(run, x->ndim);
    if (!axis_of(&axis, x->ndim))
        return true;
    s->n[1] = random_below(&run->random, x->shape[axis] + 1);
    s->n[2] = s->n[1] + random_below(&run->random, x->shape[axis] - s->n[1] + 1);
    if (s->n[1] == s->n[2] && !random_chance(&run->random, 10))
        s->n[1] = 0;
    if (random_chance(&run->random, 1))
        s->n[2] = x->shape[axis] + 1;
    return true;
}

static struct outcome call_narrow(struct run *run, const struct statement *s)
{
    return made(ht_narrow(tensor_of(run, s, 0), (int)s->n[0], s->n[1], s->n[2]));
}

static int reference_narrow(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int axis = (int)s->n[0];

    if (!axis_of(&axis, x->ndim) || s->n[1] < 0 || s->n[2] < s->n[1] || s->n[2] > x->shape[axis])
        return HT_ERR_ARGUMENT;
    *out = view_of(run, x);
    out->shape[axis] = s->n[2] - s->n[1];
    out->offset += s->n[1] * x->stride[axis];
    return WANT_SUCCESS;
}

static bool generate_expand(struct run *run, const struct op *op, struct statement *s)
{
    if (!generate_one(run, op, s) || array_of(run, s, 0)->ndim >= 5)
        return false;
    s->n[0] = random_axis(run, array_of(run, s, 0)->ndim + 1);
    return true;
}

static struct outcome call_expand(struct run *run, const struct statement *s)
{
    return made(ht_expand_dims(tensor_of(run, s, 0), (int)s->n[0]));
}

static int reference_expand(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int axis = (int)s->n[0];

    if (x->ndim == HT_MAX_NDIM || !axis_of(&axis, x->ndim + 1))
        return HT_ERR_ARGUMENT;
    *out = view_of(run, x);
    for (int i = out->ndim++; i > axis; i--) {
        out->shape[i] = out->shape[i - 1];
        out->stride[i] = out->stride[i - 1];
    }
    out->shape[axis] = 1;
    out->stride[axis] = 0;
    return WANT_SUCCESS;
}

static bool generate_squeeze(struct run *run, const struct op *op, struct statement *s)
{
    const struct array *x;
    int ones[HT_MAX_NDIM], count = 0;

    if (!generate_one(run, op, s))
        return false;
    x = array_of(run, s, 0);
    for (int i = 0; i < x->ndim; i++) {
        if (x->shape[i] == 1)
            ones[count++] = i;
    }
    if (count == 0)
        return false;
    s->n[0] = ones[random_below(&run->random, count)];
    return true;
}

static struct outcome call_squeeze(struct run *run, const struct statement *s)
{
    return made(ht_squeeze(tensor_of(run, s, 0), (int)s->n[0]));
}

static void drop_axis(struct array *x, int axis)
{
    for (int i = axis; i + 1 < x->ndim; i++) {
        x->shape[i] = x->shape[i + 1];
        x->stride[i] = x->stride[i + 1];
    }
    x->ndim--;
}

/* Not of the split axis: there it is a copy, since one rank alone has the element. */
static int reference_squeeze(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int axis = (int)s->n[0];

    if (!axis_of(&axis, x->ndim))
        return HT_ERR_ARGUMENT;
    if (x->shape[axis] != 1)
        return HT_ERR_SHAPE;
    if (ht_tensor_split(tensor_of(run, s, 0)) == axis) {
        *out = array_copy(x);
        for (int64_t i = 0; !run->recording && i < array_size(out); i++)
            out->memory->data[i].d = NULL;
    } else {
        *out = view_of(run, x);
    }
    drop_axis(out, axis);
    return WANT_SUCCESS;
}

static bool generate_broadcast(struct run *run, const struct op *op, struct statement *s)
{
    const struct array *x;
    int extra;

    if (!generate_one(run, op, s))
        return false;
    x = array_of(run, s, 0);
    extra = (int)random_below(&run->random, 2);
    s->ndim = x->ndim + extra;
    if (s->ndim > 5)
        return false;
    for (int i = 0; i < s->ndim; i++) {
        int64_t own = i < extra ? 1 : x->shape[i - extra];

        s->shape[i] = own == 1 && random_chance(&run->random, 60)
                          ? 1 + random_below(&run->random, 3)
                          : own;
    }
    return shape_size(s->ndim, s->shape) <= 400;
}

static struct outcome call_broadcast(struct run *run, const struct statement *s)
{
    return made(ht_broadcast_to(tensor_of(run, s, 0), s->ndim, s->shape));
}

static int reference_broadcast(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int split = ht_tensor_split(tensor_of(run, s, 0)), shift = s->ndim - x->ndim;
    bool same = shift == 0;
    struct array whole;

    if (!broadcasts_to(x, s->ndim, s->shape))
        return HT_ERR_SHAPE;
    for (int i = 0; i < x->ndim; i++)
        same = same && x->shape[i] == s->shape[i];
    if (same) { /* x itself */
        *out = array_view(x);
        return WANT_SUCCESS;
    }
    whole = split != HT_NONE && x->shape[split] != s->shape[split + shift] ? array_copy(x) : *x;
    *out = view_of(run, &whole);
    out->ndim = s->ndim;
    out->read_only = true;
    for (int i = 0; i < s->ndim; i++) {
        bool own = i >= shift && x->shape[i - shift] == s->shape[i];

        out->shape[i] = s->shape[i];
        out->stride[i] = own ? whole.stride[i - shift] : 0;
    }
    return WANT_SUCCESS;
}

static struct outcome call_detach(struct run *run, const struct statement *s)
{
    return made(ht_detach(tensor_of(run, s, 0)));
}

static int reference_detach(struct run *run, const struct statement *s, struct array *out)
{
    *out = array_view(array_of(run, s, 0));
    out->cut = out->view = true;
    return WANT_SUCCESS;
}

const struct op ops_views[] = {
    {"ht_permute(%t, {%n, %n, %n, %n, %n, %n})", 8, generate_permute, call_permute,
     reference_permute, .rules = RULE_SMOOTH},
    {"ht_transpose(%t, %n, %n)", 10, generate_transpose, call_transpose, reference_transpose,
     .rules = RULE_SMOOTH},
    {"ht_narrow(%t, %n, %n, %n)", 18, generate_narrow, call_narrow, reference_narrow,
     .rules = RULE_SMOOTH},
    {"ht_expand_dims(%t, %n)", 6, generate_expand, call_expand, reference_expand,
     .rules = RULE_SMOOTH},
    {"ht_squeeze(%t, %n)", 8, generate_squeeze, call_squeeze, reference_squeeze,
     .rules = RULE_SMOOTH},
    {"ht_broadcast_to(%t, %s)", 8, generate_broadcast, call_broadcast, reference_broadcast,
     .rules = RULE_SMOOTH},
    {"ht_detach(%t)", 4, generate_one, call_detach, reference_detach, .rules = RULE_SMOOTH},
    {0}};
