/* SPDX-License-Identifier: MIT
 *
 * The kernels of Fourier transforms: FFTW and a pass for the factor, or plain code. */
#include "config.h"

#include "backends/cpu/fft/fft.h"
#include "backends/cpu/nn/kernels.h"

static int64_t reals_of(const ht_fft_call *f)
{
    const int64_t lines = f->outer * f->inner;

    switch (f->call.kernel) {
    case HT_KERNEL_FFT_REAL:
        return 2 * lines * (f->n / 2 + 1);
    case HT_KERNEL_FFT_HERMITIAN:
        return lines * f->n;
    default:
        return 2 * lines * f->n;
    }
}

static void scale_all(const ht_fft_call *f)
{
    const int64_t count = f->scale != 1 ? reals_of(f) : 0;

    if (f->call.dtype == HT_COMPLEX64) {
        float *x = f->out.data, factor = (float)f->scale;

        for (int64_t i = 0; i < count; i++)
            x[i] *= factor;
    } else {
        double *x = f->out.data;

        for (int64_t i = 0; i < count; i++)
            x[i] *= f->scale;
    }
}

static int fft(void *stream, const ht_kernel_call *call)
{
    const ht_fft_call *f = (const ht_fft_call *)call;

    (void)stream;
    if (f->outer == 0 || f->inner == 0)
        return 0;
#ifdef HT_HAVE_FFTW
    if (ht__cpu_fft_fftw(f) == 0) {
        scale_all(f);
        return 0;
    }
#else
    (void)scale_all;
#endif
    return ht__cpu_fft_plain(f);
}

void ht__cpu_fill_fft(ht_kernel_table *kernels)
{
    for (int dtype = HT_COMPLEX64; dtype <= HT_COMPLEX128; dtype++) {
        kernels->at[HT_KERNEL_FFT_COMPLEX][dtype] = fft;
        kernels->at[HT_KERNEL_FFT_REAL][dtype] = fft;
        kernels->at[HT_KERNEL_FFT_HERMITIAN][dtype] = fft;
        kernels->at[HT_KERNEL_FFT_TWIDDLE][dtype] = ht__cpu_fft_twiddle;
    }
}
