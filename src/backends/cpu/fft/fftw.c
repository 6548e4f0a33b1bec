/* SPDX-License-Identifier: MIT
 *
 * FFTW's transforms, in double and single precision. Plans are estimated: measuring one of 2^22
 * numbers takes longer than the transforms of most programs together. */
#include <fftw3.h>

#include "backends/cpu/fft/fft.h"

/* In both precisions: rows as (outer, n, inner); `in` and `out` have the lengths in_length and
 * out_length along the axis. */
#define DIMS(prefix, call, in_length, out_length)                                 \
    const prefix##_iodim64 line = {(call)->n, (call)->inner, (call)->inner},      \
                           all[2] = {{(call)->outer, (in_length) * (call)->inner, \
                                      (out_length) * (call)->inner},              \
                                     {(call)->inner, 1, 1}}

static int aligned(const ht_fft_call *f)
{
    return fftw_alignment_of((double *)f->in.data) == 0 &&
           fftw_alignment_of((double *)f->out.data) == 0;
}

static unsigned flags_of(const ht_fft_call *f)
{
    return FFTW_ESTIMATE | FFTW_PRESERVE_INPUT | (aligned(f) ? 0u : (unsigned)FFTW_UNALIGNED);
}

static void *make_double(const ht_fft_call *f)
{
    void *in = f->in.data;
    const int64_t half = f->n / 2 + 1;
    const unsigned flags = flags_of(f);

    if (f->call.kernel == HT_KERNEL_FFT_REAL) {
        DIMS(fftw, f, f->n, half);
        return fftw_plan_guru64_dft_r2c(1, &line, 2, all, in, f->out.data, flags);
    }
    if (f->call.kernel == HT_KERNEL_FFT_HERMITIAN) {
        DIMS(fftw, f, half, f->n);
        return fftw_plan_guru64_dft_c2r(1, &line, 2, all, in, f->out.data, flags);
    }
    DIMS(fftw, f, f->n, f->n);
    return fftw_plan_guru64_dft(1, &line, 2, all, in, f->out.data, f->sign, flags);
}

static void *make_float(const ht_fft_call *f)
{
    void *in = f->in.data;
    const int64_t half = f->n / 2 + 1;
    const unsigned flags = flags_of(f);

    if (f->call.kernel == HT_KERNEL_FFT_REAL) {
        DIMS(fftwf, f, f->n, half);
        return fftwf_plan_guru64_dft_r2c(1, &line, 2, all, in, f->out.data, flags);
    }
    if (f->call.kernel == HT_KERNEL_FFT_HERMITIAN) {
        DIMS(fftwf, f, half, f->n);
        return fftwf_plan_guru64_dft_c2r(1, &line, 2, all, in, f->out.data, flags);
    }
    DIMS(fftwf, f, f->n, f->n);
    return fftwf_plan_guru64_dft(1, &line, 2, all, in, f->out.data, f->sign, flags);
}

static void destroy_double(void *plan)
{
    fftw_destroy_plan(plan);
}

static void destroy_float(void *plan)
{
    fftwf_destroy_plan(plan);
}

static void run_double(const ht_fft_call *f, void *plan)
{
    void *in = f->in.data;

    if (f->call.kernel == HT_KERNEL_FFT_REAL)
        fftw_execute_dft_r2c(plan, in, f->out.data);
    else if (f->call.kernel == HT_KERNEL_FFT_HERMITIAN)
        fftw_execute_dft_c2r(plan, in, f->out.data);
    else
        fftw_execute_dft(plan, in, f->out.data);
}

static void run_float(const ht_fft_call *f, void *plan)
{
    void *in = f->in.data;

    if (f->call.kernel == HT_KERNEL_FFT_REAL)
        fftwf_execute_dft_r2c(plan, in, f->out.data);
    else if (f->call.kernel == HT_KERNEL_FFT_HERMITIAN)
        fftwf_execute_dft_c2r(plan, in, f->out.data);
    else
        fftwf_execute_dft(plan, in, f->out.data);
}

int ht__cpu_fft_fftw(const ht_fft_call *f)
{
    const bool single = f->call.dtype == HT_COMPLEX64;
    const ht_fft_key key = {
        f->call.kernel, f->call.dtype, f->outer, f->n, f->inner, f->sign, f->in.data == f->out.data,
        aligned(f)};
    ht_fft_plan *plan = ht__cpu_fft_plan(&key, single ? make_float : make_double,
                                         single ? destroy_float : destroy_double, f);

    if (plan == NULL)
        return HT_KERNEL_REFUSED;
    (single ? run_float : run_double)(f, plan->plan);
    ht__cpu_fft_plan_done(plan);
    return 0;
}
