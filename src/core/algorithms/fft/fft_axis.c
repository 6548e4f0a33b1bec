/* SPDX-License-Identifier: MIT
 *
 * Fourier transforms along one axis of a tensor of any split. An axis that is not split is
 * transformed where it is.
 *
 * Along the split axis, x is a set of lines, one for each combination of indices of the other axes.
 * One Alltoall gives each rank complete lines, and another one brings the parts back. Each moves
 * the numbers once; real lines travel as real numbers. A rank stores its part of x and two more
 * parts that are sent and received. If there are too few lines to keep the ranks busy, all ranks
 * transform each line together (fft_vector.c), with three Alltoalls. */
#include "core/algorithms/fft/fft.h"

#include "core/collective/collective.h"
#include "ht/arithmetics.h"
#include "ht/complex_math.h"
#include "ht/manipulations.h"

/* The numbers of a symmetric line, of which h has those up to the middle. */
static ht_tensor *whole_line(ht_tensor *h, int64_t n)
{
    ht_tensor *rest = ht_conj(ht_flip(ht_narrow(h, 0, 1, (n + 1) / 2), 0, NULL));

    return ht_concatenate(2, (ht_tensor *[]){h, rest}, 0);
}

/* One line over all ranks, owned. */
static ht_tensor *transform_vector(const ht_fft_line *t, ht_tensor *x)
{
    const bool hermitian = t->kernel == HT_KERNEL_FFT_HERMITIAN;
    ht_fft_line whole = *t;
    ht_tensor *y = NULL;

    whole.kernel = HT_KERNEL_FFT_COMPLEX;
    whole.axis = 0;
    HT_STEP(y, hermitian ? whole_line(x, t->n) : ht_astype(x, ht__fft_complex(x->body->dtype)));
    y = ht__fft_vector(&whole, y);
    if (hermitian)
        HT_STEP(y, ht_real(y));
    else if (t->kernel == HT_KERNEL_FFT_REAL)
        HT_STEP(y, ht_balance(ht_narrow(y, 0, 0, ht__fft_length(t, true))));
    return y;
}

/* Row i of (lines, n), split along 1, transformed; scoped. */
static ht_tensor *row_done(const ht_fft_line *t, ht_tensor *rows, int64_t i)
{
    ht_tensor *row = ht_reshape(ht_narrow(rows, 0, i, i + 1), 1, &rows->body->shape[1]);

    return row != NULL ? ht_scope_adopt(transform_vector(t, row)) : NULL;
}

/* rows: (lines, n), split along 1. */
static ht_tensor *one_by_one(const ht_fft_line *t, ht_tensor *rows)
{
    const int64_t lines = rows->body->shape[0], length = ht__fft_length(t, true);
    ht_tensor *y;

    if (lines == 1)
        return ht_reshape(row_done(t, rows, 0), HT_SHAPE(1, length));
    y = ht__fft_result(t, rows);
    for (int64_t i = 0; y != NULL && i < lines; i++) {
        ht_scope *scope = ht_scope_open();
        ht_tensor *place = ht_reshape(ht_narrow(y, 0, i, i + 1), 1, &length);
        ht_tensor *done = row_done(t, rows, i);
        const bool good = done != NULL && ht_copy_(place, done) == HT_SUCCESS;

        ht_scope_close(scope);
        if (!good)
            return NULL;
    }
    return y;
}

/* rows and the result are owned; rows are released. */
static ht_tensor *by_transposition(const ht_fft_line *t, ht_tensor *rows)
{
    HT_STEP(rows, ht_resplit(rows, 0));
    HT_STEP(rows, ht__fft_local(t, rows, true));
    HT_STEP(rows, ht_resplit(rows, 1));
    return rows;
}

/* x as (lines, n), its axis moved to the end, and back. */
static ht_tensor *along_split(const ht_fft_line *t, ht_tensor *x)
{
    const ht_body *body = x->body;
    const int last = body->ndim - 1;
    ht_fft_line line = *t;
    int64_t shape[HT_MAX_NDIM] = {1}, rows[2] = {1, body->shape[t->axis]};
    ht_tensor *y = NULL;

    for (int i = 0; i < last; i++) {
        shape[i] = body->shape[i == t->axis ? last : i];
        rows[0] *= shape[i];
    }
    shape[last] = ht__fft_length(t, true);
    line.axis = 1;
    HT_STEP(y, ht_reshape(ht_transpose(x, t->axis, last), 2, rows));
    if (2 * rows[0] >= body->comm->size)
        y = by_transposition(&line, y);
    else
        HT_STEP(y, y != NULL ? one_by_one(&line, y) : NULL);
    HT_STEP(y, ht_reshape(y, body->ndim, shape));
    HT_STEP(y, ht__without_base(ht_transpose(y, t->axis, last)));
    return ht_scope_adopt(y);
}

ht_tensor *ht__fft_axis(const ht_fft_line *t, ht_tensor *x, bool owned)
{
    const bool is_whole = x->body->split != t->axis || x->body->comm->size == 1;
    ht_device *device = x->body->storage->device;
    ht_comm *outer;

    if (!ht__kernel_is_there(device, t->kernel, ht__fft_complex(x->body->dtype))) {
        ht__kernel_missing(x->body->comm, device, t->kernel, x->body->dtype, t->what);
        return NULL;
    }
    if (ht_tensor_size(x) == 0)
        return ht__fft_result(t, x);
    outer = ht__together(x->body->comm);
    if (is_whole)
        x = ht__fft_local(t, x, owned);
    else if (t->n == 1) /* one rank has it all */
        x = ht__fft_local(t, ht_balance(x), false);
    else
        x = along_split(t, x);
    ht__together_end(outer);
    return x;
}
