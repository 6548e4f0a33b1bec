/* ranks 1 2 3 */
/* SPDX-License-Identifier: MIT */
/* Results are not views: they can be resplit and written in place. */
#include "core/algorithms/factor/matrices_test.h"

#include "core/tensor/tensor.h"
#include "ht.h"

enum { RESULTS = 3, ROWS = 9, COLUMNS = 6 };

/* x (9, 6); a (6, 6), positive definite; b (6) and c (9), without a split. */
typedef struct operands {
    ht_tensor *x, *a, *b, *c;
} operands;

static void svd(const operands *o, ht_tensor *y[RESULTS])
{
    ht_svd(o->x, &y[0], &y[1], &y[2]);
}

static void svd_of_wide(const operands *o, ht_tensor *y[RESULTS])
{
    ht_svd(ht_transpose(o->x, 0, 1), &y[0], &y[1], &y[2]);
}

static void eigh(const operands *o, ht_tensor *y[RESULTS])
{
    ht_eigh(o->a, &y[0], &y[1]);
}

static void rsvd(const operands *o, ht_tensor *y[RESULTS])
{
    ht_rsvd(o->x, 2, &y[0], &y[1], &y[2]);
}

static void reigh(const operands *o, ht_tensor *y[RESULTS])
{
    ht_reigh(o->a, 2, &y[0], &y[1]);
}

static void reigh_of_all(const operands *o, ht_tensor *y[RESULTS])
{
    ht_reigh(o->a, COLUMNS, &y[0], &y[1]);
}

static void hsvd(const operands *o, ht_tensor *y[RESULTS])
{
    ht_hsvd_rank(o->x, 2, &y[0], &y[1], &y[2], NULL);
}

static void hsvd_of_all(const operands *o, ht_tensor *y[RESULTS])
{
    ht_hsvd(o->x, 0, 0, 0, &y[0], &y[1], &y[2], NULL);
}

static void isvd(const operands *o, ht_tensor *y[RESULTS])
{
    ht_tensor *u, *s, *vh;

    ht_rsvd(o->x, 2, &u, &s, &vh);
    ht_isvd(ht_expand_dims(o->c, 1), ht_resplit(u, HT_NONE), s, ht_resplit(vh, HT_NONE), 2, &y[0],
            &y[1], &y[2]);
}

static void qr(const operands *o, ht_tensor *y[RESULTS])
{
    ht_qr(o->x, &y[0], &y[1]);
}

static void lu(const operands *o, ht_tensor *y[RESULTS])
{
    ht_lu(o->x, &y[0], &y[1], &y[2]);
}

static void polar(const operands *o, ht_tensor *y[RESULTS])
{
    ht_polar(o->x, &y[0], &y[1]);
}

static void lanczos(const operands *o, ht_tensor *y[RESULTS])
{
    ht_lanczos(o->a, 3, NULL, &y[0], &y[1]);
}

static void solve(const operands *o, ht_tensor *y[RESULTS])
{
    y[0] = ht_solve(o->a, o->b);
    y[1] = ht_solve(o->a, ht_expand_dims(o->b, 1));
    y[2] = ht_solve_triangular(o->a, o->b, true);
}

static void lstsq(const operands *o, ht_tensor *y[RESULTS])
{
    y[0] = ht_lstsq(o->x, o->c);
    y[1] = ht_lstsq(o->x, ht_expand_dims(o->c, 1));
}

static void cg(const operands *o, ht_tensor *y[RESULTS])
{
    y[0] = ht_cg(o->a, o->b, NULL);
    y[1] = ht_cg(o->a, o->b, o->b);
}

static void inverses(const operands *o, ht_tensor *y[RESULTS])
{
    y[0] = ht_inv(o->a);
    y[1] = ht_pinv(o->x);
    y[2] = ht_matrix_exp(o->a);
}

static void cross(const operands *o, ht_tensor *y[RESULTS])
{
    ht_tensor *x = ht_narrow(o->x, 1, 0, 3), *rows = ht_narrow(o->x, 0, 3, 6);

    y[0] = ht_cross(x, x, 1);
    y[1] = ht_cross(rows, rows, 0);
    y[2] = ht_cross(ht_narrow(o->x, 1, 0, 2), x, 1);
}

static void covariances(const operands *o, ht_tensor *y[RESULTS])
{
    y[0] = ht_cov(o->c, NULL, true, true);
    y[1] = ht_cov(o->x, NULL, false, true);
    y[2] = ht_corrcoef(o->c, NULL, true);
}

static void products(const operands *o, ht_tensor *y[RESULTS])
{
    y[0] = ht_matmul(o->x, o->b);
    y[1] = ht_matmul(o->c, o->x);
    y[2] = ht_vdot(o->b, o->b);
}

static void norms(const operands *o, ht_tensor *y[RESULTS])
{
    y[0] = ht_vector_norm(o->x, 3, 0, false);
    y[1] = ht_matrix_norm(o->x, 1, 0, 1, false);
    y[2] = ht_cdist(o->x, o->x, true);
}

static const struct {
    const char *name;
    void (*call)(const operands *o, ht_tensor *y[RESULTS]);
    int count;
} rows[] = {
    {"svd", svd, 3},
    {"svd of a wide matrix", svd_of_wide, 3},
    {"eigh", eigh, 2},
    {"rsvd", rsvd, 3},
    {"reigh", reigh, 2},
    {"reigh of all", reigh_of_all, 2},
    {"hsvd", hsvd, 3},
    {"hsvd of all", hsvd_of_all, 3},
    {"isvd", isvd, 3},
    {"qr", qr, 2},
    {"lu", lu, 3},
    {"polar", polar, 2},
    {"lanczos", lanczos, 2},
    {"solve", solve, 3},
    {"lstsq", lstsq, 2},
    {"cg", cg, 2},
    {"inverses", inverses, 3},
    {"cross", cross, 3},
    {"cov", covariances, 3},
    {"products", products, 3},
    {"norms", norms, 3},
};

static void results_own_their_memory(void **state)
{
    (void)state;
    for (int i = 0; i < 3 * (int)(sizeof rows / sizeof *rows); i++) {
        const int split = split_of(i % 3 - 1);
        ht_scope *scope = ht_scope_open();
        ht_tensor *x = random_matrix(ROWS, COLUMNS, HT_FLOAT64, HT_NONE, 1), *y[RESULTS] = {NULL};
        operands o = {.x = ht_resplit(x, split),
                      .a = ht_resplit(ht_matmul(ht_transpose(x, 0, 1), x), split),
                      .b = ht_test_randn(HT_SHAPE(COLUMNS), HT_FLOAT64, HT_NONE, 2),
                      .c = ht_test_randn(HT_SHAPE(ROWS), HT_FLOAT64, HT_NONE, 3)};

        rows[i / 3].call(&o, y);
        for (int k = 0; k < rows[i / 3].count; k++) {
            assert_non_null(y[k]);
            if (y[k]->view)
                fail_msg("result %d of %s, split %d, is a view", k, rows[i / 3].name, split);
            if (ht_tensor_ndim(y[k]) > 0)
                assert_int_equal(ht_resplit_(y[k], ht_tensor_split(y[k]) == HT_NONE ? 0 : HT_NONE),
                                 HT_SUCCESS);
        }
        ht_scope_close(scope);
    }
}

HT_TEST_SUITE(test_owned, cmocka_unit_test(results_own_their_memory));
