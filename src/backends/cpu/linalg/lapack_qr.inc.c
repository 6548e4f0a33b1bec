/* SPDX-License-Identifier: MIT
 *
 * The QR factors of one dtype (lapack.inc.c). Tall matrices go block by block of their rows, by
 * products of matrices where columns are not almost dependent. */

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

/* The same as qr_block for any number of rows. Blocks stay in the cache, and the factors r of all
 * of them, one upon another, are factored in the same way. Then each block's q is multiplied by its
 * part of that q. */
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
