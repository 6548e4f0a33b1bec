/* SPDX-License-Identifier: MIT
 *
 * Skewness, kurtosis, weighted averages and covariances, in long double over elements that are
 * known exactly. Gradients are the unit tests'. */
#include "fuzz/fuzz.h"

/* The element as a number to compute with; false where there is none. */
static bool known(const struct array *x, int64_t i, long double *value)
{
    const struct number a = array_at(x, i);

    if (is_unknown(a) || a.err > 0)
        return false;
    *value = kind_of(x->dtype) <= KIND_INT ? (long double)a.i : (long double)a.re;
    return isfinite((double)*value) && fabsl(*value) < 1e30L;
}

static ht_dtype rounded(ht_dtype dtype)
{
    return kind_of(dtype) <= KIND_INT ? HT_FLOAT32 : dtype;
}

static struct number within(ht_dtype dtype, long double value, double err)
{
    return finish(dtype, (struct number){.re = (double)value}, err, 2);
}

/* The result's shape, without the axis (HT_NONE: of one element). */
static struct array reduced(const struct array *x, int axis, ht_dtype dtype)
{
    int64_t shape[HT_MAX_NDIM];
    int ndim = 0;

    for (int i = 0; i < x->ndim; i++) {
        if (axis != HT_NONE && i != axis)
            shape[ndim++] = x->shape[i];
    }
    return array_new(dtype, ndim, shape);
}

/* The position of the k-th of the elements of result j. */
static int64_t element_of(const struct array *x, int axis, int64_t j, int64_t k)
{
    int64_t inner;

    if (axis == HT_NONE)
        return k;
    inner = shape_size(x->ndim - axis - 1, x->shape + axis + 1);
    return (j / inner * x->shape[axis] + k) * inner + j % inner;
}

static bool generate_axis(struct run *run, const struct op *op, struct statement *s)
{
    const struct array *x;

    (void)op;
    s->arg[0] = s->arg[1] = pick_any(run);
    if (s->arg[0] < 0)
        return false;
    x = array_of(run, s, 0);
    s->n[0] = random_chance(&run->random, 35) ? HT_NONE : random_axis(run, x->ndim);
    s->n[1] = random_below(&run->random, 2);
    s->n[2] = random_below(&run->random, 2);
    if (random_chance(&run->random, 60))
        s->arg[1] = pick_any(run);
    return !(x->ndim == 0 && s->n[0] != HT_NONE);
}

/* --- Skewness and kurtosis: n[0] the axis, n[1] unbiased, n[2] less 3 --- */

static struct outcome call_skew(struct run *run, const struct statement *s)
{
    return made(ht_skew(tensor_of(run, s, 0), (int)s->n[0], s->n[1] != 0));
}

static struct outcome call_kurtosis(struct run *run, const struct statement *s)
{
    return made(ht_kurtosis(tensor_of(run, s, 0), (int)s->n[0], s->n[1] != 0, s->n[2] != 0));
}

/* False where little is known of it: of equal elements, or of almost equal ones. */
static bool standard(const struct array *x, int axis, int64_t j, int64_t n, int power,
                     long double *result)
{
    long double a = 0, mean = 0, m2 = 0, m = 0, most = 0;

    for (int64_t k = 0; k < n; k++) {
        if (!known(x, element_of(x, axis, j, k), &a))
            return false;
        mean += a / n;
        most = fmaxl(most, fabsl(a));
    }
    for (int64_t k = 0; k < n; k++) {
        known(x, element_of(x, axis, j, k), &a);
        m2 += (a - mean) * (a - mean) / n;
        m += powl(a - mean, power) / n;
    }
    *result = m / powl(m2, power / 2.0L);
    return n > 0 && m2 > 1e-12L * most * most && m2 > 1e-30L;
}

static int standardised(struct run *run, const struct statement *s, struct array *out, int power)
{
    const struct array *x = array_of(run, s, 0);
    int axis = (int)s->n[0];
    long double n;

    if (axis != HT_NONE && !axis_of(&axis, x->ndim))
        return WANT_FAILURE;
    if (kind_of(x->dtype) == KIND_COMPLEX)
        return HT_ERR_DTYPE;
    if (run->program->differentiates)
        return WANT_ANYTHING;
    n = axis == HT_NONE ? array_size(x) : x->shape[axis];
    *out = reduced(x, axis, rounded(x->dtype));
    for (int64_t j = 0; j < array_size(out); j++) {
        long double r;

        if (!standard(x, axis, j, (int64_t)n, power, &r) || (s->n[1] && n < power)) {
            array_set(out, j, number_unknown());
            continue;
        }
        if (power == 3 && s->n[1])
            r *= sqrtl(n * (n - 1)) / (n - 2);
        if (power == 4 && s->n[1])
            r = (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * r - 3 * (n - 1)) + 3;
        r -= power == 4 && s->n[2] ? 3 : 0;
        array_set(out, j, within(out->dtype, r, 1e-9 * (double)(1 + n * n)));
    }
    return WANT_SUCCESS;
}

static int reference_skew(struct run *run, const struct statement *s, struct array *out)
{
    return standardised(run, s, out, 3);
}

static int reference_kurtosis(struct run *run, const struct statement *s, struct array *out)
{
    return standardised(run, s, out, 4);
}

/* --- Averages: n[0] the axis, weights the second operand --- */

static struct outcome call_average(struct run *run, const struct statement *s)
{
    return made(ht_average(tensor_of(run, s, 0), (int)s->n[0], tensor_of(run, s, 1)));
}

/* The mean of one result; false where it is not known. */
static bool averaged(const struct array *x, const struct array *w, int axis, int64_t j, int64_t n,
                     long double *r, double *err)
{
    long double top = 0, bottom = 0, size = 0, weight = 0;

    for (int64_t k = 0; k < n; k++) {
        const int64_t i = element_of(x, axis, j, k);
        long double a, b;

        if (!known(x, i, &a) || !known(w, same_shape(x, w) ? i : k, &b))
            return false;
        top += a * b;
        bottom += b;
        size += fabsl(a * b);
        weight += fabsl(b);
    }
    *r = top / bottom;
    *err = 1e-12 * (double)((size + fabsl(*r) * weight) / fabsl(bottom));
    return fabsl(bottom) > 1e-6L * weight && fabsl(bottom) > 1e-25L;
}

static int reference_average(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0), *w = array_of(run, s, 1);
    const ht_dtype dtype = promote(x->dtype, w->dtype);
    int axis = (int)s->n[0];
    int64_t n;

    if (axis != HT_NONE && !axis_of(&axis, x->ndim))
        return WANT_FAILURE;
    if (!same_shape(x, w) && (axis == HT_NONE || w->ndim != 1 || w->shape[0] != x->shape[axis]))
        return HT_ERR_SHAPE;
    if (kind_of(dtype) == KIND_COMPLEX || run->program->differentiates)
        return WANT_ANYTHING;
    n = axis == HT_NONE ? array_size(x) : x->shape[axis];
    if (array_size(x) == 0)
        return WANT_ANYTHING; /* the weights alone say whether it is an error */
    *out = reduced(x, axis, rounded(dtype));
    for (int64_t j = 0; j < array_size(out); j++) {
        long double r;
        double err;

        if (!averaged(x, w, axis, j, n, &r, &err))
            return WANT_ANYTHING; /* weights may add up to 0, which is an error */
        array_set(out, j,
                  fabsl(r) < max_of(out->dtype) / 4 ? within(out->dtype, r, err)
                                                    : number_unknown());
    }
    return WANT_SUCCESS;
}

/* --- Covariances: n[1] rows are variables, n[0] ddof; the same for corrcoef --- */

static bool generate_covariance(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick_any(run);
    s->n[0] = random_below(&run->random, 3);
    s->n[1] = random_below(&run->random, 2);
    return s->arg[0] >= 0 && array_of(run, s, 0)->ndim > 0;
}

static struct outcome call_cov(struct run *run, const struct statement *s)
{
    ht_tensor *x = tensor_of(run, s, 0);

    return made(s->n[0] < 2 ? ht_cov(x, NULL, s->n[1] != 0, s->n[0] == 0)
                            : ht_cov_ext(x, NULL, s->n[1] != 0, s->n[0]));
}

static struct outcome call_corrcoef(struct run *run, const struct statement *s)
{
    return made(ht_corrcoef(tensor_of(run, s, 0), NULL, s->n[1] != 0));
}

/* The k-th observation of a variable. */
static bool observed(const struct statement *s, const struct array *x, int64_t variable, int64_t k,
                     long double *a)
{
    const bool rows = s->n[1] != 0 || x->ndim == 1;

    return known(x, rows ? variable * x->shape[x->ndim - 1] + k : k * x->shape[1] + variable, a);
}

/* The sum of products of distances, and the largest element. */
static bool scattered(const struct statement *s, const struct array *x, int64_t i, int64_t j,
                      int64_t n, long double *sum, long double *most)
{
    long double a = 0, b = 0, mean = 0, other = 0;

    for (int64_t k = 0; k < n; k++) {
        if (!observed(s, x, i, k, &a) || !observed(s, x, j, k, &b))
            return false;
        mean += a / n;
        other += b / n;
        *most = fmaxl(*most, fmaxl(fabsl(a), fabsl(b)));
    }
    *sum = 0;
    for (int64_t k = 0; k < n; k++) {
        observed(s, x, i, k, &a);
        observed(s, x, j, k, &b);
        *sum += (a - mean) * (b - other);
    }
    return true;
}

static struct number covariance(const struct statement *s, const struct array *x, int64_t i,
                                int64_t j, int64_t n, bool coefficient, ht_dtype dtype)
{
    long double c, si, sj, most = 0, size;

    if (!scattered(s, x, i, j, n, &c, &most))
        return number_unknown();
    size = most * most * n;
    if (!coefficient && size > max_of(dtype) / 4)
        return number_unknown();
    if (!coefficient)
        return within(dtype, c / (n - s->n[0]), 1e-13 * (double)size);
    scattered(s, x, i, i, n, &si, &most);
    scattered(s, x, j, j, n, &sj, &most);
    size = most * most * n;
    if (!(si > 1e-5L * size && sj > 1e-5L * size && si > 1e-30L && sj > 1e-30L))
        return number_unknown();
    return within(dtype, c / sqrtl(si * sj), 1e-7);
}

static int covariances(struct run *run, const struct statement *s, struct array *out,
                       bool coefficient)
{
    const struct array *x = array_of(run, s, 0);
    const bool rows = s->n[1] != 0 || x->ndim == 1;
    int64_t v, n;

    if (x->ndim > 2)
        return HT_ERR_SHAPE;
    v = x->ndim == 1 ? 1 : x->shape[rows ? 0 : 1];
    n = x->ndim == 1 ? x->shape[0] : x->shape[rows ? 1 : 0];
    if (n <= (coefficient ? 0 : s->n[0]))
        return HT_ERR_ARGUMENT;
    if (kind_of(x->dtype) == KIND_COMPLEX || run->program->differentiates)
        return WANT_ANYTHING;
    *out = array_new(rounded(x->dtype), x->ndim == 1 ? 0 : 2, (int64_t[]){v, v});
    for (int64_t i = 0; i < v * v; i++)
        array_set(out, i, covariance(s, x, i / v, i % v, n, coefficient, out->dtype));
    return WANT_SUCCESS;
}

static int reference_cov(struct run *run, const struct statement *s, struct array *out)
{
    return covariances(run, s, out, false);
}

static int reference_corrcoef(struct run *run, const struct statement *s, struct array *out)
{
    return covariances(run, s, out, true);
}

const struct op ops_moments[] = {
    {"ht_skew(%t, %n, %n)", 3, generate_axis, call_skew, reference_skew, .rules = 0},
    {"ht_kurtosis(%t, %n, %n, %n)", 3, generate_axis, call_kurtosis, reference_kurtosis,
     .rules = 0},
    {"ht_average(%t, %n, %t)", 3, generate_axis, call_average, reference_average, .rules = 0},
    {"ht_cov(%t, ddof %n, rowvar %n)", 3, generate_covariance, call_cov, reference_cov, .rules = 0},
    {"ht_corrcoef(%t, %n, rowvar %n)", 2, generate_covariance, call_corrcoef, reference_corrcoef,
     .rules = 0},
    {0}};
