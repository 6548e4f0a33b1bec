/* SPDX-License-Identifier: MIT
 *
 * Factorisations and solvers, whose results are not unique or not exact. Their guarantees are
 * checked by products of plain C, relative to the rounding of the dtype and the size of matrices.
 */
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"

/* A matrix on every rank. */
struct matrix {
    int64_t m, n;
    double complex *at;
};

enum { MOST_MATRICES = 64, ROUNDINGS = 200 };
static struct matrix kept[MOST_MATRICES];
static int kept_count;

static struct matrix matrix_new(int64_t m, int64_t n)
{
    struct matrix x = {m, n, calloc((size_t)(m * n) + 1, sizeof *x.at)};

    kept[kept_count++] = x;
    return x;
}

static void matrices_free(void)
{
    while (kept_count > 0)
        free(kept[--kept_count].at);
}

/* A vector is a row. */
static struct matrix matrix_of(ht_tensor *t)
{
    struct array whole;
    struct matrix x;

    gather(t, &whole);
    x = matrix_new(whole.ndim == 2 ? whole.shape[0] : 1,
                   whole.ndim > 0 ? whole.shape[whole.ndim - 1] : 1);
    for (int64_t i = 0; i < x.m * x.n; i++) {
        const struct number a = array_at(&whole, i);

        x.at[i] = kind_of(whole.dtype) <= KIND_INT ? (double)a.i : number_z(a);
    }
    return x;
}

static struct matrix adjoint_of(struct matrix x)
{
    struct matrix y = matrix_new(x.n, x.m);

    for (int64_t i = 0; i < x.m * x.n; i++)
        y.at[i % x.n * x.m + i / x.n] = conj(x.at[i]);
    return y;
}

static struct matrix product(struct matrix a, struct matrix b)
{
    struct matrix c = matrix_new(a.m, b.n);

    for (int64_t i = 0; i < a.m; i++) {
        for (int64_t k = 0; k < a.n; k++) {
            for (int64_t j = 0; j < b.n; j++)
                c.at[i * b.n + j] += a.at[i * a.n + k] * b.at[k * b.n + j];
        }
    }
    return c;
}

/* x diag(d) */
static struct matrix times(struct matrix x, struct matrix d)
{
    struct matrix y = matrix_new(x.m, x.n);

    for (int64_t i = 0; i < x.m * x.n; i++)
        y.at[i] = x.at[i] * d.at[i % x.n];
    return y;
}

static struct matrix one(int64_t n)
{
    struct matrix x = matrix_new(n, n);

    for (int64_t i = 0; i < n; i++)
        x.at[i * n + i] = 1;
    return x;
}

static double norm(struct matrix x)
{
    double sum = 0;

    for (int64_t i = 0; i < x.m * x.n; i++)
        sum += cabs(x.at[i]) * cabs(x.at[i]);
    return sqrt(sum);
}

/* How far a is from b, in roundings of numbers of `size`. */
static double eps;
static double worst;
static const char *worst_of;

static void expect(const char *what, struct matrix a, struct matrix b, double size)
{
    double off = 0;

    if (a.m != b.m || a.n != b.n) {
        off = INFINITY;
    } else {
        for (int64_t i = 0; i < a.m * a.n; i++) {
            const double distance = cabs(a.at[i] - b.at[i]);

            off = distance > off || isnan(distance) ? distance : off;
        }
        off /= eps * (size + DBL_MIN / eps) * (double)(a.m + a.n + 10);
    }
    if (!(off <= worst)) {
        worst = off;
        worst_of = what;
    }
}

static void expect_orthonormal(const char *what, struct matrix q)
{
    expect(what, product(adjoint_of(q), q), one(q.n), 1);
}

/* --- The guarantees of each --- */

static ht_tensor *adjoint(ht_tensor *x)
{
    return ht_transpose(ht_conj(x), 0, 1);
}

static bool is_square(ht_tensor *x)
{
    return ht_tensor_ndim(x) == 2 && ht_tensor_shape(x)[0] == ht_tensor_shape(x)[1];
}

static int64_t rows_of(ht_tensor *x)
{
    return ht_tensor_ndim(x) > 0 ? ht_tensor_shape(x)[0] : 1;
}

/* Hermitian, with eigenvalues from 1 on, in another order of columns; no matter how x is split. An
 * x that cannot give such a matrix is passed on, so that the function itself refuses it. */
static ht_tensor *hermitian(ht_tensor *x)
{
    return is_square(x) ? ht_add(x, adjoint(x)) : x;
}

static ht_tensor *definite(ht_tensor *x)
{
    const int64_t n = rows_of(x);

    if (ht_tensor_ndim(x) != 2)
        return x;
    return ht_add(ht_matmul(x, adjoint(x)), ht_eye(n, n, ht_tensor_dtype(x), HT_NONE));
}

static ht_tensor *mirrored(ht_tensor *x)
{
    return ht_tensor_ndim(x) == 2 ? ht_flip(x, HT_AXES(1)) : x;
}

static ht_status check_qr(ht_tensor *x)
{
    struct matrix a = matrix_of(x);
    ht_tensor *q, *r;
    ht_status status = ht_qr(x, &q, &r);

    if (status != HT_SUCCESS)
        return status;
    expect("q r", product(matrix_of(q), matrix_of(r)), a, norm(a));
    expect_orthonormal("q", matrix_of(q));
    return HT_SUCCESS;
}

static ht_status check_lu(ht_tensor *x)
{
    struct matrix a = matrix_of(x), rows = matrix_new(a.m, a.n), order;
    ht_tensor *p, *l, *u;
    ht_status status = ht_lu(x, &p, &l, &u);

    if (status != HT_SUCCESS)
        return status;
    order = matrix_of(p);
    for (int64_t i = 0; i < a.m * a.n; i++)
        rows.at[i] = a.at[(int64_t)creal(order.at[i / a.n]) * a.n + i % a.n];
    expect("l u", product(matrix_of(l), matrix_of(u)), rows, norm(a) * (double)(a.m + 1));
    return HT_SUCCESS;
}

static ht_status check_svd(ht_tensor *x)
{
    struct matrix a = matrix_of(x);
    ht_tensor *u, *s, *vh;
    ht_status status = ht_svd(x, &u, &s, &vh);

    if (status != HT_SUCCESS)
        return status;
    expect("u s vh", product(times(matrix_of(u), matrix_of(s)), matrix_of(vh)), a, norm(a));
    expect_orthonormal("u", matrix_of(u));
    expect_orthonormal("v", adjoint_of(matrix_of(vh)));
    return HT_SUCCESS;
}

static ht_status check_rsvd(ht_tensor *x)
{
    struct matrix a = matrix_of(x);
    ht_tensor *u, *s, *vh;
    ht_status status = ht_rsvd_ext(x, a.m < a.n ? a.m : a.n, 3, 1, &u, &s, &vh);

    if (status == HT_SUCCESS)
        expect("u s vh", product(times(matrix_of(u), matrix_of(s)), matrix_of(vh)), a, norm(a));
    return status;
}

static ht_status check_hsvd(ht_tensor *x)
{
    struct matrix a = matrix_of(x);
    ht_tensor *u, *s, *vh;
    double error;
    ht_status status = ht_hsvd_rtol(x, 0.3, &u, &s, &vh, &error);

    if (status != HT_SUCCESS)
        return status;
    expect_orthonormal("u", matrix_of(u));
    expect_orthonormal("v", adjoint_of(matrix_of(vh)));
    if (!(error <= 0.3001))
        expect("error", product(times(matrix_of(u), matrix_of(s)), matrix_of(vh)), a, norm(a));
    return HT_SUCCESS;
}

/* The columns of x in two parts, the first of which may be empty. */
static ht_status check_isvd(ht_tensor *x)
{
    const ht_dtype dtype = ht_tensor_dtype(x);
    struct matrix a = matrix_of(x);
    const int64_t half = a.n / 2;
    ht_tensor *u, *s, *vh;
    ht_status status;

    if (ht_tensor_ndim(x) != 2)
        return ht_isvd(x, x, x, x, 0, &u, &s, &vh);
    status = ht_isvd(ht_narrow(x, 1, 0, half), ht_zeros(HT_SHAPE(a.m, 0), dtype, 0),
                     ht_zeros(HT_SHAPE(0), HT_FLOAT32, HT_NONE), ht_zeros(HT_SHAPE(0, 0), dtype, 1),
                     0, &u, &s, &vh);
    if (status == HT_SUCCESS)
        status = ht_isvd(ht_narrow(x, 1, half, a.n), u, s, vh, 0, &u, &s, &vh);
    if (status != HT_SUCCESS)
        return status;
    expect("u s vh", product(times(matrix_of(u), matrix_of(s)), matrix_of(vh)), a, norm(a));
    expect_orthonormal("u", matrix_of(u));
    return HT_SUCCESS;
}

static ht_status check_eigh_of(ht_tensor *x,
                               ht_status (*call)(ht_tensor *, ht_tensor **, ht_tensor **))
{
    ht_tensor *h = hermitian(x), *w, *v;
    ht_status status = h != NULL ? call(h, &w, &v) : ht_error_get(NULL);
    struct matrix a, vectors;

    if (status != HT_SUCCESS)
        return status;
    a = matrix_of(h);
    vectors = matrix_of(v);
    expect("v w v^H", product(times(vectors, matrix_of(w)), adjoint_of(vectors)), a, norm(a));
    expect_orthonormal("v", vectors);
    return HT_SUCCESS;
}

static ht_status check_eigh(ht_tensor *x)
{
    return check_eigh_of(x, ht_eigh);
}

static ht_status all_by_reigh(ht_tensor *a, ht_tensor **w, ht_tensor **v)
{
    return ht_reigh(a, rows_of(a), w, v);
}

static ht_status check_reigh(ht_tensor *x)
{
    return check_eigh_of(x, all_by_reigh);
}

static ht_status check_cholesky(ht_tensor *x)
{
    ht_tensor *a = definite(x), *l = ht_cholesky(a);
    struct matrix factor;

    if (l == NULL)
        return ht_error_get(NULL);
    factor = matrix_of(l);
    expect("l l^H", product(factor, adjoint_of(factor)), matrix_of(a), norm(matrix_of(a)));
    return HT_SUCCESS;
}

static void expect_solution(ht_tensor *a, ht_tensor *x, ht_tensor *b)
{
    struct matrix left = matrix_of(a), found = matrix_of(x);

    if (isfinite(norm(found)) && norm(found) < 1e10)
        expect("a x", product(left, found), matrix_of(b),
               norm(left) * norm(found) + norm(matrix_of(b)));
}

static ht_status check_solve(ht_tensor *x)
{
    ht_tensor *y = ht_solve(x, mirrored(x));

    if (y == NULL)
        return ht_error_get(NULL);
    expect_solution(x, y, mirrored(x));
    return HT_SUCCESS;
}

static ht_status check_solve_triangular(ht_tensor *x)
{
    ht_tensor *y = ht_solve_triangular(x, mirrored(x), true);

    if (y == NULL)
        return ht_error_get(NULL);
    expect_solution(ht_triu(x, 0), y, mirrored(x));
    return HT_SUCCESS;
}

static ht_status check_inv(ht_tensor *x)
{
    ht_tensor *y = ht_inv(x);

    if (y == NULL)
        return ht_error_get(NULL);
    expect_solution(x, y,
                    ht_eye(ht_tensor_shape(x)[0], ht_tensor_shape(x)[0], HT_FLOAT64, HT_NONE));
    return HT_SUCCESS;
}

/* By elimination; the columns' lengths bound what roundings of elements may change. */
static ht_status check_det(ht_tensor *x)
{
    struct matrix a = matrix_of(x), expected = one(1), found, by_logarithm = one(1);
    ht_tensor *det = ht_det(x), *sign, *logarithm;
    double size = (double)(a.n + 1);

    if (det == NULL || ht_slogdet(x, &sign, &logarithm) != HT_SUCCESS)
        return ht_error_get(NULL);
    for (int64_t j = 0; j < a.n; j++) {
        double column = 0;

        for (int64_t i = 0; i < a.n; i++)
            column += cabs(a.at[i * a.n + j]);
        size *= column;
    }
    for (int64_t k = 0; k < a.n; k++) {
        int64_t best = k;

        for (int64_t i = k; i < a.n; i++)
            best = cabs(a.at[i * a.n + k]) > cabs(a.at[best * a.n + k]) ? i : best;
        for (int64_t j = 0; j < a.n && best != k; j++) {
            const double complex other = a.at[best * a.n + j];

            a.at[best * a.n + j] = -a.at[k * a.n + j];
            a.at[k * a.n + j] = other;
        }
        expected.at[0] *= a.at[k * a.n + k];
        for (int64_t i = k + 1; i < a.n && a.at[k * a.n + k] != 0; i++) {
            const double complex factor = a.at[i * a.n + k] / a.at[k * a.n + k];

            for (int64_t j = k; j < a.n; j++)
                a.at[i * a.n + j] -= factor * a.at[k * a.n + j];
        }
    }
    if (!(size < 1e30))
        return HT_SUCCESS;
    found = matrix_of(det);
    by_logarithm.at[0] = matrix_of(sign).at[0] * exp(creal(matrix_of(logarithm).at[0]));
    expect("det", found, expected, size);
    expect("slogdet", by_logarithm, expected, size * 100);
    return HT_SUCCESS;
}

static ht_status check_polar(ht_tensor *x)
{
    struct matrix a = matrix_of(x);
    ht_tensor *u, *h;
    ht_status status = ht_polar(x, &u, &h);

    if (status != HT_SUCCESS)
        return status;
    expect("u h", product(matrix_of(u), matrix_of(h)), a, norm(a));
    expect_orthonormal("u", matrix_of(u));
    return HT_SUCCESS;
}

static ht_status check_pinv(ht_tensor *x)
{
    struct matrix a = matrix_of(x);
    ht_tensor *y = ht_pinv(x);

    if (y == NULL)
        return ht_error_get(NULL);
    expect("a y a", product(product(a, matrix_of(y)), a), a,
           norm(a) * (norm(a) * norm(matrix_of(y)) + 1));
    return HT_SUCCESS;
}

static ht_status check_lstsq(ht_tensor *x)
{
    ht_tensor *b = mirrored(x), *y = ht_lstsq(x, b);
    struct matrix a = matrix_of(x), right, found, zero;

    if (y == NULL)
        return ht_error_get(NULL);
    right = matrix_of(b);
    found = matrix_of(y);
    zero = product(a, found);
    for (int64_t i = 0; i < zero.m * zero.n; i++)
        zero.at[i] -= right.at[i];
    expect("a^H (a x - b)", product(adjoint_of(a), zero), matrix_new(a.n, a.n),
           norm(a) * (norm(a) * norm(found) + norm(right)) * (double)(a.m + a.n));
    return HT_SUCCESS;
}

static ht_status check_cg(ht_tensor *x)
{
    const int64_t n = rows_of(x);
    ht_tensor *b = ht_ones(1, &n, HT_FLOAT64, n > 0 ? 0 : HT_NONE), *a, *y;

    a = definite(x);
    y = ht_cg_ext(a, b, NULL, 1e-3, 40 * n);
    if (y == NULL)
        return ht_error_get(NULL);
    return HT_SUCCESS;
}

static ht_status check_lanczos(ht_tensor *x)
{
    ht_tensor *h = hermitian(x), *v, *t;
    const int64_t n = rows_of(x);
    ht_status status = h != NULL ? ht_lanczos(h, n, NULL, &v, &t) : ht_error_get(NULL);
    struct matrix a, vectors;

    if (status != HT_SUCCESS)
        return status;
    a = matrix_of(h);
    vectors = matrix_of(v);
    expect_orthonormal("v", vectors);
    expect("v t v^H", product(product(vectors, matrix_of(t)), adjoint_of(vectors)), a,
           norm(a) * 10);
    return HT_SUCCESS;
}

/* By its series, of a matrix that is made small. */
static ht_status check_matrix_exp(ht_tensor *x)
{
    const double size = 1 + norm(matrix_of(x));
    ht_tensor *small = ht_div_scalar(x, size), *y = ht_matrix_exp(small);
    struct matrix a, power, sum;

    if (y == NULL)
        return ht_error_get(NULL);
    a = matrix_of(small);
    sum = one(a.n);
    power = one(a.n);
    for (int k = 1; k < 20; k++) {
        power = product(power, a);
        for (int64_t i = 0; i < a.n * a.n; i++)
            sum.at[i] += power.at[i] /= k;
    }
    expect("e^a", matrix_of(y), sum, 3);
    return HT_SUCCESS;
}

static ht_status check_condest(ht_tensor *x)
{
    double condition = 0;
    ht_status status = ht_condest(x, &condition);

    if (status == HT_SUCCESS && !(condition >= 1))
        worst = INFINITY;
    return status;
}

/* --- Statements --- */

enum { SQUARE = 1, TALL = 2, FILLED = 4, MAY_FAIL = 8 };

/* clang-format off */
#define CHECK_LIST(X) \
    X(qr, 0) X(lu, 0) X(svd, 0) X(rsvd, FILLED) X(hsvd, 0) X(isvd, 0) X(eigh, SQUARE) \
    X(reigh, SQUARE | FILLED) X(cholesky, MAY_FAIL) X(solve, SQUARE | MAY_FAIL) \
    X(solve_triangular, SQUARE) X(inv, SQUARE | MAY_FAIL) X(det, SQUARE) X(polar, TALL) \
    X(pinv, 0) X(lstsq, 0) X(cg, MAY_FAIL) X(lanczos, SQUARE | FILLED) X(matrix_exp, SQUARE) \
    X(condest, TALL | FILLED)
/* clang-format on */

static const struct check {
    ht_status (*run)(ht_tensor *x);
    unsigned needs;
} checks[] = {
#define CHECK_ROW(name, needs) {check_##name, needs},
    CHECK_LIST(CHECK_ROW)
#undef CHECK_ROW
};

static bool is_small_matrix(struct run *run, const struct variable *x)
{
    (void)run;
    return x->a.ndim == 2 && array_size(&x->a) <= 400;
}

/* Batches are left to other tests. */
static bool is_no_batch(struct run *run, const struct variable *x)
{
    (void)run;
    return x->a.ndim <= 2;
}

static bool generate_check(struct run *run, const struct op *op, struct statement *s)
{
    (void)op;
    s->arg[0] = pick(run, random_chance(&run->random, 5) ? is_no_batch : is_small_matrix);
    return s->arg[0] >= 0;
}

/* Neither so large nor so small that squares leave the range. */
static bool is_moderate(ht_tensor *x)
{
    struct matrix a = matrix_of(x);
    bool good = true;

    for (int64_t i = 0; i < a.m * a.n; i++) {
        const double size = cabs(a.at[i]);

        good = good && (size == 0 || (size > 1e-6 && size < 1e6));
    }
    return good;
}

static bool moderate;

static struct outcome call_check(struct run *run, const struct statement *s)
{
    const struct check *check = &checks[s->op->row.reduction.what];
    ht_tensor *x = tensor_of(run, s, 0);
    const bool was = ht_set_grad_enabled(false);
    const ht_dtype dtype = ht_tensor_dtype(x);
    ht_status status;

    moderate = ht_tensor_ndim(x) == 2 && is_moderate(x);
    worst = 0;
    worst_of = "";
    eps = dtype == HT_FLOAT64 || dtype == HT_COMPLEX128 ? 0x1p-52 : 0x1p-23;
    if (ht_tensor_ndim(x) == 2 && kind_of(dtype) <= KIND_INT)
        x = ht_astype(x, HT_FLOAT32);
    status = check->run(x);
    matrices_free();
    ht_set_grad_enabled(was);
    return done(status);
}

static int reference_check(struct run *run, const struct statement *s, struct array *out)
{
    const struct array *x = array_of(run, s, 0);
    const unsigned needs = checks[s->op->row.reduction.what].needs;

    (void)out;
    if (x->ndim != 2 || x->dtype == HT_FLOAT16 || x->dtype == HT_BFLOAT16 ||
        ((needs & SQUARE) && x->shape[0] != x->shape[1]) ||
        ((needs & TALL) && x->shape[0] < x->shape[1]) || ((needs & FILLED) && array_size(x) == 0))
        return WANT_FAILURE;
    if (!moderate)
        return WANT_ANYTHING;
    if (run->status == HT_SUCCESS && !(worst <= ROUNDINGS))
        fail(run, "%s is off by %g roundings", worst_of, worst);
    return needs & MAY_FAIL ? WANT_ANYTHING : WANT_SUCCESS;
}

#define CHECK_NUMBER(name, needs) NUMBER_##name,
enum { CHECK_LIST(CHECK_NUMBER) NUMBERS };
#undef CHECK_NUMBER

#define CHECK_OP(name, needs)      \
    {.format = "ht_" #name "(%t)", \
     .weight = 2,                  \
     .generate = generate_check,   \
     .call = call_check,           \
     .reference = reference_check, \
     .row.reduction = {NULL, NUMBER_##name}},

const struct op ops_decompositions[] = {CHECK_LIST(CHECK_OP){0}};
