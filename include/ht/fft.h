/* SPDX-License-Identifier: MIT
 *
 * Discrete Fourier transforms: forward sum over j of x[j] exp(-2 pi i j k / n), inverse with +.
 *
 * Of bool and integers they are computed in float32; float16 and bfloat16 are HT_ERR_DTYPE. Results
 * are complex64 of float32, complex128 of float64, and the other way round. Split as x, with x's
 * slabs unless these are of a transformed axis: then balanced. Collective if x is split along an
 * axis that is transformed: two Alltoalls of the numbers, or three where ranks have to share a
 * line; no rank ever holds more than its share of them, but for vectors of up to 16 KiB.
 * Differentiable. HT_ERR_ARGUMENT: a length below 1, an axis that there is not, or twice.
 *
 * n: the axis is cropped, or padded with zeros, to it first (HT_NONE: as it is). Forms of several
 * axes have the transforms one after another: the short form along the last two axes, or all; the
 * long form along the given axes with the given lengths. 0, NULL instead of lengths: as they are;
 * instead of axes: the last ones, as many as there are lengths, or those of the short form.
 * Source: heat.fft, numpy.fft. */
#ifndef HT_FFT_H
#define HT_FFT_H

#include "ht/shape.h"
#include "ht/tensor.h"

HT_BEGIN_DECLS

/* What is divided by n, the product of the lengths: the inverse transform, the forward one, or
 * both by its square root. Of the Hermitian transforms ht_hfft is the forward one. */
typedef enum ht_fft_norm { HT_FFT_BACKWARD, HT_FFT_FORWARD, HT_FFT_ORTHO } ht_fft_norm;

HT_API ht_tensor *ht_fft(ht_tensor *x, int64_t n, int axis, ht_fft_norm norm);
HT_API ht_tensor *ht_ifft(ht_tensor *x, int64_t n, int axis, ht_fft_norm norm);
HT_API ht_tensor *ht_fft2(ht_tensor *x);
HT_API ht_tensor *ht_ifft2(ht_tensor *x);
HT_API ht_tensor *ht_fftn(ht_tensor *x);
HT_API ht_tensor *ht_ifftn(ht_tensor *x);
HT_API ht_tensor *ht_fft2_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                              const int axes[], ht_fft_norm norm);
HT_API ht_tensor *ht_ifft2_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                               const int axes[], ht_fft_norm norm);
HT_API ht_tensor *ht_fftn_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                              const int axes[], ht_fft_norm norm);
HT_API ht_tensor *ht_ifftn_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                               const int axes[], ht_fft_norm norm);

/* Of real x (else HT_ERR_DTYPE): along the last of the axes the first n / 2 + 1 numbers, the others
 * being conjugates of those; and back, n being the length of the result, by default 2 (length - 1).
 */
HT_API ht_tensor *ht_rfft(ht_tensor *x, int64_t n, int axis, ht_fft_norm norm);
HT_API ht_tensor *ht_irfft(ht_tensor *x, int64_t n, int axis, ht_fft_norm norm);
HT_API ht_tensor *ht_rfft2(ht_tensor *x);
HT_API ht_tensor *ht_irfft2(ht_tensor *x);
HT_API ht_tensor *ht_rfftn(ht_tensor *x);
HT_API ht_tensor *ht_irfftn(ht_tensor *x);
HT_API ht_tensor *ht_rfft2_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                               const int axes[], ht_fft_norm norm);
HT_API ht_tensor *ht_irfft2_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                                const int axes[], ht_fft_norm norm);
HT_API ht_tensor *ht_rfftn_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                               const int axes[], ht_fft_norm norm);
HT_API ht_tensor *ht_irfftn_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                                const int axes[], ht_fft_norm norm);

/* Forward, of a line that is symmetric up to conjugation and given to its middle: a real result of
 * length n; and back from real x, as the conjugates of ht_irfft's and ht_rfft's. */
HT_API ht_tensor *ht_hfft(ht_tensor *x, int64_t n, int axis, ht_fft_norm norm);
HT_API ht_tensor *ht_ihfft(ht_tensor *x, int64_t n, int axis, ht_fft_norm norm);
HT_API ht_tensor *ht_hfft2(ht_tensor *x);
HT_API ht_tensor *ht_ihfft2(ht_tensor *x);
HT_API ht_tensor *ht_hfftn(ht_tensor *x);
HT_API ht_tensor *ht_ihfftn(ht_tensor *x);
HT_API ht_tensor *ht_hfft2_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                               const int axes[], ht_fft_norm norm);
HT_API ht_tensor *ht_ihfft2_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                                const int axes[], ht_fft_norm norm);
HT_API ht_tensor *ht_hfftn_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                               const int axes[], ht_fft_norm norm);
HT_API ht_tensor *ht_ihfftn_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                                const int axes[], ht_fft_norm norm);

/* The frequencies of the n results of a transform of samples at distance d: 0 ... and then the
 * negative ones, or those from 0 on alone; in float32, HT_ERR_DTYPE unless it is a floating dtype
 * in the long forms. Logically collective; not of an operand, so not differentiable. */
HT_API ht_tensor *ht_fftfreq(int64_t n, double d, int split);
HT_API ht_tensor *ht_rfftfreq(int64_t n, double d, int split);
HT_API ht_tensor *ht_fftfreq_ext(int64_t n, double d, ht_dtype dtype, int split, ht_device *device,
                                 ht_comm *comm);
HT_API ht_tensor *ht_rfftfreq_ext(int64_t n, double d, ht_dtype dtype, int split, ht_device *device,
                                  ht_comm *comm);

/* Frequency 0 brought to the middle of the axes (0, NULL: of all), and back. Any dtype; collective
 * along the split axis, as ht_roll. Differentiable. */
HT_API ht_tensor *ht_fftshift(ht_tensor *x, int count, const int axes[]);
HT_API ht_tensor *ht_ifftshift(ht_tensor *x, int count, const int axes[]);

HT_END_DECLS
#endif
