/* SPDX-License-Identifier: MIT
 *
 * Hierarchical SVD (Iwen and Ong 2016; Himpe, Leibner and Rave 2018) of a matrix split by columns;
 * a matrix split by rows is replaced by its adjoint. Each rank keeps the largest singular values of
 * its columns and their vectors, u diag(s). These climb a binary tree of ranks, where two of them
 * are concatenated and truncated again. The longest way takes log P messages of m (rank + safety)
 * numbers, and a broadcast of the final vectors.
 *
 * x is projected on these vectors. The SVD of the projection, which has few rows and the width of
 * x, gives the result. The truncations are chosen such that all of them in sum leave out at most a
 * part of rtol. */
#include <math.h>

#include "core/algorithms/spectral/spectra.h"
#include "ht/arithmetics.h"
#include "ht/decompositions.h"
#include "ht/exponential.h"
#include "ht/linalg.h"
#include "ht/manipulations.h"
#include "ht/rounding.h"

enum { SAFETY = 5, TAG_COUNT = 5, TAG_BLOCK = 6 };

typedef struct goal {
    const char *what;
    int64_t rank, safety; /* rank 0: any */
    double rtol, norm;    /* of x */
    double left_out;      /* by each truncation but the last */
} goal;

/* The number of n values to keep, such that the length of the others is at most `rest`. */
static int64_t count_of(const double *s, int64_t n, double rest, int64_t most)
{
    double sum = 0;
    int64_t count = n;

    for (; count > 1; count--) {
        sum += s[count - 1] * s[count - 1];
        if (!(sqrt(sum) <= rest))
            break;
    }
    return most > 0 && count > most ? most : count;
}

static ht_status values_of(const goal *g, ht_tensor *s, const double **values)
{
    ht_tensor *host = ht__on_host(g->what, s, HT_FLOAT64);

    if (host == NULL)
        return ht_error_get(NULL);
    *values = ht__body_data(host->body);
    return HT_SUCCESS;
}

/* u diag(s) of the largest singular values of a local matrix. */
static ht_tensor *truncated(const goal *g, ht_tensor *x)
{
    ht_matrix_svd f = {.vectors = true};
    const double *values = NULL;
    int64_t count;

    if (ht__svd(g->what, x, &f) != HT_SUCCESS || values_of(g, f.s, &values) != HT_SUCCESS)
        return NULL;
    count = count_of(values, ht_tensor_size(f.s), g->left_out,
                     g->rank > 0 ? g->rank + g->safety : 0);
    return ht_contiguous(ht_narrow(ht_mul(f.u, f.s), 1, 0, count));
}

/* ---- the tree ------------------------------------------------------------------------------- */

static ht_tensor *number_tensor(const goal *g, const ht_tensor *x, int64_t value)
{
    const int64_t length = 1;
    ht_tensor *t = ht__tensor_new(ht__body_new(g->what, ht_comm_self(), x->body->storage->device,
                                               HT_INT64, 1, &length, HT_NONE, NULL));

    if (t == NULL || ht__fill_local(g->what, t->body, ht_number_integer(value)) != HT_SUCCESS)
        return NULL;
    return t;
}

static ht_status send_block(const goal *g, ht_comm *comm, ht_tensor *block, int to)
{
    ht_tensor *count = number_tensor(g, block, ht__columns(block));
    ht_status status = count != NULL ? ht_send(comm, count, to, TAG_COUNT) : ht_error_get(NULL);

    if (status != HT_SUCCESS || block->body->lsize == 0)
        return status;
    return ht_send(comm, block, to, TAG_BLOCK);
}

static ht_tensor *receive_block(const goal *g, ht_comm *comm, const ht_tensor *like, int from)
{
    ht_tensor *count = number_tensor(g, like, 0), *block;
    int64_t columns;

    if (count == NULL || ht_recv(comm, count, from, TAG_COUNT) != HT_SUCCESS ||
        ht__get_local(g->what, count->body, &columns) != HT_SUCCESS)
        return NULL;
    block = ht__own_matrix(g->what, like, ht__rows(like), columns);
    if (block == NULL || block->body->lsize == 0)
        return block;
    return ht_recv(comm, block, from, TAG_BLOCK) == HT_SUCCESS ? block : NULL;
}

/* The block of all ranks on the first one; others' are spent. */
static ht_tensor *climb(const goal *g, ht_comm *comm, ht_tensor *block)
{
    for (int step = 1; step < comm->size && block != NULL; step *= 2) {
        ht_tensor *both[2] = {block, NULL};

        if (comm->rank % (2 * step) != 0)
            return send_block(g, comm, block, comm->rank - step) == HT_SUCCESS ? block : NULL;
        if (comm->rank + step >= comm->size)
            continue;
        both[1] = receive_block(g, comm, block, comm->rank + step);
        block = both[1] != NULL ? ht__concatenate(g->what, 2, both, 1) : NULL;
        block = block != NULL ? truncated(g, block) : NULL;
    }
    return block;
}

/* Orthonormal columns that have most of x in their span, on every rank. */
static ht_tensor *basis_of(const goal *g, ht_tensor *x)
{
    ht_comm *comm = x->body->comm;
    ht_tensor *block = truncated(g, ht_tensor_local(x)), *q = NULL, *r, *all;
    int64_t columns;

    block = block != NULL ? climb(g, comm, block) : NULL;
    if (block == NULL)
        return NULL;
    columns = ht__columns(block);
    if (comm->rank == 0 && ht__local_qr(g->what, block, &q, &r) != HT_SUCCESS)
        return NULL;
    columns = q != NULL ? ht__columns(q) : 0;
    if (ht__comm_bcast_bytes(comm, &columns, sizeof columns, 0, g->what) != HT_SUCCESS)
        return NULL;
    all = ht__tensor_new(ht__body_new(g->what, comm, x->body->storage->device, x->body->dtype, 2,
                                      (int64_t[]){ht__rows(x), columns}, HT_NONE, NULL));
    if (all == NULL || (q != NULL && ht__copy_local(g->what, all->body, q->body) != HT_SUCCESS))
        return NULL;
    return ht__comm_bcast(comm, all, 0) == HT_SUCCESS ? all : NULL;
}

/* ---- the result ----------------------------------------------------------------------------- */

/* x split by columns, or on every rank. to->v is v^H here. */
static ht_status hsvd(const goal *g, ht_tensor *x, ht_matrix_svd *to)
{
    const bool is_split = ht__is_split_matrix(x);
    ht_tensor *basis = is_split ? basis_of(g, x) : NULL;
    ht_tensor *low = is_split && basis != NULL ? ht_matmul(ht__adjoint(basis), x) : x;
    const double *values = NULL;
    double square = 0;
    int64_t count, n;
    ht_status status;

    if (low == NULL || (is_split && basis == NULL))
        return ht_error_get(NULL);
    status = ht__svd(g->what, low, to);
    if (status == HT_SUCCESS)
        status = values_of(g, to->s, &values);
    if (status != HT_SUCCESS)
        return status;
    n = ht_tensor_size(to->s);
    for (int64_t i = 0; i < n; i++)
        square += values[i] * values[i];
    /* Directions outside of the basis are left out already. */
    square = fmax(g->norm * g->norm * g->rtol * g->rtol -
                      (is_split ? fmax(g->norm * g->norm - square, 0) : 0),
                  0);
    count = count_of(values, n, g->rtol > 0 ? sqrt(square) : 0, g->rank);
    to->u = ht_narrow(to->u, 1, 0, count);
    to->u = is_split ? ht_matmul(basis, ht_resplit(to->u, HT_NONE)) : to->u;
    to->s = ht_narrow(to->s, 0, 0, count);
    to->v = ht_resplit(ht__adjoint(ht_narrow(to->v, 1, 0, count)), is_split ? 1 : HT_NONE);
    return to->u != NULL && to->v != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static ht_status hsvd_of_any(goal *g, ht_tensor *x, ht_matrix_svd *to)
{
    const bool by_rows = x->body->split == 0, has_split = x->body->split != HT_NONE;
    ht_tensor *kept;
    ht_status status = ht__check_finite(g->what, x);
    int levels = 1;

    if (status == HT_SUCCESS && ht_tensor_size(x) > 0)
        status = ht__length(x, &g->norm);
    if (status != HT_SUCCESS)
        return status;
    for (int step = 1; step < x->body->comm->size; step *= 2)
        levels++;
    g->left_out = 0.5 * g->rtol * g->norm / (levels * sqrt((double)x->body->comm->size));
    status = hsvd(g, by_rows ? ht__adjoint(x) : x, to);
    if (status != HT_SUCCESS)
        return status;
    if (by_rows) {
        kept = to->u;
        to->u = ht__adjoint(to->v);
        to->v = ht__adjoint(kept);
    }
    to->u = ht_resplit(to->u, by_rows ? 0 : HT_NONE);
    to->v = ht_resplit(to->v, has_split && !by_rows ? 1 : HT_NONE);
    return to->u != NULL && to->v != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static ht_status measure(const goal *g, ht_tensor *x, const ht_matrix_svd *f, double *error)
{
    ht_tensor *rest = ht_matmul(ht_mul(f->u, f->s), f->v);
    ht_status status;

    rest = rest != NULL ? ht_sub(x, rest) : NULL;
    status = ht__length(rest, error);
    *error = g->norm > 0 ? *error / g->norm : 0;
    return status;
}

static bool check(const goal *g, const ht_tensor *x)
{
    if (x->body->ndim != 2) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE, "%s: x is %s, expected one matrix", g->what,
                ht__shape_str(x->body->ndim, x->body->shape));
        return false;
    }
    if (!(g->rtol >= 0 && g->rtol <= 1)) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: rtol is %g, expected 0 to 1", g->what,
                g->rtol);
        return false;
    }
    if (g->rank >= 0 && g->safety >= 0)
        return true;
    HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: %s is %lld, expected at least 0", g->what,
            g->rank < 0 ? "rank" : "safety", (long long)(g->rank < 0 ? g->rank : g->safety));
    return false;
}

static ht_status run(goal g, ht_tensor *x, ht_tensor **u, ht_tensor **s, ht_tensor **vh,
                     double *error)
{
    HT_NAMED(g.what);
    ht_matrix_svd found = {.vectors = true};
    ht_section section;
    ht_status status;
    double off = 0;
    int exponent;

    x = ht__matrix_operand(g.what, "x", x, HT_MATRIX_ANY, HT_KERNEL_SVD);
    if (x == NULL || !check(&g, x))
        return ht_error_get(NULL);
    section = ht__section_begin(x);
    x = ht__near_one(x, &exponent);
    status = x != NULL ? hsvd_of_any(&g, x, &found) : ht_error_get(NULL);
    if (status == HT_SUCCESS && error != NULL)
        status = measure(&g, x, &found, &off);
    if (status == HT_SUCCESS) {
        found.u = ht__owned(found.u);
        found.s = ht__owned(ht__times_power(found.s, exponent));
        found.v = ht__owned(found.v);
        if (found.u == NULL || found.s == NULL || found.v == NULL)
            status = ht_error_get(NULL);
    }
    ht__section_end(section);
    if (status != HT_SUCCESS)
        return status;
    if (u != NULL)
        *u = found.u;
    if (s != NULL)
        *s = found.s;
    if (vh != NULL)
        *vh = found.v;
    if (error != NULL)
        *error = off;
    return HT_SUCCESS;
}

ht_status ht_hsvd_rank(ht_tensor *x, int64_t rank, ht_tensor **u, ht_tensor **s, ht_tensor **vh,
                       double *error)
{
    return run((goal){.what = "ht_hsvd_rank", .rank = rank, .safety = SAFETY}, x, u, s, vh, error);
}

ht_status ht_hsvd_rtol(ht_tensor *x, double rtol, ht_tensor **u, ht_tensor **s, ht_tensor **vh,
                       double *error)
{
    return run((goal){.what = "ht_hsvd_rtol", .rtol = rtol, .safety = SAFETY}, x, u, s, vh, error);
}

ht_status ht_hsvd(ht_tensor *x, int64_t rank, double rtol, int64_t safety, ht_tensor **u,
                  ht_tensor **s, ht_tensor **vh, double *error)
{
    const goal g = {.what = "ht_hsvd", .rank = rank, .rtol = rtol, .safety = safety};

    return run(g, x, u, s, vh, error);
}
