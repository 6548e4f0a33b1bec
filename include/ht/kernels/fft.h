/* SPDX-License-Identifier: MIT
 *
 * Fourier transforms along one axis, and products with roots of unity.
 *
 * A row of the list has the name of a kernel and the struct of its arguments. Kernels have
 * complex64 or complex128; their real numbers are float32 or float64.
 *     FFT_COMPLEX     complex to complex numbers, in either direction; `in` may be `out`;
 *     FFT_REAL        n real to the first n / 2 + 1 complex numbers, forward;
 *     FFT_HERMITIAN   the first n / 2 + 1 complex to n real numbers, backward; the imaginary parts
 *                     of numbers that must be real are not read;
 *     FFT_TWIDDLE     multiplies by roots of unity, in place. */
#ifndef HT_KERNELS_FFT_H
#define HT_KERNELS_FFT_H

#include "ht/backend.h"

#define HT_FFT_KERNELS(X)         \
    X(FFT_COMPLEX, ht_fft_call)   \
    X(FFT_REAL, ht_fft_call)      \
    X(FFT_HERMITIAN, ht_fft_call) \
    X(FFT_TWIDDLE, ht_twiddle_call)

/* out[o][k][i] = scale * sum over j of in[o][j][i] exp(sign 2 pi i j k / n).
 *
 * Both are row-major (outer, n, inner). Half of a symmetric line has n / 2 + 1 numbers instead of
 * n. */
typedef struct ht_fft_call {
    ht_kernel_call call;
    ht_kernel_operand in, out;
    int64_t outer, n, inner;
    int sign; /* -1 forward, 1 backward */
    double scale;
} ht_fft_call;

/* x[i][j] *= exp(sign 2 pi i e / order) with e = (row + i) (column + j).
 *
 * If `square`, there is one row and e = (column + j)^2; column may be negative. x is row-major
 * (rows, columns). */
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
