/* ranks 1 2 3 4 7 */
/* SPDX-License-Identifier: MIT
 *
 * How much memory calls hold at most, in multiples of a rank's part of the operand. Storages are
 * counted, by the allocator of the device. */
#include "ht_test.h"
#include "tensor_check.h"

/* Runs with a ballast that raises memory in use to the peak so far, so that each further byte shows
 * in the peak. */
typedef struct gauge {
    ht_tensor *ballast;
    size_t before;
} gauge;

static ht_device_memory memory_now(void)
{
    ht_device_memory memory;

    assert_int_equal(ht_device_get_memory(ht_device_get("cpu"), &memory), HT_SUCCESS);
    return memory;
}

static gauge start(void)
{
    const ht_device_memory memory = memory_now();
    const int64_t bytes = (int64_t)(memory.peak - memory.in_use);
    gauge g;

    g.ballast = ht_empty_ext(1, &bytes, HT_UINT8, HT_NONE, ht_device_get("cpu"), HT_COMM_SELF);
    g.before = memory_now().in_use;
    assert_true(g.before >= memory.peak);
    return g;
}

/* The largest of all ranks. */
static double stop(const gauge *g, ht_tensor *x)
{
    const double part = (double)ht_tensor_size(x) / ht_test_size *
                        (double)ht_dtype_size(ht_tensor_dtype(x));
    const double more = (double)(memory_now().peak - g->before) / part;
    const int64_t one = 1;

    assert_non_null(g->ballast);
    return ht_item(ht_max(ht_array_from_local(&more, 1, &one, HT_FLOAT64, 0), HT_NONE));
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void fft(ht_tensor *x)
{
    ht_fft(x, HT_NONE, 0, HT_FFT_BACKWARD);
}

static void rfft(ht_tensor *x)
{
    ht_rfft(x, HT_NONE, 0, HT_FFT_BACKWARD);
}

static void irfft(ht_tensor *x)
{
    ht_irfft(x, HT_NONE, 0, HT_FFT_BACKWARD);
}

static void fft2(ht_tensor *x)
{
    ht_fft2(x);
}

static void unique(ht_tensor *x)
{
    ht_tensor *values;

    ht_unique(x, &values, NULL, NULL);
}

static void unique_with_all(ht_tensor *x)
{
    ht_tensor *values, *inverse, *counts;

    ht_unique(x, &values, &inverse, &counts);
}

static void sort(ht_tensor *x)
{
    ht_tensor *values, *places;

    ht_sort(x, 0, false, &values, &places);
}

static void qr(ht_tensor *x)
{
    ht_tensor *q, *r;

    ht_qr(x, &q, &r);
}

static void svd(ht_tensor *x)
{
    ht_tensor *u, *s, *vh;

    ht_svd(x, &u, &s, &vh);
}

static void svdvals(ht_tensor *x)
{
    ht_tensor *s;

    ht_svd(x, NULL, &s, NULL);
}

typedef struct call {
    const char *name;
    void (*run)(ht_tensor *x);
    ht_dtype dtype;
    int64_t rows, columns; /* columns 0: a vector */
    int split;
    double most; /* parts of x in addition to x */
} call;

/* Allocations are rounded up by at most an eighth. */
static const call calls[] = {
    {"fft", fft, HT_COMPLEX64, 1 << 18, 0, 0, 3.5},
    {"fft of a length that ranks do not divide", fft, HT_COMPLEX64, 240 * 1001, 0, 0, 3.7},
    {"fft of a prime length", fft, HT_COMPLEX64, 250007, 0, 0, 9},
    {"rfft", rfft, HT_FLOAT32, 1 << 18, 0, 0, 7},
    {"irfft", irfft, HT_COMPLEX64, (1 << 17) + 1, 0, 0, 7},
    {"fft2", fft2, HT_COMPLEX64, 512, 512, 0, 3.5},
    {"unique", unique, HT_FLOAT32, 1 << 18, 0, 0, 7.5},
    {"unique with inverse and counts", unique_with_all, HT_FLOAT32, 1 << 18, 0, 0, 18.5},
    {"sort", sort, HT_FLOAT32, 1 << 18, 0, 0, 7},
    {"qr of a square matrix by rows", qr, HT_FLOAT32, 420, 420, 0, 6.5},
    {"qr of a square matrix by columns", qr, HT_FLOAT32, 420, 420, 1, 6.5},
    {"svd of a square matrix by rows", svd, HT_FLOAT32, 420, 420, 0, 10},
    {"svd of a square matrix by columns", svd, HT_FLOAT32, 420, 420, 1, 10},
    {"singular values of a square matrix", svdvals, HT_FLOAT32, 420, 420, 0, 5.5},
};

static void calls_release_what_is_done_with(void **state)
{
    ht_use_device(ht_device_get("cpu"));
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const call *c = &calls[i];
        const int64_t shape[2] = {c->rows, c->columns};
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = ht_test_randn(c->columns > 0 ? 2 : 1, shape, HT_FLOAT32, c->split, 1);
        double found;
        gauge g;

        x = ht_astype(x, c->dtype);
        g = start();
        c->run(x);
        found = stop(&g, x);
        if (!(found <= c->most))
            fail_msg("%s: %g parts of x, expected at most %g", c->name, found, c->most);
        ht_scope_close(scope);
    }
}

HT_TEST_SUITE(test_peaks, cmocka_unit_test(calls_release_what_is_done_with));
