/* SPDX-License-Identifier: MIT
 *
 * QR of a tall matrix split by rows. Each rank factors its rows. Then the factors r, no larger than
 * (n, n), climb a binary tree of ranks: the receiver puts the other factor below its own and
 * factors both. On the way down each node multiplies its q by the matrix from above and sends the
 * lower part on. So every rank gets the factor for its own rows of q.
 *
 * The longest way takes 2 log P messages of n^2 numbers, and one broadcast of r. Ranks without rows
 * send nothing. Householder reflectors are used in all steps, so q is orthonormal however
 * ill-conditioned x is. */
#include "core/algorithms/factor/decompositions.h"
#include "ht/manipulations.h"

enum { TAG_UP = 1, TAG_DOWN = 2, MOST_LEVELS = 32 };

typedef struct tree {
    const char *what;
    const ht_body *body; /* of x */
    int64_t columns;
    int levels;                     /* where this rank has joined two factors */
    ht_tensor *joined[MOST_LEVELS]; /* their q; NULL: nothing came */
} tree;

/* Rows of the factor r of ranks first ... last - 1. */
static int64_t height(const tree *t, int first, int last)
{
    const int size = t->body->comm->size;
    const int64_t rows = ht__body_start(t->body, last < size ? last : size) -
                         ht__body_start(t->body, first);

    return rows < t->columns ? rows : t->columns;
}

static ht_tensor *receive(const tree *t, const ht_tensor *like, int64_t rows, int from, int tag)
{
    ht_tensor *come = ht__own_matrix(t->what, like, rows, t->columns);

    if (come == NULL || ht_recv(t->body->comm, come, from, tag) != HT_SUCCESS)
        return NULL;
    return come;
}

/* *r <- the factor of both; their q is kept. */
static ht_status join(tree *t, ht_tensor **r, int step)
{
    const int partner = t->body->comm->rank + step;
    const int64_t rows = height(t, partner, partner + step);
    ht_tensor *both[2] = {*r, NULL};

    t->joined[t->levels++] = NULL;
    if (rows == 0)
        return HT_SUCCESS;
    both[1] = receive(t, *r, rows, partner, TAG_UP);
    if (both[1] == NULL)
        return ht_error_get(NULL);
    both[1] = ht__concatenate(t->what, 2, both, 0);
    if (both[1] == NULL)
        return ht_error_get(NULL);
    return ht__local_qr(t->what, both[1], &t->joined[t->levels - 1], r);
}

/* The step at which this rank hands its factor over; 0 is the first rank's, at the end. */
static ht_status climb(tree *t, ht_tensor **r, int *last_step)
{
    const int rank = t->body->comm->rank, size = t->body->comm->size;
    ht_status status = HT_SUCCESS;
    int step = 1;

    for (; step < size && status == HT_SUCCESS; step *= 2) {
        if (rank % (2 * step) != 0) {
            *last_step = step;
            return height(t, rank, rank + step) > 0
                       ? ht_send(t->body->comm, *r, rank - step, TAG_UP)
                       : HT_SUCCESS;
        }
        if (rank + step < size)
            status = join(t, r, step);
        else
            t->joined[t->levels++] = NULL;
    }
    *last_step = step;
    return status;
}

/* One level down: part <- the rows that this rank keeps; the rest is sent. */
static ht_status part_with(const tree *t, ht_tensor **part, ht_tensor *joined, int step)
{
    const int partner = t->body->comm->rank + step;
    const int64_t below = height(t, partner, partner + step);
    const int64_t own = ht__rows(joined) - below;
    ht_tensor *both = joined;

    if (*part != NULL) {
        both = ht__own_matrix(t->what, joined, ht__rows(joined), ht__columns(*part));
        if (both == NULL || ht__local_product(t->what, both, 1, joined, HT_MATRIX_PLAIN, *part,
                                              HT_MATRIX_PLAIN, 0) != HT_SUCCESS)
            return ht_error_get(NULL);
    }
    *part = ht_narrow(both, 0, 0, own);
    return ht_send(t->body->comm, ht_narrow(both, 0, own, own + below), partner, TAG_DOWN);
}

/* part: what the q of this rank's rows is multiplied by; NULL: nothing. */
static ht_status descend(const tree *t, const ht_tensor *r, int last_step, ht_tensor **part)
{
    const int rank = t->body->comm->rank;
    ht_status status = HT_SUCCESS;

    *part = NULL;
    if (rank > 0 && height(t, rank, rank + last_step) > 0) {
        *part = receive(t, r, height(t, rank, rank + last_step), rank - last_step, TAG_DOWN);
        status = *part != NULL ? HT_SUCCESS : ht_error_get(NULL);
    }
    for (int level = t->levels - 1; level >= 0 && status == HT_SUCCESS; level--) {
        if (t->joined[level] != NULL)
            status = part_with(t, part, t->joined[level], 1 << level);
    }
    return status;
}

static ht_status multiply_down(const tree *t, ht_tensor *own_q, ht_tensor *r, int last_step,
                               ht_tensor *q)
{
    ht_tensor *part;
    ht_status status = descend(t, r, last_step, &part);

    if (status != HT_SUCCESS)
        return status;
    if (part == NULL)
        return ht__copy_local(t->what, q->body, own_q->body);
    return ht__local_product(t->what, ht_tensor_local(q), 1, own_q, HT_MATRIX_PLAIN, part,
                             HT_MATRIX_PLAIN, 0);
}

ht_status ht__qr_tree(const char *what, ht_tensor *x, ht_tensor **q, ht_tensor **r)
{
    tree t = {.what = what, .body = x->body, .columns = ht__columns(x)};
    ht_tensor *own_q = NULL, *up, *top;
    ht_status status = ht__local_qr(what, ht_tensor_local(x), q != NULL ? &own_q : NULL, &up);
    int last_step = 0;

    if (status == HT_SUCCESS)
        status = climb(&t, &up, &last_step);
    if (status != HT_SUCCESS)
        return status;
    if (q != NULL) {
        *q = ht__tensor_new(ht__body_new(what, x->body->comm, x->body->storage->device,
                                         x->body->dtype, 2, x->body->shape, 0, x->body->bounds));
        status = *q != NULL ? multiply_down(&t, own_q, up, last_step, *q) : ht_error_get(NULL);
    }
    *r = ht__tensor_new(ht__body_new(what, x->body->comm, x->body->storage->device, x->body->dtype,
                                     2, (int64_t[]){t.columns, t.columns}, HT_NONE, NULL));
    if (status != HT_SUCCESS || *r == NULL)
        return ht_error_get(NULL);
    top = *r;
    if (x->body->comm->rank == 0)
        status = ht__copy_local(what, top->body, up->body);
    return status == HT_SUCCESS ? ht__comm_bcast(x->body->comm, top, 0) : status;
}
