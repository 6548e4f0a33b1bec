/* SPDX-License-Identifier: MIT
 *
 * The same elements in another shape, layout or distribution: views where strides allow, or copies.
 */
#include <string.h>

#include "fuzz/fuzz.h"

static bool generate_one(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick_any(run);
    return s->arg[0] >= 0;
}

/* --- Views where strides or slabs allow --- */

static struct outcome last_outcome;

static struct outcome seen(ht_tensor *t)
{
    last_outcome = made(t);
    return last_outcome;
}

/* The axes of x from `from` up to `to`, which are one row of elements at even distances: its length
 * and the distance. */
static bool one_row(const struct array *x, int from, int to, int64_t *length, int64_t *stride)
{
    *length = 1;
    *stride = 0;
    for (int i = to - 1; i >= from; i--) {
        if (x->shape[i] == 1)
            continue;
        if (*length > 1 && x->stride[i] != *length * *stride)
            return false;
        *stride = *length > 1 ? *stride : x->stride[i];
        *length *= x->shape[i];
    }
    return true;
}

/* y, whose shape is set, as a view of x: axes of both are matched in groups of the same length. */
static bool view_in_shape(const struct array *x, struct array *y)
{
    int from = 0, first = 0;

    if (array_size(x) == 0)
        return false;
    while (first < y->ndim || from < x->ndim) {
        int to = from, last = first;
        int64_t have = 1, want = 1, length, stride;

        do {
            if ((have <= want || last == y->ndim) && to < x->ndim)
                have *= x->shape[to++];
            else
                want *= y->shape[last++];
        } while (have != want);
        if (!one_row(x, from, to, &length, &stride))
            return false;
        for (int i = last - 1, step = 1; i >= first; i--) {
            y->stride[i] = stride * step;
            step *= (int)y->shape[i];
        }
        from = to;
        first = last;
    }
    return true;
}

/* y has the elements of x in its shape: x itself, a view or a copy, the same on all ranks. The
 * memory shows which. */
static int view_or_copy(struct run *run, const struct statement *s, struct array *out,
                        struct outcome outcome)
{
    const struct array *x = array_of(run, s, 0);
    int64_t shape[HT_MAX_NDIM];
    struct array y = *x;
    int ndim = out->ndim, shared, same[2]; /* x itself: on some ranks; on some not */

    memcpy(shape, out->shape, sizeof shape);
    y.ndim = ndim;
    memcpy(y.shape, shape, sizeof shape);
    if (outcome.t == NULL)
        return WANT_SUCCESS; /* and that is wrong */
    shared = shared_by(outcome.t, tensor_of(run, s, 0));
    same[0] = outcome.t == tensor_of(run, s, 0);
    same[1] = !same[0];
    MPI_Allreduce(MPI_IN_PLACE, same, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (shared == 2 || same[0] + same[1] == 2)
        fail(run, "a copy on some ranks alone");
    if (!same[1]) {
        *out = array_view(x);
        return WANT_SUCCESS;
    }
    if (shared == 1) {
        if (x->memory->frozen) /* x may lie in other memory by now, row-major */
            return WANT_ANYTHING;
        if (!view_in_shape(x, &y)) {
            fail(run, "a view where strides allow none");
            return WANT_ANYTHING;
        }
        *out = array_view(&y);
        out->cut = x->cut || !run->recording;
        out->view = true;
        return WANT_SUCCESS;
    }
    y = array_new(x->dtype, ndim, shape);
    for (int64_t i = 0; i < array_size(x); i++) {
        struct number a = array_at(x, i);

        if (!run->recording)
            a.d = NULL;
        array_set(&y, i, a);
    }
    if (array_size(x) == 0) { /* memory does not show it: the program leaves these two unchanged */
        x->memory->views++;
        y.memory->views++;
        y.read_only = x->read_only;
        x->memory->frozen = y.memory->frozen = true;
    }
    *out = y;
    return WANT_SUCCESS;
}

static bool generate_reshape(struct run *run, const struct op *op, struct statement *s)
{
    const struct array *x;
    int64_t left;

    if (!generate_one(run, op, s))
        return false;
    x = array_of(run, s, 0);
    left = array_size(x);
    for (s->ndim = 0; s->ndim < 3 && left > 1; s->ndim++) {
        int64_t divisor = 1 + random_below(&run->random, left);

        while (left % divisor != 0)
            divisor--;
        s->shape[s->ndim] = divisor;
        left /= divisor;
    }
    s->shape[s->ndim++] = left;
    if (random_chance(&run->random, 20) && left > 0)
        s->shape[random_below(&run->random, s->ndim)] = -1;
    return true;
}

static struct outcome call_reshape(struct run *run, const struct statement *s)
{
    return seen(ht_reshape(tensor_of(run, s, 0), s->ndim, s->shape));
}

static int reference_reshape(struct run *run, const struct statement *s, struct array *out)
{
    int64_t size = array_size(array_of(run, s, 0)), known = 1;
    int open = -1;

    out->ndim = s->ndim;
    for (int i = 0; i < s->ndim; i++) {
        out->shape[i] = s->shape[i];
        if (s->shape[i] == -1)
            open = i;
        else
            known *= s->shape[i];
    }
    if (open >= 0 && known > 0)
        known *= out->shape[open] = size / known;
    if (known != size || (open >= 0 && out->shape[open] < 0))
        return HT_ERR_SHAPE;
    return view_or_copy(run, s, out, last_outcome);
}

static bool generate_flatten(struct run *run, const struct op *op, struct statement *s)
{
    if (!generate_one(run, op, s) || array_of(run, s, 0)->ndim == 0)
        return false;
    s->n[0] = random_axis(run, array_of(run, s, 0)->ndim);
    return true;
}

static struct outcome call_flatten(struct run *run, const struct statement *s)
{
    return seen(ht_flatten(tensor_of(run, s, 0), (int)s->n[0]));
}

static int reference_flatten(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int axis = (int)s->n[0];

    if (!axis_of(&axis, x->ndim))
        return WANT_FAILURE;
    *out = *x;
    out->ndim = axis + 1;
    out->shape[axis] = shape_size(x->ndim - axis, x->shape + axis);
    return view_or_copy(run, s, out, last_outcome);
}

#define SAME_FORM(name)                                                           \
    static struct outcome call_##name(struct run *run, const struct statement *s) \
    {                                                                             \
        return seen(ht_##name(tensor_of(run, s, 0)));                             \
    }
SAME_FORM(contiguous)
SAME_FORM(balance)
SAME_FORM(channels_last)

static int reference_same(struct run *run, const struct statement *s, struct array *out)
{
    *out = *array_of(run, s, 0);
    if (s->op->call == call_channels_last && out->ndim != 4)
        return HT_ERR_SHAPE;
    return view_or_copy(run, s, out, last_outcome);
}

static bool generate_image(struct run *run, const struct op *op, struct statement *s)
{
    return generate_one(run, op, s) && array_of(run, s, 0)->ndim == 4;
}

/* --- Copies --- */

static struct outcome call_copy(struct run *run, const struct statement *s)
{
    return made(ht_copy(tensor_of(run, s, 0)));
}

static int reference_copy(struct run *run, const struct statement *s, struct array *out)
{
    *out = array_copy(array_of(run, s, 0));
    out->cut = false;
    for (int64_t i = 0; !run->recording && i < array_size(out); i++)
        out->memory->data[i].d = NULL;
    return WANT_SUCCESS;
}

static bool generate_resplit(struct run *run, const struct op *op, struct statement *s)
{
    if (!generate_one(run, op, s))
        return false;
    s->split = random_split(run, array_of(run, s, 0)->ndim);
    return true;
}

static struct outcome call_resplit(struct run *run, const struct statement *s)
{
    return seen(ht_resplit(tensor_of(run, s, 0), s->split));
}

/* The split that it has: x itself; any other: new memory. */
static int reference_resplit(struct run *run, const struct statement *s, struct array *out)
{
    int split = s->split;

    if (split != HT_NONE && !axis_of(&split, array_of(run, s, 0)->ndim))
        return WANT_FAILURE;
    if (last_outcome.t == tensor_of(run, s, 0)) {
        *out = array_view(array_of(run, s, 0));
        return WANT_SUCCESS;
    }
    if (last_outcome.t != NULL && ht_tensor_split(last_outcome.t) != split)
        fail(run, "ht_resplit to %d gave %d", split, ht_tensor_split(last_outcome.t));
    return reference_copy(run, s, out);
}

const struct op ops_layout[] = {
    {"ht_reshape(%t, %s)", 12, generate_reshape, call_reshape, reference_reshape,
     .rules = RULE_SMOOTH},
    {"ht_flatten(%t, %n)", 4, generate_flatten, call_flatten, reference_flatten,
     .rules = RULE_SMOOTH},
    {"ht_contiguous(%t)", 4, generate_one, call_contiguous, reference_same, .rules = RULE_SMOOTH},
    {"ht_channels_last(%t)", 8, generate_image, call_channels_last, reference_same,
     .rules = RULE_SMOOTH},
    {"ht_copy(%t)", 6, generate_one, call_copy, reference_copy, .rules = RULE_SMOOTH},
    {"ht_resplit(%t, split %p)", 14, generate_resplit, call_resplit, reference_resplit,
     .rules = RULE_SMOOTH},
    {"ht_balance(%t)", 6, generate_one, call_balance, reference_same, .rules = RULE_SMOOTH},
    {0}};
