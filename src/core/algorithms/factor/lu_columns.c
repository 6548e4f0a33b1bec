/* SPDX-License-Identifier: MIT
 *
 * LU with partial pivoting of a matrix split by columns, panel by panel, where a panel is the
 * columns of one rank. The owner has all rows of its columns, so that the search for pivots sends
 * nothing. It broadcasts l and the pivots, all ranks exchange their rows, and later ranks
 * eliminate. Right-hand sides are eliminated on the way. A rank stores its own columns and one
 * panel, and receives half of the matrix, in 2 P messages. */
#include "core/algorithms/factor/decompositions.h"
#include "ht/manipulations.h"

typedef struct lu_panel {
    int root;
    int64_t start, rows, width, count; /* count: pivots */
    ht_tensor *lu, *pivots;
} lu_panel;

static ht_status share(const char *what, ht_tensor *columns, lu_panel *p)
{
    ht_comm *comm = columns->body->comm;
    ht_status status;

    if (comm->rank != p->root) {
        p->lu = ht__own_matrix(what, columns, p->rows, p->width);
        p->pivots = ht__tensor_new(ht__body_new(what, ht_comm_self(),
                                                columns->body->storage->device, HT_INT64, 1,
                                                &p->count, HT_NONE, NULL));
    }
    if (p->lu == NULL || p->pivots == NULL)
        return ht_error_get(NULL);
    status = ht__comm_bcast(comm, p->lu, p->root);
    return status == HT_SUCCESS ? ht__comm_bcast(comm, p->pivots, p->root) : status;
}

/* The rows of x that are below, in place: upper ones <- l^-1 of them, lower ones less l times that.
 */
static ht_status eliminate(const char *what, const lu_panel *p, ht_tensor *x)
{
    const ht_triangle lower = {.unit = true};
    ht_tensor *l = ht_narrow(p->lu, 1, 0, p->count), *top = ht_narrow(x, 0, 0, p->count);
    ht_status status = ht__local_solve_triangular(what, ht_narrow(l, 0, 0, p->count), lower, top);

    if (status != HT_SUCCESS || p->rows == p->count)
        return status;
    return ht__local_product(what, ht_narrow(x, 0, p->count, p->rows), -1,
                             ht_narrow(l, 0, p->count, p->rows), HT_MATRIX_PLAIN, top,
                             HT_MATRIX_PLAIN, 1);
}

/* One panel: `own` are this rank's columns and `carried` the right-hand side, all from the panel's
 * first row on. */
static ht_status step(const char *what, ht_tensor *columns, lu_panel *p, ht_tensor *own,
                      ht_tensor *carried, int64_t *info)
{
    const int rank = columns->body->comm->rank;
    ht_status status = HT_SUCCESS;
    int64_t found = 0;

    if (rank == p->root) {
        status = ht__local_lu(what, own, &p->lu, &p->pivots, &found);
        if (status == HT_SUCCESS)
            status = ht__copy_local(what, own->body, p->lu->body);
        if (found > 0)
            *info = p->start + found;
    }
    if (status == HT_SUCCESS)
        status = share(what, columns, p);
    if (status == HT_SUCCESS && rank != p->root)
        status = ht__local_swap_rows(what, own, p->pivots, false);
    if (status == HT_SUCCESS && rank > p->root)
        status = eliminate(what, p, own);
    if (status == HT_SUCCESS && carried != NULL)
        status = ht__local_swap_rows(what, carried, p->pivots, false);
    if (status == HT_SUCCESS && carried != NULL)
        status = eliminate(what, p, carried);
    return status;
}

static ht_status keep_pivots(const char *what, const lu_panel *p, int64_t *pivots)
{
    ht_status status = ht__get_local(what, p->pivots->body, pivots + p->start);

    for (int64_t i = 0; i < p->count; i++)
        pivots[p->start + i] += p->start;
    return status;
}

ht_status ht__lu_columns(const char *what, ht_tensor *columns, ht_tensor *carried, int64_t *pivots,
                         int64_t *info)
{
    const int64_t rows = ht__rows(columns);
    ht_tensor *local = ht_tensor_local(columns);
    ht_status status = HT_SUCCESS;

    *info = 0;
    for (int root = 0; root < columns->body->comm->size && status == HT_SUCCESS; root++) {
        lu_panel p = {.root = root, .start = ht__body_start(columns->body, root)};
        ht_scope *scope;

        p.width = ht__body_start(columns->body, root + 1) - p.start;
        p.rows = rows - p.start;
        p.count = p.rows < p.width ? p.rows : p.width;
        if (p.count <= 0)
            continue;
        scope = ht_scope_open();
        status = step(what, columns, &p, ht_narrow(local, 0, p.start, rows),
                      carried != NULL ? ht_narrow(carried, 0, p.start, rows) : NULL, info);
        if (status == HT_SUCCESS)
            status = keep_pivots(what, &p, pivots);
        ht_scope_close(scope);
    }
    return status == HT_SUCCESS ? ht__first_info(what, columns, info) : status;
}
