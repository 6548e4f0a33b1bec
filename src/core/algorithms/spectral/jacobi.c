/* SPDX-License-Identifier: MIT
 *
 * One-sided block Jacobi: rotations of pairs of blocks make the columns of a split matrix
 * orthogonal. Each of P ranks has two blocks of columns, 2 P in all, and makes the columns of both
 * orthogonal, longest first. Then blocks move on to neighbours, by the rounds of a tournament in
 * which each pair of blocks meets. A sweep has 2 P - 1 rounds, and ends with all blocks at home.
 * Sweeps are repeated until one finds all columns orthogonal and in order, usually 5 to 10 times.
 * In addition to x and v, a rank stores its own columns twice, for a moment three times, and sends
 * and receives them 2 P - 1 times a sweep. */
#include "core/algorithms/spectral/jacobi.h"

#include <math.h>

#include "ht/complex_math.h"
#include "ht/factories.h"
#include "ht/manipulations.h"
#include "ht/rounding.h"

enum { MOST_SWEEPS = 40, TAG_TOP = 3, TAG_BOTTOM = 4 };

/* Blocks are adjoint: a row for each column, of x and then of v. */
typedef struct tournament {
    const char *what;
    const ht_body *body;
    bool well_conditioned;
    int64_t x_length, length;
    int *top, *bottom;  /* which blocks each rank has */
    ht_tensor *held[2]; /* owned; this rank's top and bottom block */
    double tolerance;
    /* In this sweep. off: the largest product or disorder in the pairs that fail the tolerance,
     * infinite: the iteration will not end. largest: of all pairs, near the largest value. */
    double off, largest;
} tournament;

static int64_t width(const tournament *t, int block)
{
    const int64_t all = ht__body_start(t->body, block / 2 + 1) - ht__body_start(t->body, block / 2);

    return block % 2 == 0 ? (all + 1) / 2 : all / 2;
}

/* ---- one pair of blocks --------------------------------------------------------------------- */

/* How far a triangular factor, or a matrix of products, is from a diagonal one that descends: its
 * largest element off the diagonal, or the largest step up; infinite where an element is NaN. */
static double distance(const double *m, int64_t n, double *largest)
{
    double off = 0, last = INFINITY;

    *largest = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            if (!isfinite(m[i * n + j]))
                return INFINITY;
            *largest = fmax(*largest, m[i * n + j]);
            if (j > i)
                off = fmax(off, m[i * n + j]);
        }
        off = fmax(off, m[i * n + i] - last);
        last = fmin(last, m[i * n + i]);
    }
    return off;
}

static ht_status look(tournament *t, ht_tensor *m)
{
    ht_scope *step = ht_scope_open();
    ht_tensor *host = ht__on_host(t->what, ht_abs(m), HT_FLOAT64);
    double off, largest;

    if (host != NULL) {
        off = distance(ht__body_data(host->body), ht__rows(m), &largest);
        if (off > t->tolerance * largest)
            t->off = fmax(t->off, off);
        t->largest = fmax(t->largest, largest);
    }
    ht_scope_close(step);
    return host != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

/* By the eigenvectors of x^H x: exact enough where no column is much shorter than another. */
static ht_tensor *rotation_of_products(tournament *t, ht_tensor *x)
{
    ht_tensor *products = ht__own_matrix(t->what, x, ht__rows(x), ht__rows(x)), *w, *v;
    int64_t info = 0;

    x = ht_contiguous(x);
    if (x == NULL || products == NULL ||
        ht__local_product(t->what, products, 1, x, HT_MATRIX_PLAIN, x, HT_MATRIX_ADJOINT, 0) !=
            HT_SUCCESS)
        return NULL;
    if (look(t, products) != HT_SUCCESS ||
        ht__local_eigh(t->what, products, &w, &v, &info) != HT_SUCCESS)
        return NULL;
    t->off = info > 0 ? INFINITY : t->off;
    return ht_flip(ht__adjoint(v), HT_AXES(0));
}

static ht_tensor *factor_of(const tournament *t, ht_tensor *x)
{
    ht_scope *step = ht_scope_open();
    ht_tensor *r;
    const ht_status status = ht__local_qr(t->what, ht__adjoint(x), NULL, &r);

    return ht_scope_return(step, status == HT_SUCCESS ? r : NULL);
}

/* By the right singular vectors of the factor r of x. */
static ht_tensor *rotation_of_factor(tournament *t, ht_tensor *x)
{
    ht_tensor *r = factor_of(t, x), *u, *s, *vh;
    int64_t info = 0;

    if (r == NULL)
        return NULL;
    if (ht__rows(r) == ht__columns(r) && look(t, r) != HT_SUCCESS)
        return NULL;
    if (ht__local_svd(t->what, r, &u, &s, &vh, &info) != HT_SUCCESS)
        return NULL;
    t->off = info > 0 ? INFINITY : t->off;
    return vh;
}

static ht_tensor *rotation_of(tournament *t, ht_tensor *stack)
{
    ht_scope *step = ht_scope_open();
    ht_tensor *x = ht_narrow(stack, 1, 0, t->x_length), *rotation = NULL;

    if (x != NULL)
        rotation = t->well_conditioned ? rotation_of_products(t, x) : rotation_of_factor(t, x);
    return ht_scope_return(step, rotation);
}

static void hold(tournament *t, ht_tensor *held[2])
{
    ht_retain(held[0]); /* both first: one may be the other of before */
    ht_retain(held[1]);
    for (int i = 0; i < 2; i++) {
        ht_release(t->held[i]);
        t->held[i] = held[i];
    }
}

/* The blocks one below the other, in memory that takes the place of theirs. */
static ht_tensor *stack_of(tournament *t, bool top_first)
{
    ht_tensor *both[2] = {t->held[!top_first], t->held[top_first]};
    ht_tensor *stack = ht__concatenate(t->what, 2, both, 0);

    if (stack != NULL)
        hold(t, (ht_tensor *[]){NULL, NULL});
    return stack;
}

static ht_status rotate(tournament *t, bool top_first)
{
    const int64_t first = ht__rows(t->held[!top_first]),
                  rows = first + ht__rows(t->held[top_first]);
    ht_tensor *stack, *rotation, *turned = NULL, *held[2];
    ht_scope *step;

    if (rows == 0)
        return HT_SUCCESS;
    step = ht_scope_open();
    stack = stack_of(t, top_first);
    rotation = stack != NULL ? rotation_of(t, stack) : NULL;
    if (rotation != NULL)
        turned = ht__own_matrix(t->what, stack, rows, t->length);
    if (turned == NULL || ht__local_product(t->what, turned, 1, rotation, HT_MATRIX_PLAIN, stack,
                                            HT_MATRIX_PLAIN, 0) != HT_SUCCESS) {
        ht_scope_close(step);
        return ht_error_get(NULL);
    }
    held[!top_first] = ht_narrow(turned, 0, 0, first);
    held[top_first] = ht_narrow(turned, 0, first, rows);
    hold(t, held);
    ht_scope_close(step);
    return HT_SUCCESS;
}

/* ---- the tournament ------------------------------------------------------------------------- */

static void seat(tournament *t)
{
    for (int rank = 0; rank < t->body->comm->size; rank++) {
        t->top[rank] = 2 * rank;
        t->bottom[rank] = 2 * rank + 1;
    }
}

/* The first stays; those on top go up, those at the bottom down, and change sides at the ends. */
static void next_round(tournament *t)
{
    const int last = t->body->comm->size - 1, up = t->bottom[0], down = t->top[last];

    for (int rank = last; rank > 1; rank--)
        t->top[rank] = t->top[rank - 1];
    for (int rank = 0; rank < last; rank++)
        t->bottom[rank] = t->bottom[rank + 1];
    t->top[1] = up;
    t->bottom[last] = down;
}

static ht_status post(const tournament *t, ht_tensor *block, int to, int tag, ht_request **request)
{
    if (ht__rows(block) == 0)
        return HT_SUCCESS;
    *request = ht_isend(t->body->comm, block, to, tag);
    return *request != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static ht_status expect(const tournament *t, int block, int from, int tag, ht_tensor **come,
                        ht_request **request)
{
    *come = ht__own_matrix(t->what, t->held[0], width(t, block), t->length);
    if (*come == NULL)
        return ht_error_get(NULL);
    if (ht__rows(*come) == 0)
        return HT_SUCCESS;
    *request = ht_irecv(t->body->comm, *come, from, tag);
    return *request != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

/* This rank's blocks for the next round, which top and bottom already describe, replace its present
 * ones. */
static ht_status move(tournament *t)
{
    const int rank = t->body->comm->rank, last = t->body->comm->size - 1;
    ht_tensor *top = t->held[0], *bottom = t->held[1], *held[2] = {top, bottom};
    ht_request *requests[4] = {NULL};
    ht_status status = HT_SUCCESS;

    if (rank == last)
        held[1] = top;
    else
        status = expect(t, t->bottom[rank], rank + 1, TAG_BOTTOM, &held[1], &requests[0]);
    if (status == HT_SUCCESS && rank > 0)
        status = expect(t, t->top[rank], rank - 1, TAG_TOP, &held[0], &requests[1]);
    if (status == HT_SUCCESS && rank > 0)
        status = post(t, bottom, rank - 1, TAG_BOTTOM, &requests[2]);
    if (status == HT_SUCCESS && rank < last)
        status = post(t, rank == 0 ? bottom : top, rank + 1, TAG_TOP, &requests[3]);
    for (int i = 0; i < 4; i++) {
        ht_status waited = requests[i] != NULL ? ht_wait(&requests[i]) : HT_SUCCESS;

        status = status != HT_SUCCESS ? status : waited;
    }
    if (status == HT_SUCCESS)
        hold(t, held);
    return status;
}

static ht_status play(tournament *t)
{
    const int rank = t->body->comm->rank, rounds = 2 * t->body->comm->size - 1;
    ht_status status = HT_SUCCESS;

    for (int round = 0; round < rounds && status == HT_SUCCESS; round++) {
        ht_scope *scope = ht_scope_open();

        status = rotate(t, t->top[rank] < t->bottom[rank]);
        next_round(t);
        if (status == HT_SUCCESS)
            status = move(t);
        ht_scope_close(scope);
    }
    return status;
}

/* Gives each rank the maxima of the sweep over all ranks. */
static ht_status share(tournament *t)
{
    const int size = t->body->comm->size;
    const double mine[2] = {t->off, t->largest};
    double *all = ht__alloc(2 * (size_t)size * sizeof *all);
    ht_status status = ht__comm_allgather_f64(t->body->comm, mine, 2, all, t->what);

    for (int rank = 0; rank < size && status == HT_SUCCESS; rank++) {
        t->off = fmax(t->off, all[2 * rank]);
        t->largest = fmax(t->largest, all[2 * rank + 1]);
    }
    ht__free(all);
    return status;
}

/* Sweeps end when each pair of blocks is orthogonal to its own tolerance. Blocks of columns that
 * are roundings of longer columns stay roundings, and never are. Sweeps also end when no more than
 * such roundings are left, and a further sweep did not make them smaller. */
static ht_status play_all(tournament *t)
{
    ht_status status = HT_SUCCESS;
    double before = INFINITY;
    bool done = false;

    for (int sweep = 0; sweep < MOST_SWEEPS && !done && status == HT_SUCCESS; sweep++) {
        t->off = t->largest = 0;
        status = play(t);
        if (status == HT_SUCCESS)
            status = share(t);
        if (isinf(t->off))
            break;
        done = t->off == 0 || (t->off <= t->tolerance * t->largest && t->off > before / 2);
        before = t->off;
    }
    if (status == HT_SUCCESS && !done)
        return HT_FAIL(t->body->comm, HT_ERR_ARGUMENT, "%s: the iteration did not converge",
                       t->what);
    return status;
}

/* ---- columns to blocks and back ------------------------------------------------------------- */

static ht_status take(tournament *t, ht_tensor *x, ht_tensor *v)
{
    ht_scope *step = ht_scope_open();
    ht_tensor *rows[2] = {ht__adjoint(ht_tensor_local(x)), NULL}, *all, *held[2];
    const int64_t count = x->body->lshape[1], first = (count + 1) / 2;

    rows[1] = v != NULL ? ht__adjoint(ht_tensor_local(v)) : NULL;
    all = v != NULL ? ht__concatenate(t->what, 2, rows, 1) : ht_contiguous(rows[0]);
    if (all != NULL) {
        held[0] = ht_narrow(all, 0, 0, first);
        held[1] = ht_narrow(all, 0, first, count);
        hold(t, held);
    }
    ht_scope_close(step);
    return all != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static ht_status give_back(tournament *t, ht_tensor *x, ht_tensor *v)
{
    ht_tensor *all = stack_of(t, true);
    ht_status status;

    if (all == NULL)
        return ht_error_get(NULL);
    status = ht__copy_local(t->what, ht_tensor_local(x)->body,
                            ht__adjoint(ht_narrow(all, 1, 0, t->x_length))->body);
    if (v == NULL || status != HT_SUCCESS)
        return status;
    return ht__copy_local(t->what, ht_tensor_local(v)->body,
                          ht__adjoint(ht_narrow(all, 1, t->x_length, t->length))->body);
}

ht_status ht__jacobi(const char *what, ht_tensor *x, ht_tensor *v, bool well_conditioned)
{
    const size_t size = (size_t)x->body->comm->size;
    const double eps = ht_dtype_size(ht__dtype_real(x->body->dtype)) == 4 ? 0x1p-23 : 0x1p-52;
    tournament t = {.what = what,
                    .body = x->body,
                    .well_conditioned = well_conditioned,
                    .x_length = ht__rows(x),
                    .length = ht__rows(x) + (v != NULL ? ht__rows(v) : 0)};
    ht_status status = take(&t, x, v);

    t.tolerance = eps * (50 + 5 * sqrt((double)t.x_length));
    t.top = ht__alloc(2 * size * sizeof *t.top);
    t.bottom = t.top + size;
    seat(&t);
    if (status == HT_SUCCESS)
        status = play_all(&t);
    if (status == HT_SUCCESS)
        status = give_back(&t, x, v);
    ht_release(t.held[0]);
    ht_release(t.held[1]);
    ht__free(t.top);
    return status;
}

/* ---- values --------------------------------------------------------------------------------- */

ht_tensor *ht__in_order(const char *what, ht_tensor *values, bool down)
{
    ht_tensor *host = ht__on_host(what, ht_copy(values), HT_FLOAT64);
    const int64_t n = ht_tensor_size(values);
    double *x;

    if (host == NULL)
        return NULL;
    host = ht_copy(host);
    x = ht__body_data(host->body);
    ht__storage_touch(host->body->storage);
    for (int64_t i = 1; i < n; i++) {
        const double one = x[i];
        int64_t at = i;

        for (; at > 0 && (down ? x[at - 1] < one : x[at - 1] > one); at--)
            x[at] = x[at - 1];
        x[at] = one;
    }
    return ht_astype(ht_array_ext(x, 1, &n, HT_FLOAT64, HT_NONE, values->body->storage->device,
                                  values->body->comm),
                     values->body->dtype);
}
