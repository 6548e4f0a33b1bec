/* SPDX-License-Identifier: MIT
 *
 * The long forms of reductions: sets of axes, kept dimensions, dtype, ddof, initial value, mask.
 * The parts of a statement: n[0] the axes as a set, n[1] whether they are kept, n[2] ddof, n[3]
 * whether `number` is the initial value; dtype. */
#include <string.h>

#include "fuzz/ops/reduce/reductions.h"

enum { TAKES_DTYPE = 1, TAKES_DDOF = 2, TAKES_INITIAL = 4, TAKES_WHERE = 8 };

static const unsigned takes[] = {
    [SUM] = TAKES_DTYPE | TAKES_INITIAL | TAKES_WHERE,
    [PROD] = TAKES_DTYPE | TAKES_INITIAL | TAKES_WHERE,
    [MEAN] = TAKES_DTYPE | TAKES_WHERE,
    [VAR] = TAKES_DTYPE | TAKES_DDOF | TAKES_WHERE,
    [STD] = TAKES_DTYPE | TAKES_DDOF | TAKES_WHERE,
    [MAX] = TAKES_INITIAL,
    [MIN] = TAKES_INITIAL,
    [ARGMAX] = 0,
    [ARGMIN] = 0,
};

/* Mostly of a kind that is not higher than the dtype's. */
static ht_number initial_for(struct run *run, ht_dtype dtype)
{
    ht_number number = random_number(run);

    for (int i = 0; i < 8 && number_meets(dtype, number) != dtype; i++)
        number = random_number(run);
    return number;
}

static bool generate_plain(struct run *run, const struct op *op, struct statement *s)
{
    const unsigned known = takes[op->row.reduce_ext.what];
    const struct array *x;

    s->arg[0] = pick_any(run);
    if (s->arg[0] < 0)
        return false;
    x = array_of(run, s, 0);
    s->n[0] = random_chance(&run->random, 20) ? (int64_t)ALL_AXES
                                              : random_below(&run->random, (int64_t)1 << x->ndim);
    s->n[1] = random_chance(&run->random, 40);
    s->dtype = known & TAKES_DTYPE && random_chance(&run->random, 40) ? random_dtype(run)
                                                                      : HT_DTYPE_COUNT;
    s->n[2] = known & TAKES_DDOF ? random_below(&run->random, 3) : 0;
    s->n[3] = known & TAKES_INITIAL && random_chance(&run->random, 40);
    s->number = initial_for(run, s->dtype != HT_DTYPE_COUNT ? s->dtype : x->dtype);
    return true;
}

static const struct array *masked;

static bool masks(struct run *run, const struct variable *x)
{
    (void)run;
    return x->a.dtype == HT_BOOL && broadcasts_to(&x->a, masked->ndim, masked->shape);
}

static bool generate_masked(struct run *run, const struct op *op, struct statement *s)
{
    if (!generate_plain(run, op, s))
        return false;
    masked = array_of(run, s, 0);
    s->arg[1] = pick(run, masks);
    return s->arg[1] >= 0;
}

static struct outcome call(struct run *run, const struct statement *s, ht_tensor *where)
{
    ht_tensor *x = tensor_of(run, s, 0);
    ht_reduce_options o = ht_reduce_options_default();
    int axes[HT_MAX_NDIM];

    for (int i = 0; i < ht_tensor_ndim(x) && s->n[0] != (int64_t)ALL_AXES; i++) {
        o.axes = axes;
        if (s->n[0] >> i & 1)
            axes[o.count++] = i % 2 == 0 ? i : i - ht_tensor_ndim(x);
    }
    o.keepdims = s->n[1] != 0;
    o.dtype = s->dtype;
    o.ddof = s->n[2];
    o.initial = s->n[3] != 0 ? &s->number : NULL;
    o.where = where;
    return made(s->op->row.reduce_ext.call(x, &o));
}

static struct outcome call_plain(struct run *run, const struct statement *s)
{
    return call(run, s, NULL);
}

static struct outcome call_masked(struct run *run, const struct statement *s)
{
    return call(run, s, tensor_of(run, s, 1));
}

/* Which dtypes and initial values are refused. */
static bool fits(int what, ht_dtype x, ht_dtype asked, const ht_number *initial)
{
    const ht_dtype dtype = asked != HT_DTYPE_COUNT ? asked : x;

    if (asked == HT_BOOL || (asked != HT_DTYPE_COUNT && what > PROD && kind_of(asked) <= KIND_INT))
        return false;
    if (initial == NULL || kind_of(dtype) == KIND_COMPLEX)
        return true;
    if (initial->kind == HT_NUMBER_INTEGER)
        return dtype != HT_BOOL || what <= PROD;
    return initial->kind == HT_NUMBER_REAL && kind_of(dtype) == KIND_FLOAT;
}

static int reference(struct run *run, const struct statement *s, const struct array *where,
                     struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    const struct reduction r = {.what = s->op->row.reduce_ext.what,
                                .axes = x->ndim == 0 ? ALL_AXES : (uint32_t)s->n[0],
                                .keepdims = s->n[1] != 0,
                                .dtype = s->dtype,
                                .ddof = s->n[2],
                                .initial = s->n[3] != 0 ? &s->number : NULL,
                                .where = where};

    if (!fits(r.what, x->dtype, r.dtype, r.initial))
        return HT_ERR_DTYPE;
    if (r.initial != NULL && !number_fits(r.dtype != HT_DTYPE_COUNT ? r.dtype
                                          : r.what <= PROD          ? HT_INT64
                                                                    : x->dtype,
                                          *r.initial))
        return HT_ERR_ARGUMENT;
    return reduce_array(run, x, &r, out);
}

static int reference_plain(struct run *run, const struct statement *s, struct array *out)
{
    return reference(run, s, NULL, out);
}

static int reference_masked(struct run *run, const struct statement *s, struct array *out)
{
    return reference(run, s, array_of(run, s, 1), out);
}

#define EXT(name, which, often, flags)                                                             \
    {                                                                                              \
        .format = "ht_" #name "_ext(%t, {axes %n, keepdims %n, ddof %n, initial %n: %l, %d})",     \
        .weight = (often), .generate = generate_plain, .call = call_plain,                         \
        .reference = reference_plain, .row.reduce_ext = {ht_##name##_ext, which}, .rules = (flags) \
    }
#define MASKED(name, which, often, flags)                                               \
    {                                                                                   \
        .format = "ht_" #name                                                           \
                  "_ext(%t, {where %t, axes %n, keepdims %n, ddof %n, initial %n: %l, " \
                  "%d})",                                                               \
        .weight = (often), .generate = generate_masked, .call = call_masked,            \
        .reference = reference_masked, .row.reduce_ext = {ht_##name##_ext, which},      \
        .rules = (flags) | RULE_SAVES                                                   \
    }

const struct op ops_reduce_ext[] = {EXT(sum, SUM, 6, RULE_SMOOTH),
                                    EXT(prod, PROD, 6, RULE_SMOOTH | RULE_SAVES),
                                    EXT(mean, MEAN, 4, RULE_SMOOTH),
                                    EXT(var, VAR, 4, RULE_SMOOTH | RULE_SAVES),
                                    EXT(std, STD, 2, RULE_SAVES),
                                    EXT(max, MAX, 4, RULE_SMOOTH | RULE_SAVES),
                                    EXT(min, MIN, 4, RULE_SMOOTH | RULE_SAVES),
                                    EXT(argmax, ARGMAX, 3, 0),
                                    EXT(argmin, ARGMIN, 3, 0),
                                    MASKED(sum, SUM, 5, RULE_SMOOTH),
                                    MASKED(prod, PROD, 5, RULE_SMOOTH),
                                    MASKED(mean, MEAN, 4, RULE_SMOOTH),
                                    MASKED(var, VAR, 4, RULE_SMOOTH),
                                    MASKED(std, STD, 2, 0),
                                    {0}};
