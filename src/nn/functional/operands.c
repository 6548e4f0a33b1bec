/* SPDX-License-Identifier: MIT
 *
 * Operands of functionals: every one comes through ht__prepare, and its dtype through cast_dtype.
 */
#include "nn/functional/operands.h"

#include <stdio.h>
#include <string.h>

#include "ht/manipulations.h"

/* Axes in messages; other letters are their own words. */
static const struct {
    char letter;
    const char *word;
} words[] = {{'*', "..."},        {'i', "in"},     {'o', "out"},  {'g', "C / groups"},
             {'p', "O / groups"}, {'d', "kd"},     {'h', "kh"},   {'w', "kw"},
             {'a', "in1"},        {'b', "in2"},    {'r', "rows"}, {'c', "columns"},
             {'G', "gates"},      {'R', "hidden"}, {'V', "Ev"}};

/* The one place where an autocast is to decide; there is none, and floating operands keep what they
 * have. */
static ht_dtype cast_dtype(ht_operand_cast cast, ht_dtype dtype)
{
    switch (cast) {
    case HT_CAST_INDEX:
        return HT_INT64;
    case HT_CAST_LOW:
    case HT_CAST_HIGH:
    case HT_CAST_NONE:
        break;
    }
    return dtype;
}

/* A call's operands; messages come on the first one's communicator. */
typedef struct operands {
    const char *what;
    const ht_operand_rule *rules;
    ht_tensor *const *in;
    ht_comm *comm;
    uint64_t known; /* letters met so far, a bit each, and the lengths of their axes */
    int64_t length[64];
} operands;

static unsigned bit_of(char letter)
{
    return (unsigned)letter & 63; /* distinct for all letters */
}

/* "(out, in)". */
static const char *axes_str(const char *axes, char *text, size_t size)
{
    size_t used = 0;

    for (const char *axis = axes; *axis != '\0' && used < size; axis++) {
        const char own[2] = {*axis, '\0'}, *word = own;

        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            if (words[i].letter == *axis)
                word = words[i].word;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s", axis == axes ? "(" : ", ", word);
    }
    if (used < size)
        snprintf(text + used, size - used, ")");
    return text;
}

/* Layers have process-local parameters, which a split input does not meet. */
bool ht__check_place(const char *what, const char *first, const ht_tensor *x, const char *name,
                     const ht_tensor *it)
{
    ht_comm *of_first = x->body->comm, *of_it = it->body->comm;
    char local[64];

    if (of_first->size == of_it->size)
        return ht__check_together_as(what, first, x, name, it);
    snprintf(local, sizeof local, "ht_tensor_local%s%s%s",
             of_first->size > of_it->size ? "(" : " of it",
             of_first->size > of_it->size ? first : "", of_first->size > of_it->size ? ")" : "");
    HT_FAIL(of_first->size > of_it->size ? of_first : of_it, HT_ERR_COMM,
            "%s: %s is on %d rank%s, %s on %d; pass %s, the part of this rank", what, first,
            of_first->size, of_first->size > 1 ? "s" : "", name, of_it->size, local);
    return false;
}

static bool has_kind(ht_operand_dtype wanted, ht_dtype dtype)
{
    switch (wanted) {
    case HT_DTYPE_FLOATING:
        return ht_dtype_is_floating(dtype);
    case HT_DTYPE_INTEGER:
        return ht_dtype_is_integer(dtype);
    case HT_DTYPE_REAL:
        return !ht_dtype_is_complex(dtype);
    case HT_DTYPE_ANY:
    case HT_DTYPE_SAME:
        break;
    }
    return true;
}

static bool check_dtype(const operands *o, int i)
{
    static const char *const kinds[] = {[HT_DTYPE_FLOATING] = "a floating",
                                        [HT_DTYPE_INTEGER] = "an integer",
                                        [HT_DTYPE_REAL] = "a real"};
    const ht_operand_rule *rule = &o->rules[i], *first = &o->rules[0];
    const ht_dtype dtype = o->in[i]->body->dtype, of_first = o->in[0]->body->dtype;

    if (!has_kind(rule->dtype, dtype)) {
        HT_FAIL(o->comm, HT_ERR_DTYPE, "%s: %s is %s, expected %s dtype", o->what, rule->name,
                ht_dtype_name(dtype), kinds[rule->dtype]);
        return false;
    }
    if (rule->dtype == HT_DTYPE_SAME &&
        cast_dtype(rule->cast, dtype) != cast_dtype(first->cast, of_first)) {
        HT_FAIL(o->comm, HT_ERR_DTYPE, "%s: %s is %s, %s is %s, expected the same dtype", o->what,
                first->name, ht_dtype_name(of_first), rule->name, ht_dtype_name(dtype));
        return false;
    }
    return true;
}

/* How many axes a '*' is of x's; no number below 0 where the others do not leave that many. */
static int axes_left(const char *axes, const ht_body *x)
{
    int named = 0;
    bool any = false;

    for (const char *axis = axes; *axis != '\0'; axis++) {
        named += *axis != '*';
        any |= *axis == '*';
    }
    return x->ndim == named || any ? x->ndim - named : -1;
}

static bool check_ndim(const operands *o, int i)
{
    const ht_operand_rule *rule = &o->rules[i];
    const ht_body *x = o->in[i]->body;
    char text[64];

    if (axes_left(rule->axes, x) >= 0)
        return true;
    HT_FAIL(o->comm, HT_ERR_SHAPE, "%s: %s is %s, expected %s", o->what, rule->name,
            ht__shape_str(x->ndim, x->shape), axes_str(rule->axes, text, sizeof text));
    return false;
}

static bool check_split(const operands *o, int i)
{
    const ht_operand_rule *rule = &o->rules[i];
    const ht_body *x = o->in[i]->body;

    if (x->split == HT_NONE || rule->split == HT_SPLIT_ANY ||
        (rule->split == HT_SPLIT_BATCH && x->split == 0 && x->ndim > 1))
        return true;
    HT_FAIL(o->comm, HT_ERR_ARGUMENT, "%s: %s is split along axis %d%s", o->what, rule->name,
            x->split,
            rule->split == HT_SPLIT_BATCH ? "; only the batch axis (0) may be split"
                                          : ", expected a replicated tensor");
    return false;
}

ht_tensor *ht__sample_batch(const char *what, const char *name, ht_tensor *x,
                            const ht_tensor *weight)
{
    if (weight != NULL && !ht__check_place(what, name, x, "weight", weight))
        return NULL;
    if (x->body->split == HT_NONE)
        return ht_expand_dims(x, 0);
    HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
            "%s: %s is one sample split along axis %d, expected a replicated tensor", what, name,
            x->body->split);
    return NULL;
}

/* Operand i has another length than one before it, where that has the letter, too. */
static bool differ(const operands *o, int i, char letter)
{
    const ht_body *x = o->in[i]->body, *y;
    char text[64], other[64];
    int j = 0;

    while (o->in[j] == NULL || o->rules[j].axes == NULL || strchr(o->rules[j].axes, letter) == NULL)
        j++;
    y = o->in[j]->body;
    HT_FAIL(o->comm, HT_ERR_SHAPE, "%s: %s is %s, %s is %s, expected %s and %s", o->what,
            o->rules[j].name, ht__shape_str(y->ndim, y->shape), o->rules[i].name,
            ht__shape_str(x->ndim, x->shape), axes_str(o->rules[j].axes, text, sizeof text),
            axes_str(o->rules[i].axes, other, sizeof other));
    return false;
}

static bool check_lengths(operands *o, int i)
{
    const char *axes = o->rules[i].axes;
    const ht_body *x = o->in[i]->body;
    int axis = 0;

    for (; *axes != '\0'; axes++) {
        const unsigned bit = bit_of(*axes);

        if (*axes == '*') {
            axis += axes_left(o->rules[i].axes, x);
            continue;
        }
        if ((o->known >> bit & 1) != 0 && o->length[bit] != x->shape[axis])
            return differ(o, i, *axes);
        o->known |= (uint64_t)1 << bit;
        o->length[bit] = x->shape[axis++];
    }
    return true;
}

static bool check(operands *o, int i)
{
    return check_dtype(o, i) && (o->rules[i].axes == NULL || check_ndim(o, i)) &&
           check_split(o, i) && (o->rules[i].axes == NULL || check_lengths(o, i));
}

ht_tensor *ht__wide(ht_tensor *x)
{
    return x != NULL && ht_dtype_size(x->body->dtype) < 4 ? ht_astype(x, HT_FLOAT32) : x;
}

ht_tensor *ht__laid_out(ht_tensor *x, ht_operand_layout layout)
{
    if (x == NULL || layout == HT_LAYOUT_ANY || ht__body_is_contiguous(x->body))
        return x;
    if (layout == HT_LAYOUT_ROWS)
        return ht_contiguous(x);
    if (ht__body_is_channels_last(x->body))
        return x;
    return layout == HT_LAYOUT_IMAGE && ht__backend_of(x)->prefer_channels_last
               ? ht_channels_last(x)
               : ht_contiguous(x);
}

static ht_tensor *make(const ht_operand_rule *rule, const ht_tensor *first, ht_tensor *x)
{
    ht_dtype dtype = x->body->dtype;

    if (rule->dtype == HT_DTYPE_REAL && !ht_dtype_is_floating(dtype))
        dtype = ht_promote_types(first->body->dtype, dtype);
    dtype = cast_dtype(rule->cast, dtype);
    return ht__laid_out(dtype == x->body->dtype ? x : ht_astype(x, dtype), rule->layout);
}

bool ht__prepare(const char *what, const ht_operand_rule rules[], int count, ht_tensor *in[])
{
    operands o;

    for (int i = 0; i < count; i++) {
        if (!(rules[i].presence == HT_OPTIONAL && in[i] == NULL) &&
            HT_IS_NULL(in[i], what, rules[i].name))
            return false;
    }
    o.what = what;
    o.rules = rules;
    o.in = in;
    o.comm = in[0]->body->comm;
    o.known = 0; /* no length yet */
    for (int i = 1; i < count; i++) {
        if (in[i] != NULL && !ht__check_place(what, rules[0].name, in[0], rules[i].name, in[i]))
            return false;
    }
    for (int i = 0; i < count; i++) {
        if (in[i] != NULL && !check(&o, i))
            return false;
    }
    for (int i = 0; i < count; i++) {
        if (in[i] != NULL && (in[i] = make(&rules[i], in[0], in[i])) == NULL)
            return false;
    }
    return true;
}
