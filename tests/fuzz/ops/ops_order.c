/* SPDX-License-Identifier: MIT
 *
 * Elements in order. Where an element's value is not known exactly its place is not either, and the
 * result may be anything. */
#include "fuzz/fuzz.h"

enum { MOST = 4000 }; /* elements of an operand */

/* --- The order of numbers, and lines in order --- */

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

/* from[i]: the place of the i-th element in order in the line. */
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

/* --- Values that occur --- */

static bool generate_unique(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick_any(run);
    return s->arg[0] >= 0;
}

static struct outcome call_unique(struct run *run, const struct statement *s)
{
    ht_tensor *values = NULL, *inverse, *counts;

    if (ht_unique(tensor_of(run, s, 0), &values, s->seed % 2 == 0 ? &inverse : NULL,
                  s->seed % 3 == 0 ? &counts : NULL) != HT_SUCCESS)
        values = NULL;
    return made(values);
}

static struct outcome call_inverse(struct run *run, const struct statement *s)
{
    ht_tensor *values, *inverse = NULL;

    if (ht_unique(tensor_of(run, s, 0), &values, &inverse, NULL) != HT_SUCCESS)
        inverse = NULL;
    return made(inverse);
}

static struct outcome call_counts(struct run *run, const struct statement *s)
{
    ht_tensor *values, *counts = NULL;

    if (ht_unique(tensor_of(run, s, 0), &values, NULL, &counts) != HT_SUCCESS)
        counts = NULL;
    return made(counts);
}

static bool is_nan(ht_dtype dtype, struct number a)
{
    return kind_of(dtype) >= KIND_FLOAT && (isnan(a.re) || isnan(a.im));
}

enum asked { VALUES, INVERSE, COUNTS };

/* Except for NaN, whose order among themselves is that of the ranks. */
static int distinct(struct run *run, const struct statement *s, struct array *out, enum asked what)
{
    struct array flat = array_copy(array_of(run, s, 0));
    const int64_t size = array_size(&flat);
    const struct line line = {0, 1, size};
    int64_t from[MOST], first[MOST], number[MOST], times[MOST], found = 0;

    if (!is_exact(&flat))
        return WANT_ANYTHING;
    sort_line(&flat, line, false, from);
    for (int64_t i = 0; i < size; i++) {
        const struct number a = array_at(&flat, from[i]);

        if (is_nan(flat.dtype, a))
            return WANT_ANYTHING;
        if (i == 0 || compare(flat.dtype, array_at(&flat, from[i - 1]), a) != 0) {
            times[found] = 0;
            first[found++] = from[i];
        }
        number[from[i]] = found - 1;
        times[found - 1]++;
    }
    *out = array_new(what == VALUES ? flat.dtype : HT_INT64, what == INVERSE ? flat.ndim : 1,
                     what == INVERSE ? flat.shape : &found);
    for (int64_t i = 0; i < array_size(out); i++) {
        struct number a = what == VALUES
                              ? array_at(&flat, first[i])
                              : number_int(HT_INT64, what == COUNTS ? times[i] : number[i]);

        a.d = NULL;
        array_set(out, i, a);
    }
    return WANT_SUCCESS;
}

static int reference_unique(struct run *run, const struct statement *s, struct array *out)
{
    return distinct(run, s, out, VALUES);
}

static int reference_inverse(struct run *run, const struct statement *s, struct array *out)
{
    return distinct(run, s, out, INVERSE);
}

static int reference_counts(struct run *run, const struct statement *s, struct array *out)
{
    return distinct(run, s, out, COUNTS);
}

/* --- Places among n[1] whole numbers from n[0] on, n[2]: right; split of these --- */

static bool generate_bins(struct run *run, const struct op *op, struct statement *s)
{
    if (!generate_unique(run, op, s))
        return false;
    s->n[0] = random_below(&run->random, 9) - 4;
    s->n[1] = random_below(&run->random, 12);
    s->n[2] = random_chance(&run->random, 50);
    s->split = random_chance(&run->random, 50) ? HT_NONE : 0;
    return !ht_dtype_is_complex(array_of(run, s, 0)->dtype);
}

static ht_tensor *bins_of(const struct statement *s)
{
    return ht_arange((double)s->n[0], (double)(s->n[0] + s->n[1]), 1, HT_INT32, s->split);
}

static struct outcome call_bucketize(struct run *run, const struct statement *s)
{
    ht_tensor *x = tensor_of(run, s, 0);

    return made(s->seed % 2 == 0 ? ht_bucketize(x, bins_of(s), s->n[2] != 0)
                                 : ht_searchsorted(bins_of(s), x, s->n[2] != 0));
}

static struct outcome call_digitize(struct run *run, const struct statement *s)
{
    return made(ht_digitize(tensor_of(run, s, 0), bins_of(s), s->n[2] == 0));
}

static int reference_bins(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);

    if (!is_exact(x) || ht_dtype_is_complex(x->dtype))
        return WANT_ANYTHING;
    *out = array_new(HT_INT64, x->ndim, x->shape);
    for (int64_t i = 0; i < array_size(x); i++) {
        const struct number a = array_at(x, i);
        const double value = kind_of(x->dtype) == KIND_FLOAT ? a.re : (double)a.i;
        int64_t place = 0;

        while (place < s->n[1] &&
               !(s->n[2] ? value < (double)(s->n[0] + place) : value <= (double)(s->n[0] + place)))
            place++;
        array_set(out, i, number_int(HT_INT64, place));
    }
    return WANT_SUCCESS;
}

/* --- Counts of bytes: n[0] the least length --- */

static bool generate_bincount(struct run *run, const struct op *op, struct statement *s)
{
    s->n[0] = random_below(&run->random, 5) * 60;
    return generate_unique(run, op, s) && kind_of(array_of(run, s, 0)->dtype) <= KIND_INT;
}

static struct outcome call_bincount(struct run *run, const struct statement *s)
{
    const int64_t size = ht_tensor_size(tensor_of(run, s, 0));
    ht_tensor *x = ht_reshape(tensor_of(run, s, 0), 1, &size);

    return made(x != NULL ? ht_bincount(ht_astype(x, HT_UINT8), NULL, s->n[0]) : NULL);
}

static int reference_bincount(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int64_t counts[256] = {0}, length = s->n[0];

    if (!is_exact(x) || kind_of(x->dtype) > KIND_INT)
        return WANT_ANYTHING;
    for (int64_t i = 0; i < array_size(x); i++) {
        const int64_t byte = array_at(x, i).i & 255;

        counts[byte]++;
        length = byte >= length ? byte + 1 : length;
    }
    *out = array_new(HT_INT64, 1, &length);
    for (int64_t i = 0; i < length; i++)
        array_set(out, i, number_int(HT_INT64, counts[i]));
    return WANT_SUCCESS;
}

/* --- Medians and others: n[0] the axis, n[1] q in eighths, n[2] how between two --- */

static bool generate_quantile(struct run *run, const struct op *op, struct statement *s)
{
    const struct array *x;

    if (!generate_unique(run, op, s))
        return false;
    x = array_of(run, s, 0);
    s->n[0] = x->ndim == 0 || random_chance(&run->random, 30) ? HT_NONE : random_axis(run, x->ndim);
    s->n[1] = random_below(&run->random, 9);
    s->n[2] = random_below(&run->random, HT_NEAREST + 1);
    return true;
}

static struct outcome call_quantile(struct run *run, const struct statement *s)
{
    const double q = (double)s->n[1] / 8;
    ht_tensor *y = ht_quantile_ext(tensor_of(run, s, 0), 1, &q, (int)s->n[0],
                                   (ht_interpolation)s->n[2], true);

    return made(y != NULL ? ht_squeeze(y, 0) : NULL);
}

static double between(double low, double high, double part, ht_interpolation method, bool odd)
{
    if (low == high || part == 0 || method == HT_LOWER)
        return low;
    if (method == HT_NEAREST)
        return part < 0.5 || (part == 0.5 && !odd) ? low : high;
    if (method == HT_HIGHER)
        return high;
    part = method == HT_MIDPOINT ? 0.5 : part;
    return part < 0.5 ? low + part * (high - low) : high - (1 - part) * (high - low);
}

static double real_at(const struct array *x, int64_t index)
{
    const struct number a = array_at(x, index);

    return kind_of(x->dtype) == KIND_FLOAT ? a.re : (double)a.i;
}

static int reference_quantile(struct run *run, const struct statement *s, struct array *out)
{
    struct array x = array_copy(array_of(run, s, 0));
    const int ndim = x.ndim;
    int64_t from[MOST], shape[HT_MAX_NDIM];
    int axis = (int)s->n[0];

    if (axis != HT_NONE && !axis_of(&axis, ndim))
        return HT_ERR_ARGUMENT;
    if (ht_dtype_is_complex(x.dtype))
        return HT_ERR_DTYPE;
    for (int i = 0; i < ndim; i++)
        shape[i] = axis == HT_NONE || i == axis ? 1 : x.shape[i];
    if (axis == HT_NONE) {
        x.shape[0] = array_size(&x);
        x.ndim = 1;
        x.stride[0] = 1;
        axis = 0;
    }
    if (x.shape[axis] == 0)
        return HT_ERR_SHAPE;
    if (!is_exact(&x))
        return WANT_ANYTHING;
    *out = array_new(x.dtype == HT_FLOAT32 ? HT_FLOAT32 : HT_FLOAT64, ndim, shape);
    out->view = true; /* without the axis of the q */
    for (int64_t i = 0; i < line_count(&x, axis); i++) {
        const struct line line = line_of(&x, axis, i);
        const double place = (double)(s->n[1] * (line.n - 1)) / 8;
        const int64_t low = (int64_t)floor(place), high = (int64_t)ceil(place);
        double value;
        struct number a;

        sort_line(&x, line, false, from);
        value = real_at(&x, line.first + from[line.n - 1] * line.step);
        if (!isnan(value))
            value = between(real_at(&x, line.first + from[low] * line.step),
                            real_at(&x, line.first + from[high] * line.step), place - (double)low,
                            (ht_interpolation)s->n[2], low % 2 != 0);
        a = number_real(out->dtype, value);
        a.err = isfinite(value) ? 4 * eps_of(out->dtype) * fabs(value) : 0;
        array_set(out, i, isinf(value) ? number_unknown() : a);
    }
    return WANT_SUCCESS;
}

const struct op ops_order[] = {
    {"ht_sort(%t, %n, %n)", 6, generate_sort, call_sort, reference_sort, .rules = RULE_SMOOTH},
    {"ht_argsort(%t, %n, %n)", 3, generate_sort, call_argsort, reference_argsort,
     .rules = RULE_CUT},
    {"ht_topk(%t, %n, %n, %n)", 4, generate_topk, call_topk, reference_topk, .rules = RULE_SMOOTH},
    {"ht_unique(%t)", 3, generate_unique, call_unique, reference_unique, .rules = RULE_CUT},
    {"ht_unique(%t).inverse", 3, generate_unique, call_inverse, reference_inverse,
     .rules = RULE_CUT},
    {"ht_unique(%t).counts", 3, generate_unique, call_counts, reference_counts, .rules = RULE_CUT},
    {"ht_bucketize(%t, %n + arange %n, %n, %p)", 3, generate_bins, call_bucketize, reference_bins,
     .rules = RULE_CUT},
    {"ht_digitize(%t, %n + arange %n, not %n, %p)", 3, generate_bins, call_digitize, reference_bins,
     .rules = RULE_CUT},
    {"ht_bincount(%t, %n)", 3, generate_bincount, call_bincount, reference_bincount,
     .rules = RULE_CUT},
    {"ht_quantile_ext(%t, %n, %n / 8, %n)", 4, generate_quantile, call_quantile, reference_quantile,
     .rules = RULE_CUT},
    {0}};
