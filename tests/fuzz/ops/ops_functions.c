/* SPDX-License-Identifier: MIT
 *
 * More functions element by element; numbers as operands on either side, a choice by a mask, and
 * two operands in place. */
#include "fuzz/number_functions.h"
#include "fuzz/ops/ops_elementwise.h"

/* --- A number as an operand: of rows whose rules say on which side --- */

static struct outcome call_number_right(struct run *run, const struct statement *s)
{
    return made(s->op->row.binary.call(tensor_of(run, s, 0), ht_scalar_ext(s->number)));
}

static struct outcome call_number_left(struct run *run, const struct statement *s)
{
    return made(s->op->row.binary.call(ht_scalar_ext(s->number), tensor_of(run, s, 0)));
}

static int reference_number(struct run *run, const struct statement *s, struct array *out,
                            bool left)
{
    const struct array *x = array_of(run, s, 0);
    ht_dtype met = number_meets(x->dtype, s->number), dtype = computed_in(s->op, met);
    struct number b = number_of(met, s->number);

    if (s->op->rules & RULE_REAL && kind_of(dtype) == KIND_COMPLEX)
        return WANT_ANYTHING;
    if (not_defined(s->op, dtype))
        return HT_ERR_DTYPE;
    if (!number_fits(dtype, s->number))
        return HT_ERR_ARGUMENT;
    b = number_fits(met, s->number) ? convert(b, met, dtype) : number_of(dtype, s->number);
    *out = array_new(s->op->rules & RULE_BOOL ? HT_BOOL : dtype, x->ndim, x->shape);
    for (int64_t i = 0; i < array_size(x); i++) {
        struct number a = convert(array_at(x, i), x->dtype, dtype);

        if (is_unknown(a) || is_unknown(b))
            a = number_unknown();
        else
            a = s->op->row.binary.number(dtype, left ? b : a, left ? a : b);
        if (s->op->rules & (RULE_BOOL | RULE_CUT))
            a.d = NULL;
        array_set(out, i, strip(run, a));
    }
    return WANT_SUCCESS;
}

static int reference_number_right(struct run *run, const struct statement *s, struct array *out)
{
    return reference_number(run, s, out, false);
}

static int reference_number_left(struct run *run, const struct statement *s, struct array *out)
{
    return reference_number(run, s, out, true);
}

/* --- ht_where: the mask is the third argument --- */

static bool generate_where(struct run *run, const struct op *op, struct statement *s)
{
    if (!generate_binary(run, op, s))
        return false;
    s->arg[2] = pick(run, random_chance(&run->random, 3) ? NULL : meets_partner);
    return s->arg[2] >= 0;
}

static struct outcome call_where(struct run *run, const struct statement *s)
{
    return made(ht_where(tensor_of(run, s, 2), tensor_of(run, s, 0), tensor_of(run, s, 1)));
}

static bool in_doubt(const struct array *mask, struct number m)
{
    return is_unknown(m) || (m.err > 0 && number_abs(mask->dtype, m) <= m.err);
}

static int reference_where(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *a = array_of(run, s, 0), *b = array_of(run, s, 1);
    const struct array *mask = array_of(run, s, 2);
    const ht_dtype dtype = promote_operands(a, b);
    struct array both = {.ndim = 0};
    int64_t shape[HT_MAX_NDIM], at[HT_MAX_NDIM];
    int ndim;

    if (!broadcast_shape(a, b, &both.ndim, both.shape) ||
        !broadcast_shape(&both, mask, &ndim, shape))
        return HT_ERR_SHAPE;
    if (shape_size(ndim, shape) > 4000)
        return WANT_ANYTHING;
    *out = array_new(dtype, ndim, shape);
    for (int64_t i = 0; i < array_size(out); i++) {
        struct number m, r;

        unravel(i, ndim, shape, at);
        m = array_at_coords(mask, ndim, at);
        if (in_doubt(mask, m))
            r = number_unknown();
        else if (is_true(mask->dtype, m))
            r = convert(array_at_coords(a, ndim, at), a->dtype, dtype);
        else
            r = convert(array_at_coords(b, ndim, at), b->dtype, dtype);
        array_set(out, i, strip(run, r));
    }
    return WANT_SUCCESS;
}

/* --- In place --- */

#define IN_PLACE(name)                                                                       \
    static struct outcome call_##name##_in_place(struct run *run, const struct statement *s) \
    {                                                                                        \
        return done(ht_##name##_(tensor_of(run, s, 0), tensor_of(run, s, 1)));               \
    }
IN_PLACE(sub)
IN_PLACE(mul)
IN_PLACE(div)
IN_PLACE(remainder)
IN_PLACE(pow)
IN_PLACE(bitwise_xor)

static const struct array *target;

static bool fits_target(struct run *run, const struct variable *x)
{
    (void)run;
    return broadcasts_to(&x->a, target->ndim, target->shape);
}

static bool generate_in_place(struct run *run, const struct op *op, struct statement *s)
{
    s->arg[0] = pick(run, is_writable);
    if (s->arg[0] < 0)
        return false;
    target = array_of(run, s, 0);
    s->arg[1] = pick(run, random_chance(&run->random, 3) ? NULL : fits_target);
    return s->arg[1] >= 0 &&
           !(op->rules & RULE_REAL && (kind_of(target->dtype) == KIND_COMPLEX ||
                                       kind_of(array_of(run, s, 1)->dtype) == KIND_COMPLEX));
}

/* The function's result, where the first operand can hold it. */
static int reference_in_place(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    struct array result;
    int want = reference_binary(run, s, &result);

    (void)out;
    if (want != WANT_SUCCESS || !same_shape(&result, x) ||
        kind_of(result.dtype) > kind_of(x->dtype))
        return check_write(run, s, array_of(run, s, 1)) == WANT_SUCCESS && want != WANT_SUCCESS
                   ? want
                   : WANT_FAILURE;
    want = check_write(run, s, array_of(run, s, 1));
    for (int64_t i = 0; want == WANT_SUCCESS && i < array_size(x); i++)
        write_element(run, x, i, convert(array_at(&result, i), result.dtype, x->dtype));
    return want;
}

/* --- The table --- */

#define RIGHT(name, flags)                                                                         \
    {                                                                                              \
        .format = "ht_" #name "(%t, ht_scalar_ext(%l))", .weight = 4, .generate = generate_scalar, \
        .call = call_number_right, .reference = reference_number_right,                            \
        .row.binary = {ht_##name, number_##name}, .rules = (flags) | RULE_LONG                     \
    }
#define LEFT(name, flags)                                                                          \
    {                                                                                              \
        .format = "ht_" #name "(ht_scalar_ext(%l), %t)", .weight = 4, .generate = generate_scalar, \
        .call = call_number_left, .reference = reference_number_left,                              \
        .row.binary = {ht_##name, number_##name}, .rules = (flags) | RULE_LONG                     \
    }
#define WRITE(name, flags)                                                             \
    {                                                                                  \
        .format = "ht_" #name "_(%t, %t)", .weight = 4, .generate = generate_in_place, \
        .call = call_##name##_in_place, .reference = reference_in_place,               \
        .row.binary = {ht_##name, number_##name}, .rules = (flags) | RULE_WRITES       \
    }
#define REAL  (RULE_REAL | RULE_FLOAT | RULE_SMOOTH | RULE_SAVES)
#define PARTS (RULE_NO_BOOL | RULE_NO_COMPLEX | RULE_SMOOTH | RULE_SAVES)
#define JUMPS (RULE_NO_BOOL | RULE_NO_COMPLEX)
#define BITS  (RULE_WHOLE | RULE_CUT)
#define TRUTH (RULE_BOOL)

const struct op ops_functions[] = {
    {.format = "ht_abs(%t)",
     .weight = 6,
     .generate = generate_unary,
     .call = call_unary,
     .reference = reference_unary,
     .row.unary = {ht_abs, number_abs_of},
     .rules = RULE_REAL | RULE_NO_BOOL | RULE_SMOOTH | RULE_SAVES},
    UNARY(sign, RULE_REAL | RULE_NO_BOOL | RULE_SAVES),
    UNARY(square, RULE_SMOOTH | RULE_SAVES),
    UNARY(floor, JUMPS),
    UNARY(ceil, JUMPS),
    UNARY(trunc, JUMPS),
    UNARY(round, JUMPS),
    UNARY(sin, REAL),
    UNARY(cos, REAL),
    UNARY(atan, REAL),
    UNARY(sinh, REAL),
    UNARY(asinh, REAL),
    UNARY(exp2, REAL),
    UNARY(log2, REAL),
    UNARY(log10, REAL),
    UNARY(gelu, RULE_NO_BOOL | RULE_NO_INTEGER | RULE_NO_COMPLEX | RULE_SMOOTH | RULE_SAVES),
    UNARY(silu, RULE_NO_BOOL | RULE_NO_INTEGER | RULE_NO_COMPLEX | RULE_SMOOTH | RULE_SAVES),
    UNARY(mish, RULE_NO_BOOL | RULE_NO_INTEGER | RULE_NO_COMPLEX | RULE_SMOOTH | RULE_SAVES),
    UNARY(sigmoid, RULE_NO_BOOL | RULE_NO_INTEGER | RULE_NO_COMPLEX | RULE_SMOOTH | RULE_SAVES),
    UNARY(isnan, TRUTH),
    UNARY(isinf, TRUTH),
    UNARY(isfinite, TRUTH),
    UNARY(logical_not, TRUTH),
    UNARY(bitwise_not, BITS),
    BINARY(pow, 5, RULE_REAL | RULE_NO_BOOL | RULE_SMOOTH | RULE_SAVES),
    BINARY(floordiv, 4, JUMPS | RULE_CUT),
    BINARY(remainder, 5, PARTS),
    BINARY(fmod, 4, PARTS),
    BINARY(hypot, 4, REAL | RULE_NO_COMPLEX),
    BINARY(copysign, 4, REAL | RULE_NO_COMPLEX),
    BINARY(atan2, 4, REAL | RULE_NO_COMPLEX),
    BINARY(logaddexp, 4, REAL | RULE_NO_COMPLEX),
    BINARY(gcd, 3, BITS | RULE_NO_BOOL),
    BINARY(lcm, 3, BITS | RULE_NO_BOOL),
    BINARY(bitwise_and, 3, BITS),
    BINARY(bitwise_or, 3, BITS),
    BINARY(bitwise_xor, 3, BITS),
    BINARY(left_shift, 3, BITS | RULE_NO_BOOL),
    BINARY(right_shift, 3, BITS | RULE_NO_BOOL),
    BINARY(logical_and, 3, TRUTH),
    BINARY(logical_or, 3, TRUTH),
    BINARY(logical_xor, 3, TRUTH),
    RIGHT(add, RULE_SMOOTH),
    LEFT(sub, RULE_NO_BOOL | RULE_SMOOTH),
    RIGHT(mul, RULE_SMOOTH | RULE_SAVES),
    LEFT(div, RULE_FLOAT | RULE_SMOOTH | RULE_SAVES),
    RIGHT(pow, RULE_REAL | RULE_NO_BOOL | RULE_SMOOTH | RULE_SAVES),
    LEFT(remainder, PARTS),
    RIGHT(floordiv, JUMPS | RULE_CUT),
    LEFT(maximum, PARTS),
    RIGHT(lt, RULE_BOOL | RULE_NO_COMPLEX),
    LEFT(eq, RULE_BOOL),
    RIGHT(bitwise_and, BITS),
    LEFT(left_shift, BITS | RULE_NO_BOOL),
    {.format = "ht_where(mask: third of %t, %t, %t)",
     .weight = 8,
     .generate = generate_where,
     .call = call_where,
     .reference = reference_where,
     .rules = RULE_SMOOTH | RULE_SAVES},
    WRITE(sub, RULE_NO_BOOL | RULE_SMOOTH),
    WRITE(mul, RULE_SMOOTH | RULE_SAVES),
    WRITE(div, RULE_FLOAT | RULE_SMOOTH | RULE_SAVES),
    WRITE(remainder, PARTS),
    WRITE(pow, RULE_REAL | RULE_NO_BOOL | RULE_SAVES),
    WRITE(bitwise_xor, BITS),
    {0}};
