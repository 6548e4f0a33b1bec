/* SPDX-License-Identifier: MIT
 *
 * The Fourier transform of a vector that is split over all ranks and never gathered on one.
 *
 * With n = n1 n2, and x as a matrix (n1, n2) (Bailey's four steps), columns are transformed and
 * multiplied by roots of unity. Then rows are transformed, and the result is read by columns:
 *     X[k1 + n1 k2] = sum over j2 of w(n2)^(j2 k2) w(n)^(j2 k1) sum over j1 of x[j1 n2 + j2]
 *                     w(n1)^(j1 k1)
 * This takes three Alltoalls of the vector: from rows to columns, back, and to columns again. If
 * the ranks do not divide n1 and n2, two more move elements to other slabs. Both factors are at
 * least the number of ranks, so that each rank has its share.
 * Each step releases its input. In addition to x a rank stores its part of a vector twice, sent and
 * received. If the ranks do not divide the factors, it stores it a third time.
 *
 * A length without two such factors (a prime) becomes a convolution with a chirp (Bluestein). Its
 * length m has such factors and is two to three times as long, and it takes three transforms. The
 * filter is transformed first, so that a rank stores its part of m numbers at most four times.
 *
 * A vector that fits into a small message is gathered, and each rank transforms it alone: one
 * Allgather of at most 16 KiB takes less time than three Alltoalls. */
#include <math.h>

#include "core/algorithms/fft/fft.h"
#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/manipulations.h"

#define SMALL ((int64_t)16 << 10) /* bytes */

static bool divides(int64_t d, int64_t n)
{
    return n % d == 0;
}

/* The smaller of two factors, each at least the number of ranks: those nearest to each other, or if
 * there are any, that the ranks divide. 0: there are none. */
static int64_t find_factor(int64_t n, int64_t ranks)
{
    int64_t found = 0, d = (int64_t)sqrt((double)n);

    for (; d >= ranks; d--) {
        if (!divides(d, n))
            continue;
        if (divides(ranks, d) && divides(ranks, n / d))
            return d;
        found = found == 0 ? d : found;
    }
    return found;
}

/* The local part of x, contiguous, times roots of unity. */
static ht_status twiddle(const char *what, ht_tensor *x, ht_twiddle_call *call)
{
    if (x->body->lsize == 0)
        return HT_SUCCESS;
    call->call.operands = 1;
    call->x = ht__operand_of(x->body, HT_WRITE);
    ht__storage_touch(x->body->storage);
    return HT_RUN(x, HT_KERNEL_FFT_TWIDDLE, call, what);
}

static ht_tensor *transform_lines(const ht_fft_line *t, ht_tensor *x, int axis, int64_t n,
                                  double scale)
{
    ht_fft_line line = *t;

    line.axis = axis;
    line.n = n;
    line.scale = scale;
    return x != NULL ? ht__fft_local(&line, x, true) : NULL;
}

/* Columns transformed, in place: x is (n1, n / n1), split along 1, without another reference. */
static ht_tensor *do_columns(const ht_fft_line *t, ht_tensor *x, int64_t n1)
{
    ht_twiddle_call call = {.rows = n1, .order = t->n, .sign = t->sign};

    x = transform_lines(t, x, 0, n1, 1);
    if (x == NULL)
        return NULL;
    call.columns = x->body->lshape[1];
    call.column = x->body->split_start;
    return twiddle(t->what, x, &call) == HT_SUCCESS ? x : NULL;
}

/* x and the result are owned; x is released. */
static ht_tensor *four_steps(const ht_fft_line *t, ht_tensor *x, int64_t n1)
{
    const int64_t n2 = t->n / n1;

    HT_STEP(x, ht_reshape(x, HT_SHAPE(n1, n2)));
    HT_STEP(x, ht_resplit(x, 1));
    HT_STEP(x, do_columns(t, x, n1));
    HT_STEP(x, ht_resplit(x, 0));
    HT_STEP(x, transform_lines(t, x, 1, n2, t->scale));
    HT_STEP(x, ht_resplit(x, 1));
    HT_STEP(x, ht__without_base(ht_reshape(ht_transpose(x, 0, 1), HT_SHAPE(t->n))));
    return x;
}

/* A part [start, stop) of a vector times exp(sign i pi e^2 / n), e counted from `first` on. */
static ht_status chirp(const ht_fft_line *t, ht_tensor *part, int64_t first, int sign)
{
    ht_twiddle_call call = {.rows = 1,
                            .columns = part->body->lsize,
                            .column = first + part->body->split_start,
                            .order = 2 * t->n,
                            .sign = sign,
                            .square = true};

    return twiddle(t->what, part, &call);
}

/* The filter of the convolution: the chirp of -n + 1 ... n - 1, around the end of m elements. */
static ht_tensor *chirp_filter(const ht_fft_line *t, const ht_tensor *like, int64_t m)
{
    ht_tensor *y = ht_zeros_ext(1, &m, like->body->dtype, 0, like->body->storage->device,
                                like->body->comm);
    ht_tensor *head = y != NULL ? ht_narrow(y, 0, 0, t->n) : NULL;
    ht_tensor *tail = y != NULL ? ht_narrow(y, 0, m - t->n + 1, m) : NULL;

    if (head == NULL || tail == NULL || ht_fill_(head, 1) != HT_SUCCESS ||
        ht_fill_(tail, 1) != HT_SUCCESS || chirp(t, head, 0, -t->sign) != HT_SUCCESS ||
        chirp(t, tail, -t->n + 1, -t->sign) != HT_SUCCESS)
        return NULL;
    return y;
}

/* A length from `least` on of small factors, half of them times the ranks on either side. */
static int64_t convenient_length(int64_t least, int64_t ranks)
{
    int64_t best = 0;

    for (int64_t odd = 1; odd <= 7; odd += 2) {
        int64_t m = odd * ranks * ranks;

        while (m < least)
            m *= 2;
        best = best == 0 || m < best ? m : best;
    }
    return best;
}

/* A vector of length n in new memory, times the chirp. x and the result are owned; x is released.
 */
static ht_tensor *chirped(const ht_fft_line *t, ht_tensor *x)
{
    HT_STEP(x, ht_copy(ht_balance(x)));
    HT_STEP(x, x != NULL && chirp(t, x, 0, t->sign) == HT_SUCCESS ? x : NULL);
    return x;
}

/* x and the result are owned; x is released. */
static ht_tensor *bluestein(const ht_fft_line *t, ht_tensor *x)
{
    const int64_t ranks = x->body->comm->size, m = convenient_length(2 * t->n - 1, ranks);
    const int64_t factor = find_factor(m, ranks);
    ht_fft_line there = {t->what, t->kernel, 0, m, -1, 1};
    ht_fft_line back = {t->what, t->kernel, 0, m, 1, t->scale / (double)m};
    ht_tensor *filter = NULL;

    HT_STEP(filter, chirp_filter(t, x, m));
    filter = four_steps(&there, filter, factor);
    x = filter != NULL ? chirped(t, x) : x;
    HT_STEP(x, ht_pad(x, HT_SHAPE(0, m - t->n), HT_NUM(0)));
    x = four_steps(&there, x, factor);
    HT_STEP(x, ht_mul_(x, filter) == HT_SUCCESS ? x : NULL);
    ht_release(filter);
    x = four_steps(&back, x, factor);
    HT_STEP(x, ht_narrow(x, 0, 0, t->n));
    return chirped(t, x);
}

ht_tensor *ht__fft_vector(const ht_fft_line *t, ht_tensor *x)
{
    int64_t factor;

    if (x == NULL)
        return NULL;
    if (t->n * (int64_t)ht_dtype_size(x->body->dtype) <= SMALL) {
        HT_STEP(x, ht_resplit(x, HT_NONE));
        HT_STEP(x, ht__fft_local(t, x, true));
        HT_STEP(x, ht_resplit(x, 0));
        return x;
    }
    factor = find_factor(t->n, x->body->comm->size);
    return factor > 0 ? four_steps(t, x, factor) : bluestein(t, x);
}
