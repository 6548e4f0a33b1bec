/* SPDX-License-Identifier: MIT
 *
 * Products with roots of unity. A root of order m is the product of two roots from tables of about
 * sqrt(m) each. So an element costs two products of complex numbers and no sine. */
#include "core/base/base.h"

#include <math.h>

#include "backends/cpu/fft/fft.h"

typedef struct root {
    double re, im;
} root;

typedef struct roots {
    int64_t order;
    int shift;        /* exponent = (high << shift) + low */
    root *high, *low; /* owned */
} roots;

static root root_of(int64_t exponent, int64_t order, int sign)
{
    const double angle = 2 * 3.14159265358979323846 * ((double)exponent / (double)order);

    return (root){cos(angle), sign * sin(angle)};
}

static roots roots_new(int64_t order, int sign)
{
    roots r = {.order = order};
    int64_t low, high;

    while ((order >> r.shift) > ((int64_t)1 << r.shift))
        r.shift++;
    low = (int64_t)1 << r.shift;
    high = (order >> r.shift) + 1;
    r.low = ht__alloc((size_t)(low + high) * sizeof *r.low);
    r.high = r.low + low;
    for (int64_t i = 0; i < low; i++)
        r.low[i] = root_of(i, order, sign);
    for (int64_t i = 0; i < high; i++)
        r.high[i] = root_of(i << r.shift, order, sign);
    return r;
}

static inline root root_at(const roots *r, int64_t exponent)
{
    const root a = r->high[exponent >> r->shift];
    const root b = r->low[exponent & (((int64_t)1 << r->shift) - 1)];

    return (root){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static inline void multiply(ht_dtype dtype, void *x, int64_t i, root w)
{
    if (dtype == HT_COMPLEX64) {
        float *z = (float *)x + 2 * i;
        const double re = z[0], im = z[1];

        z[0] = (float)(re * w.re - im * w.im);
        z[1] = (float)(re * w.im + im * w.re);
    } else {
        double *z = (double *)x + 2 * i;
        const double re = z[0], im = z[1];

        z[0] = re * w.re - im * w.im;
        z[1] = re * w.im + im * w.re;
    }
}

static int64_t product(int64_t a, int64_t b, int64_t order)
{
    return (int64_t)((__extension__(__int128) a * b) % order);
}

static void multiply_row(const ht_twiddle_call *t, const roots *r, int64_t i)
{
    const int64_t step = (t->row + i) % t->order;
    int64_t exponent = product(t->row + i, t->column, t->order);

    for (int64_t j = 0; j < t->columns; j++) {
        multiply(t->call.dtype, t->x.data, i * t->columns + j, root_at(r, exponent));
        exponent += step;
        exponent -= exponent >= t->order ? t->order : 0;
    }
}

static void multiply_squares(const ht_twiddle_call *t, const roots *r)
{
    for (int64_t j = 0; j < t->columns; j++)
        multiply(t->call.dtype, t->x.data, j,
                 root_at(r, product(t->column + j, t->column + j, t->order)));
}

int ht__cpu_fft_twiddle(void *stream, const ht_kernel_call *call)
{
    const ht_twiddle_call *t = (const ht_twiddle_call *)call;
    const roots r = roots_new(t->order, t->sign);

    (void)stream;
    if (t->square)
        multiply_squares(t, &r);
    for (int64_t i = 0; i < t->rows && !t->square; i++)
        multiply_row(t, &r, i);
    ht__free(r.low);
    return 0;
}
