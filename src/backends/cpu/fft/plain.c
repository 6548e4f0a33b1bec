/* SPDX-License-Identifier: MIT
 *
 * Transforms without FFTW, a line at a time, in double. Stockham's steps, which leave the numbers
 * in order, transform products n of small factors. Bluestein's algorithm transforms other lengths,
 * by a convolution whose length is a power of two. */
#include "core/base/base.h"

#include <math.h>
#include <string.h>

#include "backends/cpu/fft/fft.h"

#define FACTORS 64
#define LARGEST 13 /* factor that a step is made for */
#define PI      3.14159265358979323846

typedef struct complex_pair {
    double re, im;
} complex_pair;

typedef struct plain_plan {
    int64_t n;
    int factor_count; /* 0: Bluestein */
    int factors[FACTORS];
    complex_pair *roots; /* owned; n, forward */
    /* Bluestein: */
    struct plain_plan *inner; /* owned; of length m */
    complex_pair *chirp;      /* owned; n */
    complex_pair *filter;     /* owned; m, transformed, over m */
} plain_plan;

static inline complex_pair times(complex_pair a, complex_pair b)
{
    return (complex_pair){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* One step of radix r: x is (r, m, s), y (m, r, s); n = the product of the lengths that are left.
 */
static void step(const plain_plan *plan, int r, int64_t m, int64_t s, const complex_pair *x,
                 complex_pair *y)
{
    const int64_t turn = plan->n / (r * m), whole = plan->n / r;

    for (int64_t p = 0; p < m; p++) {
        for (int64_t q = 0; q < s; q++) {
            for (int k = 0; k < r; k++) {
                complex_pair sum = x[q + s * p];

                for (int j = 1; j < r; j++) {
                    const complex_pair a = times(x[q + s * (p + m * j)],
                                                 plan->roots[j * k % r * whole]);

                    sum.re += a.re;
                    sum.im += a.im;
                }
                y[q + s * (r * p + k)] = times(sum, plan->roots[p * k * turn]);
            }
        }
    }
}

static void step_of_2(const plain_plan *plan, int64_t m, int64_t s, const complex_pair *x,
                      complex_pair *y)
{
    const int64_t turn = plan->n / (2 * m);

    for (int64_t p = 0; p < m; p++) {
        const complex_pair w = plan->roots[p * turn];

        for (int64_t q = 0; q < s; q++) {
            const complex_pair a = x[q + s * p], b = x[q + s * (p + m)];

            y[q + s * 2 * p] = (complex_pair){a.re + b.re, a.im + b.im};
            y[q + s * (2 * p + 1)] = times((complex_pair){a.re - b.re, a.im - b.im}, w);
        }
    }
}

static void run_line(const plain_plan *plan, complex_pair *x, complex_pair *work);

/* x is (n), work (n) or of Bluestein's length m twice. */
static void run_steps(const plain_plan *plan, complex_pair *x, complex_pair *work)
{
    complex_pair *from = x, *to = work;
    int64_t left = plan->n, s = 1;

    for (int i = 0; i < plan->factor_count; i++) {
        const int r = plan->factors[i];
        complex_pair *swap = from;

        left /= r;
        if (r == 2)
            step_of_2(plan, left, s, from, to);
        else
            step(plan, r, left, s, from, to);
        s *= r;
        from = to;
        to = swap;
    }
    if (from != x)
        memcpy(x, from, (size_t)plan->n * sizeof *x);
}

static void run_bluestein(const plain_plan *plan, complex_pair *x, complex_pair *work)
{
    const int64_t m = plan->inner->n;

    memset(work, 0, (size_t)m * sizeof *work);
    for (int64_t i = 0; i < plan->n; i++)
        work[i] = times(x[i], plan->chirp[i]);
    run_line(plan->inner, work, work + m);
    for (int64_t i = 0; i < m; i++) { /* conjugates: the way back by the way there */
        const complex_pair product = times(work[i], plan->filter[i]);

        work[i] = (complex_pair){product.re, -product.im};
    }
    run_line(plan->inner, work, work + m);
    for (int64_t i = 0; i < plan->n; i++)
        x[i] = times((complex_pair){work[i].re, -work[i].im}, plan->chirp[i]);
}

static void run_line(const plain_plan *plan, complex_pair *x, complex_pair *work)
{
    if (plan->inner != NULL)
        run_bluestein(plan, x, work);
    else
        run_steps(plan, x, work);
}

static void plan_free(void *made)
{
    plain_plan *plan = made;

    if (plan == NULL)
        return;
    plan_free(plan->inner);
    ht__free(plan->roots);
    ht__free(plan->chirp);
    ht__free(plan->filter);
    ht__free(plan);
}

static complex_pair root_of(int64_t exponent, int64_t order)
{
    const double angle = -2 * PI * ((double)exponent / (double)order);

    return (complex_pair){cos(angle), sin(angle)};
}

static plain_plan *plan_new(int64_t n);

static void plan_bluestein(plain_plan *plan)
{
    int64_t m = 1;
    complex_pair *work;

    while (m < 2 * plan->n - 1)
        m *= 2;
    plan->inner = plan_new(m);
    plan->chirp = ht__alloc((size_t)plan->n * sizeof *plan->chirp);
    plan->filter = ht__alloc((size_t)m * sizeof *plan->filter);
    work = ht__alloc((size_t)m * sizeof *work);
    for (int64_t i = 0; i < plan->n; i++) {
        const int64_t square = (int64_t)((__extension__(unsigned __int128) i * i) %
                                         (unsigned __int128)(2 * plan->n));
        const complex_pair c = root_of(square, 2 * plan->n);

        plan->chirp[i] = c;
        plan->filter[i] = (complex_pair){c.re / (double)m, -c.im / (double)m};
        plan->filter[(m - i) % m] = plan->filter[i];
    }
    run_line(plan->inner, plan->filter, work);
    ht__free(work);
}

static plain_plan *plan_new(int64_t n)
{
    plain_plan *plan = ht__alloc(sizeof *plan);
    int64_t left = n;

    plan->n = n;
    for (int r = 2; r <= LARGEST; r++) {
        for (; left % r == 0; left /= r)
            plan->factors[plan->factor_count++] = r;
    }
    if (left > 1) {
        plan_bluestein(plan);
        return plan;
    }
    plan->roots = ht__alloc((size_t)n * sizeof *plan->roots);
    for (int64_t i = 0; i < n; i++)
        plan->roots[i] = root_of(i, n);
    return plan;
}

static void *plan_make(const ht_fft_call *call)
{
    return plan_new(call->n);
}

/* ---- lines, in and out ---------------------------------------------------------------------- */

static double number_at(bool single, const void *x, int64_t i)
{
    return single ? ((const float *)x)[i] : ((const double *)x)[i];
}

static void put_number(bool single, void *x, int64_t i, double value)
{
    if (single)
        ((float *)x)[i] = (float)value;
    else
        ((double *)x)[i] = value;
}

/* A line that begins with `first`; backward ones as conjugates. */
static void load(const ht_fft_call *f, int64_t first, complex_pair *line)
{
    const bool single = f->call.dtype == HT_COMPLEX64,
               half = f->call.kernel == HT_KERNEL_FFT_HERMITIAN;
    const int64_t count = half ? f->n / 2 + 1 : f->n;

    for (int64_t j = 0; j < count; j++) {
        const int64_t at = first + j * f->inner;

        if (f->call.kernel == HT_KERNEL_FFT_REAL) {
            line[j] = (complex_pair){number_at(single, f->in.data, at), 0};
            continue;
        }
        line[j].re = number_at(single, f->in.data, 2 * at);
        line[j].im = -f->sign * number_at(single, f->in.data, 2 * at + 1);
    }
    if (!half)
        return;
    line[0].im = 0;
    if (f->n % 2 == 0)
        line[f->n / 2].im = 0;
    for (int64_t j = count; j < f->n; j++)
        line[j] = (complex_pair){line[f->n - j].re, -line[f->n - j].im};
}

static void store(const ht_fft_call *f, int64_t first, const complex_pair *line)
{
    const bool single = f->call.dtype == HT_COMPLEX64;
    const int64_t count = f->call.kernel == HT_KERNEL_FFT_REAL ? f->n / 2 + 1 : f->n;

    for (int64_t k = 0; k < count; k++) {
        const int64_t at = first + k * f->inner;

        if (f->call.kernel == HT_KERNEL_FFT_HERMITIAN) {
            put_number(single, f->out.data, at, f->scale * line[k].re);
            continue;
        }
        put_number(single, f->out.data, 2 * at, f->scale * line[k].re);
        put_number(single, f->out.data, 2 * at + 1, -f->sign * f->scale * line[k].im);
    }
}

int ht__cpu_fft_plain(const ht_fft_call *f)
{
    const int64_t half = f->n / 2 + 1;
    const int64_t in = f->call.kernel == HT_KERNEL_FFT_HERMITIAN ? half : f->n;
    const int64_t out = f->call.kernel == HT_KERNEL_FFT_REAL ? half : f->n;
    const ht_fft_key key = {.n = f->n};
    ht_fft_plan *kept = ht__cpu_fft_plan(&key, plan_make, plan_free, f);
    const plain_plan *plan = kept->plan;
    const int64_t room = plan->inner != NULL ? 2 * plan->inner->n : f->n;
    complex_pair *line = ht__alloc((size_t)(f->n + room) * sizeof *line);

    for (int64_t o = 0; o < f->outer; o++) {
        for (int64_t i = 0; i < f->inner; i++) {
            load(f, o * in * f->inner + i, line);
            run_line(plan, line, line + f->n);
            store(f, o * out * f->inner + i, line);
        }
    }
    ht__free(line);
    ht__cpu_fft_plan_done(kept);
    return 0;
}
