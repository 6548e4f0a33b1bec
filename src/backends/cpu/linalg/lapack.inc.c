/* SPDX-License-Identifier: MIT
 *
 * The factorisations of one dtype C, whose parts have type R (lapack.c). */

static void NAME(transpose)(int64_t m, int64_t n, const C *from, C *to)
{
    for (int64_t i = 0; i < m; i += TILE) {
        for (int64_t j = 0; j < n; j += TILE) {
            for (int64_t y = i; y < least(i + TILE, m); y++) {
                for (int64_t x = j; x < least(j + TILE, n); x++)
                    to[x * m + y] = from[y * n + x];
            }
        }
    }
}

/* The (k, n) upper triangle of `from`, zeros below. */
static void NAME(copy_upper)(int64_t k, int64_t n, const C *from, C *to)
{
    for (int64_t i = 0; i < k; i++) {
        memset(to + i * n, 0, (size_t)least(i, n) * sizeof *to);
        if (i < n && to != from)
            memcpy(to + i * n + i, from + i * n + i, (size_t)(n - i) * sizeof *to);
    }
}

#include "backends/cpu/linalg/lapack_plain.inc.c"
#include "backends/cpu/linalg/lapack_qr.inc.c"

/* ---- triangular factors -------------------------------------------------------------------- */

/* The part below the diagonal is the part above the diagonal of the transpose: a = l l^H gives a^T
 * = (l^T)^H l^T. */
static int NAME(cholesky)(void *stream, const ht_kernel_call *call)
{
    const ht_factor_call *f = (const ht_factor_call *)call;
    int64_t *info = f->info.data;
    const int64_t n = f->n;
    const int failed = too_large(call, n);

    (void)stream;
    for (int64_t i = 0; i < f->batch && failed == 0 && n > 0; i++) {
        C *x = (C *)f->q.data + i * n * n;

        info[i] = LAPACK(potrf)(LAPACK_COL_MAJOR, 'U', (lapack_int)n, x, (lapack_int)n);
        for (int64_t row = 0; row < n; row++) {
            if (!(REAL(x[row * n + row]) > 0) && info[i] == 0)
                info[i] = row + 1; /* NaN, which LAPACK may pass by */
            memset(x + row * n + row + 1, 0, (size_t)(n - row - 1) * sizeof *x);
        }
    }
    return failed;
}

static int NAME(lu)(void *stream, const ht_kernel_call *call)
{
    const ht_factor_call *f = (const ht_factor_call *)call;
    int64_t *info = f->info.data, *exchanged = f->pivots.data;
    const int64_t m = f->m, n = f->n, k = least(m, n);
    const int failed = too_large(call, m > n ? m : n);
    lapack_int *pivots;
    C *x;

    (void)stream;
    if (k == 0 || failed != 0)
        return failed;
    x = alloc_matrix(m * n, m > n ? m : n, sizeof *x);
    pivots = ht__alloc((size_t)k * sizeof *pivots);
    for (int64_t i = 0; i < f->batch; i++) {
        C *lu = (C *)f->q.data + i * m * n;

        NAME(transpose)(m, n, lu, x);
        info[i] = LAPACK(getrf)(LAPACK_COL_MAJOR, (lapack_int)m, (lapack_int)n, x, (lapack_int)m,
                                pivots);
        if (NAME(has_extreme)(x, k, m + 1)) {
            info[i] = NAME(divide_lu)(m, n, lu, exchanged + i * k);
            continue;
        }
        NAME(transpose)(n, m, x, lu);
        for (int64_t j = 0; j < k; j++)
            exchanged[i * k + j] = pivots[j] - 1;
    }
    ht__free(pivots);
    ht__free(x);
    return 0;
}

static int NAME(swap_rows)(void *stream, const ht_kernel_call *call)
{
    const ht_factor_call *f = (const ht_factor_call *)call;
    const int64_t *pivots = f->pivots.data;

    (void)stream;
    for (int64_t i = 0; i < f->batch; i++) {
        C *x = (C *)f->q.data + i * f->m * f->n;

        for (int64_t step = 0; step < f->count; step++) {
            const int64_t row = f->backwards ? f->count - 1 - step : step;

            NAME(swap)(x + row * f->n, x + pivots[i * f->count + row] * f->n, f->n);
        }
    }
    return 0;
}

static int NAME(solve_triangular)(void *stream, const ht_kernel_call *call)
{
    const ht_triangular_call *f = (const ht_triangular_call *)call;
    const int64_t size = f->right ? f->n : f->m;
    const int failed = too_large(call, f->m > f->n ? f->m : f->n);

    (void)stream;
    for (int64_t i = 0; i < f->batch && failed == 0 && f->m > 0 && f->n > 0; i++) {
        const C *t = (const C *)f->t.data + i * size * size;
        C *b = (C *)f->b.data + i * f->m * f->n;

        if (!f->unit && NAME(has_extreme)(t, size, size + 1))
            NAME(divide_triangular)(f, t, b);
        else
            CBLAS(trsm)
        (CblasRowMajor, f->right ? CblasRight : CblasLeft, f->upper ? CblasUpper : CblasLower,
         cblas_op(f->op), f->unit ? CblasUnit : CblasNonUnit, (int)f->m, (int)f->n, NUMBER(1), t,
         (int)size, b, (int)f->n);
    }
    return failed;
}

/* ---- singular values and eigenvalues ------------------------------------------------------- */

/* a^T = u' s v'^H, of which the memory of u' is r, and that of v'^H is q. */
static int NAME(svd)(void *stream, const ht_kernel_call *call)
{
    const ht_factor_call *f = (const ht_factor_call *)call;
    int64_t *info = f->info.data;
    const int64_t m = f->m, n = f->n, k = least(m, n), larger = m > n ? m : n;
    const int failed = too_large(call, larger);
    const char job = f->q.data != NULL ? 'S' : 'N';
    const lapack_int rows = (lapack_int)n, columns = (lapack_int)m, least_ = (lapack_int)k;
    lapack_int *integers, size;
    C *x, *work, best;
#if IS_COMPLEX
    R *reals;
#define REALS reals,
#else
#define REALS
#endif
    if (k == 0 || failed != 0)
        return failed;
    (void)stream;
    x = alloc_matrix(m * n, m > n ? m : n, sizeof *x);
    integers = ht__alloc((size_t)(8 * k) * sizeof *integers);
#if IS_COMPLEX
    reals = ht__alloc((size_t)(k * (5 * k + 7) + 2 * k * (larger + k) + 1) * sizeof *reals);
#endif
    LAPACK(gesdd)
    (LAPACK_COL_MAJOR, job, rows, columns, x, rows, f->real.data, f->r.data, rows, f->q.data,
     least_, &best, -1, REALS integers);
    size = (lapack_int)REAL(best) + 1;
    work = alloc_matrix(size, larger, sizeof *work);
    for (int64_t i = 0; i < f->batch; i++) {
        memcpy(x, (const C *)f->a.data + i * m * n, (size_t)(m * n) * sizeof *x);
        info[i] = LAPACK(gesdd)(LAPACK_COL_MAJOR, job, rows, columns, x, rows,
                                (R *)f->real.data + i * k, MATRIX_OF(f->r.data, i, k * n), rows,
                                MATRIX_OF(f->q.data, i, m * k), least_, work, size, REALS integers);
    }
    ht__free(work);
#if IS_COMPLEX
    ht__free(reals);
#endif
    ht__free(integers);
    ht__free(x);
    return 0;
}
#undef REALS

/* The matrix that LAPACK reads is the conjugate of a, and its vectors are conjugate, too. */
static int NAME(eigh)(void *stream, const ht_kernel_call *call)
{
    const ht_factor_call *f = (const ht_factor_call *)call;
    int64_t *info = f->info.data;
    const int64_t n = f->n;
    const int failed = too_large(call, n);
    const lapack_int order = (lapack_int)n;
    const char job = f->vectors ? 'V' : 'N';
    lapack_int *integers, count, size;
    C *x, *work, best;

    (void)stream;
    if (n == 0 || failed != 0)
        return failed;
    x = alloc_matrix(n * n, n, sizeof *x);
#if IS_COMPLEX
    R *reals, many;
    lapack_int room;

    LAPACK(heevd)
    (LAPACK_COL_MAJOR, job, 'U', order, x, order, f->real.data, &best, -1, &many, -1, &count, -1);
    room = (lapack_int)many + 1;
    reals = ht__alloc((size_t)room * sizeof *reals);
#else
    LAPACK(syevd)(LAPACK_COL_MAJOR, job, 'U', order, x, order, f->real.data, &best, -1, &count, -1);
#endif
    size = (lapack_int)REAL(best) + 1;
    work = ht__alloc((size_t)size * sizeof *work);
    integers = ht__alloc((size_t)count * sizeof *integers);
    for (int64_t i = 0; i < f->batch; i++) {
        C *v = (C *)f->q.data + i * n * n;
        R *w = (R *)f->real.data + i * n;

        memcpy(x, v, (size_t)(n * n) * sizeof *x);
#if IS_COMPLEX
        info[i] = LAPACK(heevd)(LAPACK_COL_MAJOR, job, 'U', order, x, order, w, work, size, reals,
                                room, integers, count);
#else
        info[i] = LAPACK(syevd)(LAPACK_COL_MAJOR, job, 'U', order, x, order, w, work, size,
                                integers, count);
#endif
        NAME(transpose)(n, n, x, v);
        for (int64_t j = 0; j < n * n && IS_COMPLEX; j++)
            v[j] = CONJ(v[j]);
    }
    ht__free(integers);
    ht__free(work);
#if IS_COMPLEX
    ht__free(reals);
#endif
    ht__free(x);
    return 0;
}

static void NAME(fill)(ht_kernel_table *kernels, ht_dtype dtype)
{
    kernels->at[HT_KERNEL_QR][dtype] = NAME(qr);
    kernels->at[HT_KERNEL_QR_PANEL][dtype] = NAME(qr_panel);
    kernels->at[HT_KERNEL_CHOLESKY][dtype] = NAME(cholesky);
    kernels->at[HT_KERNEL_LU][dtype] = NAME(lu);
    kernels->at[HT_KERNEL_SWAP_ROWS][dtype] = NAME(swap_rows);
    kernels->at[HT_KERNEL_SOLVE_TRIANGULAR][dtype] = NAME(solve_triangular);
    kernels->at[HT_KERNEL_SVD][dtype] = NAME(svd);
    kernels->at[HT_KERNEL_EIGH][dtype] = NAME(eigh);
}

#undef C
#undef R
#undef PREFIX
#undef IS_COMPLEX
#undef CONJ
#undef REAL
#undef ORTHOGONAL
#undef PRODUCT
#undef ABS
#undef NUMBER
