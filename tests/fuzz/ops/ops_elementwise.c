/* SPDX-License-Identifier: MIT
 *
 * Element by element: one operand, two that broadcast and promote, one and a number; conversion. */
#include <string.h>

#include "fuzz/ops/ops_elementwise.h"

bool not_defined(const struct op *op, ht_dtype dtype)
{
    enum kind kind = kind_of(dtype);

    return (op->rules & RULE_NO_BOOL && kind == KIND_BOOL) ||
           (op->rules & (RULE_NO_COMPLEX | RULE_WHOLE) && kind == KIND_COMPLEX) ||
           (op->rules & RULE_WHOLE && kind == KIND_FLOAT) ||
           (op->rules & RULE_NO_INTEGER && kind <= KIND_INT);
}

/* Results that the library computes and this file does not. */
static bool left_out(const struct op *op, ht_dtype dtype)
{
    return op->rules & RULE_REAL && kind_of(dtype) == KIND_COMPLEX;
}

ht_dtype computed_in(const struct op *op, ht_dtype dtype)
{
    return op->rules & RULE_FLOAT && kind_of(dtype) <= KIND_INT ? HT_FLOAT32 : dtype;
}

struct number strip(const struct run *run, struct number a)
{
    if (!run->recording)
        a.d = NULL;
    return a;
}

/* --- One operand --- */

bool generate_unary(struct run *run, const struct op *op, struct statement *s)
{
    s->arg[0] = pick_any(run);
    return s->arg[0] >= 0 && !(left_out(op, run->vars[s->arg[0]].a.dtype)) &&
           !(not_defined(op, run->vars[s->arg[0]].a.dtype) && !random_chance(&run->random, 5));
}

struct outcome call_unary(struct run *run, const struct statement *s)
{
    return made(s->op->row.unary.call(tensor_of(run, s, 0)));
}

int reference_unary(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    ht_dtype dtype = computed_in(s->op, x->dtype);

    if (not_defined(s->op, x->dtype))
        return WANT_FAILURE;
    *out = array_new(s->op->rules & RULE_BOOL ? HT_BOOL : dtype, x->ndim, x->shape);
    for (int64_t i = 0; i < array_size(x); i++) {
        struct number a = convert(array_at(x, i), x->dtype, dtype);

        a = is_unknown(a) ? a : s->op->row.unary.number(dtype, a);
        if (s->op->rules & (RULE_BOOL | RULE_CUT))
            a.d = NULL;
        array_set(out, i, strip(run, a));
    }
    return WANT_SUCCESS;
}

static ht_tensor *leaky_relu(ht_tensor *x)
{
    return ht_leaky_relu(x, 0.01);
}

/* --- Two operands --- */

static const struct array *partner;

bool meets_partner(struct run *run, const struct variable *x)
{
    int64_t shape[HT_MAX_NDIM];
    int ndim;

    return broadcast_shape(&x->a, partner, &ndim, shape) &&
           shape_size(ndim, shape) <= (run->program->differentiates ? 100 : 2000);
}

bool generate_binary(struct run *run, const struct op *op, struct statement *s)
{
    s->arg[0] = pick_any(run);
    if (s->arg[0] < 0)
        return false;
    partner = &run->vars[s->arg[0]].a;
    s->arg[1] = pick(run, random_chance(&run->random, 3) ? NULL : meets_partner);
    if (s->arg[1] >= 0 && random_chance(&run->random, 50)) {
        int other = s->arg[0];

        s->arg[0] = s->arg[1];
        s->arg[1] = other;
    }
    return s->arg[1] >= 0 &&
           !left_out(op, promote(array_of(run, s, 0)->dtype, array_of(run, s, 1)->dtype)) &&
           !(not_defined(op, promote(array_of(run, s, 0)->dtype, array_of(run, s, 1)->dtype)) &&
             !random_chance(&run->random, 5));
}

struct outcome call_binary(struct run *run, const struct statement *s)
{
    return made(s->op->row.binary.call(tensor_of(run, s, 0), tensor_of(run, s, 1)));
}

/* A tensor without dimensions counts by its kind alone, as in PyTorch. */
ht_dtype promote_operands(const struct array *a, const struct array *b)
{
    if ((a->ndim == 0) != (b->ndim == 0)) {
        const struct array *scalar = a->ndim == 0 ? a : b, *other = a->ndim == 0 ? b : a;

        if (kind_of(scalar->dtype) <= kind_of(other->dtype))
            return other->dtype;
        if (kind_of(scalar->dtype) == KIND_COMPLEX && kind_of(other->dtype) == KIND_FLOAT)
            return other->dtype == HT_FLOAT64 ? HT_COMPLEX128 : HT_COMPLEX64;
    }
    return promote(a->dtype, b->dtype);
}

int reference_binary(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *a = array_of(run, s, 0), *b = array_of(run, s, 1);
    ht_dtype dtype = computed_in(s->op, promote_operands(a, b));
    int64_t shape[HT_MAX_NDIM], at[HT_MAX_NDIM];
    int ndim;

    if (!broadcast_shape(a, b, &ndim, shape))
        return HT_ERR_SHAPE;
    if (not_defined(s->op, dtype))
        return HT_ERR_DTYPE;
    *out = array_new(s->op->rules & RULE_BOOL ? HT_BOOL : dtype, ndim, shape);
    for (int64_t i = 0; i < array_size(out); i++) {
        struct number x, y;

        unravel(i, ndim, shape, at);
        x = convert(array_at_coords(a, ndim, at), a->dtype, dtype);
        y = convert(array_at_coords(b, ndim, at), b->dtype, dtype);
        if (is_unknown(x) || is_unknown(y))
            x = number_unknown();
        else
            x = s->op->row.binary.number(dtype, x, y);
        if (s->op->rules & (RULE_BOOL | RULE_CUT))
            x.d = NULL;
        array_set(out, i, strip(run, x));
    }
    return WANT_SUCCESS;
}

/* --- A number --- */

bool generate_scalar(struct run *run, const struct op *op, struct statement *s)
{
    static const double others[] = {0.1, 1e8, INFINITY, NAN, 0x1p53, -7.25, 0x1p62, 3e38};

    s->arg[0] = pick_any(run);
    s->v[0] = (double)random_below(&run->random, 9) - 4;
    if (random_chance(&run->random, 25))
        s->v[0] += 0.5;
    if (random_chance(&run->random, 10) && !run->program->differentiates)
        s->v[0] = others[random_below(&run->random, 8)];
    s->number = random_number(run);
    return s->arg[0] >= 0 && !not_defined(op, run->vars[s->arg[0]].a.dtype);
}

static struct outcome call_scalar(struct run *run, const struct statement *s)
{
    ht_tensor *x = tensor_of(run, s, 0);

    return made(s->op->rules & RULE_LONG ? s->op->row.scalar.long_call(x, s->number)
                                         : s->op->row.scalar.call(x, s->v[0]));
}

static int reference_scalar(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    ht_number passed = number_passed(s, x->dtype);
    ht_dtype met = number_meets(x->dtype, passed), dtype = computed_in(s->op, met);
    struct number b = number_of(met, passed);

    b = number_fits(met, passed) ? convert(b, met, dtype) : number_of(dtype, passed);
    if (!number_fits(met, passed) && kind_of(dtype) == KIND_INT)
        return HT_ERR_ARGUMENT;
    if (not_defined(s->op, dtype))
        return HT_ERR_DTYPE;
    *out = array_new(dtype, x->ndim, x->shape);
    for (int64_t i = 0; i < array_size(x); i++) {
        struct number a = convert(array_at(x, i), x->dtype, dtype);

        if (is_unknown(a) || is_unknown(b))
            a = number_unknown();
        else
            a = s->op->row.scalar.number(dtype, a, b);
        array_set(out, i, strip(run, a));
    }
    return WANT_SUCCESS;
}

/* --- Two numbers --- */

static double random_bound(struct run *run, double none)
{
    static const double others[] = {0.1, 1e8, NAN, -300, 300, 0x1p53};

    if (random_chance(&run->random, 20))
        return random_chance(&run->random, 80) ? none : -none;
    if (random_chance(&run->random, 10) && !run->program->differentiates)
        return others[random_below(&run->random, 6)];
    return (double)random_below(&run->random, 9) / (random_chance(&run->random, 25) ? 2 : 1) - 3;
}

static bool generate_clip(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick_any(run);
    s->v[0] = random_bound(run, -INFINITY);
    s->v[1] = random_bound(run, INFINITY);
    s->number = random_number(run);
    return s->arg[0] >= 0;
}

/* The upper bound: in the long form it is not always an integer where the other one is. */
static ht_number upper_bound(const struct statement *s, ht_dtype dtype)
{
    return number_of_double(dtype, s->v[1]);
}

static struct outcome call_clip(struct run *run, const struct statement *s)
{
    ht_tensor *x = tensor_of(run, s, 0);

    return made(s->op->rules & RULE_LONG
                    ? ht_clip_ext(x, s->number, upper_bound(s, array_of(run, s, 0)->dtype))
                    : ht_clip(x, s->v[0], s->v[1]));
}

static int reference_clip(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    ht_number low = number_passed(s, x->dtype), high = upper_bound(s, x->dtype);
    ht_dtype dtype = x->dtype;

    if (low.kind != HT_NUMBER_REAL || low.real != -INFINITY)
        dtype = number_meets(dtype, low);
    if (high.kind != HT_NUMBER_REAL || high.real != INFINITY)
        dtype = number_meets(dtype, high);
    if (kind_of(dtype) == KIND_COMPLEX)
        return HT_ERR_DTYPE;
    *out = array_new(dtype, x->ndim, x->shape);
    for (int64_t i = 0; i < array_size(x); i++) {
        struct number a = convert(array_at(x, i), x->dtype, dtype);

        array_set(out, i, strip(run, is_unknown(a) ? a : number_clip(dtype, a, low, high)));
    }
    return WANT_SUCCESS;
}

/* --- Conversion --- */

static bool generate_astype(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick_any(run);
    s->dtype = random_dtype(run);
    return s->arg[0] >= 0;
}

static struct outcome call_astype(struct run *run, const struct statement *s)
{
    return made(ht_astype(tensor_of(run, s, 0), s->dtype));
}

static int reference_astype(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);

    if (s->dtype == x->dtype) { /* x itself */
        *out = array_view(x);
        return WANT_SUCCESS;
    }
    *out = array_new(s->dtype, x->ndim, x->shape);
    for (int64_t i = 0; i < array_size(x); i++) {
        struct number a = convert(array_at(x, i), x->dtype, s->dtype);

        if (kind_of(s->dtype) <= KIND_INT)
            a.d = NULL;
        array_set(out, i, strip(run, a));
    }
    return WANT_SUCCESS;
}

#define SCALAR(name, flags)                                                                \
    {                                                                                      \
        .format = "ht_" #name "_scalar(%t, %v)", .weight = 8, .generate = generate_scalar, \
        .call = call_scalar, .reference = reference_scalar,                                \
        .row.scalar = {ht_##name##_scalar, NULL, number_##name}, .rules = (flags)          \
    }
#define LONG_SCALAR(name, flags)                                                                  \
    {                                                                                             \
        .format = "ht_" #name "_scalar_ext(%t, %l)", .weight = 6, .generate = generate_scalar,    \
        .call = call_scalar, .reference = reference_scalar,                                       \
        .row.scalar = {NULL, ht_##name##_scalar_ext, number_##name}, .rules = (flags) | RULE_LONG \
    }

const struct op ops_elementwise[] = {
    UNARY(neg, RULE_NO_BOOL | RULE_SMOOTH),
    UNARY(exp, RULE_FLOAT | RULE_SMOOTH | RULE_SAVES),
    UNARY(log, RULE_FLOAT | RULE_SMOOTH | RULE_SAVES),
    UNARY(sqrt, RULE_FLOAT | RULE_SMOOTH | RULE_SAVES),
    UNARY(tanh, RULE_FLOAT | RULE_SMOOTH | RULE_SAVES),
    UNARY(expm1, RULE_FLOAT | RULE_NO_COMPLEX | RULE_SMOOTH | RULE_SAVES),
    UNARY(log1p, RULE_FLOAT | RULE_NO_COMPLEX | RULE_SMOOTH | RULE_SAVES),
    UNARY(relu, RULE_NO_BOOL | RULE_NO_COMPLEX | RULE_SMOOTH | RULE_SAVES),
    {.format = "ht_leaky_relu(%t, 0.01)",
     .weight = 6,
     .generate = generate_unary,
     .call = call_unary,
     .reference = reference_unary,
     .row.unary = {leaky_relu, number_leaky_relu},
     .rules = RULE_NO_BOOL | RULE_NO_INTEGER | RULE_NO_COMPLEX | RULE_SMOOTH | RULE_SAVES},
    BINARY(add, 14, RULE_SMOOTH),
    BINARY(sub, 12, RULE_NO_BOOL | RULE_SMOOTH),
    BINARY(mul, 20, RULE_SMOOTH | RULE_SAVES),
    BINARY(div, 12, RULE_FLOAT | RULE_SMOOTH | RULE_SAVES),
    BINARY(maximum, 8, RULE_NO_BOOL | RULE_NO_COMPLEX | RULE_SMOOTH | RULE_SAVES),
    BINARY(minimum, 8, RULE_NO_BOOL | RULE_NO_COMPLEX | RULE_SMOOTH | RULE_SAVES),
    BINARY(eq, 4, RULE_BOOL),
    BINARY(ne, 4, RULE_BOOL),
    BINARY(lt, 4, RULE_BOOL | RULE_NO_COMPLEX),
    BINARY(le, 4, RULE_BOOL | RULE_NO_COMPLEX),
    BINARY(gt, 4, RULE_BOOL | RULE_NO_COMPLEX),
    BINARY(ge, 4, RULE_BOOL | RULE_NO_COMPLEX),
    SCALAR(add, RULE_SMOOTH),
    SCALAR(sub, RULE_NO_BOOL | RULE_SMOOTH),
    SCALAR(mul, RULE_SMOOTH),
    SCALAR(div, RULE_FLOAT | RULE_SMOOTH),
    LONG_SCALAR(add, RULE_SMOOTH),
    LONG_SCALAR(sub, RULE_NO_BOOL | RULE_SMOOTH),
    LONG_SCALAR(mul, RULE_SMOOTH),
    LONG_SCALAR(div, RULE_FLOAT | RULE_SMOOTH),
    {.format = "ht_clip(%t, %v, %v)",
     .weight = 8,
     .generate = generate_clip,
     .call = call_clip,
     .reference = reference_clip,
     .rules = RULE_SMOOTH | RULE_SAVES},
    {.format = "ht_clip_ext(%t, %l, %v)",
     .weight = 6,
     .generate = generate_clip,
     .call = call_clip,
     .reference = reference_clip,
     .rules = RULE_SMOOTH | RULE_SAVES | RULE_LONG},
    {.format = "ht_astype(%t, %d)",
     .weight = 12,
     .generate = generate_astype,
     .call = call_astype,
     .reference = reference_astype,
     .rules = RULE_SMOOTH},
    {0}};
