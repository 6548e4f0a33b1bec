/* SPDX-License-Identifier: MIT
 *
 * Fourier transforms along one axis, given an ht_fft_call, and products with roots of unity, given
 * an ht_twiddle_call; of complex64 and complex128, real numbers being float32 and float64 beside
 * them.
 *     FFT_COMPLEX     complex to complex, in either direction; `in` may be `out`
 *     FFT_REAL        real to the first n / 2 + 1 complex ones, forward
 *     FFT_HERMITIAN   those to real, backward; the imaginary parts of what has to be real there
 *                     are not read
 *     FFT_TWIDDLE     times roots of unity, in place */
#ifndef HT_KERNELS_FFT_H
#define HT_KERNELS_FFT_H

#include "ht/backend.h"

#define HT_FFT_KERNELS(X)         \
    X(FFT_COMPLEX, ht_fft_call)   \
    X(FFT_REAL, ht_fft_call)      \
    X(FFT_HERMITIAN, ht_fft_call) \
    X(FFT_TWIDDLE, ht_twiddle_call)

/* out[o][k][i] = scale * sum over j of in[o][j][i] exp(sign 2 pi i j k / n): row-major (outer, n,
 * inner) both, with n / 2 + 1 in the place of n where the numbers are half of a symmetric line. */
typedef struct ht_fft_call {
    ht_kernel_call call;
    ht_kernel_operand in, out;
    int64_t outer, n, inner;
    int sign; /* -1 forward, 1 backward */
    double scale;
} ht_fft_call;

/* x[i][j] *= exp(sign 2 pi i e / order), e = (row + i) (column + j), or of one row that is square,
 * e = (column + j)^2, where column may be below 0. rows * columns elements, row-major. */
typedef struct ht_twiddle_call {
    ht_kernel_call call;
    ht_kernel_operand x;
    int64_t rows, columns, row, column, order;
    int sign;
    bool square;
} ht_twiddle_call;

#define HT_KERNEL_ID(name, arguments) HT_KERNEL_##name,
enum { HT_KERNEL_BEFORE_FFT = HT_KERNELS_FFT - 1, HT_FFT_KERNELS(HT_KERNEL_ID) HT_KERNELS_FFT_END };
#undef HT_KERNEL_ID

#endif
