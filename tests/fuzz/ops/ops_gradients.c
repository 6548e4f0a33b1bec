/* SPDX-License-Identifier: MIT
 *
 * Leaves, backward passes, hooks. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/ops/ops_gradients.h"

/* --- Leaves --- */

int components(ht_dtype dtype)
{
    return kind_of(dtype) == KIND_COMPLEX ? 2 : 1;
}

bool generate_leaf(struct run *run, const struct op *op, struct statement *s)
{
    static const ht_dtype dtypes[] = {HT_FLOAT64, HT_FLOAT64, HT_FLOAT64, HT_FLOAT32,
                                      HT_COMPLEX128};

    (void)op;
    s->dtype = dtypes[random_below(&run->random, 5)];
    s->ndim = random_shape(run, s->shape);
    s->split = random_split(run, s->ndim);
    s->n[0] = random_chance(&run->random, 60) ? DATA_POSITIVE : DATA_FRACTION;
    if (random_chance(&run->random, 10))
        s->n[0] = DATA_TIES;
    return run->leaf_count < MAX_LEAVES &&
           run->slots + shape_size(s->ndim, s->shape) * components(s->dtype) <= MAX_DUALS;
}

ht_tensor *data_tensor(const struct statement *s, const struct array *like, int split,
                       uint64_t seed)
{
    size_t width = ht_dtype_size(like->dtype);
    int64_t size = array_size(like);
    char *bytes = malloc((size_t)size * width + 1);
    ht_tensor *t;

    for (int64_t i = 0; i < size; i++)
        store(like->dtype, bytes + (size_t)i * width,
              data_number((int)s->n[0], like->dtype, seed, (uint64_t)i));
    t = ht_array(bytes, like->ndim, like->shape, like->dtype, split);
    free(bytes);
    return t;
}

struct array shape_of(const struct statement *s)
{
    struct array x = {.dtype = s->dtype, .ndim = s->ndim};

    memcpy(x.shape, s->shape, sizeof x.shape);
    return x;
}

static struct outcome call_leaf(struct run *run, const struct statement *s)
{
    struct array shape = shape_of(s);
    ht_tensor *t = data_tensor(s, &shape, s->split, s->seed);

    (void)run;
    if (t == NULL)
        return made(NULL);
    if (ht_tensor_set_requires_grad(t, true) != HT_SUCCESS)
        return made(NULL);
    return made(t);
}

/* The elements depend on themselves, component by component. */
void give_duals(const struct array *x, int slot)
{
    for (int64_t i = 0; i < array_size(x); i++) {
        struct number a = array_at(x, i);
        int first = slot + (int)i * components(x->dtype);

        a.d = arena_duals();
        a.d[first] = (struct dual){1, 0, 1};
        if (components(x->dtype) == 2)
            a.d[first + 1] = (struct dual){0, 1, 1};
        array_set(x, i, a);
    }
    x->memory->slot = slot;
    x->memory->tracked = true;
}

static int reference_leaf(struct run *run, const struct statement *s, struct array *out)
{
    int number = (int)(s - run->program->at), split = s->split;
    int64_t count = shape_size(s->ndim, s->shape) * components(s->dtype);
    struct leaf *leaf = &run->leaves[run->leaf_count];

    if (split != HT_NONE && !axis_of(&split, s->ndim))
        return WANT_FAILURE;
    if (run->leaf_count == MAX_LEAVES || run->slots + count > MAX_DUALS)
        return WANT_ANYTHING;
    *out = array_new(s->dtype, s->ndim, s->shape);
    for (int64_t i = 0; i < array_size(out); i++)
        array_set(out, i, data_number((int)s->n[0], s->dtype, s->seed, (uint64_t)i));
    give_duals(out, run->slots);
    memset(leaf, 0, sizeof *leaf);
    leaf->variable = number;
    leaf->slot = run->slots;
    run->vars[number].leaf = run->leaf_count++;
    run->slots += (int)count;
    return WANT_SUCCESS;
}

bool is_leaf(struct run *run, const struct variable *x)
{
    (void)run;
    return x->leaf >= 0;
}

struct leaf *leaf_of(struct run *run, const struct statement *s)
{
    return &run->leaves[run->vars[s->arg[0]].leaf];
}

/* --- Recording --- */

static bool generate_recording(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->n[0] = !run->recording;
    return run->leaf_count > 0;
}

static struct outcome call_recording(struct run *run, const struct statement *s)
{
    (void)run;
    ht_set_grad_enabled(s->n[0] != 0);
    return done(HT_SUCCESS);
}

static int reference_recording(struct run *run, const struct statement *s, struct array *out)
{
    (void)out;
    run->recording = s->n[0] != 0;
    return WANT_SUCCESS;
}

/* --- Backward --- */

enum { FROM_ONE, FROM_SEED, FROM_ONES };

bool depends(struct run *run, const struct variable *x)
{
    (void)run;
    if (kind_of(x->a.dtype) <= KIND_INT || x->a.cut)
        return false;
    for (int64_t i = 0; i < array_size(&x->a); i++) {
        if (array_at(&x->a, i).d != NULL)
            return true;
    }
    return false;
}

static bool generate_backward(struct run *run, const struct op *op, struct statement *s)
{
    const struct array *x;

    (void)op;
    s->arg[0] = run->recording && !(run->once && run->passes > 0) ? pick(run, depends) : -1;
    if (s->arg[0] < 0)
        return false;
    x = array_of(run, s, 0);
    s->n[0] = random_chance(&run->random, 70) ? DATA_FRACTION
                                              : random_below(&run->random, DATA_STYLES);
    s->n[1] = x->ndim == 0 && kind_of(x->dtype) == KIND_FLOAT
                  ? FROM_ONE
                  : FROM_SEED + random_chance(&run->random, 30);
    s->n[2] = random_chance(&run->random, 30);
    s->split = random_split(run, x->ndim);
    return true;
}

static struct outcome call_backward(struct run *run, const struct statement *s)
{
    struct variable *x = &run->vars[s->arg[0]];
    int split = s->split;

    if (!depends(run, x) || !run->recording || (run->once && run->passes > 0) || x->spent)
        return done(HT_SUCCESS);
    if (s->n[1] == FROM_ONE && array_size(&x->a) == 1)
        return done(ht_backward(x->t));
    if (split != HT_NONE && !axis_of(&split, x->a.ndim))
        split = HT_NONE;
    return done(ht_backward_ext(
        x->t, s->n[1] == FROM_SEED ? data_tensor(s, &x->a, split, s->seed) : NULL, s->n[2]));
}

void end_graphs(struct run *run)
{
    for (int i = 0; i < run->program->count; i++) {
        if (run->vars[i].alive && run->vars[i].leaf < 0 && run->vars[i].a.memory != NULL &&
            run->vars[i].a.memory->tracked)
            run->vars[i].spent = true;
    }
}

static int reference_backward(struct run *run, const struct statement *s, struct array *out)
{
    struct variable *x = &run->vars[s->arg[0]];
    bool one = s->n[1] == FROM_ONE && array_size(&x->a) == 1, infinite = false, huge = false;
    double limit = fmin(max_of(x->a.dtype), max_of(HT_FLOAT32)) / 256;
    bool reached[MAX_LEAVES][MAX_DUALS] = {{false}};

    (void)out;
    if (!depends(run, x) || !run->recording || (run->once && run->passes > 0) || x->spent)
        return WANT_ANYTHING;
    run->passes++;
    /* A tensor that the graph saved was written to, or a part of it without gradients was used up
       before. */
    if (run->status == HT_ERR_STATE && (run->wrote || run->passes > 1)) {
        for (int i = 0; i < run->leaf_count; i++)
            run->leaves[i].unknown = true;
        end_graphs(run);
        return HT_ERR_STATE;
    }
    for (int64_t i = 0; i < array_size(&x->a); i++) {
        struct number a = array_at(&x->a, i), seed = {.re = 1};

        if (is_unknown(a)) {
            for (int k = 0; k < run->leaf_count; k++)
                run->leaves[k].unknown = true;
        }
        if (!one && s->n[1] == FROM_SEED)
            seed = data_number((int)s->n[0], x->a.dtype, s->seed, (uint64_t)i);
        infinite = infinite || !isfinite(cabs(number_z(seed)));
        huge = huge || cabs(number_z(seed)) > limit;
        for (int k = 0; a.d != NULL && k < run->leaf_count; k++) {
            struct leaf *leaf = &run->leaves[k];

            for (int j = leaf->slot; j < MAX_DUALS; j++) {
                if (a.d[j].size == 0)
                    continue;
                reached[k][j - leaf->slot] = true;
                leaf->grad[j - leaf->slot] += seed.re * a.d[j].re + seed.im * a.d[j].im;
                leaf->size[j - leaf->slot] += cabs(number_z(seed)) * a.d[j].size;
            }
        }
    }
    if (one || s->n[2] == 0)
        end_graphs(run);
    for (int k = 0; infinite && k < run->leaf_count; k++) { /* 0 times infinity */
        for (int j = 0; j < MAX_DUALS; j++)
            run->leaves[k].size[j] += reached[k][j] && !arena_zero ? 0 : INFINITY;
    }
    for (int k = 0; huge && k < run->leaf_count; k++) { /* products may overflow */
        for (int j = 0; j < MAX_DUALS; j++)
            run->leaves[k].size[j] = INFINITY;
    }
    if (run->status == HT_SUCCESS)
        check_gradients(run);
    for (int i = 0; arena_singular && i < run->leaf_count; i++)
        run->leaves[i].unknown = true;
    return WANT_SUCCESS;
}

/* --- Hooks --- */

static struct hook {
    ht_tensor *t;
    uint64_t id;
    double factor;
    bool leaves;
} hooks[4 * MAX_STATEMENTS];
static int hook_count;

static ht_tensor *scale_gradient(ht_tensor *grad, void *user)
{
    struct hook *hook = user;

    if (hook->leaves)
        ht_tensor_remove_hook(hook->t, hook->id);
    return ht_mul_scalar(grad, hook->factor);
}

static bool generate_hooked(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = run->recording && run->passes == 0 ? pick(run, depends) : -1;
    s->n[0] = random_below(&run->random, 3);
    return s->arg[0] >= 0;
}

/* y = 1 x, with hooks that multiply the gradient by 2, 3 and 5, one of which removes itself. */
static struct outcome call_hooked(struct run *run, const struct statement *s)
{
    ht_tensor *y = ht_mul_scalar(tensor_of(run, s, 0), 1);

    if (y == NULL || !ht_tensor_requires_grad(y))
        return made(y);
    if (run->passes == 0 && !run->once)
        hook_count = 0;
    for (int i = 0; i < 3; i++) {
        struct hook *hook = &hooks[hook_count++];

        hook->t = y;
        hook->factor = i == 0 ? 2 : i == 1 ? 3 : 5;
        hook->leaves = i == s->n[0];
        hook->id = ht_tensor_register_hook(y, scale_gradient, hook);
    }
    return made(y);
}

static int reference_hooked(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    bool hooked = depends(run, &run->vars[s->arg[0]]) && run->recording;

    if (kind_of(x->dtype) <= KIND_INT)
        return WANT_ANYTHING;
    *out = array_new(x->dtype, x->ndim, x->shape);
    for (int64_t i = 0; i < array_size(x); i++) {
        struct number a = array_at(x, i), r = a;

        chain(&r, 30, a, 0, NULL);
        if (!hooked)
            r.d = NULL;
        array_set(out, i, r);
    }
    run->once = run->once || hooked;
    return WANT_SUCCESS;
}

const struct op ops_gradients[] = {
    {"leaf(style %n, %s, %d, split %p, seed %x)", 60, generate_leaf, call_leaf, reference_leaf,
     .rules = RULE_SMOOTH | RULE_GRADIENTS},
    {"recording %n", 5, generate_recording, call_recording, reference_recording,
     .rules = RULE_SMOOTH | RULE_GRADIENTS},
    {"backward(%t, seed style %n, how %n, keep %n, split %p, seed %x)", 24, generate_backward,
     call_backward, reference_backward, .rules = RULE_SMOOTH | RULE_GRADIENTS},
    {"hooked(%t, %n removes itself)", 5, generate_hooked, call_hooked, reference_hooked,
     .rules = RULE_SMOOTH | RULE_GRADIENTS},
    {0}};
