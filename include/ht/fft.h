/* SPDX-License-Identifier: MIT
 *
 * Discrete Fourier transforms. The forward transform is y[k] = sum over j of x[j] exp(-2 pi i j k /
 * n); the inverse one has + in the exponent. Source: heat.fft, numpy.fft.
 *
 * Parameters that many functions share:
 *     x: any dtype but float16 and bfloat16. bool and integers are computed in float32.
 *     n: length of the transform. The axis is first cropped to it, or padded with zeros at its end.
 *     HT_NONE keeps the length of x. n / 2 is rounded down.
 *     axis: the transformed axis. A negative axis counts from the end.
 *     norm: the transform that divides by n (ht_fft_norm).
 *     s, s_count: the length n of each transformed axis, HT_NONE included. NULL, 0: the lengths of
 *     x.
 *     axes, axis_count: the transformed axes, one after another. NULL, 0: the last s_count axes if
 *     s is given, else the axes of the short form. No axes, by an empty list or a scalar: x in the
 *     dtype of the result, which is x itself if it is complex; HT_ERR_ARGUMENT of transforms
 *     between real and complex numbers.
 *
 * The transforms are collective if x is split along a transformed axis: two Alltoalls of the
 * numbers. Three Alltoalls are needed where ranks must share a line. A shared line of prime length
 * needs three such transforms, two to three times as long. No rank ever holds more than its share
 * of the numbers, except for vectors of up to 16 KiB. Without a transformed split axis nothing
 * travels. Differentiable.
 * Result: complex64 for float32 and complex128 for float64. Real results are float32 for complex64
 * and float64 for complex128. The split is that of x. The slabs are those of x too, unless the
 * split axis is transformed: then they are balanced.
 * Errors: a transform has HT_ERR_DTYPE for float16 and bfloat16. HT_ERR_ARGUMENT for a length below
 * 1, an axis that x lacks, a repeated axis, different numbers of axes and lengths, or NULL with a
 * count other than 0. HT_ERR_ARGUMENT also for a norm that is not an ht_fft_norm. */
#ifndef HT_FFT_H
#define HT_FFT_H

#include "ht/shape.h"
#include "ht/tensor.h"

HT_BEGIN_DECLS

/* The transform that is divided by n, the product of the lengths: the inverse one (HT_FFT_BACKWARD)
 * or the forward one (HT_FFT_FORWARD). HT_FFT_ORTHO divides both by sqrt(n). ht_hfft counts as a
 * forward transform and ht_ihfft as an inverse one. */
typedef enum ht_fft_norm { HT_FFT_BACKWARD, HT_FFT_FORWARD, HT_FFT_ORTHO } ht_fft_norm;

/* Returns the forward transform of x along axis: sum over j of x[j] exp(-2 pi i j k / n).
 *
 * n, norm: see the top. */
HT_API ht_tensor *ht_fft(ht_tensor *x, int64_t n, int axis, ht_fft_norm norm);

/* Returns the inverse transform of x along axis: (1 / n) sum over j of x[j] exp(2 pi i j k / n).
 *
 * n: see the top.
 * norm: the factor 1 / n is that of HT_FFT_BACKWARD. */
HT_API ht_tensor *ht_ifft(ht_tensor *x, int64_t n, int axis, ht_fft_norm norm);

/* Returns the forward transform of x along the last two axes, with HT_FFT_BACKWARD. */
HT_API ht_tensor *ht_fft2(ht_tensor *x);

/* Returns the inverse transform of x along the last two axes, with HT_FFT_BACKWARD. */
HT_API ht_tensor *ht_ifft2(ht_tensor *x);

/* Returns the forward transform of x along all axes, with HT_FFT_BACKWARD. */
HT_API ht_tensor *ht_fftn(ht_tensor *x);

/* Returns the inverse transform of x along all axes, with HT_FFT_BACKWARD. */
HT_API ht_tensor *ht_ifftn(ht_tensor *x);

/* ht_fft2 of x with options: the lengths s (s_count), the axes (axes, axis_count) and norm. */
HT_API ht_tensor *ht_fft2_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                              const int axes[], ht_fft_norm norm);

/* ht_ifft2 of x with options: the lengths s (s_count), the axes (axes, axis_count) and norm. */
HT_API ht_tensor *ht_ifft2_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                               const int axes[], ht_fft_norm norm);

/* ht_fftn of x with options: the lengths s (s_count), the axes (axes, axis_count) and norm. */
HT_API ht_tensor *ht_fftn_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                              const int axes[], ht_fft_norm norm);

/* ht_ifftn of x with options: the lengths s (s_count), the axes (axes, axis_count) and norm. */
HT_API ht_tensor *ht_ifftn_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                               const int axes[], ht_fft_norm norm);

/* Returns the first n / 2 + 1 numbers of the forward transform of a real x along axis.
 *
 * The other numbers are conjugates of these.
 * n, norm: see the top.
 * Errors: HT_ERR_DTYPE for a complex x. */
HT_API ht_tensor *ht_rfft(ht_tensor *x, int64_t n, int axis, ht_fft_norm norm);

/* Returns the inverse of ht_rfft along axis: the real line of length n that has the transform x.
 *
 * x: the first n / 2 + 1 numbers of the transform; axis is cropped or padded to as many.
 * n: length of the result; HT_NONE: 2 (length of axis - 1).
 * norm: see the top. The imaginary parts of x[0] and, for an even n, of x[n / 2] count as 0. */
HT_API ht_tensor *ht_irfft(ht_tensor *x, int64_t n, int axis, ht_fft_norm norm);

/* Returns the forward transform of a real x along the last two axes, with HT_FFT_BACKWARD.
 *
 * The last of the axes is transformed as by ht_rfft, the others as by ht_fft.
 * Errors: HT_ERR_DTYPE for a complex x. */
HT_API ht_tensor *ht_rfft2(ht_tensor *x);

/* Returns the inverse of ht_rfft2 along the last two axes, with HT_FFT_BACKWARD: the real tensor
 * that has the transform x.
 *
 * The last of the axes is transformed as by ht_irfft, to the length 2 (length - 1), the others as
 * by ht_ifft.
 * x: in general complex. */
HT_API ht_tensor *ht_irfft2(ht_tensor *x);

/* Returns the forward transform of a real x along all axes, with HT_FFT_BACKWARD.
 *
 * The last of the axes is transformed as by ht_rfft, the others as by ht_fft.
 * Errors: HT_ERR_DTYPE for a complex x, HT_ERR_ARGUMENT for an x without axes. */
HT_API ht_tensor *ht_rfftn(ht_tensor *x);

/* Returns the inverse of ht_rfftn along all axes, with HT_FFT_BACKWARD: the real tensor that has
 * the transform x.
 *
 * The last of the axes is transformed as by ht_irfft, to the length 2 (length - 1), the others as
 * by ht_ifft.
 * x: in general complex.
 * Errors: HT_ERR_ARGUMENT for an x without axes. */
HT_API ht_tensor *ht_irfftn(ht_tensor *x);

/* ht_rfft2 of x with options: the lengths s (s_count), the axes (axes, axis_count) and norm. */
HT_API ht_tensor *ht_rfft2_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                               const int axes[], ht_fft_norm norm);

/* ht_irfft2 of x with options: the lengths s (s_count), the axes (axes, axis_count) and norm. */
HT_API ht_tensor *ht_irfft2_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                                const int axes[], ht_fft_norm norm);

/* ht_rfftn of x with options: the lengths s (s_count), the axes (axes, axis_count) and norm. */
HT_API ht_tensor *ht_rfftn_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                               const int axes[], ht_fft_norm norm);

/* ht_irfftn of x with options: the lengths s (s_count), the axes (axes, axis_count) and norm. */
HT_API ht_tensor *ht_irfftn_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                                const int axes[], ht_fft_norm norm);

/* y[k] = sum over j of x[j] exp(-2 pi i j k / n), where x[n - j] is the conjugate of x[j]; y is
 * real.
 *
 * x: the line up to its middle, n / 2 + 1 numbers along axis; cropped or padded to as many.
 * n: length of the result; HT_NONE: 2 (length of axis - 1). An axis of length 1 needs an n, because
 * HT_NONE would be 0: HT_ERR_ARGUMENT.
 * norm: see the top.
 * Result: as ht_irfft of the conjugate of x, with the norm of a forward transform. */
HT_API ht_tensor *ht_hfft(ht_tensor *x, int64_t n, int axis, ht_fft_norm norm);

/* Returns the inverse of ht_hfft along axis for a real x: n / 2 + 1 complex numbers.
 *
 * n, norm: see the top.
 * Result: as the conjugate of ht_rfft of x, with the norm of an inverse transform.
 * Errors: HT_ERR_DTYPE for a complex x. */
HT_API ht_tensor *ht_ihfft(ht_tensor *x, int64_t n, int axis, ht_fft_norm norm);

/* Returns the real forward transform of an x that is symmetric up to conjugation along the last two
 * axes, with HT_FFT_BACKWARD.
 *
 * The last of the axes is transformed as by ht_hfft, the others as by ht_fft. */
HT_API ht_tensor *ht_hfft2(ht_tensor *x);

/* Returns the inverse of ht_hfft2 for a real x along the last two axes, with HT_FFT_BACKWARD.
 *
 * The last of the axes is transformed as by ht_ihfft, the others as by ht_ifft.
 * Errors: HT_ERR_DTYPE for a complex x. */
HT_API ht_tensor *ht_ihfft2(ht_tensor *x);

/* Returns the real forward transform of an x that is symmetric up to conjugation along all axes,
 * with HT_FFT_BACKWARD.
 *
 * The last of the axes is transformed as by ht_hfft, the others as by ht_fft.
 * Errors: HT_ERR_ARGUMENT for an x without axes. */
HT_API ht_tensor *ht_hfftn(ht_tensor *x);

/* Returns the inverse of ht_hfftn for a real x along all axes, with HT_FFT_BACKWARD.
 *
 * The last of the axes is transformed as by ht_ihfft, the others as by ht_ifft.
 * Errors: HT_ERR_DTYPE for a complex x, HT_ERR_ARGUMENT for an x without axes. */
HT_API ht_tensor *ht_ihfftn(ht_tensor *x);

/* ht_hfft2 of x with options: the lengths s (s_count), the axes (axes, axis_count) and norm. */
HT_API ht_tensor *ht_hfft2_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                               const int axes[], ht_fft_norm norm);

/* ht_ihfft2 of x with options: the lengths s (s_count), the axes (axes, axis_count) and norm. */
HT_API ht_tensor *ht_ihfft2_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                                const int axes[], ht_fft_norm norm);

/* ht_hfftn of x with options: the lengths s (s_count), the axes (axes, axis_count) and norm. */
HT_API ht_tensor *ht_hfftn_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                               const int axes[], ht_fft_norm norm);

/* ht_ihfftn of x with options: the lengths s (s_count), the axes (axes, axis_count) and norm. */
HT_API ht_tensor *ht_ihfftn_ext(ht_tensor *x, int s_count, const int64_t s[], int axis_count,
                                const int axes[], ht_fft_norm norm);

/* Returns the n frequencies of ht_fft for samples at distance d: 0, 1, ..., (n - 1) / 2, -(n / 2),
 * ..., -1, each divided by n d.
 *
 * n: number of samples, 1 to 2^59 - 1.
 * d: distance between two samples; not 0, and may be negative. NaN gives NaN.
 * split: 0 or -1, HT_NONE or HT_LOCAL (ht/factories.h).
 * Logically collective. Not differentiable.
 * Result: (n), float32, on the device and communicator in use.
 * Errors: HT_ERR_ARGUMENT for n below 1, d 0 or another split; HT_ERR_SHAPE for a larger n. */
HT_API ht_tensor *ht_fftfreq(int64_t n, double d, int split);

/* Returns the n / 2 + 1 frequencies of ht_rfft for n samples at distance d: 0, 1, ..., n / 2, each
 * divided by n d.
 *
 * split: as for ht_fftfreq.
 * Logically collective. Not differentiable.
 * Result: (n / 2 + 1), float32, on the device and communicator in use.
 * Errors: those of ht_fftfreq. */
HT_API ht_tensor *ht_rfftfreq(int64_t n, double d, int split);

/* ht_fftfreq (n, d, split) with options: a floating dtype, the device and the communicator comm.
 *
 * dtype: float16 and bfloat16, too.
 * Errors: those of ht_fftfreq; HT_ERR_ARGUMENT also for HT_LOCAL; HT_ERR_DTYPE for a dtype that is
 * not floating. */
HT_API ht_tensor *ht_fftfreq_ext(int64_t n, double d, ht_dtype dtype, int split, ht_device *device,
                                 ht_comm *comm);

/* ht_rfftfreq (n, d, split) with options: a floating dtype, the device and the communicator comm.
 *
 * dtype: as for ht_fftfreq_ext.
 * Errors: those of ht_fftfreq_ext. */
HT_API ht_tensor *ht_rfftfreq_ext(int64_t n, double d, ht_dtype dtype, int split, ht_device *device,
                                  ht_comm *comm);

/* Returns x with frequency 0 in the middle: each axis is rolled by half its length (ht_roll).
 *
 * x: any dtype.
 * axes: count axes, one after another; NULL, 0: all of them. An axis given twice is rolled twice.
 * Collective if the split axis is rolled, or if x is not balanced. Differentiable.
 * Result: a copy, balanced unless all these axes have length 1; x itself without axes.
 * Errors: HT_ERR_ARGUMENT for an axis that x lacks, or for NULL with a count other than 0. */
HT_API ht_tensor *ht_fftshift(ht_tensor *x, int count, const int axes[]);

/* Undoes ht_fftshift: rolls each of count axes back by half its length.
 *
 * x, axes: as for ht_fftshift, with its errors.
 * Collective as ht_fftshift is. Differentiable.
 * Result: as of ht_fftshift. */
HT_API ht_tensor *ht_ifftshift(ht_tensor *x, int count, const int axes[]);

HT_END_DECLS
#endif
