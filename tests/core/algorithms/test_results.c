/* ranks 1 */
/* SPDX-License-Identifier: MIT */
/* Functions with several results set all of them, or none if memory runs out at any place. On
 * several ranks that ends the job. */
#include "ht_test.h"
#include "tensor_check.h"

#include "core/base/base.h"
#include "ht.h"

enum { RESULTS = 3 };

static ht_status qr(ht_tensor *x, ht_tensor *y[RESULTS])
{
    return ht_qr(x, &y[0], &y[1]);
}

static ht_status lu(ht_tensor *x, ht_tensor *y[RESULTS])
{
    return ht_lu(x, &y[0], &y[1], &y[2]);
}

static ht_status slogdet(ht_tensor *x, ht_tensor *y[RESULTS])
{
    return ht_slogdet(x, &y[0], &y[1]);
}

static ht_status eigh(ht_tensor *x, ht_tensor *y[RESULTS])
{
    return ht_eigh(x, &y[0], &y[1]);
}

static ht_status svd(ht_tensor *x, ht_tensor *y[RESULTS])
{
    return ht_svd(x, &y[0], &y[1], &y[2]);
}

static ht_status svd_without_vh(ht_tensor *x, ht_tensor *y[RESULTS])
{
    return ht_svd(x, &y[0], &y[1], NULL);
}

static ht_status polar(ht_tensor *x, ht_tensor *y[RESULTS])
{
    return ht_polar(x, &y[0], &y[1]);
}

static ht_status rsvd(ht_tensor *x, ht_tensor *y[RESULTS])
{
    return ht_rsvd(x, 2, &y[0], &y[1], &y[2]);
}

static ht_status reigh(ht_tensor *x, ht_tensor *y[RESULTS])
{
    return ht_reigh(x, 2, &y[0], &y[1]);
}

static ht_status hsvd(ht_tensor *x, ht_tensor *y[RESULTS])
{
    return ht_hsvd_rank(x, 2, &y[0], &y[1], &y[2], NULL);
}

static ht_status hsvd_with_error(ht_tensor *x, ht_tensor *y[RESULTS])
{
    double error;

    return ht_hsvd_rtol(x, 0.1, &y[0], &y[1], &y[2], &error);
}

static ht_status lanczos(ht_tensor *x, ht_tensor *y[RESULTS])
{
    return ht_lanczos(x, 3, NULL, &y[0], &y[1]);
}

/* A function whose result is a number. */
static ht_status condest(ht_tensor *x, ht_tensor *y[RESULTS])
{
    double condition;

    (void)y;
    return ht_condest(x, &condition);
}

static ht_status sort(ht_tensor *x, ht_tensor *y[RESULTS])
{
    return ht_sort(x, 0, false, &y[0], &y[1]);
}

static ht_status topk(ht_tensor *x, ht_tensor *y[RESULTS])
{
    return ht_topk(x, 2, 0, true, &y[0], &y[1]);
}

static ht_status unique(ht_tensor *x, ht_tensor *y[RESULTS])
{
    return ht_unique(x, &y[0], &y[1], &y[2]);
}

static ht_status histogram(ht_tensor *x, ht_tensor *y[RESULTS])
{
    return ht_histogram(x, 3, 0, 0, &y[0], &y[1]);
}

static ht_status average(ht_tensor *x, ht_tensor *y[RESULTS])
{
    return ht_average_ext(x, 0, NULL, &y[0], &y[1]);
}

static ht_status weighted_average(ht_tensor *x, ht_tensor *y[RESULTS])
{
    return ht_average_ext(x, 0, x, &y[0], &y[1]);
}

static ht_status divmod(ht_tensor *x, ht_tensor *y[RESULTS])
{
    return ht_divmod(x, ht_scalar(3), &y[0], &y[1]);
}

static ht_status modf_(ht_tensor *x, ht_tensor *y[RESULTS])
{
    return ht_modf(x, &y[0], &y[1]);
}

static ht_status get_halo(ht_tensor *x, ht_tensor *y[RESULTS])
{
    return ht_get_halo(x, 1, 1, &y[0], &y[1]);
}

/* most: the axes that x may have. */
static const struct function {
    const char *name;
    ht_status (*call)(ht_tensor *x, ht_tensor *y[RESULTS]);
    int count, most;
} functions[] = {
    {"qr", qr, 2, 3},
    {"lu", lu, 3, 3},
    {"slogdet", slogdet, 2, 3},
    {"eigh", eigh, 2, 3},
    {"svd", svd, 3, 3},
    {"svd without vh", svd_without_vh, 2, 3},
    {"polar", polar, 2, 3},
    {"rsvd", rsvd, 3, 2},
    {"reigh", reigh, 2, 2},
    {"hsvd", hsvd, 3, 2},
    {"hsvd with its error", hsvd_with_error, 3, 2},
    {"lanczos", lanczos, 2, 2},
    {"condest", condest, 0, 2},
    {"sort", sort, 2, 3},
    {"topk", topk, 2, 3},
    {"unique", unique, 3, 3},
    {"histogram", histogram, 2, 3},
    {"average", average, 2, 3},
    {"weighted average", weighted_average, 2, 3},
    {"divmod", divmod, 2, 3},
    {"modf", modf_, 2, 3},
    {"get_halo", get_halo, 2, 3},
};

/* Five rows and columns, of full rank. */
static ht_tensor *new_operand(int ndim, int split)
{
    const int64_t shape[] = {4, 5, 5};
    ht_tensor *x = ht_sin(ht_arange(0, ndim == 3 ? 100 : 25, 1, HT_FLOAT64, HT_NONE));

    x = ht_add(ht_reshape(x, ndim, shape + 3 - ndim), ht_eye(5, 5, HT_FLOAT64, HT_NONE));
    return ht_resplit(x, split);
}

/* The n-th tensor finds no memory: true once there are fewer. */
static bool run_without(const struct function *f, int ndim, int split, long n)
{
    ht_tensor *x = new_operand(ndim, split), *y[RESULTS] = {x, x, x};
    ht_status status;
    bool missed;

    ht__alloc_fail(0, n, true);
    status = f->call(x, y);
    missed = ht__alloc_fail(-1, 0, true) <= 0;
    if (missed && status != HT_ERR_MEMORY)
        fail_msg("%s of %d axes, split %d: tensor %ld without memory: %s", f->name, ndim, split, n,
                 ht_status_name(status));
    for (int i = 0; i < f->count; i++) {
        if (y[i] == NULL || (y[i] == x) != (status != HT_SUCCESS))
            fail_msg("%s of %d axes, split %d: tensor %ld without memory: result %d is %s", f->name,
                     ndim, split, n, i,
                     y[i] == NULL ? "NULL"
                     : y[i] == x  ? "unset"
                                  : "set");
    }
    ht_error_clear();
    return status == HT_SUCCESS;
}

static void sets_all_results_or_none(void **state)
{
    (void)state;
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_RETURN);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_RETURN);
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        for (int ndim = 2; ndim <= functions[k].most; ndim++) {
            for (int split = -1; split < ndim; split++) {
                bool done = false;

                for (long n = 1; !done; n++) {
                    ht_scope *scope = ht_scope_open();

                    done = run_without(&functions[k], ndim, split < 0 ? HT_NONE : split, n);
                    ht_scope_close(scope);
                }
            }
        }
    }
    ht_comm_set_errhandler(HT_COMM_WORLD, HT_ERRORS_ABORT);
    ht_comm_set_errhandler(HT_COMM_SELF, HT_ERRORS_ABORT);
}

HT_TEST_SUITE(test_results, cmocka_unit_test(sets_all_results_or_none));
