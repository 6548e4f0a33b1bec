/* SPDX-License-Identifier: MIT
 *
 * Elements in order. Where an element's value is not known exactly its place is not either, and the
 * result may be anything. */
#include "fuzz.h"

enum { MOST = 4000 }; /* elements of an operand */

/* --- What is less, and lines in order --- */

static int compare_parts(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) - isnan(b);
    return (a > b) - (a < b);
}

static int compare(ht_dtype dtype, struct number a, struct number b)
{
    int order;

    if (kind_of(dtype) == KIND_BOOL || kind_of(dtype) == KIND_INT)
        return (a.i > b.i) - (a.i < b.i);
    order = compare_parts(a.re, b.re);
    return order == 0 && kind_of(dtype) == KIND_COMPLEX ? compare_parts(a.im, b.im) : order;
}

static bool is_exact(const struct array *x)
{
    if (array_size(x) > MOST)
        return false;
    for (int64_t i = 0; i < array_size(x); i++) {
        const struct number a = array_at(x, i);

        if (is_unknown(a) || a.err != 0)
            return false;
    }
    return true;
}

/* Elements of x along an axis: the first, the distance of two, and how many. */
struct line {
    int64_t first, step, n;
};

static int64_t line_count(const struct array *x, int axis)
{
    return x->shape[axis] > 0 ? array_size(x) / x->shape[axis] : 0;
}

static struct line line_of(const struct array *x, int axis, int64_t i)
{
    struct line line = {0, 1, x->shape[axis]};

    for (int k = axis + 1; k < x->ndim; k++)
        line.step *= x->shape[k];
    line.first = i / line.step * line.step * line.n + i % line.step;
    return line;
}

/* from[i]: where the i-th element in order stands in the line. */
static void sort_line(const struct array *x, struct line line, bool descending, int64_t from[])
{
    for (int64_t i = 0; i < line.n; i++) {
        const struct number a = array_at(x, line.first + i * line.step);
        int64_t j = i;

        for (; j > 0; j--) {
            const int order = compare(x->dtype, a,
                                      array_at(x, line.first + from[j - 1] * line.step));

            if (descending ? order <= 0 : order >= 0)
                break;
            from[j] = from[j - 1];
        }
        from[j] = i;
    }
}

static struct number without_duals(const struct run *run, struct number a)
{
    if (!run->recording)
        a.d = NULL;
    return a;
}

/* --- Sorting: n[0] the axis, n[1] whether it is descending --- */

static bool generate_sort(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick_any(run);
    if (s->arg[0] < 0)
        return false;
    s->n[0] = random_axis(run, array_of(run, s, 0)->ndim);
    s->n[1] = random_chance(&run->random, 40);
    return true;
}

static struct outcome call_sort(struct run *run, const struct statement *s)
{
    ht_tensor *values = NULL, *indices;
    const bool both = s->seed % 2 == 0;

    if (ht_sort(tensor_of(run, s, 0), (int)s->n[0], s->n[1] != 0, &values,
                both ? &indices : NULL) != HT_SUCCESS)
        values = NULL;
    return made(values);
}

static struct outcome call_argsort(struct run *run, const struct statement *s)
{
    return made(ht_argsort(tensor_of(run, s, 0), (int)s->n[0], s->n[1] != 0));
}

/* --- The first ones: n[2] how many --- */

static bool generate_topk(struct run *run, const struct op *op, struct statement *s)
{
    const struct array *x;

    if (!generate_sort(run, op, s))
        return false;
    x = array_of(run, s, 0);
    if (x->ndim == 0)
        return false;
    s->n[0] = random_below(&run->random, x->ndim);
    s->n[2] = random_below(&run->random, x->shape[s->n[0]] + 1) - random_chance(&run->random, 2);
    return true;
}

static struct outcome call_topk(struct run *run, const struct statement *s)
{
    ht_tensor *values = NULL, *indices;

    if (ht_topk(tensor_of(run, s, 0), s->n[2], (int)s->n[0], s->n[1] != 0, &values,
                s->seed % 2 == 0 ? &indices : NULL) != HT_SUCCESS)
        values = NULL;
    return made(values);
}

/* --- Results --- */

static int sorted(struct run *run, const struct statement *s, struct array *out, bool places,
                  int64_t keep)
{
    const struct array *x = array_of(run, s, 0);
    int64_t from[MOST], shape[HT_MAX_NDIM];
    int axis = (int)s->n[0];

    if (!axis_of(&axis, x->ndim))
        return HT_ERR_ARGUMENT;
    if (!is_exact(x))
        return WANT_ANYTHING;
    for (int i = 0; i < x->ndim; i++)
        shape[i] = i == axis && keep < x->shape[i] ? keep : x->shape[i];
    *out = array_new(places ? HT_INT64 : x->dtype, x->ndim, shape);
    for (int64_t i = 0; i < line_count(x, axis); i++) {
        const struct line line = line_of(x, axis, i), to = line_of(out, axis, i);

        sort_line(x, line, s->n[1] != 0, from);
        for (int64_t j = 0; j < to.n; j++)
            array_set(out, to.first + j * to.step,
                      places ? number_int(HT_INT64, from[j])
                             : without_duals(run, array_at(x, line.first + from[j] * line.step)));
    }
    return WANT_SUCCESS;
}

static int reference_sort(struct run *run, const struct statement *s, struct array *out)
{
    return sorted(run, s, out, false, MOST);
}

static int reference_argsort(struct run *run, const struct statement *s, struct array *out)
{
    return sorted(run, s, out, true, MOST);
}

static int reference_topk(struct run *run, const struct statement *s, struct array *out)
{
    return s->n[2] < 0 ? HT_ERR_ARGUMENT : sorted(run, s, out, false, s->n[2]);
}

const struct op ops_order[] = {
    {"ht_sort(%t, %n, %n)", 6, generate_sort, call_sort, reference_sort, .rules = RULE_SMOOTH},
    {"ht_argsort(%t, %n, %n)", 3, generate_sort, call_argsort, reference_argsort,
     .rules = RULE_CUT},
    {"ht_topk(%t, %n, %n, %n)", 4, generate_topk, call_topk, reference_topk, .rules = RULE_SMOOTH},
    {0}};
