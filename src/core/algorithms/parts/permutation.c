/* SPDX-License-Identifier: MIT
 *
 * Random orders. randperm: each rank computes its own slab, and nothing travels. permutation of x:
 * row i of the result is row p(i) of x. The owner of a row computes the place that it goes to. The
 * owner of a place computes the rank that its row comes from. So no rank asks another: one Alltoall
 * moves the rows, in the order of their places. In addition to x and the result a rank stores its
 * rows twice, packed, and two numbers for each row. */
#include "core/algorithms/parts/permutation.h"

#include <stdlib.h>
#include <string.h>

#include "core/collective/collective.h"
#include "core/ops/ops.h"
#include "ht/manipulations.h"
#include "ht/random.h"

static ht_tensor *randperm(const char *what, int64_t n, ht_dtype dtype, ht_place place)
{
    ht_permutation_map map;
    uint64_t seed, draw;
    ht_tensor *y;
    int64_t *values;

    if (place.comm == NULL || !ht__check_length(what, place.comm, "n", n))
        return NULL;
    if ((unsigned)dtype < HT_DTYPE_COUNT && (!ht__dtype_is_exact(dtype) || dtype == HT_BOOL)) {
        HT_FAIL(place.comm, HT_ERR_DTYPE, "%s: dtype is %s, expected an integer one", what,
                ht_dtype_name(dtype));
        return NULL;
    }
    if (n > 0 && (unsigned)dtype < HT_DTYPE_COUNT &&
        !ht__check_number(what, place.comm, "n - 1", dtype, ht_number_integer(n - 1)))
        return NULL;
    if ((unsigned)dtype >= HT_DTYPE_COUNT)
        return ht__new_at(what, 1, &n, dtype, place); /* which refuses it */
    y = ht__new_at(what, 1, &n, HT_INT64, (ht_place){place.comm, ht__device_cpu(), place.split});
    if (y == NULL)
        return NULL;
    ht__random_next(y->body->comm, &seed, &draw);
    ht__permutation_open(&map, n, seed, draw);
    values = y->body->lsize > 0 ? ht__body_data(y->body) : NULL;
    for (int64_t i = 0; i < y->body->lsize; i++)
        values[i] = ht__permutation_at(&map, y->body->split_start + i);
    ht__permutation_close(&map);
    return ht_to_device(ht_astype(y, dtype), place.device);
}

ht_tensor *ht_randperm(int64_t n, ht_dtype dtype, int split)
{
    static const char what[] = "ht_randperm";

    return randperm(what, n, dtype, ht__place_here(what, split));
}

ht_tensor *ht_randperm_ext(int64_t n, ht_dtype dtype, int split, ht_device *device, ht_comm *comm)
{
    static const char what[] = "ht_randperm_ext";

    return randperm(what, n, dtype, ht__place_at(what, split, device, comm));
}

/* Which permutation, and which way it is taken: backward for the gradient. */
typedef struct order {
    uint64_t seed, draw;
    bool back;
} order;

/* The row that comes to place i, and the place that row j goes to. */
static int64_t row_at(const ht_permutation_map *map, const order *o, int64_t i)
{
    return o->back ? ht__permutation_from(map, i) : ht__permutation_at(map, i);
}

static int64_t place_of(const ht_permutation_map *map, const order *o, int64_t j)
{
    return o->back ? ht__permutation_at(map, j) : ht__permutation_from(map, j);
}

static int owner_of(const ht_body *x, int64_t row)
{
    int low = 0, high = x->comm->size;

    while (high - low > 1) {
        const int middle = (low + high) / 2;

        if (ht__body_start(x, middle) <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

typedef struct trip {
    int64_t place, row; /* global place, local row */
} trip;

static int by_place(const void *a, const void *b)
{
    const int64_t x = ((const trip *)a)->place, y = ((const trip *)b)->place;

    return (x > y) - (x < y);
}

static size_t row_bytes(const ht_body *x)
{
    size_t bytes = ht_dtype_size(x->dtype);

    for (int i = 1; i < x->ndim; i++)
        bytes *= (size_t)x->lshape[i];
    return bytes;
}

/* The rows of x (a local part in host memory) in the order of their places, and where those of each
 * rank begin. */
static void pack(const ht_permutation_map *map, const order *o, ht_tensor *x, ht_tensor *packed,
                 int64_t edges[])
{
    const ht_body *body = x->body;
    const int64_t rows = body->lshape[0], size = body->comm->size;
    const size_t bytes = row_bytes(body);
    trip *trips = ht__alloc(((size_t)rows + 1) * sizeof *trips);
    const char *from = body->lsize > 0 ? ht__body_data(body) : NULL;
    char *to = body->lsize > 0 ? ht__body_data(packed->body) : NULL;
    int rank = 0;

    for (int64_t j = 0; j < rows; j++)
        trips[j] = (trip){place_of(map, o, body->split_start + j), j};
    qsort(trips, (size_t)rows, sizeof *trips, by_place);
    edges[0] = 0;
    for (int64_t k = 0; k < rows; k++) {
        while (trips[k].place >= ht__body_start(body, rank + 1))
            edges[++rank] = k;
        if (from != NULL)
            memcpy(to + (size_t)k * bytes, from + (size_t)trips[k].row * bytes, bytes);
    }
    while (rank < size)
        edges[++rank] = rows;
    ht__free(trips);
}

/* From which rank the row of each place of y's slab comes, and where each rank's begin. */
static void expect(const ht_permutation_map *map, const order *o, const ht_body *y, int owners[],
                   int64_t came[])
{
    memset(came, 0, ((size_t)y->comm->size + 1) * sizeof *came);
    for (int64_t i = 0; i < y->lshape[0]; i++) {
        owners[i] = owner_of(y, row_at(map, o, y->split_start + i));
        came[owners[i] + 1]++;
    }
    for (int rank = 0; rank < y->comm->size; rank++)
        came[rank + 1] += came[rank];
}

/* Split along the rows. */
static ht_status exchange(const char *what, const ht_permutation_map *map, const order *o,
                          ht_tensor *x, ht_tensor *y)
{
    ht_comm *comm = x->body->comm;
    const int64_t rows = y->body->lshape[0];
    const size_t bytes = row_bytes(y->body), ranks = (size_t)comm->size + 1;
    int64_t *edges = ht__alloc(2 * ranks * sizeof *edges), *came = edges + ranks;
    int *owners = ht__alloc(((size_t)rows + 1) * sizeof *owners);
    ht_tensor *local = ht_tensor_local(x), *recv = NULL;
    ht_tensor *send = local != NULL ? ht__empty(what, local->body, local->body->dtype) : NULL;

    if (send != NULL) {
        pack(map, o, x, send, edges);
        expect(map, o, y->body, owners, came);
        recv = ht__comm_deal(comm, send, edges, came, what);
    }
    if (recv != NULL && y->body->lsize > 0) {
        const char *from = ht__body_data(recv->body);
        char *to = ht__body_data(y->body);

        for (int64_t i = 0; i < rows; i++)
            memcpy(to + (size_t)i * bytes, from + (size_t)came[owners[i]]++ * bytes, bytes);
    }
    ht__free(owners);
    ht__free(edges);
    return recv != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

/* Every rank has all rows, or its part of each. */
static void take(const ht_permutation_map *map, const order *o, const ht_body *x, const ht_body *y)
{
    const size_t bytes = row_bytes(x);
    const char *from;
    char *to;

    if (x->lsize == 0)
        return;
    from = ht__body_data(x);
    to = ht__body_data(y);
    for (int64_t i = 0; i < x->lshape[0]; i++)
        memcpy(to + (size_t)i * bytes, from + (size_t)row_at(map, o, i) * bytes, bytes);
}

static ht_tensor *permuted(const char *what, ht_tensor *x, const order *o)
{
    ht_device *device = x->body->storage->device;
    ht_tensor *from = ht__on_host(what, x, x->body->dtype), *y = NULL;
    ht_status status = HT_SUCCESS;
    ht_permutation_map map;

    if (from != NULL)
        y = ht__tensor_new(ht__body_new(what, from->body->comm, ht__device_cpu(), from->body->dtype,
                                        from->body->ndim, from->body->shape, from->body->split,
                                        from->body->bounds));
    if (y == NULL)
        return NULL;
    ht__permutation_open(&map, from->body->shape[0], o->seed, o->draw);
    if (from->body->split == 0 && from->body->comm->size > 1)
        status = exchange(what, &map, o, from, y);
    else
        take(&map, o, from->body, y->body);
    ht__permutation_close(&map);
    return status == HT_SUCCESS ? ht_to_device(y, device) : NULL;
}

static ht_tensor *permute(const char *what, ht_tensor *x, const order *o)
{
    const bool was = ht_set_grad_enabled(false);
    ht_comm *outer = ht__together(x->body->comm);
    ht_tensor *y = permuted(what, x, o);

    ht__together_end(outer);
    ht_set_grad_enabled(was);
    return y;
}

static void permutation_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    order back = *(const order *)ht_node_context(node, 0);

    back.back = true;
    gin[0] = permute("ht_permutation", g, &back);
}

ht_tensor *ht_permutation(ht_tensor *x)
{
    static const char what[] = "ht_permutation";
    HT_NAMED(what);
    order o = {0};
    ht_tensor *y;
    ht_node *node;

    if (HT_IS_NULL(x, what, "x"))
        return NULL;
    if (x->body->ndim == 0) {
        HT_FAIL(x->body->comm, HT_ERR_SHAPE, "%s: x is a scalar, expected at least one axis", what);
        return NULL;
    }
    ht__random_next(x->body->comm, &o.seed, &o.draw);
    y = permute(what, x, &o);
    node = y != NULL ? ht_node_new(what, permutation_backward, 1, &x) : NULL;
    if (node == NULL)
        return y;
    *(order *)ht_node_context(node, sizeof o) = o;
    return ht_node_set_output(node, y);
}
