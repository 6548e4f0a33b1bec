/* SPDX-License-Identifier: MIT
 *
 * Random choices, and what statements are made of. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"

uint64_t hash_of(uint64_t seed, uint64_t index)
{
    uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t random_next(struct random *random)
{
    return hash_of(random->state++, 7);
}

int64_t random_below(struct random *random, int64_t n)
{
    return (int64_t)(random_next(random) % (uint64_t)n);
}

bool random_chance(struct random *random, int percent)
{
    return random_below(random, 100) < percent;
}

double random_unit(struct random *random)
{
    return (double)(random_next(random) >> 11) * 0x1p-53;
}

/* --- Data --- */

static double special(uint64_t h)
{
    static const double values[] = {INFINITY, -INFINITY, NAN,    1e8,     1,      -1e8,     0,
                                    65504,    1e-8,      1e30,   0x1p53,  0x1p24, 16777217, -1,
                                    2,        -0.5,      3.4e38, 0x1p-14, 0x1p-1, 1e-30};

    return values[h % (sizeof values / sizeof *values)];
}

static int64_t special_integer(ht_dtype dtype, uint64_t h)
{
    static const int64_t values[] = {INT64_MAX,
                                     INT64_MIN,
                                     (1LL << 53) + 1,
                                     -(1LL << 53) - 1,
                                     0,
                                     1,
                                     -1,
                                     INT64_MAX - 512,
                                     1LL << 62,
                                     INT32_MAX,
                                     255,
                                     INT32_MIN,
                                     127,
                                     (1LL << 24) + 1,
                                     -128,
                                     INT64_MAX - 1023,
                                     32767};

    return wrap_to(dtype, values[h % (sizeof values / sizeof *values)]);
}

/* The largest two or, by the seed, the smallest two. */
static int64_t edge(ht_dtype dtype, uint64_t seed, uint64_t h)
{
    int bits = dtype == HT_BOOL ? 1 : 8 * (int)ht_dtype_size(dtype) - (dtype != HT_UINT8);
    int64_t most = bits == 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
    int64_t least = dtype <= HT_UINT8 ? 0 : -most - 1;

    return seed & 1 ? most - (int64_t)(h % 2) : least + (int64_t)(h % 2);
}

struct number data_number(int style, ht_dtype dtype, uint64_t seed, uint64_t index)
{
    uint64_t h = hash_of(seed, index);
    double unit = (double)(hash_of(seed, index + 1000003) >> 11) * 0x1p-53, x;
    struct number a = {0};

    switch (style) {
    case DATA_EDGE:
        if (kind_of(dtype) <= KIND_INT)
            return number_int(dtype, edge(dtype, seed, h));
        x = seed & 1 ? 1e30 : -1e30;
        break;
    case DATA_FRACTION:
        x = (double)(int64_t)(h % 1025) / 256 - 2;
        break;
    case DATA_POSITIVE:
        x = 0.25 + (double)(h % 512) / 256;
        break;
    case DATA_SPECIAL:
        x = special(h);
        break;
    case DATA_SPREAD:
        x = h % 3 == 0 ? 1e8 : (double)(h % 5);
        break;
    case DATA_TIES:
        x = (double)(h % 2);
        break;
    case DATA_NORMAL:
        x = 4 * unit - 2;
        break;
    default:
        x = (double)(int64_t)(h % 9) - 4;
    }
    if (kind_of(dtype) <= KIND_INT)
        return number_int(dtype, style == DATA_SPECIAL ? special_integer(dtype, h)
                                 : dtype == HT_BOOL    ? (int64_t)(h & 1)
                                 : x > 1e6             ? 100
                                                       : (int64_t)x);
    a.re = round_to(dtype, x);
    if (kind_of(dtype) == KIND_COMPLEX)
        a.im = round_to(dtype, (double)(int64_t)(h / 1024 % 9) - 4);
    return a;
}

/* --- Choices --- */

/* Small ones where gradients are taken; else, now and then, such as no double is. */
ht_number random_number(struct run *run)
{
    double x = (double)random_below(&run->random, 9) - 4;

    if (random_chance(&run->random, 40))
        return ht_number_complex(x, (double)random_below(&run->random, 9) / 2 - 2);
    if (random_chance(&run->random, 40))
        return ht_number_real(x + (random_chance(&run->random, 50) ? 0.5 : 0));
    if (random_chance(&run->random, 40) && !run->program->differentiates)
        return ht_number_integer(
            special_integer(HT_INT64, (uint64_t)random_below(&run->random, 1000)));
    return ht_number_integer((int64_t)x);
}

ht_number number_passed(const struct statement *s, ht_dtype dtype)
{
    return s->op->rules & RULE_LONG ? s->number : number_of_double(dtype, s->v[0]);
}

int pick(struct run *run, variable_filter *filter)
{
    int found[MAX_STATEMENTS], count = 0, at;

    for (int i = 0; i < run->program->count; i++) {
        const struct variable *x = &run->vars[i];

        if (x->alive && x->t != NULL && !(run->recording && x->spent) &&
            (filter == NULL || filter(run, x)))
            found[count++] = i;
    }
    if (count == 0)
        return -1;
    at = (int)random_below(&run->random, count);
    if (random_chance(&run->random, 50)) /* newer variables are more likely */
        at = count - 1 - (int)random_below(&run->random, (at + 1));
    return found[at];
}

int pick_any(struct run *run)
{
    return pick(run, NULL);
}

bool is_floating(struct run *run, const struct variable *x)
{
    (void)run;
    return kind_of(x->a.dtype) >= KIND_FLOAT;
}

bool is_writable(struct run *run, const struct variable *x)
{
    (void)run;
    return !x->a.memory->frozen;
}

int random_axis(struct run *run, int ndim)
{
    int axis = ndim > 0 ? (int)random_below(&run->random, ndim) : 0;

    if (random_chance(&run->random, 1))
        return ndim;
    return random_chance(&run->random, 20) ? axis - ndim : axis;
}

int random_split(struct run *run, int ndim)
{
    if (ndim == 0 || random_chance(&run->random, 30))
        return HT_NONE;
    return random_axis(run, ndim);
}

ht_dtype random_dtype(struct run *run)
{
    static const ht_dtype smooth[] = {HT_FLOAT64, HT_FLOAT64, HT_FLOAT64, HT_FLOAT32,
                                      HT_COMPLEX128};

    if (run->program->differentiates && random_chance(&run->random, 85))
        return smooth[random_below(&run->random, 5)];
    if (random_chance(&run->random, 30))
        return random_chance(&run->random, 50) ? HT_FLOAT64 : HT_FLOAT32;
    return (ht_dtype)random_below(&run->random, HT_DTYPE_COUNT);
}

int random_shape(struct run *run, int64_t shape[])
{
    static const int64_t lengths[] = {1, 2, 3, 4, 5, 7};
    int ndim = run->program->layers && random_chance(&run->random, 75)
                   ? 2 + (int)random_below(&run->random, 4)
                   : (int)random_below(&run->random, 5);
    int64_t most = run->program->differentiates ? 20 : 120;

    /* often the shape of an existing variable, or a part of it, so that operands fit */
    if (random_chance(&run->random, 50)) {
        int i = pick_any(run);

        if (i >= 0) {
            const struct array *a = &run->vars[i].a;
            int skip = random_chance(&run->random, 25) && a->ndim > 0
                           ? (int)random_below(&run->random, a->ndim)
                           : 0;

            for (int k = skip; k < a->ndim; k++)
                shape[k - skip] = random_chance(&run->random, 15) ? 1 : a->shape[k];
            return a->ndim - skip;
        }
    }
    for (int i = 0; i < ndim; i++) {
        shape[i] = random_chance(&run->random, 4) ? 0 : lengths[random_below(&run->random, 6)];
        if (shape_size(i + 1, shape) > most)
            shape[i] = 1;
    }
    return ndim;
}

struct array *array_of(struct run *run, const struct statement *s, int argument)
{
    return &run->vars[s->arg[argument]].a;
}

ht_tensor *tensor_of(struct run *run, const struct statement *s, int argument)
{
    return run->vars[s->arg[argument]].t;
}

bool axis_of(int *axis, int ndim)
{
    *axis += *axis < 0 ? ndim : 0;
    return *axis >= 0 && *axis < ndim;
}

/* --- Writing --- */

void write_value(const struct array *x, int64_t index, struct number value)
{
    struct array open = *x;

    open.cut = false;
    value.d = array_at(&open, index).d;
    array_set(&open, index, value);
}

/* A write without recording, or through a view that was cut off from the graph, does not change the
 * history of an element. */
void write_element(struct run *run, const struct array *x, int64_t index, struct number value)
{
    if (!run->recording || x->cut)
        write_value(x, index, value);
    else
        array_set(x, index, value);
}

int forget(struct memory *memory)
{
    for (int64_t i = 0; i < memory->count; i++)
        memory->data[i].err = INFINITY;
    return WANT_ANYTHING;
}

bool is_leaf_memory(const struct run *run, const struct memory *memory)
{
    for (int i = 0; i < run->leaf_count; i++) {
        if (memory->slot == run->leaves[i].slot)
            return true;
    }
    return false;
}

enum needs needs_gradient(const struct run *run, const struct array *x)
{
    if (kind_of(x->dtype) <= KIND_INT || x->cut)
        return NEEDS_NOT;
    if (is_leaf_memory(run, x->memory))
        return NEEDS;
    for (int64_t i = 0; i < array_size(x); i++) {
        if (array_at(x, i).d != NULL)
            return NEEDS;
    }
    return x->memory->tracked ? NEEDS_PERHAPS : NEEDS_NOT;
}

/* Whether writing to an array succeeds. A write to a part of a leaf, or to a view that was cut off
 * and would get a history, is refused. It changes nothing. */
int check_write(struct run *run, const struct statement *s, const struct array *from)
{
    return check_write_to(run, array_of(run, s, 0), from);
}

int check_write_to(struct run *run, const struct array *x, const struct array *from)
{
    bool leaf = is_leaf_memory(run, x->memory) && !x->cut;
    bool follows = from != NULL && x->view && x->cut && kind_of(x->dtype) >= KIND_FLOAT;
    enum needs needs = follows ? needs_gradient(run, from) : NEEDS_NOT;

    if (x->read_only || (run->recording && (leaf || needs == NEEDS)))
        return HT_ERR_STATE;
    if (run->recording && needs == NEEDS_PERHAPS && run->status == HT_ERR_STATE)
        return HT_ERR_STATE;
    run->wrote = run->wrote || x->memory->saved;
    return HT_SUCCESS;
}
