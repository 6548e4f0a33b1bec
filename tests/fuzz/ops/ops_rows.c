/* SPDX-License-Identifier: MIT
 *
 * Rows that tensors in a key name. A key has tensors of integers, modulo the length of their axes,
 * for axis n[0] and, if n[1] >= 0, for axis n[1]. It has the integer n[3] for axis n[2] if n[2] >=
 * 0, and all of the other axes. */
#include "fuzz/fuzz.h"

enum { MOST = 1000 }; /* elements of a result */

static bool is_index(struct run *run, const struct variable *x)
{
    (void)run;
    return kind_of(x->a.dtype) == KIND_INT && array_size(&x->a) < 40;
}

static bool generate_key(struct run *run, const struct op *op, struct statement *s)
{
    const struct array *x;

    (void)op;
    s->arg[0] = pick(run, op->rules & RULE_WRITES ? is_writable : NULL);
    s->arg[1] = pick(run, is_index);
    if (s->arg[0] < 0 || s->arg[1] < 0)
        return false;
    x = array_of(run, s, 0);
    if (x->ndim == 0 || array_size(x) > MOST)
        return false;
    s->n[0] = random_below(&run->random, x->ndim);
    s->n[1] = x->ndim > 1 && random_chance(&run->random, 30) ? random_below(&run->random, x->ndim)
                                                             : -1;
    s->n[2] = x->ndim > 1 && random_chance(&run->random, 30) ? random_below(&run->random, x->ndim)
                                                             : -1;
    for (int i = 1; i < 3; i++)
        s->n[i] = s->n[i] == s->n[0] || (i == 2 && s->n[2] == s->n[1]) ? -1 : s->n[i];
    s->n[3] = s->n[2] >= 0 && x->shape[s->n[2]] > 0
                  ? random_below(&run->random, 2 * x->shape[s->n[2]]) - x->shape[s->n[2]]
                  : 0;
    s->arg[2] = op->rules & RULE_WRITES ? s->arg[1] : pick(run, is_index);
    s->number = random_number(run);
    return s->arg[2] >= 0;
}

/* Which of the tensors is the index of an axis; 0: none. */
static int tensor_for(const struct statement *s, int axis)
{
    return axis == s->n[0] ? 1 : axis == s->n[1] ? 2 : 0;
}

static int key_of(struct run *run, const struct statement *s, ht_index key[MAX_NUMBERS])
{
    ht_tensor *x = tensor_of(run, s, 0);
    int count = 0;

    for (int axis = 0; axis < ht_tensor_ndim(x) && axis < MAX_NUMBERS; axis++) {
        const int which = tensor_for(s, axis);

        key[count] = HT_ALL;
        if (which > 0)
            key[count] = ht_index_tensor(/* as int64: int8 cannot hold every length */
                                         ht_remainder(
                                             ht_astype(tensor_of(run, s, which), HT_INT64),
                                             ht_scalar_ext(HT_NUM(ht_tensor_shape(x)[axis]))));
        else if (axis == s->n[2])
            key[count] = ht_index_integer(s->n[3]);
        count++;
    }
    return count;
}

/* The elements that a key names: the shape of the result, and the position of each of its elements
 * in x. */
struct rows {
    int ndim;
    int64_t shape[HT_MAX_NDIM], from[MOST];
};

static int64_t modulo(int64_t a, int64_t n)
{
    return (a % n + n) % n;
}

/* The axes of the result: those of the indices at `place`, x's others around them. */
static int lay_axes(const struct statement *s, const struct array *x, int index_ndim,
                    const int64_t index_shape[], struct rows *rows, int axis_in[HT_MAX_NDIM])
{
    int first = -1, last = -1, between = 0, place = 0, ndim = 0;

    for (int axis = 0; axis < x->ndim; axis++) {
        if (tensor_for(s, axis) > 0 || axis == s->n[2]) {
            first = first < 0 ? axis : first;
            last = axis;
        }
    }
    for (int axis = first; axis <= last; axis++)
        between += tensor_for(s, axis) == 0 && axis != s->n[2];
    place = between > 0 ? 0 : first; /* before the first one all axes stay */
    for (int axis = 0; axis <= x->ndim; axis++) {
        if (ndim == place) {
            for (int i = 0; i < index_ndim; i++)
                rows->shape[ndim++] = index_shape[i];
        }
        if (axis == x->ndim || tensor_for(s, axis) > 0 || axis == s->n[2])
            continue;
        axis_in[axis] = ndim;
        rows->shape[ndim++] = x->shape[axis];
    }
    rows->ndim = ndim;
    return place;
}

/* Whether the numbers of an index are all known. */
static bool is_known(const struct array *index)
{
    for (int64_t i = 0; i < array_size(index); i++) {
        if (array_at(index, i).err > 0)
            return false;
    }
    return true;
}

static int find_rows(struct run *run, const struct statement *s, struct rows *rows)
{
    const struct array *x = array_of(run, s, 0), *one = array_of(run, s, 1);
    const struct array *two = array_of(run, s, s->n[1] >= 0 ? 2 : 1);
    int64_t index_shape[HT_MAX_NDIM], at[HT_MAX_NDIM], own[HT_MAX_NDIM];
    int index_ndim, place, axis_in[HT_MAX_NDIM];

    if (x->ndim > MAX_NUMBERS || array_size(x) > MOST || kind_of(one->dtype) != KIND_INT ||
        kind_of(two->dtype) != KIND_INT)
        return forget(x->memory);
    for (int axis = 0; axis < x->ndim; axis++) {
        if ((tensor_for(s, axis) > 0 || axis == s->n[2]) && x->shape[axis] == 0)
            return WANT_ANYTHING; /* a number modulo 0 is undefined */
    }
    if (s->n[2] >= 0 && (s->n[3] < -x->shape[s->n[2]] || s->n[3] >= x->shape[s->n[2]]))
        return WANT_FAILURE;
    if (!broadcast_shape(one, two, &index_ndim, index_shape))
        return HT_ERR_SHAPE;
    if (index_ndim + x->ndim > HT_MAX_NDIM || !is_known(one) || !is_known(two))
        return forget(x->memory);
    place = lay_axes(s, x, index_ndim, index_shape, rows, axis_in);
    if (shape_size(rows->ndim, rows->shape) > MOST)
        return forget(x->memory);
    for (int64_t i = 0; i < shape_size(rows->ndim, rows->shape); i++) {
        rows->from[i] = 0;
        unravel(i, rows->ndim, rows->shape, at);
        for (int axis = 0; axis < x->ndim; axis++) {
            const int which = tensor_for(s, axis);
            const int64_t n = x->shape[axis];

            own[axis] = which == 0 && axis != s->n[2] ? at[axis_in[axis]] : modulo(s->n[3], n);
            if (which > 0)
                own[axis] = modulo(
                    array_at_coords(array_of(run, s, which), index_ndim, at + place).i, n);
            rows->from[i] = rows->from[i] * n + own[axis];
        }
    }
    return WANT_SUCCESS;
}

static struct outcome call_get(struct run *run, const struct statement *s)
{
    ht_index key[MAX_NUMBERS];

    return made(ht_getitem(tensor_of(run, s, 0), key_of(run, s, key), key));
}

static int reference_get(struct run *run, const struct statement *s, struct array *out)
{
    struct rows rows;
    int want = find_rows(run, s, &rows);

    if (want != WANT_SUCCESS)
        return want;
    *out = array_new(array_of(run, s, 0)->dtype, rows.ndim, rows.shape);
    for (int64_t i = 0; i < array_size(out); i++) {
        struct number a = array_at(array_of(run, s, 0), rows.from[i]);

        if (!run->recording)
            a.d = NULL;
        array_set(out, i, a);
    }
    return WANT_SUCCESS;
}

/* --- Writing --- */

static struct outcome call_set(struct run *run, const struct statement *s)
{
    ht_index key[MAX_NUMBERS];

    return done(
        ht_setitem_(tensor_of(run, s, 0), key_of(run, s, key), key, ht_scalar_ext(s->number)));
}

static struct outcome call_add(struct run *run, const struct statement *s)
{
    ht_index key[MAX_NUMBERS];

    return done(
        ht_add_at_(tensor_of(run, s, 0), key_of(run, s, key), key, ht_scalar_ext(s->number)));
}

/* The view of x that is written through. */
static int open_rows(struct run *run, const struct statement *s, struct rows *rows,
                     struct array *place)
{
    const struct array *x = array_of(run, s, 0);
    int want = find_rows(run, s, rows);

    if (want != WANT_SUCCESS)
        return want;
    if (!number_fits(x->dtype, s->number))
        return x->read_only ? WANT_FAILURE : HT_ERR_ARGUMENT;
    *place = array_view(x);
    place->view = true;
    place->cut = x->cut || !run->recording;
    return check_write_to(run, place, NULL);
}

static int reference_set(struct run *run, const struct statement *s, struct array *out)
{
    struct array place;
    struct rows rows;
    int want = open_rows(run, s, &rows, &place);

    (void)out;
    if (want == HT_ERR_ARGUMENT)
        return WANT_FAILURE;
    for (int64_t i = 0; want == WANT_SUCCESS && i < shape_size(rows.ndim, rows.shape); i++)
        write_element(run, &place, rows.from[i], number_of(place.dtype, s->number));
    return want;
}

/* Refused is a number that x cannot hold: a fraction among integers, a complex one in reals. */
static int reference_add(struct run *run, const struct statement *s, struct array *out)
{
    static const enum kind kinds[] = {KIND_INT, KIND_FLOAT, KIND_COMPLEX};
    struct array place;
    struct rows rows;
    int want = open_rows(run, s, &rows, &place);

    (void)out;
    if (want == WANT_ANYTHING)
        return want;
    if (want == HT_ERR_ARGUMENT || kinds[s->number.kind] > kind_of(array_of(run, s, 0)->dtype))
        return WANT_FAILURE;
    for (int64_t i = 0; want == WANT_SUCCESS && i < shape_size(rows.ndim, rows.shape); i++) {
        struct number before = array_at(&place, rows.from[i]);

        write_element(run, &place, rows.from[i],
                      number_add(place.dtype, before, number_of(place.dtype, s->number)));
    }
    return want;
}

/* --- Masks: where x is above 0 --- */

static bool is_real(struct run *run, const struct variable *x)
{
    (void)run;
    return kind_of(x->a.dtype) <= KIND_FLOAT && x->a.ndim > 0 && array_size(&x->a) < MOST;
}

static bool generate_mask(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, is_real);
    return s->arg[0] >= 0;
}

static struct outcome call_mask(struct run *run, const struct statement *s)
{
    ht_tensor *x = tensor_of(run, s, 0);

    return made(ht_getitem(x, HT_KEY(ht_gt(x, ht_scalar(0)))));
}

/* False: which elements are above 0 depends on how they are rounded. */
static bool find_set(const struct array *x, struct rows *rows)
{
    *rows = (struct rows){.ndim = 1};
    for (int64_t i = 0; i < array_size(x); i++) {
        const struct number a = array_at(x, i);

        if (a.err > 0 && (kind_of(x->dtype) <= KIND_INT || !(fabs(a.re) > a.err)))
            return false;
        if (kind_of(x->dtype) == KIND_FLOAT ? a.re > 0 : a.i > 0)
            rows->from[rows->shape[0]++] = i;
    }
    return true;
}

static int reference_mask(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    struct rows rows;

    if (kind_of(x->dtype) == KIND_COMPLEX || x->ndim == 0 || array_size(x) >= MOST ||
        !find_set(x, &rows))
        return WANT_ANYTHING;
    *out = array_new(x->dtype, 1, rows.shape);
    for (int64_t i = 0; i < rows.shape[0]; i++) {
        struct number a = array_at(x, rows.from[i]);

        if (!run->recording)
            a.d = NULL;
        array_set(out, i, a);
    }
    return WANT_SUCCESS;
}

static struct outcome call_nonzero(struct run *run, const struct statement *s)
{
    return made(ht_nonzero(ht_gt(tensor_of(run, s, 0), ht_scalar(0))));
}

static int reference_nonzero(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int64_t at[HT_MAX_NDIM];
    struct rows rows;

    if (kind_of(x->dtype) == KIND_COMPLEX || x->ndim == 0 || array_size(x) >= MOST ||
        !find_set(x, &rows))
        return WANT_ANYTHING;
    *out = array_new(HT_INT64, x->ndim > 1 ? 2 : 1, (int64_t[]){rows.shape[0], x->ndim});
    for (int64_t i = 0; i < rows.shape[0]; i++) {
        unravel(rows.from[i], x->ndim, x->shape, at);
        for (int axis = 0; axis < x->ndim; axis++)
            array_set(out, i * x->ndim + axis, number_int(HT_INT64, at[axis]));
    }
    return WANT_SUCCESS;
}

const struct op ops_rows[] = {
    {"ht_getitem(%t, with %t for axis %n, and %t for axis %n; axis %n at %n)", 14, generate_key,
     call_get, reference_get, .rules = RULE_SMOOTH},
    {"ht_setitem_(%t, with %t for axis %n, %n; axis %n at %n, %l)", 8, generate_key, call_set,
     reference_set, .rules = RULE_SMOOTH | RULE_WRITES | RULE_LONG},
    {"ht_add_at_(%t, with %t for axis %n, %n; axis %n at %n, %l)", 8, generate_key, call_add,
     reference_add, .rules = RULE_SMOOTH | RULE_WRITES | RULE_LONG},
    {"ht_getitem(%t, where it is above 0)", 8, generate_mask, call_mask, reference_mask,
     .rules = RULE_SMOOTH},
    {"ht_nonzero(where %t is above 0)", 4, generate_mask, call_nonzero, reference_nonzero,
     .rules = RULE_NO_COMPLEX},
    {0}};
