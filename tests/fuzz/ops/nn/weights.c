/* SPDX-License-Identifier: MIT
 *
 * Inputs of layers; choices, numbers and weights of a statement's own. */
#include <stdlib.h>

#include "fuzz/ops/nn/ops_layers.h"

bool refused_split(const struct run *run, const struct statement *s, int axis)
{
    int split = ht_tensor_split(run->vars[s->arg[0]].t);

    return run->status != HT_SUCCESS && split != HT_NONE && split != axis;
}

bool is_tame(struct run *run, const struct variable *x, double limit)
{
    if (!is_real(run, x))
        return false;
    for (int64_t i = 0; i < array_size(&x->a); i++) {
        struct number a = array_at(&x->a, i);

        if (!(a.err <= 1) || !(fabs(a.re) <= limit))
            return false;
    }
    return true;
}

int64_t choice(const struct statement *s, int number, int64_t n)
{
    return (int64_t)(hash_of(s->seed + 1009, (uint64_t)number) % (uint64_t)n);
}

struct number own_number(const struct statement *s, ht_dtype dtype, int list, int64_t index)
{
    return data_number(DATA_FRACTION, dtype, s->seed + 29 * (uint64_t)(list + 1), (uint64_t)index);
}

ht_tensor *own_list(const struct statement *s, ht_dtype dtype, int list, int ndim,
                    const int64_t shape[])
{
    const int64_t size = shape_size(ndim, shape);
    const size_t width = ht_dtype_size(dtype);
    char *bytes = malloc((size_t)size * width + 1);
    ht_tensor *t;

    if (bytes == NULL)
        abort();
    for (int64_t i = 0; i < size; i++)
        store(dtype, bytes + (size_t)i * width, own_number(s, dtype, list, i));
    t = ht_array(bytes, ndim, shape, dtype, HT_NONE);
    free(bytes);
    return t;
}

static ht_dtype scaled;

static bool is_scale(struct run *run, const struct variable *x)
{
    return x->a.ndim == 0 && x->a.dtype == scaled && is_tame(run, x, 4);
}

void pick_scale(struct run *run, struct statement *s)
{
    scaled = array_of(run, s, 0)->dtype;
    s->arg[1] = random_chance(&run->random, 80) ? pick(run, is_scale) : -1;
}

bool has_good_scale(struct run *run, const struct statement *s)
{
    scaled = array_of(run, s, 0)->dtype;
    return s->arg[1] < 0 || is_scale(run, &run->vars[s->arg[1]]);
}

struct number weight_at(struct run *run, const struct statement *s, int list, int64_t index)
{
    const ht_dtype dtype = array_of(run, s, 0)->dtype;
    const struct number own = own_number(s, dtype, list, index);

    return s->arg[1] < 0 ? own : number_mul(dtype, own, array_at(array_of(run, s, 1), 0));
}

ht_tensor *weights(struct run *run, const struct statement *s, int list, int ndim,
                   const int64_t shape[])
{
    ht_tensor *own = own_list(s, array_of(run, s, 0)->dtype, list, ndim, shape);

    return s->arg[1] < 0 ? own : ht_mul(own, tensor_of(run, s, 1));
}
