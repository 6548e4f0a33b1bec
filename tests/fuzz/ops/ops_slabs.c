/* SPDX-License-Identifier: MIT
 *
 * Slabs of chosen counts, all on one rank, and rows in a random order, which is that of the same
 * draw of ht_randperm. */
#include <string.h>

#include "fuzz/fuzz.h"

enum { MOST_RANKS = 64 };

static bool generate_one(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick_any(run);
    s->n[0] = random_below(&run->random, run->size);
    s->seed = random_next(&run->random);
    return s->arg[0] >= 0 && run->size <= MOST_RANKS;
}

/* Moved or not, the values are those of x. */
static struct outcome last_outcome;

static int reference_moved(struct run *run, const struct statement *s, struct array *out)
{
    if (last_outcome.t == tensor_of(run, s, 0)) {
        *out = array_view(array_of(run, s, 0));
        return WANT_SUCCESS;
    }
    *out = array_copy(array_of(run, s, 0));
    out->cut = false;
    for (int64_t i = 0; !run->recording && i < array_size(out); i++)
        out->memory->data[i].d = NULL;
    return WANT_SUCCESS;
}

static struct outcome call_redistribute(struct run *run, const struct statement *s)
{
    ht_tensor *x = tensor_of(run, s, 0);
    int64_t counts[MOST_RANKS] = {0}, left;
    const int split = ht_tensor_split(x);

    left = split == HT_NONE ? 0 : ht_tensor_shape(x)[split];
    for (int rank = 0; rank < run->size; rank++) {
        counts[rank] = (int64_t)(hash_of(s->seed, (uint64_t)rank) % (uint64_t)(left + 1));
        left -= counts[rank];
    }
    counts[s->n[0]] += left;
    last_outcome = made(ht_redistribute(x, counts));
    return last_outcome;
}

static struct outcome call_collect(struct run *run, const struct statement *s)
{
    last_outcome = made(ht_collect(tensor_of(run, s, 0), (int)s->n[0]));
    return last_outcome;
}

static struct outcome call_permutation(struct run *run, const struct statement *s)
{
    ht_random_seed(s->seed);
    return made(ht_permutation(tensor_of(run, s, 0)));
}

static int reference_permutation(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    const int64_t *order;
    int64_t inner;
    ht_tensor *p;

    if (x->ndim == 0)
        return HT_ERR_SHAPE;
    ht_random_seed(s->seed);
    p = on_host(ht_randperm(x->shape[0], HT_INT64, HT_NONE));
    if (p == NULL)
        return WANT_ANYTHING;
    order = values_of(p);
    inner = shape_size(x->ndim - 1, x->shape + 1);
    *out = array_new(x->dtype, x->ndim, x->shape);
    for (int64_t i = 0; i < array_size(out); i++) {
        struct number a = array_at(x, order[i / inner] * inner + i % inner);

        if (!run->recording)
            a.d = NULL;
        array_set(out, i, a);
    }
    return WANT_SUCCESS;
}

const struct op ops_slabs[] = {
    {"ht_redistribute(%t, rest to %n) (seed %x)", 5, generate_one, call_redistribute,
     reference_moved, .rules = RULE_SMOOTH},
    {"ht_collect(%t, %n)", 4, generate_one, call_collect, reference_moved, .rules = RULE_SMOOTH},
    {"ht_permutation(%t) (%n, seed %x)", 5, generate_one, call_permutation, reference_permutation,
     .rules = RULE_SMOOTH},
    {0}};
