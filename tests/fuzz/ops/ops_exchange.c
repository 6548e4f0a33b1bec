/* SPDX-License-Identifier: MIT
 *
 * Tensors that leave the library and come back: described by their parts, lent and borrowed; and
 * applied slice by slice. Received tensors have no history. */
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "ht/dlpack.h"
#include "ht/partitioned.h"
#include "ht/vmap.h"

static bool generate_any(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick_any(run);
    return s->arg[0] >= 0;
}

/* x described by its parts, each of which is lent and borrowed, and joined again. */
static ht_tensor *through_others(ht_tensor *x)
{
    ht_partitioned description;
    ht_partition *parts = calloc((size_t)ht_comm_size(ht_tensor_comm(x)), sizeof *parts);
    ht_tensor *y = NULL;

    if (ht_tensor_partitioned(x, &description, parts) == HT_SUCCESS) {
        description.local = ht_from_dlpack_ext(ht_to_dlpack(description.local),
                                               ht_tensor_device(x));
        y = ht_from_partitioned(&description);
    }
    free(parts);
    return y != NULL ? ht_copy(y) : NULL;
}

static struct outcome call_through(struct run *run, const struct statement *s)
{
    return made(through_others(tensor_of(run, s, 0)));
}

static int reference_through(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);

    *out = array_new(x->dtype, x->ndim, x->shape);
    for (int64_t i = 0; i < array_size(x); i++) {
        struct number a = array_at(x, i);

        a.d = NULL;
        array_set(out, i, a);
    }
    return WANT_SUCCESS;
}

/* --- Slices that stay as they are: n[0] the axis, n[1] where it is in the result --- */

static bool generate_slices(struct run *run, const struct op *op, struct statement *s)
{
    int ndim;

    if (!generate_any(run, op, s))
        return false;
    ndim = array_of(run, s, 0)->ndim;
    if (ndim == 0)
        return false;
    s->n[0] = random_axis(run, ndim);
    s->n[1] = random_axis(run, ndim);
    return true;
}

static ht_tensor *same(ht_tensor *const slices[], void *user)
{
    (void)user;
    return slices[0];
}

static struct outcome call_slices(struct run *run, const struct statement *s)
{
    ht_tensor *x = tensor_of(run, s, 0);
    int axis = (int)s->n[0];

    return made(ht_vmap_ext(same, 1, &x, &axis, (int)s->n[1], NULL));
}

static int reference_slices(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int from = (int)s->n[0], to = (int)s->n[1];
    int64_t shape[HT_MAX_NDIM], at[HT_MAX_NDIM];
    struct array moved = *x;

    if (!axis_of(&from, x->ndim))
        return HT_ERR_ARGUMENT;
    if (x->shape[from] == 0)
        return HT_ERR_SHAPE;
    if (!axis_of(&to, x->ndim))
        return HT_ERR_ARGUMENT;
    for (int i = 0, other = 0; i < x->ndim; i++) {
        other += other == from;
        at[i] = i == to ? from : other;
        other += i != to;
    }
    for (int i = 0; i < x->ndim; i++) {
        shape[i] = x->shape[at[i]];
        moved.shape[i] = shape[i];
        moved.stride[i] = x->stride[at[i]];
    }
    *out = array_new(x->dtype, x->ndim, shape);
    for (int64_t i = 0; i < array_size(x); i++) {
        struct number a = array_at(&moved, i);

        a.d = NULL;
        array_set(out, i, a);
    }
    return WANT_SUCCESS;
}

const struct op ops_exchange[] = {{"ht_copy(ht_from_partitioned(%t))", 4, generate_any,
                                   call_through, reference_through, .rules = RULE_CUT},
                                  {"ht_vmap_ext(same, %t, %n, %n)", 4, generate_slices, call_slices,
                                   reference_slices, .rules = RULE_CUT},
                                  {0}};
