/* SPDX-License-Identifier: MIT
 *
 * Products with a split inner axis: every rank has a partial product of each slab of the result's
 * rows. It first makes that of the rank one place further. It sends this product, and makes the
 * next one while it travels; its own slab comes last. Received products are added one after
 * another, in an order that depends on the ranks alone.
 *
 * Each rank sends and receives (P - 1) / P of the product. It stores four slabs of it in addition
 * to its own: two in each direction. */
#include "core/algorithms/product/product.h"

#include "ht/arithmetics.h"
#include "ht/manipulations.h"

typedef struct partials {
    ht_tensor *c, *a, *b; /* the local parts of a and b */
    int rows;             /* the axis of c, and a's own */
    int a_rows;
} partials;

static int64_t rows_of(const partials *p, int rank)
{
    return ht__body_start(p->c->body, rank + 1) - ht__body_start(p->c->body, rank);
}

/* c's rows of rank `to`, as far as they come from this rank's part of the inner axis. */
static ht_status make_part(const partials *p, ht_tensor *part, int to, double beta)
{
    const int64_t start = ht__body_start(p->c->body, to), stop = ht__body_start(p->c->body, to + 1);

    return ht__product_local(ht_narrow(part, p->rows, 0, stop - start),
                             ht_narrow(p->a, p->a_rows, start, stop), p->b, beta);
}

/* Begins to send `part` to rank `to`, and to receive what rank `from` has for this one. Owned; for
 * ht_wait. */
static ht_request *pass_on(const partials *p, ht_tensor *part, int to, ht_tensor *come, int from)
{
    ht_comm *comm = p->c->body->comm;
    int64_t *send = ht__alloc(2 * ((size_t)comm->size + 1) * sizeof *send);
    int64_t *recv = send + comm->size + 1;
    ht_request *request;

    for (int rank = 0; rank <= comm->size; rank++) {
        send[rank] = rank > to ? rows_of(p, to) : 0;
        recv[rank] = rank > from ? rows_of(p, comm->rank) : 0;
    }
    request = ht__comm_alltoall_axis(comm, part, p->rows, send, come, p->rows, recv, "ht_matmul");
    ht__free(send);
    return request;
}

static ht_tensor *memory_for(const partials *p, int64_t rows)
{
    const ht_body *c = p->c->body;
    int64_t shape[HT_MAX_NDIM];

    for (int i = 0; i < c->ndim; i++)
        shape[i] = i == p->rows ? rows : c->shape[i];
    return ht__tensor_new(ht__body_new("ht_matmul", ht_comm_self(), c->storage->device, c->dtype,
                                       c->ndim, shape, HT_NONE, NULL));
}

/* sum <- come, or sum += come. */
static ht_status add_come(ht_request **request, ht_tensor *sum, ht_tensor *come, bool first)
{
    const ht_status status = ht_wait(request);

    if (status != HT_SUCCESS)
        return status;
    return first ? ht__copy_local("ht_matmul", sum->body, come->body) : ht_add_(sum, come, 1);
}

/* All but the own part, two of which are under way. */
static ht_status pass_round(const partials *p, ht_tensor *parts[2], ht_tensor *come[2],
                            ht_request *requests[2])
{
    const int size = p->c->body->comm->size, rank = p->c->body->comm->rank;
    ht_tensor *sum = ht_tensor_local(p->c);
    ht_status status = HT_SUCCESS;

    for (int step = 1; step < size && status == HT_SUCCESS; step++) {
        const int now = step % 2, to = (rank + step) % size, from = (rank - step + size) % size;

        status = make_part(p, parts[now], to, 0);
        if (status == HT_SUCCESS) {
            requests[now] = pass_on(p, parts[now], to, come[now], from);
            status = requests[now] != NULL ? HT_SUCCESS : ht_error_get(NULL);
        }
        if (status == HT_SUCCESS && step > 1)
            status = add_come(&requests[1 - now], sum, come[1 - now], step == 2);
    }
    if (status == HT_SUCCESS)
        status = make_part(p, sum, rank, size > 2);
    if (status == HT_SUCCESS && size > 1)
        status = add_come(&requests[(size - 1) % 2], sum, come[(size - 1) % 2], false);
    return status;
}

ht_status ht__product_sum(ht_tensor *c, ht_tensor *a, ht_tensor *b)
{
    partials p = {.c = c, .rows = c->body->ndim - 2};
    ht_tensor *parts[2], *come[2];
    ht_request *requests[2] = {NULL, NULL};
    ht_status status;

    if (a == NULL || b == NULL)
        return ht_error_get(NULL);
    p.a = ht_tensor_local(a);
    p.b = ht_tensor_local(b);
    p.a_rows = a->body->ndim - 2;
    for (int i = 0; i < 2; i++) {
        parts[i] = memory_for(&p, rows_of(&p, 0)); /* canonical slabs: no other is longer */
        come[i] = memory_for(&p, rows_of(&p, c->body->comm->rank));
        if (parts[i] == NULL || come[i] == NULL)
            return ht_error_get(NULL);
    }
    status = pass_round(&p, parts, come, requests);
    ht_release(requests[0]);
    ht_release(requests[1]);
    return status;
}
