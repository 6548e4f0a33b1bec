/* SPDX-License-Identifier: MIT
 *
 * Writes in place, through views too, and what replaces a tensor's body. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static bool generate_target(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_writable);
    s->v[0] = (double)random_below(&run->random, 9) - 4;
    if (random_chance(&run->random, 20))
        s->v[0] += 0.5;
    return s->arg[0] >= 0;
}

static const struct array *target;

static bool fits_target(struct run *run, const struct variable *x)
{
    (void)run;
    return broadcasts_to(&x->a, target->ndim, target->shape);
}

static bool same_memory(struct run *run, const struct variable *x)
{
    return fits_target(run, x) && x->a.memory == target->memory;
}

static bool generate_pair(struct run *run, const struct op *op, struct statement *s)
{
    if (!generate_target(run, op, s))
        return false;
    target = array_of(run, s, 0);
    if (random_chance(&run->random, 40)) /* overlapping, perhaps */
        s->arg[1] = pick(run, same_memory);
    else
        s->arg[1] = pick(run, random_chance(&run->random, 3) ? NULL : fits_target);
    return s->arg[1] >= 0;
}

/* --- Copies --- */

static struct outcome call_copy(struct run *run, const struct statement *s)
{
    return done(ht_copy_(tensor_of(run, s, 0), tensor_of(run, s, 1)));
}

/* All of y is read before any of x is written. */
static int reference_copy(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0), *y = array_of(run, s, 1);
    struct array before;
    int want = check_write(run, s, y);

    (void)out;
    if (want != WANT_SUCCESS)
        return want;
    if (!broadcasts_to(y, x->ndim, x->shape))
        return HT_ERR_SHAPE;
    before = array_copy(y);
    for (int64_t i = 0; i < array_size(x); i++) {
        int64_t at[HT_MAX_NDIM];
        struct number a;

        unravel(i, x->ndim, x->shape, at);
        a = convert(array_at_coords(&before, x->ndim, at), y->dtype, x->dtype);
        if (kind_of(x->dtype) <= KIND_INT)
            a.d = NULL;
        write_element(run, x, i, a);
    }
    return WANT_SUCCESS;
}

static struct outcome call_fill(struct run *run, const struct statement *s)
{
    return done(ht_fill_(tensor_of(run, s, 0), s->v[0]));
}

static int reference_fill(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int want = check_write(run, s, NULL);

    (void)out;
    if (want != WANT_SUCCESS)
        return want;
    for (int64_t i = 0; i < array_size(x); i++)
        write_element(run, x, i, convert(number_real(HT_FLOAT64, s->v[0]), HT_FLOAT64, x->dtype));
    return WANT_SUCCESS;
}

/* --- Arithmetic --- */

static struct outcome call_add(struct run *run, const struct statement *s)
{
    return done(ht_add_(tensor_of(run, s, 0), tensor_of(run, s, 1), s->v[0]));
}

static struct number scaled(ht_dtype dtype, struct number a, double alpha)
{
    return alpha == 1 || is_unknown(a) ? a : number_mul(dtype, a, number_of(dtype, alpha));
}

/* a + alpha b, rounded to a's dtype; b's kind must not be higher. */
static int reference_add(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0), *y = array_of(run, s, 1);
    bool fraction = rint(s->v[0]) != s->v[0];
    enum kind kind = kind_of(y->dtype);
    int want = check_write(run, s, y);
    struct array before;
    ht_dtype wide;

    (void)out;
    if (want != WANT_SUCCESS)
        return want;
    if (!broadcasts_to(y, x->ndim, x->shape))
        return WANT_FAILURE;
    if (kind <= KIND_INT && fraction)
        kind = KIND_FLOAT;
    if (kind > kind_of(x->dtype))
        return WANT_FAILURE;
    if (kind_of(x->dtype) <= KIND_INT && (x->dtype == HT_BOOL || x->dtype != y->dtype))
        return forget(x->memory);
    wide = promote(x->dtype, y->dtype);
    before = array_copy(y);
    for (int64_t i = 0; i < array_size(x); i++) {
        int64_t at[HT_MAX_NDIM];
        struct number a = convert(array_at(x, i), x->dtype, wide), b;

        unravel(i, x->ndim, x->shape, at);
        b = convert(array_at_coords(&before, x->ndim, at), y->dtype, wide);
        b = scaled(wide, b, s->v[0]);
        a = is_unknown(a) || is_unknown(b) ? number_unknown() : number_add(wide, a, b);
        if (!is_unknown(a) && kind_of(wide) >= KIND_FLOAT && s->v[0] != 1)
            a.err += 2 * ulp(wide, number_abs(wide, b)); /* with or without a rounding between */
        a = convert(a, wide, x->dtype);
        if (x->dtype != y->dtype && kind_of(x->dtype) >= KIND_FLOAT) /* b may be narrowed first */
            a.err += 2 * ulp(x->dtype, fmax(number_abs(x->dtype, a), number_abs(wide, b)));
        write_element(run, x, i, a);
    }
    return WANT_SUCCESS;
}

static struct outcome call_mul(struct run *run, const struct statement *s)
{
    return done(ht_mul_scalar_(tensor_of(run, s, 0), s->v[0]));
}

static int reference_mul(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    bool integers = kind_of(x->dtype) <= KIND_INT;
    int want = check_write(run, s, NULL);

    (void)out;
    if (want != WANT_SUCCESS)
        return want;
    if (integers && rint(s->v[0]) != s->v[0])
        return WANT_FAILURE;
    if (x->dtype == HT_BOOL || x->dtype == HT_UINT8)
        return forget(x->memory);
    for (int64_t i = 0; i < array_size(x); i++)
        write_element(run, x, i,
                      is_unknown(array_at(x, i))
                          ? number_unknown()
                          : number_mul(x->dtype, array_at(x, i), number_of(x->dtype, s->v[0])));
    return WANT_SUCCESS;
}

static struct outcome call_relu(struct run *run, const struct statement *s)
{
    ht_tensor *y = ht_relu_(tensor_of(run, s, 0));

    return y != NULL ? done(HT_SUCCESS) : made(NULL);
}

static int reference_relu(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int want;

    (void)out;
    if (x->dtype == HT_BOOL || kind_of(x->dtype) == KIND_COMPLEX)
        return WANT_FAILURE;
    if (run->status == HT_ERR_STATE && run->program->differentiates)
        return HT_ERR_STATE; /* it asks for a tensor of its own where there is a graph */
    want = check_write(run, s, NULL);
    for (int64_t i = 0; want == WANT_SUCCESS && i < array_size(x); i++)
        write_element(run, x, i, number_relu(x->dtype, array_at(x, i)));
    return want;
}

/* --- Draws --- */

/* What a draw gives to a tensor that nobody shares, seen on every rank. */
static struct array drawn(const struct array *x, uint64_t seed, bool normal)
{
    ht_tensor *whole = ht_empty(x->ndim, x->shape, x->dtype, HT_NONE);
    struct array y;

    ht_random_seed(seed);
    if (normal)
        ht_normal_(whole, 1, 2);
    else
        ht_uniform_(whole, -1, 3);
    gather(whole, &y);
    return y;
}

static struct outcome call_uniform(struct run *run, const struct statement *s)
{
    ht_random_seed(s->seed);
    return done(ht_uniform_(tensor_of(run, s, 0), -1, 3));
}

static struct outcome call_normal(struct run *run, const struct statement *s)
{
    ht_random_seed(s->seed);
    return done(ht_normal_(tensor_of(run, s, 0), 1, 2));
}

static int reference_draw(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int want;

    (void)out;
    if (kind_of(x->dtype) != KIND_FLOAT)
        return forget(x->memory);
    want = check_write(run, s, NULL);
    if (want != WANT_SUCCESS)
        return want;
    if (run->status == HT_ERR_UNSUPPORTED || run->status == HT_ERR_ARGUMENT)
        return run->status; /* a view that is not contiguous may be refused, on all ranks alike */
    *out = drawn(x, s->seed, s->op->call == call_normal);
    for (int64_t i = 0; i < array_size(x); i++)
        write_element(run, x, i, array_at(out, i));
    out->memory = NULL;
    return WANT_SUCCESS;
}

static bool generate_draw(struct run *run, const struct op *op, struct statement *s)
{
    return generate_target(run, op, s) && kind_of(array_of(run, s, 0)->dtype) == KIND_FLOAT;
}

/* --- Other bodies --- */

static bool generate_resplit(struct run *run, const struct op *op, struct statement *s)
{
    if (!generate_target(run, op, s))
        return false;
    s->split = random_split(run, array_of(run, s, 0)->ndim);
    return true;
}

static struct outcome call_resplit(struct run *run, const struct statement *s)
{
    return done(ht_resplit_(tensor_of(run, s, 0), s->split));
}

/* Replaces the body: views of the old one go on with the old memory, so the library may refuse. */
static int reference_resplit(struct run *run, const struct statement *s, struct array *out)
{
    struct variable *x = &run->vars[s->arg[0]];
    int split = s->split;

    (void)out;
    if (split != HT_NONE && !axis_of(&split, x->a.ndim))
        return WANT_FAILURE;
    if (run->status != HT_SUCCESS) /* of a tensor that is one alone it succeeds */
        return array_size(&x->a) > 0 && x->a.memory->views == 1 &&
                       run->program->at[s->arg[0]].op->reference == ops_factories->reference
                   ? WANT_SUCCESS
                   : HT_ERR_STATE;
    run->wrote = true; /* a graph that needs the old body refuses its backward pass */
    if (ht_tensor_split(x->t) != split)
        fail(run, "ht_resplit_ to %d left %d", split, ht_tensor_split(x->t));
    if (x->a.memory->views > 1) /* apart from its views now, or not: nobody writes to them */
        x->a.memory->frozen = true;
    return WANT_SUCCESS;
}

static bool whole_doubles(struct run *run, const struct variable *x)
{
    return is_writable(run, x) && x->a.dtype == HT_FLOAT64 && !x->a.read_only &&
           x->a.memory->views == 1 && !x->a.memory->tracked;
}

static bool generate_raw(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, whole_doubles);
    s->v[0] = (double)random_below(&run->random, 9) - 4;
    return s->arg[0] >= 0;
}

static bool raw_written;

static struct outcome call_raw(struct run *run, const struct statement *s)
{
    ht_tensor *x = tensor_of(run, s, 0);
    int contiguous = ht_tensor_is_contiguous(x), all;
    double *data;

    MPI_Allreduce(&contiguous, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    raw_written = all && whole_doubles(run, &run->vars[s->arg[0]]);
    data = raw_written ? ht_tensor_mutable_data(x) : NULL;
    for (int64_t i = 0; data != NULL && i < ht_tensor_lsize(x); i++)
        data[i] = s->v[0];
    return done(HT_SUCCESS);
}

static int reference_raw(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);

    (void)out;
    for (int64_t i = 0; raw_written && i < array_size(x); i++)
        write_element(run, x, i, number_real(HT_FLOAT64, s->v[0]));
    return WANT_SUCCESS;
}

const struct op ops_writes[] = {
    {"ht_copy_(%t, %t)", 24, generate_pair, call_copy, reference_copy,
     .rules = RULE_SMOOTH | RULE_WRITES},
    {"ht_fill_(%t, %v)", 6, generate_target, call_fill, reference_fill,
     .rules = RULE_SMOOTH | RULE_WRITES},
    {"ht_add_(%t, %t, %v)", 14, generate_pair, call_add, reference_add,
     .rules = RULE_SMOOTH | RULE_WRITES},
    {"ht_mul_scalar_(%t, %v)", 12, generate_target, call_mul, reference_mul,
     .rules = RULE_SMOOTH | RULE_WRITES},
    {"ht_relu_(%t)", 6, generate_target, call_relu, reference_relu,
     .rules = RULE_SMOOTH | RULE_WRITES},
    {"ht_uniform_(%t, -1, 3) (seed %x)", 4, generate_draw, call_uniform, reference_draw,
     .rules = RULE_SMOOTH | RULE_WRITES},
    {"ht_normal_(%t, 1, 2) (seed %x)", 4, generate_draw, call_normal, reference_draw,
     .rules = RULE_SMOOTH | RULE_WRITES},
    {"ht_resplit_(%t, %p)", 8, generate_resplit, call_resplit, reference_resplit,
     .rules = RULE_SMOOTH | RULE_WRITES},
    {"raw write to %t of %v", 3, generate_raw, call_raw, reference_raw, .rules = RULE_WRITES},
    {0}};
