/* SPDX-License-Identifier: MIT
 *
 * The public Fourier transforms: each chooses a kernel and the axes, after x was cut or padded to
 * the lengths. fft_axis.c says how data move. Hermitian transforms are the other ones between
 * conjugates. Transforms are linear, so their backward passes are the adjoint transforms, which
 * need no saved tensors. */
#include <math.h>
#include <string.h>

#include "core/algorithms/fft/fft.h"
#include "ht/arithmetics.h"
#include "ht/complex_math.h"
#include "ht/fft.h"
#include "ht/manipulations.h"

typedef struct fft_form {
    ht_kernel kernel; /* along the last of the axes; FFT_COMPLEX along the others */
    int sign;
    bool forward; /* in what a norm divides */
    bool conj_in, conj_out;
} fft_form;

/* The transform of x: axes wrapped, and the length of each (HT_NONE: unchanged). */
typedef struct fft_job {
    const char *what;
    const fft_form *row;
    ht_fft_norm norm;
    const char *length; /* the name of n among the arguments */
    int count;
    int axes[HT_MAX_NDIM];
    int64_t n[HT_MAX_NDIM];
} fft_job;

/* ---- one axis, in the graph ----------------------------------------------------------------- */

/* The numbers that represent two of a symmetric line, times `factor`; h has no other reference. */
static ht_tensor *weigh_pairs(const ht_fft_line *t, ht_tensor *h, double factor)
{
    const int64_t end = (t->n + 1) / 2;

    if (h == NULL || end <= 1)
        return h;
    return ht_mul_scalar_(ht_narrow(h, t->axis, 1, end), factor) == HT_SUCCESS ? h : NULL;
}

static void line_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_fft_line t = *(const ht_fft_line *)ht_node_context(node, 0);

    t.sign = -t.sign;
    switch (t.kernel) {
    case HT_KERNEL_FFT_REAL:
        t.kernel = HT_KERNEL_FFT_HERMITIAN;
        g = weigh_pairs(&t, ht_copy(g), 0.5);
        gin[0] = g != NULL ? ht__fft_axis(&t, g, true) : NULL;
        break;
    case HT_KERNEL_FFT_HERMITIAN:
        t.kernel = HT_KERNEL_FFT_REAL;
        gin[0] = weigh_pairs(&t, ht__fft_axis(&t, g, false), 2);
        break;
    default:
        gin[0] = ht__fft_axis(&t, g, false);
    }
}

static ht_tensor *do_line(const ht_fft_line *t, ht_tensor *x, bool owned)
{
    const bool was = ht_set_grad_enabled(false);
    ht_tensor *y = ht__fft_axis(t, x, owned);
    ht_node *node;

    if (y == x && y != NULL) /* done in place: another handle, for another node */
        y = ht__tensor_new(ht_retain(x->body));
    ht_set_grad_enabled(was);
    node = y != NULL ? ht_node_new(t->what, line_backward, 1, &x) : NULL;
    if (node == NULL)
        return y;
    memcpy(ht_node_context(node, sizeof *t), t, sizeof *t);
    return ht_node_set_output(node, y);
}

/* ---- lengths and dtypes --------------------------------------------------------------------- */

/* Whether the operand's line i is one half of a symmetric line. */
static bool is_half(const fft_job *job, int i)
{
    return i == job->count - 1 && job->row->kernel == HT_KERNEL_FFT_HERMITIAN;
}

/* Zeros behind the elements of an axis, or fewer of those. */
static ht_tensor *resize(ht_tensor *x, int axis, int64_t length)
{
    const int pairs = x->body->ndim - axis;
    const int64_t more = length - x->body->shape[axis];
    int64_t widths[2 * HT_MAX_NDIM] = {0, more};

    if (more == 0)
        return x;
    return more > 0 ? ht_pad(x, 2 * pairs, widths, HT_NUM(0)) : ht_narrow(x, axis, 0, length);
}

/* Fills job->n with the length of each transform. */
static bool check_lengths(fft_job *job, const ht_tensor *x)
{
    for (int i = 0; i < job->count; i++) {
        const int64_t length = x->body->shape[job->axes[i]];
        int64_t *n = &job->n[i];
        const bool given = *n != HT_NONE;

        if (!given)
            *n = is_half(job, i) ? 2 * (length - 1) : length;
        if (*n < 1 || *n >= INT64_C(1) << 59) {
            HT_FAIL(x->body->comm, *n < 1 ? HT_ERR_ARGUMENT : HT_ERR_SHAPE,
                    given ? "%s: %s is %lld along axis %d of x of shape %s, expected at least 1 "
                            "and less than 2^59"
                          : "%s: %s would be %lld along axis %d of x of shape %s, expected at "
                            "least 1",
                    job->what, job->length, (long long)*n, job->axes[i],
                    ht__shape_str(x->body->ndim, x->body->shape));
            return false;
        }
    }
    return true;
}

static ht_tensor *resize_all(const fft_job *job, ht_tensor *x)
{
    for (int i = 0; i < job->count && x != NULL; i++)
        x = resize(x, job->axes[i], is_half(job, i) ? job->n[i] / 2 + 1 : job->n[i]);
    return x;
}

static bool check_dtype(const fft_job *job, const ht_tensor *x)
{
    const ht_dtype dtype = x->body->dtype;
    const bool real = job->row->kernel == HT_KERNEL_FFT_REAL;

    if (dtype != HT_FLOAT16 && dtype != HT_BFLOAT16 && !(real && ht_dtype_is_complex(dtype)))
        return true;
    HT_FAIL(x->body->comm, HT_ERR_DTYPE, "%s: x is %s, expected %s", job->what,
            ht_dtype_name(dtype),
            real ? "real numbers of 32 or 64 bits" : "numbers of 32 bits or more");
    return false;
}

/* x in the dtype that the first transform reads. */
static ht_tensor *cast(const fft_job *job, ht_tensor *x)
{
    const ht_dtype dtype = x->body->dtype;

    if (ht_dtype_is_complex(dtype))
        return x;
    if (job->row->kernel == HT_KERNEL_FFT_REAL)
        return ht_astype(x, dtype == HT_FLOAT64 ? HT_FLOAT64 : HT_FLOAT32);
    return ht_astype(x, dtype == HT_FLOAT64 ? HT_COMPLEX128 : HT_COMPLEX64);
}

static double scale_of(const fft_job *job, int64_t n)
{
    if (job->norm == HT_FFT_ORTHO)
        return 1 / sqrt((double)n);
    return (job->norm == HT_FFT_FORWARD) == job->row->forward ? 1 / (double)n : 1;
}

static ht_tensor *transform_axis(const fft_job *job, int i, ht_tensor *x, bool owned)
{
    const bool last = i == job->count - 1;
    const ht_fft_line line = {.what = job->what,
                              .kernel = last ? job->row->kernel : HT_KERNEL_FFT_COMPLEX,
                              .axis = job->axes[i],
                              .n = job->n[i],
                              .sign = job->row->sign,
                              .scale = scale_of(job, job->n[i])};

    return do_line(&line, x, owned);
}

/* Along the last axis first, but where that leaves the complex numbers. */
static ht_tensor *transform(fft_job *job, ht_tensor *x)
{
    const bool last_first = job->row->kernel != HT_KERNEL_FFT_HERMITIAN;

    if (!check_lengths(job, x) || !check_dtype(job, x))
        return NULL;
    if (job->count == 0)
        return cast(job, x);
    HT_NAMED(job->what);
    x = ht_retain(x);
    HT_STEP(x, resize_all(job, x));
    HT_STEP(x, x != NULL ? cast(job, x) : NULL);
    if (job->row->conj_in)
        HT_STEP(x, ht_conj(x));
    for (int i = 0; i < job->count && x != NULL; i++)
        HT_STEP(x, transform_axis(job, last_first ? job->count - 1 - i : i, x, i > 0));
    if (job->row->conj_out)
        HT_STEP(x, ht_conj(x));
    return ht_scope_adopt(x);
}

/* ---- arguments ------------------------------------------------------------------------------ */

static bool check_norm(const fft_job *job, const ht_tensor *x)
{
    if ((unsigned)job->norm <= HT_FFT_ORTHO)
        return true;
    HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: norm is %d, expected an ht_fft_norm", job->what,
            (int)job->norm);
    return false;
}

static bool check_axes(fft_job *job, const ht_tensor *x)
{
    unsigned seen = 0;

    for (int i = 0; i < job->count; i++) {
        if (!ht__check_axis(job->what, x, &job->axes[i]))
            return false;
        if ((seen >> job->axes[i] & 1) != 0) {
            HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: axis %d is given twice", job->what,
                    job->axes[i]);
            return false;
        }
        seen |= 1u << job->axes[i];
    }
    if (job->count > 0 || job->row->kernel == HT_KERNEL_FFT_COMPLEX)
        return true;
    HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
            "%s: the list of axes is empty, expected at least one axis", job->what);
    return false;
}

static ht_tensor *over_axis(const char *what, const fft_form *row, ht_tensor *x, int64_t n,
                            int axis, ht_fft_norm norm)
{
    fft_job job = {what, row, norm, "n", 1, {axis}, {n}};

    if (HT_IS_NULL(x, what, "x") || !check_norm(&job, x) || !check_axes(&job, x))
        return NULL;
    return transform(&job, x);
}

/* usual: how many axes it is without lengths and axes; -1: all. */
static ht_tensor *over_axes(const char *what, const fft_form *row, int usual, ht_tensor *x,
                            int s_count, const int64_t s[], int axis_count, const int axes[],
                            ht_fft_norm norm)
{
    fft_job job = {.what = what, .row = row, .norm = norm, .length = "s"};

    if (HT_IS_NULL(x, what, "x") ||
        !ht__check_list(what, x->body->comm, "s_count", s_count, "s", s) ||
        !ht__check_list(what, x->body->comm, "axis_count", axis_count, "axes", axes))
        return NULL;
    job.count = axes != NULL ? axis_count
                : s != NULL  ? s_count
                : usual >= 0 ? usual
                             : x->body->ndim;
    if (axes == NULL && s == NULL && job.count > x->body->ndim) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: x is %s, expected at least %d axes", what,
                ht__shape_str(x->body->ndim, x->body->shape), job.count);
        return NULL;
    }
    if (job.count > x->body->ndim || (s != NULL && s_count != job.count)) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT,
                "%s: %d axes and %d lengths are given for x of shape %s, expected a length for "
                "each axis, and at most the axes of x",
                what, job.count, s != NULL ? s_count : job.count,
                ht__shape_str(x->body->ndim, x->body->shape));
        return NULL;
    }
    for (int i = 0; i < job.count; i++) {
        job.axes[i] = axes != NULL ? axes[i] : x->body->ndim - job.count + i;
        job.n[i] = s != NULL ? s[i] : HT_NONE;
    }
    if (!check_norm(&job, x) || !check_axes(&job, x))
        return NULL;
    return transform(&job, x);
}

/* ---- names ---------------------------------------------------------------------------------- */

/* clang-format off */
#define FFT(f, ...)                                                                             \
    static const fft_form f##_row = {__VA_ARGS__};                                               \
    ht_tensor *ht_##f(ht_tensor *x, int64_t n, int axis, ht_fft_norm norm)                      \
    { return over_axis("ht_" #f, &f##_row, x, n, axis, norm); }                                 \
    FFT_OF_AXES(f, f##2, 2)                                                                     \
    FFT_OF_AXES(f, f##n, -1)
#define FFT_OF_AXES(f, name, usual)                                                             \
    ht_tensor *ht_##name(ht_tensor *x)                                                          \
    { return over_axes("ht_" #name, &f##_row, usual, x, 0, NULL, 0, NULL, HT_FFT_BACKWARD); }   \
    ht_tensor *ht_##name##_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,    \
                               const int axes[], ht_fft_norm norm)                              \
    { return over_axes("ht_" #name "_ext", &f##_row, usual, x, s_count, s, axis_count, axes,    \
                       norm); }
/* clang-format on */

FFT(fft, .kernel = HT_KERNEL_FFT_COMPLEX, .sign = -1, .forward = true)
FFT(ifft, .kernel = HT_KERNEL_FFT_COMPLEX, .sign = 1)
FFT(rfft, .kernel = HT_KERNEL_FFT_REAL, .sign = -1, .forward = true)
FFT(irfft, .kernel = HT_KERNEL_FFT_HERMITIAN, .sign = 1)
FFT(hfft, .kernel = HT_KERNEL_FFT_HERMITIAN, .sign = 1, .forward = true, .conj_in = true)
FFT(ihfft, .kernel = HT_KERNEL_FFT_REAL, .sign = -1, .conj_out = true)
