/* SPDX-License-Identifier: MIT
 *
 * Passes the slabs of a tensor around a ring: in step s each rank has the slab of the rank s places
 * further, its own first. A slab comes in a few panels. While one panel is used, the next one
 * travels, by one Alltoall of a block from each rank to one other.
 *
 * Each rank receives (P - 1) / P of the tensor, and stores two panels of it: 16 MiB each, or a
 * quarter of a slab if that is more. */
#include "core/algorithms/parts/ring.h"

#include "ht/factories.h"
#include "ht/manipulations.h"

enum { PANEL_BYTES = 16 << 20, PANELS_OF_A_SLAB = 4 };

typedef struct ring {
    ht_tensor *x;
    int axis;   /* its split */
    int panels; /* of a slab */
    const char *what;
} ring;

/* A panel on its way, and the indices that come in it. */
typedef struct panel {
    ht_tensor *memory; /* for the longest */
    ht_request *request;
    int64_t start, stop;
} panel;

/* Where panel `index` of the slab of `rank` begins in it; of index r->panels: the end. */
static int64_t panel_edge(const ring *r, int rank, int index)
{
    const ht_body *x = r->x->body;
    const int64_t length = ht__body_start(x, rank + 1) - ht__body_start(x, rank);

    return length / r->panels * index + length % r->panels * index / r->panels;
}

static ht_tensor *slab_of(const ring *r, const panel *p)
{
    return ht_narrow(p->memory, r->axis, 0, p->stop - p->start);
}

/* Begins the transfer of number `index` of all that come. */
static ht_status post(const ring *r, panel *p, int index)
{
    const ht_body *x = r->x->body;
    const int size = x->comm->size, rank = x->comm->rank;
    const int step = 1 + index / r->panels, which = index % r->panels;
    const int from = (rank + step) % size, to = (rank - step + size) % size;
    const int64_t begin = panel_edge(r, rank, which), end = panel_edge(r, rank, which + 1);
    int64_t *send = ht__alloc(2 * ((size_t)size + 1) * sizeof *send), *recv = send + size + 1;
    ht_tensor *sent = ht_narrow(ht_tensor_local(r->x), r->axis, begin, end), *come;

    p->start = ht__body_start(x, from) + panel_edge(r, from, which);
    p->stop = ht__body_start(x, from) + panel_edge(r, from, which + 1);
    come = slab_of(r, p);
    for (int i = 0; i <= size; i++) {
        send[i] = i > to ? end - begin : 0;
        recv[i] = i > from ? p->stop - p->start : 0;
    }
    p->request = ht__comm_alltoall_axis(x->comm, sent, r->axis, send, come, r->axis, recv, r->what);
    ht__free(send);
    return p->request != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

/* In how many panels the longest slab comes; the same on all ranks. */
static int count_panels(const ht_body *x, int axis, int64_t *longest)
{
    double row = (double)ht_dtype_size(x->dtype), panels;

    *longest = 0;
    for (int rank = 0; rank < x->comm->size; rank++) {
        const int64_t length = ht__body_start(x, rank + 1) - ht__body_start(x, rank);

        *longest = length > *longest ? length : *longest;
    }
    for (int i = 0; i < x->ndim; i++)
        row *= i == axis ? 1 : (double)x->shape[i];
    panels = row * (double)*longest / PANEL_BYTES;
    panels = panels > PANELS_OF_A_SLAB ? PANELS_OF_A_SLAB : panels;
    return 1 + (int)panels;
}

static ht_status prepare(ring *r, panel panels[2])
{
    const ht_body *x = r->x->body;
    int64_t shape[HT_MAX_NDIM], longest;

    r->panels = count_panels(x, r->axis, &longest);
    for (int i = 0; i < x->ndim; i++)
        shape[i] = i == r->axis ? longest / r->panels + 1 : x->lshape[i];
    for (int i = 0; i < 2 && x->comm->size > 1; i++) {
        panels[i].memory = ht_empty_ext(x->ndim, shape, x->dtype, HT_NONE, x->storage->device,
                                        ht_comm_self());
        if (panels[i].memory == NULL)
            return ht_error_get(NULL);
    }
    return HT_SUCCESS;
}

ht_status ht__ring(ht_tensor *x, ht_ring_fn *fn, void *user, const char *what)
{
    const ht_body *body = x->body;
    ring r = {.x = x, .axis = body->split, .what = what};
    panel panels[2] = {{0}};
    ht_status status = prepare(&r, panels);
    const int count = (body->comm->size - 1) * r.panels;

    if (status == HT_SUCCESS && count > 0)
        status = post(&r, &panels[0], 0);
    if (status == HT_SUCCESS) /* while the first panel comes */
        status = fn(user, ht_tensor_local(x), body->split_start,
                    body->split_start + body->lshape[r.axis]);
    for (int i = 0; i < count && status == HT_SUCCESS; i++) {
        ht_scope *scope = ht_scope_open();
        panel *now = &panels[i % 2];

        status = ht_wait(&now->request);
        if (status == HT_SUCCESS && i + 1 < count)
            status = post(&r, &panels[(i + 1) % 2], i + 1);
        if (status == HT_SUCCESS)
            status = fn(user, slab_of(&r, now), now->start, now->stop);
        ht_scope_close(scope);
    }
    ht_release(panels[0].request);
    ht_release(panels[1].request);
    return status;
}
