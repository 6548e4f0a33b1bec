/* SPDX-License-Identifier: MIT
 *
 * Factorisations by LAPACK, for its four types. The functions of the middle level are called, which
 * do not search for NaN: NaN gives NaN, or an info. */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>
#include <lapacke.h>

#include "backends/cpu/linalg/lapack.h"
#include "core/base/base.h"
#include "ht/kernels/decompositions.h"

/* To a library that stores columns, a row-major matrix is its transpose. A block of this many bytes
 * stays in the cache next to the core while it is factored. */
enum { CACHED_BYTES = 256 << 10, BLOCK = 64, TILE = 16 };

#define JOIN_(a, b)  a##b
#define JOIN(a, b)   JOIN_(a, b)
#define NAME(name)   JOIN(JOIN(name, _), PREFIX)
#define LAPACK(name) JOIN(JOIN(LAPACKE_, PREFIX), JOIN(name, _work))
#define CBLAS(name)  JOIN(JOIN(cblas_, PREFIX), name)
#define MATRIX_OF(pointer, i, elements) \
    ((pointer) != NULL ? (C *)(pointer) + (i) * (elements) : NULL)

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static lapack_int work_size(int64_t n)
{
    return (lapack_int)(n > 0 ? BLOCK * n : 1);
}

/* Memory that LAPACK takes for a matrix: the complex matrix-vector products of OpenBLAS 0.3.21 read
 * up to three columns behind the last one, which ends the program where no page follows. */
static void *alloc_matrix(int64_t elements, int64_t column, size_t bytes)
{
    return ht__alloc((size_t)(elements + 4 * column) * bytes);
}

static CBLAS_TRANSPOSE cblas_op(ht_matrix_op op)
{
    static const CBLAS_TRANSPOSE ops[] = {CblasNoTrans, CblasTrans, CblasConjTrans};

    return ops[op];
}

/* LAPACK counts in int. Blocks of rows are smaller, so that a tall matrix may have more of them. */
static int too_large(const ht_kernel_call *call, int64_t n)
{
    if (n <= INT32_MAX / BLOCK)
        return 0;
    return (int)ht__error_set(HT_ERR_UNSUPPORTED,
                              "%s: a matrix of order %lld is too large for LAPACK", call->what,
                              (long long)n);
}

#define C                float
#define R                float
#define PREFIX           s
#define IS_COMPLEX       0
#define CONJ(x)          (x)
#define REAL(x)          (x)
#define ORTHOGONAL(name) LAPACK(JOIN(or, name))
#define NUMBER(x)        (x)
#define PRODUCT          CBLAS(syrk)
#define ABS(x)           fabsf(x)
#include "backends/cpu/linalg/lapack.inc.c"

#define C                double
#define R                double
#define PREFIX           d
#define IS_COMPLEX       0
#define CONJ(x)          (x)
#define REAL(x)          (x)
#define ORTHOGONAL(name) LAPACK(JOIN(or, name))
#define NUMBER(x)        (x)
#define PRODUCT          CBLAS(syrk)
#define ABS(x)           fabs(x)
#include "backends/cpu/linalg/lapack.inc.c"

#define C                float complex
#define R                float
#define PREFIX           c
#define IS_COMPLEX       1
#define CONJ(x)          conjf(x)
#define REAL(x)          crealf(x)
#define ORTHOGONAL(name) LAPACK(JOIN(un, name))
#define NUMBER(x)        (&(const C){x})
#define PRODUCT          CBLAS(herk)
#define ABS(x)           cabsf(x)
#include "backends/cpu/linalg/lapack.inc.c"

#define C                double complex
#define R                double
#define PREFIX           z
#define IS_COMPLEX       1
#define CONJ(x)          conj(x)
#define REAL(x)          creal(x)
#define ORTHOGONAL(name) LAPACK(JOIN(un, name))
#define NUMBER(x)        (&(const C){x})
#define PRODUCT          CBLAS(herk)
#define ABS(x)           cabs(x)
#include "backends/cpu/linalg/lapack.inc.c"

void ht__cpu_fill_lapack(ht_kernel_table *kernels)
{
    fill_s(kernels, HT_FLOAT32);
    fill_d(kernels, HT_FLOAT64);
    fill_c(kernels, HT_COMPLEX64);
    fill_z(kernels, HT_COMPLEX128);
}
