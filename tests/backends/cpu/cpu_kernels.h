/* SPDX-License-Identifier: MIT
 *
 * For the tests of the cpu kernels: the table of each SIMD level that this machine can run, the
 * call of a kernel, and elements of any dtype as double. */
#ifndef HT_TESTS_BACKENDS_CPU_CPU_KERNELS_H
#define HT_TESTS_BACKENDS_CPU_CPU_KERNELS_H

#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/kernels.h"
#include "core/base/half.h"
#include "ht/error.h"
#include "ht/kernels/elementwise.h"
#include "ht_test.h"

typedef struct cpu_level {
    const char *name;
    ht_kernel_table kernels;
} cpu_level;

/* The levels, baseline first; returns how many. */
static inline int cpu_levels(cpu_level levels[3])
{
    int count = 0;

    memset(levels, 0, 3 * sizeof *levels);
    levels[count].name = "baseline";
    ht__kernels_fill_baseline(&levels[count++].kernels);
#ifdef HT_HAVE_AVX2
    if (HT_RUNS_AVX2) {
        levels[count].name = "avx2";
        ht__kernels_fill_avx2(&levels[count++].kernels);
    }
#endif
#ifdef HT_HAVE_AVX512
    if (HT_RUNS_AVX512) {
        levels[count].name = "avx512";
        ht__kernels_fill_avx512(&levels[count++].kernels);
    }
#endif
    return count;
}

/* Fills in what the arguments begin with, which must be an ht_kernel_call, and runs the kernel that
 * a table has for the dtype. Yields the kernel's return value. */
#define cpu_run(table, kernel, dtype, arguments) \
    cpu_run_bytes(table, kernel, dtype, arguments, sizeof *(arguments))

static inline int cpu_run_bytes(const ht_kernel_table *table, ht_kernel kernel, ht_dtype dtype,
                                void *arguments, size_t bytes)
{
    ht_kernel_call *call = arguments;
    ht_kernel_fn *run = table->at[kernel][dtype];

    call->bytes = (uint32_t)bytes;
    call->kernel = kernel;
    call->dtype = dtype;
    call->what = "the test";
    assert_non_null(run);
    return run(NULL, call);
}

/* Element i of an array as double; the real part of a complex one. */
static inline double cpu_get(ht_dtype dtype, const void *array, int64_t i)
{
    switch (dtype) {
    case HT_BOOL:
    case HT_UINT8:
        return ((const uint8_t *)array)[i];
    case HT_INT8:
        return ((const int8_t *)array)[i];
    case HT_INT16:
        return ((const int16_t *)array)[i];
    case HT_INT32:
        return ((const int32_t *)array)[i];
    case HT_INT64:
        return (double)((const int64_t *)array)[i];
    case HT_FLOAT16:
        return ht__float16_to_float(((const uint16_t *)array)[i]);
    case HT_BFLOAT16:
        return ht__bfloat16_to_float(((const uint16_t *)array)[i]);
    case HT_FLOAT32:
        return ((const float *)array)[i];
    case HT_FLOAT64:
        return ((const double *)array)[i];
    case HT_COMPLEX64:
        return ((const float *)array)[2 * i];
    default:
        return ((const double *)array)[2 * i];
    }
}

/* Sets element i; a complex one gets half the value as its imaginary part. */
static inline void cpu_set(ht_dtype dtype, void *array, int64_t i, double value)
{
    switch (dtype) {
    case HT_BOOL:
        ((uint8_t *)array)[i] = value != 0;
        break;
    case HT_UINT8:
        ((uint8_t *)array)[i] = (uint8_t)(int64_t)value;
        break;
    case HT_INT8:
        ((int8_t *)array)[i] = (int8_t)value;
        break;
    case HT_INT16:
        ((int16_t *)array)[i] = (int16_t)value;
        break;
    case HT_INT32:
        ((int32_t *)array)[i] = (int32_t)value;
        break;
    case HT_INT64:
        ((int64_t *)array)[i] = (int64_t)value;
        break;
    case HT_FLOAT16:
        ((uint16_t *)array)[i] = ht__float_to_float16((float)value);
        break;
    case HT_BFLOAT16:
        ((uint16_t *)array)[i] = ht__float_to_bfloat16((float)value);
        break;
    case HT_FLOAT32:
        ((float *)array)[i] = (float)value;
        break;
    case HT_FLOAT64:
        ((double *)array)[i] = value;
        break;
    case HT_COMPLEX64:
        ((float *)array)[2 * i] = (float)value;
        ((float *)array)[2 * i + 1] = (float)value / 2;
        break;
    default:
        ((double *)array)[2 * i] = value;
        ((double *)array)[2 * i + 1] = value / 2;
        break;
    }
}

/* Half a unit in the last place of 1, as the tolerance of a result of this dtype. */
static inline double cpu_eps(ht_dtype dtype)
{
    switch (dtype) {
    case HT_FLOAT16:
        return 0x1p-11;
    case HT_BFLOAT16:
        return 0x1p-8;
    case HT_FLOAT32:
    case HT_COMPLEX64:
        return 0x1p-24;
    default:
        return 0x1p-53;
    }
}

/* The same bits; any NaN equals any other, in the parts of a complex number too. */
static inline bool cpu_same(ht_dtype dtype, const void *a, int64_t i, const void *b, int64_t j)
{
    const size_t size = ht_dtype_size(dtype);

    if (memcmp((const char *)a + (size_t)i * size, (const char *)b + (size_t)j * size, size) == 0)
        return true;
    if (dtype == HT_COMPLEX64)
        return cpu_same(HT_FLOAT32, a, 2 * i, b, 2 * j) &&
               cpu_same(HT_FLOAT32, a, 2 * i + 1, b, 2 * j + 1);
    if (dtype == HT_COMPLEX128)
        return cpu_same(HT_FLOAT64, a, 2 * i, b, 2 * j) &&
               cpu_same(HT_FLOAT64, a, 2 * i + 1, b, 2 * j + 1);
    return isnan(cpu_get(dtype, a, i)) && isnan(cpu_get(dtype, b, j));
}

/* A number of a fixed sequence in [0, 1). */
static inline double cpu_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

/* An operand at a place. Kernels of the host do not read how far it reaches. */
#define CPU_AT(place) ((ht_kernel_operand){.data = (void *)(uintptr_t)(place)})

/* A loop of one axis. */
static inline ht_loop cpu_row(int64_t n, void *y, int64_t ys, const void *a, int64_t as,
                              const void *b, int64_t bs)
{
    ht_loop loop = {.ndim = 1, .shape = {n}};

    loop.operand[0].data = y;
    loop.operand[1].data = (void *)(uintptr_t)a;
    loop.operand[2].data = (void *)(uintptr_t)b;
    loop.stride[0][0] = ys;
    loop.stride[1][0] = as;
    loop.stride[2][0] = bs;
    return loop;
}

#endif
