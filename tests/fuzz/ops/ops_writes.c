/* SPDX-License-Identifier: MIT
 *
 * Writes in place, through views too, and what replaces a tensor's body. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"

static bool generate_target(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_writable);
    s->v[0] = (double)random_below(&run->random, 9) - 4;
    if (random_chance(&run->random, 20))
        s->v[0] += 0.5;
    s->number = random_number(run);
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
    if (!broadcasts_to(y, x->ndim, x->shape))
        return want == WANT_SUCCESS ? HT_ERR_SHAPE : WANT_FAILURE;
    if (want != WANT_SUCCESS)
        return want;
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

/* All of a tensor has been overwritten with constants: it leaves the graph, and so do its views. */
static void end_history(struct run *run, const struct array *x)
{
    if (run->recording && !x->view && !x->cut)
        x->memory->tracked = false;
}

static struct outcome call_fill(struct run *run, const struct statement *s)
{
    return done(ht_fill_(tensor_of(run, s, 0), s->v[0]));
}

static struct outcome call_fill_ext(struct run *run, const struct statement *s)
{
    return done(ht_fill_ext_(tensor_of(run, s, 0), s->number));
}

static int reference_fill(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int want = check_write(run, s, NULL);

    (void)out;
    if (want != WANT_SUCCESS)
        return want;
    if (!number_fits(x->dtype, number_passed(s, HT_FLOAT64)))
        return HT_ERR_ARGUMENT;
    for (int64_t i = 0; i < array_size(x); i++)
        write_element(run, x, i, number_of(x->dtype, number_passed(s, HT_FLOAT64)));
    end_history(run, x);
    return WANT_SUCCESS;
}

/* --- Arithmetic --- */

static struct outcome call_add(struct run *run, const struct statement *s)
{
    return done(ht_add_(tensor_of(run, s, 0), tensor_of(run, s, 1), s->v[0]));
}

static struct outcome call_add_ext(struct run *run, const struct statement *s)
{
    return done(ht_add_ext_(tensor_of(run, s, 0), tensor_of(run, s, 1), s->number));
}

static bool is_one(ht_number x)
{
    return x.kind != HT_NUMBER_COMPLEX && x.real == 1;
}

static struct number scaled(ht_dtype dtype, struct number a, ht_number alpha)
{
    return is_one(alpha) || is_unknown(a) ? a : number_mul(dtype, a, number_of(dtype, alpha));
}

/* The least kind that a product with it has. */
static enum kind kind_raised(ht_number x)
{
    return x.kind == HT_NUMBER_COMPLEX ? KIND_COMPLEX
           : x.kind == HT_NUMBER_REAL  ? KIND_FLOAT
                                       : KIND_BOOL;
}

/* a + alpha b, rounded to a's dtype; b's kind must not be higher. */
static int reference_add(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0), *y = array_of(run, s, 1);
    ht_dtype wide = promote(x->dtype, y->dtype);
    ht_number alpha = number_passed(s, wide);
    enum kind kind = kind_of(y->dtype);
    int want = check_write(run, s, y);
    struct array before;

    (void)out;
    if (kind_raised(alpha) > kind)
        kind = kind_raised(alpha);
    if (!broadcasts_to(y, x->ndim, x->shape) || kind > kind_of(x->dtype))
        return WANT_FAILURE;
    if (want != WANT_SUCCESS)
        return want;
    if (!number_fits(wide, alpha))
        return HT_ERR_ARGUMENT;
    if (kind_of(x->dtype) <= KIND_INT && (x->dtype == HT_BOOL || x->dtype != y->dtype))
        return forget(x->memory);
    before = array_copy(y);
    for (int64_t i = 0; i < array_size(x); i++) {
        int64_t at[HT_MAX_NDIM];
        struct number a = convert(array_at(x, i), x->dtype, wide), b;

        unravel(i, x->ndim, x->shape, at);
        b = convert(array_at_coords(&before, x->ndim, at), y->dtype, wide);
        /* A number that x's dtype cannot hold, alpha too, may be infinite before it is scaled. */
        if (kind_of(x->dtype) >= KIND_FLOAT &&
            fmax(number_abs(wide, b), hypot(alpha.real, alpha.imaginary)) > max_of(x->dtype))
            b = number_unknown();
        b = scaled(wide, b, alpha);
        a = is_unknown(a) || is_unknown(b) ? number_unknown() : number_add(wide, a, b);
        if (!is_unknown(a) && kind_of(wide) >= KIND_FLOAT && !is_one(alpha))
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

static struct outcome call_mul_ext(struct run *run, const struct statement *s)
{
    return done(ht_mul_scalar_ext_(tensor_of(run, s, 0), s->number));
}

static int reference_mul(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    ht_number factor = number_passed(s, x->dtype);
    int want = check_write(run, s, NULL);

    (void)out;
    if (want != WANT_SUCCESS)
        return want;
    if (kind_raised(factor) > kind_of(x->dtype))
        return WANT_FAILURE;
    if (!number_fits(x->dtype, factor))
        return HT_ERR_ARGUMENT;
    if (x->dtype == HT_BOOL || x->dtype == HT_UINT8)
        return forget(x->memory);
    for (int64_t i = 0; i < array_size(x); i++)
        write_element(run, x, i,
                      is_unknown(array_at(x, i))
                          ? number_unknown()
                          : number_mul(x->dtype, array_at(x, i), number_of(x->dtype, factor)));
    return WANT_SUCCESS;
}

static struct outcome call_relu(struct run *run, const struct statement *s)
{
    return done(ht_relu_(tensor_of(run, s, 0)));
}

static int reference_relu(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    enum needs needs;
    int want;

    (void)out;
    if (x->dtype == HT_BOOL || kind_of(x->dtype) == KIND_COMPLEX)
        return WANT_FAILURE;
    want = check_write(run, s, NULL);
    needs = needs_gradient(run, x); /* then it asks for new memory */
    if (run->recording && x->view &&
        (needs == NEEDS || (needs == NEEDS_PERHAPS && run->status == HT_ERR_STATE)))
        return HT_ERR_STATE;
    for (int64_t i = 0; want == WANT_SUCCESS && i < array_size(x); i++)
        write_element(run, x, i, number_relu(x->dtype, array_at(x, i)));
    return want;
}

/* --- Draws --- */

/* The result of a draw for a tensor with memory of its own, seen on every rank. */
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
        return run->status; /* for a view that is not contiguous, the same on all ranks */
    *out = drawn(x, s->seed, s->op->call == call_normal);
    for (int64_t i = 0; i < array_size(x); i++)
        write_element(run, x, i, array_at(out, i));
    end_history(run, x);
    out->memory = NULL;
    return WANT_SUCCESS;
}

static bool generate_draw(struct run *run, const struct op *op, struct statement *s)
{
    return generate_target(run, op, s) && kind_of(array_of(run, s, 0)->dtype) == KIND_FLOAT;
}

/* --- Communication in place --- */

enum { SUM_OF_ALL, FROM_ROOT };

static bool generate_shared(struct run *run, const struct op *op, struct statement *s)
{
    if (!generate_target(run, op, s))
        return false;
    s->n[0] = random_below(&run->random, 2);
    s->n[1] = random_below(&run->random, run->size);
    return array_of(run, s, 0)->dtype != HT_BOOL &&
           ht_tensor_split(tensor_of(run, s, 0)) == HT_NONE;
}

static struct outcome call_shared(struct run *run, const struct statement *s)
{
    ht_tensor *x = tensor_of(run, s, 0);

    if (ht_tensor_split(x) != HT_NONE)
        return done(HT_SUCCESS);
    return done(s->n[0] == FROM_ROOT ? ht_bcast(HT_COMM_WORLD, x, (int)s->n[1])
                                     : ht_allreduce(HT_COMM_WORLD, x, x, HT_OP_SUM));
}

/* All have the same, so the sum is a multiple. Results of communication have no gradient: results
 * of operations are refused, leaves are not. */
static int reference_shared(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    enum needs needs = needs_gradient(run, x);

    (void)out;
    if (ht_tensor_split(tensor_of(run, s, 0)) != HT_NONE)
        return WANT_ANYTHING;
    if (s->n[0] == FROM_ROOT && run->size == 1) {
        run->wrote = run->wrote || x->memory->saved;
        return WANT_SUCCESS;
    }
    if (x->read_only)
        return WANT_FAILURE;
    for (int64_t i = 0; needs == NEEDS_NOT && !x->cut && i < x->memory->count; i++)
        needs = x->memory->data[i].d != NULL ? NEEDS : needs; /* of what x is a view of */
    if (run->recording && (x->cut || !is_leaf_memory(run, x->memory)) &&
        (needs == NEEDS || (needs == NEEDS_PERHAPS && run->status == HT_ERR_STATE)))
        return HT_ERR_STATE;
    run->wrote = run->wrote || x->memory->saved;
    for (int64_t i = 0; s->n[0] == SUM_OF_ALL && i < array_size(x); i++) {
        struct number a = array_at(x, i), sum = a;

        for (int k = 1; k < run->size && !is_unknown(sum); k++)
            sum = number_add(x->dtype, sum, a);
        if (kind_of(x->dtype) >= KIND_FLOAT && run->size > 2)
            sum.err += 2 * ulp(x->dtype, number_abs(x->dtype, sum));
        write_value(x, i, sum);
    }
    return WANT_SUCCESS;
}

/* --- Other bodies --- */

static bool generate_resplit(struct run *run, const struct op *op, struct statement *s)
{
    if (!generate_target(run, op, s))
        return false;
    s->split = random_split(run, array_of(run, s, 0)->ndim);
    return true;
}

static bool had_split;

static struct outcome call_resplit(struct run *run, const struct statement *s)
{
    ht_tensor *x = tensor_of(run, s, 0);
    int split = s->split;

    had_split = (split == HT_NONE || axis_of(&split, ht_tensor_ndim(x))) &&
                ht_tensor_split(x) == split;
    return done(ht_resplit_(tensor_of(run, s, 0), s->split));
}

/* Replaces the body, unless it has that split. A view must keep its memory, and the result of an
 * operation its history. Views of the old body keep the old memory. */
static int reference_resplit(struct run *run, const struct statement *s, struct array *out)
{
    struct variable *x = &run->vars[s->arg[0]];
    bool leaf = is_leaf_memory(run, x->a.memory) && !x->a.view;
    enum needs needs = leaf ? NEEDS_NOT : needs_gradient(run, &x->a);
    int split = s->split;

    (void)out;
    if (split != HT_NONE && !axis_of(&split, x->a.ndim))
        return WANT_FAILURE;
    if (run->status == HT_SUCCESS && ht_tensor_split(x->t) != split)
        fail(run, "ht_resplit_ to %d left %d", split, ht_tensor_split(x->t));
    if (had_split)
        return WANT_SUCCESS;
    if (x->a.view || needs == NEEDS || (needs == NEEDS_PERHAPS && run->status == HT_ERR_STATE))
        return HT_ERR_STATE;
    run->wrote = run->wrote || leaf || x->a.memory->saved; /* a graph may need the old body */
    if (x->a.memory->views > 1)
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
    double *data;

    raw_written = ht_tensor_is_contiguous(x) && whole_doubles(run, &run->vars[s->arg[0]]);
    data = raw_written ? ht_tensor_mutable_data(x) : NULL;
    if (raw_written && data == NULL && ht_tensor_lsize(x) > 0) /* out of the host's reach */
        return done(ht_copy_(ht_detach(x), ht_full_like(ht_detach(x), s->v[0])));
    for (int64_t i = 0; data != NULL && i < ht_tensor_lsize(x); i++)
        data[i] = s->v[0];
    return done(HT_SUCCESS);
}

static int reference_raw(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);

    (void)out;
    run->wrote = run->wrote || (raw_written && x->memory->saved);
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
    {"ht_fill_ext_(%t, %l)", 4, generate_target, call_fill_ext, reference_fill,
     .rules = RULE_SMOOTH | RULE_WRITES | RULE_LONG},
    {"ht_add_ext_(%t, %t, %l)", 8, generate_pair, call_add_ext, reference_add,
     .rules = RULE_SMOOTH | RULE_WRITES | RULE_LONG},
    {"ht_mul_scalar_ext_(%t, %l)", 8, generate_target, call_mul_ext, reference_mul,
     .rules = RULE_SMOOTH | RULE_WRITES | RULE_LONG},
    {"ht_relu_(%t)", 6, generate_target, call_relu, reference_relu,
     .rules = RULE_SMOOTH | RULE_WRITES | RULE_SAVES},
    {"ht_uniform_(%t, -1, 3) (seed %x)", 4, generate_draw, call_uniform, reference_draw,
     .rules = RULE_SMOOTH | RULE_WRITES},
    {"ht_normal_(%t, 1, 2) (seed %x)", 4, generate_draw, call_normal, reference_draw,
     .rules = RULE_SMOOTH | RULE_WRITES},
    {"shared in place(%t, by bcast %n, root %n)", 5, generate_shared, call_shared, reference_shared,
     .rules = RULE_SMOOTH | RULE_WRITES},
    {"ht_resplit_(%t, %p)", 8, generate_resplit, call_resplit, reference_resplit,
     .rules = RULE_SMOOTH | RULE_WRITES},
    {"raw write to %t of %v", 3, generate_raw, call_raw, reference_raw, .rules = RULE_WRITES},
    {0}};
