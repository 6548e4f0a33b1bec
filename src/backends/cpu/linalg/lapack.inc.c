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

/* ---- QR ------------------------------------------------------------------------------------ */

/* Memory that all blocks of a factorisation share. */
typedef struct NAME(qr_work) {
    C *tau, *work, *kept, *square; /* kept (kept_rows, n), square (n, n) */
    int64_t kept_rows;
    bool wants_q;
} NAME(qr_work);

/* x (m, n), m >= n, is a; x <- q, r (n, n). Row-major memory is the transpose, whose LQ factors are
 * those of a, transposed: a^T = l q' gives a = q'^T l^T, and nothing is turned around. */
static int NAME(qr_reflectors)(int64_t m, int64_t n, C *x, C *r, const NAME(qr_work) * w)
{
    const lapack_int rows = (lapack_int)m, columns = (lapack_int)n, size = work_size(n);
    lapack_int info = LAPACK(gelqf)(LAPACK_COL_MAJOR, columns, rows, x, columns, w->tau, w->work,
                                    size);

    NAME(copy_upper)(n, n, x, r);
    if (info == 0 && w->wants_q)
        info = ORTHOGONAL(glq)(LAPACK_COL_MAJOR, columns, rows, columns, x, columns, w->tau,
                               w->work, size);
    return info;
}

/* r (n, n) <- the Cholesky factor of x^H x, x <- x r^-1; false: there is none. Where `nearly`, x
 * must be orthonormal to some digits before. */
static bool NAME(cholesky_step)(int64_t m, int64_t n, C *x, C *r, bool nearly)
{
    R off = 0;

    PRODUCT(CblasRowMajor, CblasUpper, CblasConjTrans, (int)n, (int)m, 1, x, (int)n, 0, r, (int)n);
    for (int64_t i = 0; i < n && nearly; i++) {
        for (int64_t j = i; j < n; j++)
            off += ABS(r[i * n + j] - (C)(i == j));
    }
    if (!(off < (R)0.1) ||
        LAPACK(potrf)(LAPACK_COL_MAJOR, 'L', (lapack_int)n, r, (lapack_int)n) != 0)
        return false;
    CBLAS(trsm)
    (CblasRowMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, (int)m, (int)n, NUMBER(1),
     r, (int)n, x, (int)n);
    return true;
}

/* As qr_reflectors by Cholesky factors of x^H x, twice, all of it products of matrices. After the
 * first one x is orthonormal to some digits, which the second one sees, unless its columns were
 * almost dependent: then false, and x is what it was. */
static bool NAME(qr_cholesky)(int64_t m, int64_t n, C *x, C *r, const NAME(qr_work) * w)
{
    C *second = w->square;

    memcpy(w->kept, x, (size_t)(m * n) * sizeof *x);
    if (NAME(cholesky_step)(m, n, x, r, false) && NAME(cholesky_step)(m, n, x, second, true)) {
        NAME(copy_upper)(n, n, r, r);
        CBLAS(trmm)
        (CblasRowMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, (int)n, (int)n,
         NUMBER(1), second, (int)n, r, (int)n);
        return true;
    }
    memcpy(x, w->kept, (size_t)(m * n) * sizeof *x);
    return false;
}

static int NAME(qr_block)(int64_t m, int64_t n, C *x, C *r, const NAME(qr_work) * w)
{
    if (m >= 2 * n && m <= w->kept_rows && NAME(qr_cholesky)(m, n, x, r, w))
        return 0;
    return NAME(qr_reflectors)(m, n, x, r, w);
}

/* Rows of r, and the columns of q that belong to them, change their signs where the diagonal is
 * negative: so that factors do not depend on how they were found. */
static void NAME(turn_signs)(int64_t m, int64_t k, int64_t n, C *q, C *r)
{
    R *sign = ht__alloc((size_t)(k + 1) * sizeof *sign);
    bool any = false;

    for (int64_t i = 0; i < k; i++) {
        sign[i] = REAL(r[i * n + i]) < 0 ? -1 : 1;
        for (int64_t j = i; j < n && sign[i] < 0; j++)
            r[i * n + j] = -r[i * n + j];
        r[i * n + i] = REAL(r[i * n + i]);
        any = any || sign[i] < 0;
    }
    for (int64_t i = 0; q != NULL && any && i < m; i++) {
        for (int64_t j = 0; j < k; j++)
            q[i * k + j] *= sign[j];
    }
    ht__free(sign);
}

static int64_t NAME(block_rows)(int64_t n)
{
    const int64_t rows = CACHED_BYTES / ((int64_t)sizeof(C) * n);

    return rows < 4 * n ? 4 * n : rows;
}

/* As qr_block, of any number of rows: blocks that stay in the cache, the factors r of all of them
 * one upon another in the same way, and each block's q times its part of that q. */
static int NAME(qr_tall)(int64_t m, int64_t n, C *x, C *r, const NAME(qr_work) * w)
{
    const int64_t rows = NAME(block_rows)(n), blocks = m / rows;
    C *stack, *part;
    int failed = 0;

    if (blocks < 2) {
        failed = NAME(qr_block)(m, n, x, r, w);
        NAME(turn_signs)(m, n, n, w->wants_q ? x : NULL, r);
        return failed;
    }
    stack = ht__alloc((size_t)(blocks * n * n) * sizeof *stack);
    part = ht__alloc((size_t)(2 * rows * n) * sizeof *part);
    for (int64_t i = 0; i < blocks && failed == 0; i++)
        failed = NAME(qr_block)(i + 1 < blocks ? rows : m - i * rows, n, x + i * rows * n,
                                stack + i * n * n, w);
    if (failed == 0)
        failed = NAME(qr_tall)(blocks * n, n, stack, r, w);
    for (int64_t i = 0; i < blocks && failed == 0 && w->wants_q; i++) {
        const int64_t height = i + 1 < blocks ? rows : m - i * rows;

        memcpy(part, x + i * rows * n, (size_t)(height * n) * sizeof *part);
        CBLAS(gemm)
        (CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)height, (int)n, (int)n, NUMBER(1), part,
         (int)n, stack + i * n * n, (int)n, NUMBER(0), x + i * rows * n, (int)n);
    }
    ht__free(part);
    ht__free(stack);
    return failed;
}

/* m < n: the reflectors lie below the diagonal of the leading square. */
static int NAME(qr_wide)(int64_t m, int64_t n, const C *a, C *q, C *r, const NAME(qr_work) * w)
{
    const lapack_int rows = (lapack_int)m, columns = (lapack_int)n;
    lapack_int info;

    memcpy(r, a, (size_t)(m * n) * sizeof *r);
    info = LAPACK(gelqf)(LAPACK_COL_MAJOR, columns, rows, r, columns, w->tau, w->work,
                         work_size(n));
    for (int64_t i = 0; i < m && q != NULL; i++)
        memcpy(q + i * m, r + i * n, (size_t)m * sizeof *q);
    NAME(copy_upper)(m, n, r, r);
    if (info == 0 && q != NULL)
        info = ORTHOGONAL(glq)(LAPACK_COL_MAJOR, rows, rows, rows, q, rows, w->tau, w->work,
                               work_size(m));
    NAME(turn_signs)(m, m, n, q, r);
    return info;
}

static int NAME(qr)(void *stream, const ht_kernel_call *call)
{
    const ht_factor_call *f = (const ht_factor_call *)call;
    const int64_t m = f->m, n = f->n, k = least(m, n);
    NAME(qr_work) w = {.wants_q = f->q.data != NULL};
    C *x = NULL;
    int failed = too_large(call, n);

    (void)stream;
    if (k == 0 || failed != 0)
        return failed;
    w.tau = ht__alloc((size_t)k * sizeof *w.tau);
    w.work = ht__alloc((size_t)work_size(n) * sizeof *w.work);
    w.kept_rows = least(m, 2 * NAME(block_rows)(n));
    w.kept = ht__alloc((size_t)(w.kept_rows * n) * sizeof *w.kept);
    w.square = ht__alloc((size_t)(n * n) * sizeof *w.square);
    if (m >= n && f->q.data == NULL)
        x = alloc_matrix(m * n, m > n ? m : n, sizeof *x);
    for (int64_t i = 0; i < f->batch && failed == 0; i++) {
        const C *a = (const C *)f->a.data + i * m * n;
        C *q = MATRIX_OF(f->q.data, i, m * k), *r = MATRIX_OF(f->r.data, i, k * n);

        if (m < n) {
            failed = NAME(qr_wide)(m, n, a, q, r, &w);
            continue;
        }
        q = q != NULL ? q : x;
        memcpy(q, a, (size_t)(m * n) * sizeof *q);
        failed = NAME(qr_tall)(m, n, q, r, &w);
    }
    ht__free(x);
    ht__free(w.square);
    ht__free(w.kept);
    ht__free(w.work);
    ht__free(w.tau);
    return failed;
}

/* t by what zlarft makes of rows: there reflectors are conjugate to these, and t is, too. */
static void NAME(make_t)(int64_t m, int64_t k, const C *v, const C *tau, C *t)
{
    C *columns = ht__alloc((size_t)(k * k) * sizeof *columns);

    LAPACK(larft)
    (LAPACK_COL_MAJOR, 'F', 'R', (lapack_int)m, (lapack_int)k, v, (lapack_int)k, tau, columns,
     (lapack_int)k);
    for (int64_t i = 0; i < k; i++) {
        for (int64_t j = 0; j < k; j++)
            t[i * k + j] = j < i ? 0 : CONJ(columns[j * k + i]);
    }
    ht__free(columns);
}

static int NAME(qr_panel)(void *stream, const ht_kernel_call *call)
{
    const ht_factor_call *f = (const ht_factor_call *)call;
    const int64_t m = f->m, n = f->n, k = least(m, n);
    C *x, *tau, *work, *v = f->q.data;
    int failed = too_large(call, m > n ? m : n);

    (void)stream;
    if (k == 0 || failed != 0 || f->batch == 0)
        return failed;
    x = alloc_matrix(m * n, m > n ? m : n, sizeof *x);
    tau = ht__alloc((size_t)k * sizeof *tau);
    work = ht__alloc((size_t)work_size(n) * sizeof *work);
    memcpy(x, f->a.data, (size_t)(m * n) * sizeof *x);
    failed = LAPACK(gelqf)(LAPACK_COL_MAJOR, (lapack_int)n, (lapack_int)m, x, (lapack_int)n, tau,
                           work, work_size(n));
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < k; j++)
            v[i * k + j] = j < i ? x[i * n + j] : i == j;
    }
    NAME(copy_upper)(k, n, x, f->r.data);
    NAME(make_t)(m, k, v, tau, f->t.data);
    ht__free(work);
    ht__free(tau);
    ht__free(x);
    return failed;
}

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
        NAME(transpose)(n, m, x, lu);
        for (int64_t j = 0; j < k; j++)
            exchanged[i * k + j] = pivots[j] - 1;
    }
    ht__free(pivots);
    ht__free(x);
    return 0;
}

static void NAME(swap)(C *a, C *b, int64_t n)
{
    for (int64_t i = 0; i < n && a != b; i++) {
        const C kept = a[i];

        a[i] = b[i];
        b[i] = kept;
    }
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
    for (int64_t i = 0; i < f->batch && failed == 0 && f->m > 0 && f->n > 0; i++)
        CBLAS(trsm)
    (CblasRowMajor, f->right ? CblasRight : CblasLeft, f->upper ? CblasUpper : CblasLower,
     cblas_op(f->op), f->unit ? CblasUnit : CblasNonUnit, (int)f->m, (int)f->n, NUMBER(1),
     (const C *)f->t.data + i * size * size, (int)size, (C *)f->b.data + i * f->m * f->n,
     (int)f->n);
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
