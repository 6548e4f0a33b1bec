/* SPDX-License-Identifier: MIT
 *
 * Fourier transforms, by the definition: n[0] the length, n[1] the axis, n[2] the norm. */
#include <stdlib.h>

#include "fuzz/fuzz.h"

typedef ht_tensor *fft_fn(ht_tensor *x, int64_t n, int axis, ht_fft_norm norm);

/* By `what` of a row. */
static const struct transform {
    fft_fn *line;
    ht_tensor *(*plane)(ht_tensor *x), *(*all)(ht_tensor *x);
    int sign;
    bool forward, real_in, real_out;
} transforms[] = {{ht_fft, ht_fft2, ht_fftn, -1, true, false, false},
                  {ht_ifft, ht_ifft2, ht_ifftn, 1, false, false, false},
                  {ht_rfft, ht_rfft2, ht_rfftn, -1, true, true, false},
                  {ht_irfft, ht_irfft2, ht_irfftn, 1, false, false, true},
                  {ht_hfft, ht_hfft2, ht_hfftn, -1, true, false, true},
                  {ht_ihfft, ht_ihfft2, ht_ihfftn, 1, false, true, false}};

enum { TRANSFORMS = sizeof transforms / sizeof *transforms, MOST_NUMBERS = 2000 };

static const struct transform *transform_of(const struct statement *s)
{
    return &transforms[s->op->row.reduction.what % TRANSFORMS];
}

static bool generate_line(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick_any(run);
    if (s->arg[0] < 0 || array_of(run, s, 0)->ndim == 0)
        return false;
    s->n[0] = random_chance(&run->random, 60) ? HT_NONE : random_below(&run->random, 12);
    s->n[1] = random_axis(run, array_of(run, s, 0)->ndim);
    s->n[2] = random_below(&run->random, 3);
    return true;
}

static struct outcome call_line(struct run *run, const struct statement *s)
{
    return made(
        transform_of(s)->line(tensor_of(run, s, 0), s->n[0], (int)s->n[1], (ht_fft_norm)s->n[2]));
}

static struct number conjugate(struct number a)
{
    struct dual *d = a.d;

    a.im = -a.im;
    if (d == NULL)
        return a;
    a.d = arena_duals();
    for (int k = 0; k < MAX_DUALS; k++)
        a.d[k] = (struct dual){d[k].re, -d[k].im, d[k].size};
    return a;
}

static struct number real_part(struct number a)
{
    struct number b = conjugate(a);

    b.im = 0;
    for (int k = 0; a.d != NULL && k < MAX_DUALS; k++)
        b.d[k].im = 0;
    return b;
}

/* scale * sum over j of line[j] exp(sign 2 pi i j k / n); how far a sum of logarithmically many
 * steps may be off is in proportion to the sizes of its terms. */
static struct number sum_line(ht_dtype dtype, const struct number *line, int64_t n, int64_t k,
                              int sign, double scale)
{
    struct number sum = {.err = 0};
    double size = 0;
    bool unknown = false;

    for (int64_t j = 0; j < n; j++) {
        const double complex w = scale *
                                 cexp(sign * 2 * M_PI * I * (double)(j * k % n) / (double)n);
        const double complex term = number_z(line[j]) * w;

        unknown = unknown || is_unknown(line[j]) || !isfinite(cabs(number_z(line[j])));
        sum.re += creal(term);
        sum.im += cimag(term);
        sum.err += scale * line[j].err;
        size += number_abs(dtype, line[j]);
        if (line[j].d == NULL)
            continue;
        if (sum.d == NULL)
            sum.d = arena_duals();
        add_duals(sum.d, w, line[j].d);
    }
    if (unknown || size > max_of(dtype) / 8)
        sum.err = INFINITY;
    else
        sum.err += 16 * eps_of(dtype) * scale * size + 64 * (double)n * ulp(dtype, 0);
    return sum;
}

static double scale_of(ht_fft_norm norm, bool forward, int64_t n)
{
    if (norm == HT_FFT_ORTHO)
        return 1 / sqrt((double)n);
    return (norm == HT_FFT_FORWARD) == forward ? 1 / (double)n : 1;
}

/* One line of x, from `first` on, as the sums run over it. */
static void load_line(const struct array *x, ht_dtype dtype, int64_t first, int64_t inner,
                      int64_t length, bool half, int64_t n, struct number *line)
{
    for (int64_t j = 0; j < n; j++) {
        const bool mirrored = half && j > n / 2;
        const int64_t at = mirrored ? n - j : j;

        line[j] = number_of(dtype, ht_number_integer(0));
        if (at < length)
            line[j] = convert(array_at(x, first + at * inner), x->dtype, dtype);
        if (half && (j == 0 || 2 * j == n))
            line[j] = real_part(line[j]);
        else if (mirrored)
            line[j] = conjugate(line[j]);
    }
}

static int do_line(struct run *run, const struct transform *t, bool real, const struct array *x,
                   int axis, int64_t n, ht_fft_norm norm, struct array *out)
{
    const bool half = real && t->real_out, real_in = real && t->real_in;
    const bool wide = x->dtype == HT_FLOAT64 || x->dtype == HT_COMPLEX128;
    const ht_dtype dtype = wide ? HT_COMPLEX128 : HT_COMPLEX64;
    const int64_t length = x->shape[axis];
    const int64_t inner = shape_size(x->ndim - axis - 1, x->shape + axis + 1);
    int64_t shape[HT_MAX_NDIM], count = n;
    struct number line[MOST_NUMBERS];

    if (real_in)
        count = n / 2 + 1;
    for (int i = 0; i < x->ndim; i++)
        shape[i] = i == axis ? count : x->shape[i];
    *out = array_new(!half ? dtype : wide ? HT_FLOAT64 : HT_FLOAT32, x->ndim, shape);
    for (int64_t i = 0; i < array_size(out); i++) {
        const int64_t k = i / inner % count, o = i / inner / count;
        struct number a;

        load_line(x, dtype, o * length * inner + i % inner, inner, length, half, n, line);
        a = sum_line(dtype, line, n, k, t->sign, scale_of(norm, t->forward, n));
        a = half ? real_part(a) : a;
        if (!run->recording)
            a.d = NULL;
        array_set(out, i, a);
    }
    return WANT_SUCCESS;
}

static int64_t usual_length(const struct transform *t, bool real, const struct array *x, int axis)
{
    return real && t->real_out ? 2 * (x->shape[axis] - 1) : x->shape[axis];
}

static bool takes(const struct transform *t, ht_dtype dtype)
{
    return dtype != HT_FLOAT16 && dtype != HT_BFLOAT16 &&
           !(t->real_in && kind_of(dtype) == KIND_COMPLEX);
}

static int reference_line(struct run *run, const struct statement *s, struct array *out)
{
    const struct transform *t = transform_of(s);
    const struct array *x = array_of(run, s, 0);
    int axis = (int)s->n[1];
    int64_t n = s->n[0];

    if (!axis_of(&axis, x->ndim))
        return HT_ERR_ARGUMENT;
    n = n == HT_NONE ? usual_length(t, true, x, axis) : n;
    if (n < 1)
        return HT_ERR_ARGUMENT;
    if (!takes(t, x->dtype))
        return HT_ERR_DTYPE;
    if (array_size(x) + n > MOST_NUMBERS)
        return WANT_ANYTHING;
    return do_line(run, t, true, x, axis, n, (ht_fft_norm)s->n[2], out);
}

/* --- Several axes: the last two, or all --- */

static bool is_plane(const struct statement *s)
{
    return s->op->row.reduction.what < TRANSFORMS;
}

static bool generate_axes(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick_any(run);
    return s->arg[0] >= 0;
}

static struct outcome call_axes(struct run *run, const struct statement *s)
{
    const struct transform *t = transform_of(s);

    return made((is_plane(s) ? t->plane : t->all)(tensor_of(run, s, 0)));
}

static int reference_axes(struct run *run, const struct statement *s, struct array *out)
{
    const struct transform *t = transform_of(s);
    const struct array *x = array_of(run, s, 0);
    const int count = is_plane(s) ? 2 : x->ndim;
    struct array y = *x;

    if (count > x->ndim || (count == 0 && (t->real_in || t->real_out)))
        return HT_ERR_ARGUMENT;
    for (int i = 0; i < count; i++) {
        if (usual_length(t, i == 0, x, x->ndim - 1 - i) < 1)
            return HT_ERR_ARGUMENT;
    }
    if (!takes(t, x->dtype))
        return HT_ERR_DTYPE;
    if (count == 0 || array_size(x) > MOST_NUMBERS / 8)
        return WANT_ANYTHING;
    for (int i = 0; i < count; i++) {
        const bool real = t->real_out ? i == count - 1 : i == 0;
        const int axis = t->real_out ? x->ndim - count + i : x->ndim - 1 - i;

        do_line(run, t, real, &y, axis, usual_length(t, real, &y, axis), HT_FFT_BACKWARD, out);
        y = *out;
    }
    return WANT_SUCCESS;
}

/* --- Places --- */

static bool generate_shift(struct run *run, const struct op *op, struct statement *s)
{
    return generate_line(run, op, s);
}

static struct outcome call_shift(struct run *run, const struct statement *s)
{
    const int axis = (int)s->n[1];

    return made((s->op->row.reduction.what == 0 ? ht_fftshift : ht_ifftshift)(tensor_of(run, s, 0),
                                                                              1, &axis));
}

static int reference_shift(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    int axis = (int)s->n[1];
    int64_t at[HT_MAX_NDIM], length;

    if (!axis_of(&axis, x->ndim))
        return HT_ERR_ARGUMENT;
    length = x->shape[axis];
    *out = array_new(x->dtype, x->ndim, x->shape);
    for (int64_t i = 0; i < array_size(x); i++) {
        struct number a;

        unravel(i, x->ndim, x->shape, at);
        at[axis] += s->op->row.reduction.what == 0 ? length - length / 2 : length / 2;
        at[axis] %= length;
        a = array_at_coords(x, x->ndim, at);
        if (!run->recording)
            a.d = NULL;
        array_set(out, i, a);
    }
    return WANT_SUCCESS;
}

#define LINE(f, number)                                                           \
    {                                                                             \
        "ht_" #f "(%t, %n, %n, %n)", 2, generate_line, call_line, reference_line, \
            .row.reduction.what = number, .rules = RULE_SMOOTH                    \
    }
#define AXES(f, number)                                                     \
    {                                                                       \
        "ht_" #f "2(%t)",    1,                                             \
        generate_axes,       call_axes,                                     \
        reference_axes,      .row.reduction.what = number,                  \
        .rules = RULE_SMOOTH},                                              \
    {                                                                       \
        "ht_" #f "n(%t)", 1, generate_axes, call_axes, reference_axes,      \
            .row.reduction.what = TRANSFORMS + number, .rules = RULE_SMOOTH \
    }

const struct op ops_fft[] = {LINE(fft, 0),
                             LINE(ifft, 1),
                             LINE(rfft, 2),
                             LINE(irfft, 3),
                             LINE(hfft, 4),
                             LINE(ihfft, 5),
                             AXES(fft, 0),
                             AXES(ifft, 1),
                             AXES(rfft, 2),
                             AXES(irfft, 3),
                             AXES(hfft, 4),
                             AXES(ihfft, 5),
                             {"ht_fftshift(%t, %n, %n)", 1, generate_shift, call_shift,
                              reference_shift, .row.reduction.what = 0, .rules = RULE_SMOOTH},
                             {"ht_ifftshift(%t, %n, %n)", 1, generate_shift, call_shift,
                              reference_shift, .row.reduction.what = 1, .rules = RULE_SMOOTH},
                             {0}};
