/* SPDX-License-Identifier: MIT
 *
 * Fourier transforms of the cpu backend. FFTW computes them if it is built in and has a plan;
 * otherwise plain code does. The same tests cover both. */
#ifndef HT_BACKENDS_CPU_FFT_FFT_H
#define HT_BACKENDS_CPU_FFT_FFT_H

#include "backends/cpu/kernels.h"
#include "ht/kernels/fft.h"

/* The key of a plan; without padding bytes, to be compared as memory. */
typedef struct ht_fft_key {
    int64_t kernel, dtype, outer, n, inner, sign, in_place, alignment;
} ht_fft_key;

/* Plans that are kept for all threads, the latest ones (plans.c). A plan is made under the lock.
 * Any number of threads read it. A plan that was dropped is destroyed by its last reader. */
typedef struct ht_fft_plan {
    ht_fft_key key;
    void *plan;
    void (*destroy)(void *plan);
    int users;
    bool kept;
    int64_t used;
} ht_fft_plan;

/* make returns what destroy takes; NULL: there is none. NULL then. */
ht_fft_plan *ht__cpu_fft_plan(const ht_fft_key *key, void *(*make)(const ht_fft_call *call),
                              void (*destroy)(void *plan), const ht_fft_call *call);
void ht__cpu_fft_plan_done(ht_fft_plan *plan);

/* Without the factor. 0, or HT_KERNEL_REFUSED: there is no plan. */
int ht__cpu_fft_fftw(const ht_fft_call *call);
/* With it. */
int ht__cpu_fft_plain(const ht_fft_call *call);

int ht__cpu_fft_twiddle(void *stream, const ht_kernel_call *call);

#endif
