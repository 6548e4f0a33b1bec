/* SPDX-License-Identifier: MIT
 *
 * Fourier transforms along one axis, without their public names and without a graph. */
#ifndef HT_CORE_ALGORITHMS_FFT_FFT_H
#define HT_CORE_ALGORITHMS_FFT_FFT_H

#include "core/ops/ops.h"
#include "ht/kernels/fft.h"

typedef struct ht_fft_line {
    const char *what;
    ht_kernel kernel;
    int axis;
    int64_t n; /* what kernels mean by it: the length of the real side */
    int sign;
    double scale;
} ht_fft_line;

/* The lengths along the axis before and after. */
static inline int64_t ht__fft_length(const ht_fft_line *t, bool after)
{
    const ht_kernel half = after ? HT_KERNEL_FFT_REAL : HT_KERNEL_FFT_HERMITIAN;

    return t->kernel == half ? t->n / 2 + 1 : t->n;
}

/* Transforms an x of any split, in the dtype that the kernel reads: split as x. owned: x may be
 * overwritten. Gradients are off. Collective where x is split along the axis. */
ht_tensor *ht__fft_axis(const ht_fft_line *t, ht_tensor *x, bool owned);

/* fft_local.c. The dtype of complex numbers whose parts are of this one; new memory for the result,
 * slabs as x's if these are of another axis. */
ht_dtype ht__fft_complex(ht_dtype dtype);
ht_tensor *ht__fft_result(const ht_fft_line *t, const ht_tensor *x);

/* For an axis that is not split. */
ht_tensor *ht__fft_local(const ht_fft_line *t, ht_tensor *x, bool owned);

/* A complex vector split over ranks, FFT_COMPLEX; balanced. Takes over the reference to x, whose
 * memory stays as it was; the result is owned. NULL for NULL. */
ht_tensor *ht__fft_vector(const ht_fft_line *t, ht_tensor *x);

#endif
