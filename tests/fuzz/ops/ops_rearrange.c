/* SPDX-License-Identifier: MIT
 *
 * Elements in other places: diagonals, which are views, and copies rolled, repeated and framed. */
#include "fuzz/fuzz.h"

static bool generate_one(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick_any(run);
    return s->arg[0] >= 0;
}

/* The elements of x at `from` (below 0: `other`), as new memory of a shape. */
static struct array taken(struct run *run, const struct array *x, int ndim, const int64_t shape[],
                          const int64_t *from, struct number other)
{
    struct array y = array_new(x->dtype, ndim, shape);

    for (int64_t i = 0; i < array_size(&y); i++) {
        struct number a = from[i] < 0 ? other : array_at(x, from[i]);

        if (!run->recording)
            a.d = NULL;
        array_set(&y, i, a);
    }
    return y;
}

enum { MOST = 4000 }; /* elements of a result */

/* The position of the element of x at these coordinates in row-major order. */
static int64_t ravel(const struct array *x, const int64_t at[])
{
    int64_t index = 0;

    for (int i = 0; i < x->ndim; i++)
        index = index * x->shape[i] + at[i];
    return index;
}

static int64_t modulo(int64_t a, int64_t n)
{
    return n > 0 ? (a % n + n) % n : 0;
}

/* --- Diagonals: n[0] the offset, n[1] and n[2] the axes --- */

static bool generate_diagonal(struct run *run, const struct op *op, struct statement *s)
{
    int ndim;

    if (!generate_one(run, op, s))
        return false;
    ndim = array_of(run, s, 0)->ndim;
    if (ndim < 2)
        return false;
    s->n[0] = random_chance(&run->random, 40) ? 0 : random_below(&run->random, 9) - 4;
    s->n[1] = random_axis(run, ndim);
    s->n[2] = random_axis(run, ndim);
    return true;
}

static struct outcome call_diagonal(struct run *run, const struct statement *s)
{
    return made(ht_diagonal(tensor_of(run, s, 0), s->n[0], (int)s->n[1], (int)s->n[2]));
}

static int reference_diagonal(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int a = (int)s->n[1], b = (int)s->n[2];
    int64_t row = s->n[0] < 0 ? -s->n[0] : 0, column = s->n[0] > 0 ? s->n[0] : 0, length = 0;

    if (!axis_of(&a, x->ndim) || !axis_of(&b, x->ndim) || a == b)
        return HT_ERR_ARGUMENT;
    while (row + length < x->shape[a] && column + length < x->shape[b])
        length++;
    *out = array_view(x);
    out->cut = x->cut || !run->recording;
    out->view = true;
    out->offset += length > 0 ? row * x->stride[a] + column * x->stride[b] : 0;
    out->ndim = 0;
    for (int i = 0; i < x->ndim; i++) {
        if (i == a || i == b)
            continue;
        out->shape[out->ndim] = x->shape[i];
        out->stride[out->ndim++] = x->stride[i];
    }
    out->shape[out->ndim] = length;
    out->stride[out->ndim++] = x->stride[a] + x->stride[b];
    return WANT_SUCCESS;
}

/* --- Rolls: n[0] the shift, n[1] the axis --- */

static bool generate_roll(struct run *run, const struct op *op, struct statement *s)
{
    if (!generate_one(run, op, s))
        return false;
    s->n[0] = random_below(&run->random, 41) - 20;
    s->n[1] = random_chance(&run->random, 20) || array_of(run, s, 0)->ndim == 0
                  ? HT_NONE
                  : random_axis(run, array_of(run, s, 0)->ndim);
    return true;
}

static struct outcome call_roll(struct run *run, const struct statement *s)
{
    return made(ht_roll(tensor_of(run, s, 0), s->n[0], (int)s->n[1]));
}

static int reference_roll(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int64_t from[MOST], size = array_size(x), at[HT_MAX_NDIM];
    int axis = (int)s->n[1];

    if (axis != HT_NONE && !axis_of(&axis, x->ndim))
        return HT_ERR_ARGUMENT;
    if (size > MOST)
        return WANT_ANYTHING;
    for (int64_t i = 0; i < size; i++) {
        unravel(i, x->ndim, x->shape, at);
        if (axis != HT_NONE)
            at[axis] = modulo(at[axis] - s->n[0], x->shape[axis]);
        from[i] = axis != HT_NONE ? ravel(x, at) : modulo(i - s->n[0], size);
    }
    *out = taken(run, x, x->ndim, x->shape, from, number_unknown());
    return WANT_SUCCESS;
}

/* --- Tiles: of each of the last axes n[i], of the statement's `ndim` of them --- */

static bool generate_tile(struct run *run, const struct op *op, struct statement *s)
{
    if (!generate_one(run, op, s))
        return false;
    s->ndim = (int)random_below(&run->random, 4);
    for (int i = 0; i < s->ndim; i++)
        s->shape[i] = random_chance(&run->random, 3) ? 0 : 1 + random_below(&run->random, 2);
    return array_size(array_of(run, s, 0)) < MOST / 8;
}

static struct outcome call_tile(struct run *run, const struct statement *s)
{
    return made(ht_tile(tensor_of(run, s, 0), s->ndim, s->shape));
}

static int reference_tile(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int ndim = x->ndim > s->ndim ? x->ndim : s->ndim;
    int64_t shape[HT_MAX_NDIM], from[MOST], at[HT_MAX_NDIM];

    if (array_size(x) >= MOST / 8)
        return WANT_ANYTHING;
    for (int i = 0; i < ndim; i++) {
        const int own = i - (ndim - x->ndim), times = i - (ndim - s->ndim);

        shape[i] = (own >= 0 ? x->shape[own] : 1) * (times >= 0 ? s->shape[times] : 1);
    }
    for (int64_t i = 0; i < shape_size(ndim, shape); i++) {
        unravel(i, ndim, shape, at);
        for (int axis = 0; axis < x->ndim; axis++)
            at[axis] = modulo(at[axis + ndim - x->ndim], x->shape[axis]);
        from[i] = ravel(x, at);
    }
    *out = taken(run, x, ndim, shape, from, number_unknown());
    return WANT_SUCCESS;
}

/* --- Frames: n[0] and n[1] around the last axis, n[2] and n[3] around the one before --- */

static bool generate_pad(struct run *run, const struct op *op, struct statement *s)
{
    if (!generate_one(run, op, s) || array_of(run, s, 0)->ndim == 0)
        return false;
    s->ndim = array_of(run, s, 0)->ndim > 1 ? 4 : 2;
    for (int i = 0; i < s->ndim; i++)
        s->shape[i] = random_chance(&run->random, 1) ? -1 : random_below(&run->random, 3);
    s->number = random_number(run);
    return array_size(array_of(run, s, 0)) < MOST / 40;
}

static struct outcome call_pad(struct run *run, const struct statement *s)
{
    return made(ht_pad(tensor_of(run, s, 0), s->ndim, s->shape, s->number));
}

static int reference_pad(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int64_t shape[HT_MAX_NDIM], before[HT_MAX_NDIM] = {0}, from[MOST], at[HT_MAX_NDIM];

    if (s->ndim / 2 > x->ndim || s->shape[0] < 0 || s->shape[1] < 0 ||
        (s->ndim == 4 && (s->shape[2] < 0 || s->shape[3] < 0)))
        return HT_ERR_ARGUMENT;
    if (!number_fits(x->dtype, s->number))
        return HT_ERR_ARGUMENT;
    if (array_size(x) >= MOST / 40)
        return WANT_ANYTHING;
    for (int i = 0; i < x->ndim; i++) {
        const int pair = 2 * (i - (x->ndim - s->ndim / 2));

        before[i] = pair >= 0 ? s->shape[pair] : 0;
        shape[i] = x->shape[i] + before[i] + (pair >= 0 ? s->shape[pair + 1] : 0);
    }
    for (int64_t i = 0; i < shape_size(x->ndim, shape); i++) {
        bool inside = true;

        unravel(i, x->ndim, shape, at);
        for (int axis = 0; axis < x->ndim; axis++) {
            at[axis] -= before[axis];
            inside = inside && at[axis] >= 0 && at[axis] < x->shape[axis];
        }
        from[i] = inside ? ravel(x, at) : -1;
    }
    *out = taken(run, x, x->ndim, shape, from, number_of(x->dtype, s->number));
    return WANT_SUCCESS;
}

/* --- Triangles: n[0] the diagonal --- */

static bool generate_triangle(struct run *run, const struct op *op, struct statement *s)
{
    s->n[0] = random_below(&run->random, 9) - 4;
    return generate_one(run, op, s);
}

static struct outcome call_lower(struct run *run, const struct statement *s)
{
    return made(ht_tril(tensor_of(run, s, 0), s->n[0]));
}

static struct outcome call_upper(struct run *run, const struct statement *s)
{
    return made(ht_triu(tensor_of(run, s, 0), s->n[0]));
}

static int triangle(struct run *run, const struct statement *s, struct array *out, bool lower)
{
    const struct array *x = array_of(run, s, 0);
    int64_t from[MOST], at[HT_MAX_NDIM];

    if (x->ndim < 2)
        return HT_ERR_SHAPE;
    if (array_size(x) > MOST)
        return WANT_ANYTHING;
    for (int64_t i = 0; i < array_size(x); i++) {
        int64_t over;

        unravel(i, x->ndim, x->shape, at);
        over = at[x->ndim - 1] - at[x->ndim - 2] - s->n[0];
        from[i] = (lower ? over <= 0 : over >= 0) ? i : -1;
    }
    *out = taken(run, x, x->ndim, x->shape, from, number_of(x->dtype, ht_number_integer(0)));
    return WANT_SUCCESS;
}

static int reference_lower(struct run *run, const struct statement *s, struct array *out)
{
    return triangle(run, s, out, true);
}

static int reference_upper(struct run *run, const struct statement *s, struct array *out)
{
    return triangle(run, s, out, false);
}

const struct op ops_rearrange[] = {
    {"ht_diagonal(%t, %n, %n, %n)", 8, generate_diagonal, call_diagonal, reference_diagonal,
     .rules = RULE_SMOOTH},
    {"ht_roll(%t, %n, %n)", 6, generate_roll, call_roll, reference_roll, .rules = RULE_SMOOTH},
    {"ht_tile(%t, %s)", 4, generate_tile, call_tile, reference_tile, .rules = RULE_SMOOTH},
    {"ht_pad(%t, %s, %l)", 4, generate_pad, call_pad, reference_pad, .rules = RULE_SMOOTH},
    {"ht_tril(%t, %n)", 4, generate_triangle, call_lower, reference_lower, .rules = RULE_SMOOTH},
    {"ht_triu(%t, %n)", 4, generate_triangle, call_upper, reference_upper, .rules = RULE_SMOOTH},
    {0}};
