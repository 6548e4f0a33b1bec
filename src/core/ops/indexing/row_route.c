/* SPDX-License-Identifier: MIT
 *
 * Where the rows of a split tensor go. If the indices are split, each rank sends the indices that
 * lie in other slabs to their owners. This takes one Alltoall of counts and one of indices, 8 bytes
 * for each indexed axis. If the indices are replicated, each rank takes a slab of them, and finds
 * by itself which rows it has to send: no index travels. Then the rows travel, in either direction.
 * Memory: the local indices, and the rows that are needed here. */
#include "core/collective/collective.h"
#include "core/ops/indexing/key.h"
#include "core/ops/indexing/rows.h"
#include "ht/devices.h"

/* The indices of this rank in host memory. */
typedef struct host_index {
    const ht_body *x;
    int axes, split; /* split: the index along x's split axis */
    int64_t count;
    const int64_t *at[HT_MAX_NDIM];
    ht_tensor *kept[HT_MAX_NDIM]; /* scoped */
} host_index;

static ht_status open_index(const char *what, const ht_body *x, const ht_row_index *index,
                            host_index *host)
{
    *host = (host_index){.x = x, .axes = index->axes, .count = index->at[0]->body->lsize};
    for (int i = 0; i < index->axes; i++) {
        host->kept[i] = ht__on_host(what, ht_tensor_local(index->at[i]), HT_INT64);
        if (host->kept[i] == NULL)
            return ht_error_get(NULL);
        host->at[i] = ht__body_data(host->kept[i]->body);
        if (index->axis[i] == x->split)
            host->split = i;
    }
    return HT_SUCCESS;
}

/* The rank whose slab has an index along x's split axis. */
static int owner_of(const host_index *host, int64_t row)
{
    const ht_body *x = host->x;
    const int64_t at = host->at[host->split][row];
    const int64_t place = at < 0 ? at + x->shape[x->split] : at;
    int low = 0, high = x->comm->size - 1;

    while (low < high) {
        const int middle = (low + high) / 2;

        if (place < ht__body_start(x, middle + 1))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static ht_tensor *new_integers(const char *what, int ndim, int64_t rows, int64_t columns)
{
    return ht__tensor_new(ht__body_new(what, HT_COMM_SELF, ht__device_cpu(), HT_INT64, ndim,
                                       (int64_t[]){rows, columns}, HT_NONE, NULL));
}

/* edges <- the number of `count` rows from `first` on that each rank owns, one after another.
 * positions <- the new position of each row; the rows of a rank keep their order. */
static void sort_by_owner(const host_index *host, int64_t first, int64_t count, int64_t edges[],
                          int64_t positions[])
{
    const int size = host->x->comm->size;
    int *owner = ht__alloc((size_t)(count > 0 ? count : 1) * sizeof *owner);

    for (int rank = 0; rank <= size; rank++)
        edges[rank] = 0;
    for (int64_t i = 0; i < count; i++) {
        owner[i] = owner_of(host, first + i);
        edges[owner[i] + 1]++;
    }
    for (int rank = 0; rank < size; rank++)
        edges[rank + 1] += edges[rank];
    for (int64_t i = 0; i < count; i++)
        positions[i] = edges[owner[i]]++;
    for (int rank = size; rank > 0; rank--) /* back to where they began */
        edges[rank] = edges[rank - 1];
    edges[0] = 0;
    ht__free(owner);
}

/* (rows, axes) <- the indices of rows, each at its position. */
static void copy_rows(const host_index *host, int64_t count, const int64_t positions[],
                      int64_t *rows)
{
    for (int64_t i = 0; i < count; i++) {
        for (int k = 0; k < host->axes; k++)
            rows[positions[i] * host->axes + k] = host->at[k][i];
    }
}

/* Sends this rank's requests to the ranks that have the rows. */
static ht_tensor *ask_others(const char *what, const host_index *host, const int64_t positions[],
                             ht_row_route *route)
{
    const ht_body *x = host->x;
    ht_tensor *rows = new_integers(what, 2, host->count, host->axes);

    if (rows == NULL)
        return NULL;
    copy_rows(host, host->count, positions, ht__body_data(rows->body));
    if (ht__comm_ask_edges(x->comm, route->want, route->serve, what) != HT_SUCCESS)
        return NULL;
    return ht__comm_deal(x->comm, rows, route->want, route->serve, what);
}

/* All ranks have all indices, and each wants those of a canonical slab of their first axis. */
static ht_tensor *find_asked(const char *what, const host_index *host, const int64_t edges[],
                             ht_row_route *route)
{
    const ht_body *x = host->x;
    const int size = x->comm->size;
    int64_t *mine = ht__alloc((size_t)(host->count > 0 ? host->count : 1) * sizeof *mine);
    int64_t count = 0;
    ht_tensor *asked;

    route->serve[0] = 0;
    for (int rank = 0; rank < size; rank++) {
        for (int64_t i = edges[rank]; i < edges[rank + 1]; i++) {
            if (owner_of(host, i) == x->comm->rank)
                mine[count++] = i;
        }
        route->serve[rank + 1] = count;
    }
    asked = new_integers(what, 2, count, host->axes);
    for (int64_t i = 0; asked != NULL && i < count; i++) {
        for (int k = 0; k < host->axes; k++)
            ((int64_t *)ht__body_data(asked->body))[i * host->axes + k] = host->at[k][mine[i]];
    }
    ht__free(mine);
    return asked;
}

/* Edges of the canonical slabs of the indices' first axis, in rows. */
static void slab_edges(const ht_body *at, int64_t edges[])
{
    const int64_t each = at->shape[0] > 0 ? at->lsize / at->shape[0] : 0;

    edges[0] = 0;
    for (int rank = 0; rank < at->comm->size; rank++) {
        int64_t start, count;

        ht_comm_chunk(at->comm, at->shape[0], rank, &start, &count);
        edges[rank + 1] = (start + count) * each;
    }
}

/* The requested columns, on x's device, as an index of one axis. */
static ht_status set_asked(const char *what, const ht_tensor *x, const ht_row_index *index,
                           ht_tensor *asked, ht_row_route *route)
{
    asked = ht_to_device(asked, x->body->storage->device);
    route->asked = *index;
    for (int i = 0; i < index->axes && asked != NULL; i++)
        route->asked.at[i] = ht__getitem_plain(what, asked, HT_KEY(HT_ALL, i));
    return asked != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

ht_status ht__row_route(const char *what, const ht_tensor *x, const ht_row_index *index,
                        ht_row_route *route)
{
    const ht_body *at = index->at[0]->body;
    const int size = x->body->comm->size, rank = x->body->comm->rank;
    int64_t *edges = ht__alloc(3 * ((size_t)size + 1) * sizeof *edges);
    int64_t first = 0, count = at->lsize;
    ht_tensor *position, *asked = NULL;
    host_index host;

    *route = (ht_row_route){.want = edges + size + 1, .serve = edges + 2 * (size + 1)};
    route->memory = edges;
    if (open_index(what, x->body, index, &host) != HT_SUCCESS)
        return ht_error_get(NULL);
    if (at->split == HT_NONE) {
        slab_edges(at, edges);
        first = edges[rank];
        count = edges[rank + 1] - first;
    }
    position = new_integers(what, 1, count, 0);
    if (position == NULL)
        return ht_error_get(NULL);
    sort_by_owner(&host, first, count, route->want, ht__body_data(position->body));
    asked = at->split == HT_NONE ? find_asked(what, &host, edges, route)
                                 : ask_others(what, &host, ht__body_data(position->body), route);
    route->position = ht_to_device(position, x->body->storage->device);
    return asked != NULL && route->position != NULL ? set_asked(what, x, index, asked, route)
                                                    : ht_error_get(NULL);
}

void ht__row_route_end(ht_row_route *route)
{
    ht__free(route->memory);
}
