/* ranks 1 own device */
/* SPDX-License-Identifier: MIT */
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "backends/cpu/cpu.h"
#include "backends/cpu/fft/fft.h"
#include "ht_test.h"

static int run_kernel(const ht_fft_call *f)
{
    return ht__cpu_kernel(f->call.kernel, f->call.dtype)(NULL, &f->call);
}

static double complex number_at(const ht_fft_call *f, const void *x, bool real, int64_t i)
{
    if (f->call.dtype == HT_COMPLEX64)
        return real ? ((const float *)x)[i] : ((const float complex *)x)[i];
    return real ? ((const double *)x)[i] : ((const double complex *)x)[i];
}

/* Element (o, k, i) by the definition. */
static double complex element(const ht_fft_call *f, int64_t o, int64_t k, int64_t i)
{
    const bool half = f->call.kernel == HT_KERNEL_FFT_HERMITIAN;
    const int64_t length = half ? f->n / 2 + 1 : f->n;
    double complex sum = 0;

    for (int64_t j = 0; j < f->n; j++) {
        const int64_t at = j < length ? j : f->n - j;
        double complex a = number_at(f, f->in.data, f->call.kernel == HT_KERNEL_FFT_REAL,
                                     (o * length + at) * f->inner + i);

        if (half)
            a = j == 0 || 2 * j == f->n ? creal(a) : j < length ? a : conj(a);
        sum += a * cexp(f->sign * 2 * M_PI * I * ((double)(j * k % f->n) / (double)f->n));
    }
    return f->scale * sum;
}

static void check(ht_fft_call *f, int (*run)(const ht_fft_call *f))
{
    const bool to_real = f->call.kernel == HT_KERNEL_FFT_HERMITIAN;
    const int64_t count = f->call.kernel == HT_KERNEL_FFT_REAL ? f->n / 2 + 1 : f->n;
    const double tolerance = f->call.dtype == HT_COMPLEX64 ? 4e-6 : 1e-14;

    assert_int_equal(run(f), 0);
    for (int64_t o = 0; o < f->outer; o++) {
        for (int64_t k = 0; k < count; k++) {
            for (int64_t i = 0; i < f->inner; i++) {
                const double complex y = number_at(f, f->out.data, to_real,
                                                   (o * count + k) * f->inner + i);

                assert_true(cabs(y - element(f, o, k, i)) <=
                            tolerance * fabs(f->scale) * sqrt((double)f->n));
            }
        }
    }
}

static void fill(ht_fft_call *f, int64_t numbers)
{
    for (int64_t i = 0; i < numbers; i++) {
        const double value = cos((double)(i * i % 97));

        if (f->call.dtype == HT_COMPLEX64)
            ((float *)f->in.data)[i] = (float)value;
        else
            ((double *)f->in.data)[i] = value;
    }
}

static void every_kernel_is_the_definition(void **state)
{
    static const int64_t lengths[] = {1, 2, 3, 4, 5, 12, 13, 17, 34, 60, 64};

    (void)state;
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        for (int dtype = HT_COMPLEX64; dtype <= HT_COMPLEX128; dtype++) {
            for (int kernel = HT_KERNEL_FFT_COMPLEX; kernel <= HT_KERNEL_FFT_HERMITIAN; kernel++) {
                ht_fft_call f = {.call = {.bytes = sizeof f,
                                          .kernel = kernel,
                                          .dtype = (ht_dtype)dtype,
                                          .what = "test"},
                                 .outer = 2,
                                 .n = lengths[l],
                                 .inner = 3,
                                 .sign = kernel == HT_KERNEL_FFT_REAL ? -1 : 1,
                                 .scale = 0.5};
                const int64_t numbers = 2 * f.outer * f.inner * (f.n + 2);

                f.in.data = calloc((size_t)numbers, sizeof(double));
                f.out.data = calloc((size_t)numbers, sizeof(double));
                fill(&f, numbers);
                check(&f, run_kernel);
                check(&f, ht__cpu_fft_plain);
                free(f.in.data);
                free(f.out.data);
            }
        }
    }
}

static void twiddles_are_roots_of_unity(void **state)
{
    const int64_t order = 1009;
    double complex x[15];
    ht_twiddle_call t = {
        .call = {.bytes = sizeof t, .kernel = HT_KERNEL_FFT_TWIDDLE, .dtype = HT_COMPLEX128},
        .rows = 3,
        .columns = 5,
        .row = 900,
        .column = 77,
        .order = order,
        .sign = -1,
        .x.data = x};

    (void)state;
    for (int square = 0; square < 2; square++) {
        t.square = square != 0;
        t.rows = square != 0 ? 1 : 3;
        t.column = square != 0 ? -2 : 77;
        for (int i = 0; i < 15; i++)
            x[i] = 1;
        assert_int_equal(ht__cpu_kernel(t.call.kernel, t.call.dtype)(NULL, &t.call), 0);
        for (int64_t i = 0; i < t.rows * 5; i++) {
            const int64_t j = t.column + i % 5;
            const int64_t e = square != 0 ? j * j : (t.row + i / 5) * j;

            assert_true(cabs(x[i] - cexp(-2 * M_PI * I * (double)(e % order) / (double)order)) <
                        1e-15 * 4);
        }
    }
}

HT_TEST_SUITE(test_cpu_fft, cmocka_unit_test(every_kernel_is_the_definition),
              cmocka_unit_test(twiddles_are_roots_of_unity));
