/* SPDX-License-Identifier: MIT
 *
 * Grids of tiles. All ranks know all slabs, so a tiling is computed without a message, in O(ranks)
 * memory. It has the edges of the tiles along each axis, and the owners of the tiles along the
 * split axis. */
#include "ht/tiling.h"

#include <inttypes.h>
#include <string.h>

#include "core/ops/ops.h"
#include "ht/manipulations.h"

struct ht_tiles {
    ht_object base;
    ht_tensor *x;  /* retained */
    ht_body *body; /* owned; its metadata when the tiling was made */
    int64_t counts[HT_MAX_NDIM];
    int64_t *edges[HT_MAX_NDIM]; /* owned; counts + 1 */
    int *owners;                 /* owned; of the tiles along the split axis. NULL: no split */
    int last_diagonal;           /* -1: not of squares */
};

static void destroy(void *object)
{
    ht_tiles *tiles = object;

    for (int i = 0; i < tiles->body->ndim; i++)
        ht__free(tiles->edges[i]);
    ht__free(tiles->owners);
    ht_release(tiles->body);
    ht_release(tiles->x);
    ht__object_fini(tiles);
    ht__free(tiles);
}

static ht_kind kind = {.name = "tiling", .destroy = destroy};

/* With room for `room` tiles along each axis, and no tile yet. */
static ht_tiles *tiles_new(ht_tensor *x, int64_t room)
{
    ht_tiles *tiles = ht__alloc(sizeof *tiles);

    ht__object_init(tiles, &kind);
    tiles->x = ht_retain(x);
    tiles->body = ht__body_metadata(x->body);
    tiles->last_diagonal = -1;
    for (int i = 0; i < x->body->ndim; i++)
        tiles->edges[i] = ht__alloc(sizeof *tiles->edges[i] * (size_t)(room + 1));
    if (x->body->split != HT_NONE)
        tiles->owners = ht__alloc(sizeof *tiles->owners * (size_t)room);
    return tiles;
}

/* One more tile along an axis. */
static void append(ht_tiles *tiles, int axis, int64_t end, int owner)
{
    if (axis == tiles->body->split)
        tiles->owners[tiles->counts[axis]] = owner;
    tiles->edges[axis][++tiles->counts[axis]] = end;
}

ht_tiles *ht_tiles_split(ht_tensor *x)
{
    const ht_body *body;
    ht_tiles *tiles;

    if (HT_IS_NULL(x, "ht_tiles_split", "x"))
        return NULL;
    body = x->body;
    tiles = tiles_new(x, body->comm->size);
    for (int axis = 0; axis < body->ndim; axis++) {
        for (int r = 0; r < body->comm->size; r++) {
            int64_t start, count;

            ht_comm_chunk(body->comm, body->shape[axis], r, &start, &count);
            append(tiles, axis, axis == body->split ? ht__body_start(body, r + 1) : start + count,
                   r);
        }
    }
    return tiles;
}

/* ---- squares along the diagonal -------------------------------------------------------------- */
static void append_evenly(ht_tiles *tiles, int axis, int64_t start, int64_t end, int count,
                          int owner)
{
    int64_t length = end - start;

    for (int64_t i = 0; i < count; i++) {
        int64_t each = length / count, more = length % count;

        if (each + (i < more) > 0)
            append(tiles, axis, start + (i + 1) * each + (i < more ? i + 1 : more), owner);
    }
}

/* A rank's slab, of which the diagonal has what lies before `diagonal`. */
static void cut_slab(ht_tiles *tiles, int axis, const int64_t slab[2], int64_t diagonal, int count,
                     int owner)
{
    int64_t inside = slab[1] < diagonal ? slab[1] : diagonal;

    if (slab[0] >= diagonal) {
        append_evenly(tiles, axis, slab[0], slab[1], count, owner);
        return;
    }
    append_evenly(tiles, axis, slab[0], inside, count, owner);
    if (slab[1] > inside && slab[1] - inside > (slab[1] - slab[0]) / 2)
        append(tiles, axis, slab[1], owner);
    else
        tiles->edges[axis][tiles->counts[axis]] = slab[1];
    if (slab[1] > slab[0] && inside == diagonal)
        tiles->last_diagonal = owner;
}

/* The axis that is not cut by the slabs: where the other is, as far as the diagonal goes. */
static void cut_alike(ht_tiles *tiles, int axis, int64_t diagonal)
{
    int64_t length = tiles->body->shape[axis];

    for (int64_t i = 1; i <= tiles->counts[1 - axis]; i++) {
        int64_t edge = tiles->edges[1 - axis][i];

        if (edge < diagonal)
            append(tiles, axis, edge, 0);
    }
    if (length > 0)
        append(tiles, axis, length, 0);
}

ht_tiles *ht_tiles_square(ht_tensor *x, int per_rank)
{
    static const char what[] = "ht_tiles_square";
    const ht_body *body;
    ht_tiles *tiles;
    int axis;
    int64_t diagonal;

    if (HT_IS_NULL(x, what, "x"))
        return NULL;
    body = x->body;
    if (body->ndim != 2 || per_rank < 1 || per_rank > 1 << 20) {
        HT_FAIL(body->comm, body->ndim != 2 ? HT_ERR_SHAPE : HT_ERR_ARGUMENT,
                "%s: x is %s and per_rank is %s, expected a matrix and 1 to 2^20", what,
                ht__shape_str(body->ndim, body->shape), ht__int_str(per_rank));
        return NULL;
    }
    axis = body->split == 1 ? 1 : 0;
    diagonal = body->shape[0] < body->shape[1] ? body->shape[0] : body->shape[1];
    tiles = tiles_new(x, (int64_t)body->comm->size * per_rank + 2);
    for (int r = 0; r < (body->split == HT_NONE ? 1 : body->comm->size); r++) {
        int64_t slab[2] = {0, body->shape[0]};

        if (body->split != HT_NONE) {
            slab[0] = ht__body_start(body, r);
            slab[1] = ht__body_start(body, r + 1);
        }
        cut_slab(tiles, axis, slab, diagonal, per_rank, r);
    }
    cut_alike(tiles, 1 - axis, diagonal);
    return tiles;
}

/* ---- what a tiling tells --------------------------------------------------------------------- */
ht_tensor *ht_tiles_tensor(const ht_tiles *tiles)
{
    return HT_IS_THERE(tiles) ? tiles->x : NULL;
}

static bool has_axis(const ht_tiles *tiles, int axis)
{
    return axis >= 0 && axis < tiles->body->ndim;
}

int64_t ht_tiles_count(const ht_tiles *tiles, int axis)
{
    return HT_IS_THERE(tiles) && has_axis(tiles, axis) ? tiles->counts[axis] : 0;
}

int64_t ht_tiles_count_of(const ht_tiles *tiles, int axis, int rank)
{
    int64_t count = 0;

    if (!HT_IS_THERE(tiles) || axis != tiles->body->split || !has_axis(tiles, axis))
        return ht_tiles_count(tiles, axis);
    for (int64_t i = 0; i < tiles->counts[axis]; i++)
        count += tiles->owners[i] == rank;
    return count;
}

const int64_t *ht_tiles_edges(const ht_tiles *tiles, int axis)
{
    return HT_IS_THERE(tiles) && has_axis(tiles, axis) ? tiles->edges[axis] : NULL;
}

int ht_tiles_last_diagonal_rank(const ht_tiles *tiles)
{
    return HT_IS_THERE(tiles) ? tiles->last_diagonal : -1;
}

/* wrapped[] <- the index from the beginning. */
static ht_status check_index(const char *what, const ht_tiles *tiles, const int64_t index[],
                             int64_t wrapped[])
{
    if (HT_IS_NULL(tiles, what, "tiles"))
        return ht_error_get(NULL);

    const ht_body *body = tiles->body;
    bool right = index != NULL || body->ndim == 0;

    for (int i = 0; i < body->ndim && right; i++) {
        wrapped[i] = index[i] + (index[i] < 0 ? tiles->counts[i] : 0);
        right = wrapped[i] >= 0 && wrapped[i] < tiles->counts[i];
    }
    return right
               ? HT_SUCCESS
               : HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: index is %s, expected a tile of a grid of %s",
                         what, index != NULL ? ht__shape_str(body->ndim, index) : "NULL",
                         ht__shape_str(body->ndim, tiles->counts));
}

static int owner_of(const ht_tiles *tiles, const int64_t wrapped[])
{
    return tiles->owners != NULL ? tiles->owners[wrapped[tiles->body->split]] : HT_NONE;
}

ht_status ht_tiles_location(const ht_tiles *tiles, const int64_t index[], int *rank)
{
    int64_t wrapped[HT_MAX_NDIM];
    ht_status status = check_index("ht_tiles_location", tiles, index, wrapped);

    if (status != HT_SUCCESS || HT_IS_NULL(rank, "ht_tiles_location", "rank"))
        return ht_error_get(NULL);
    *rank = owner_of(tiles, wrapped);
    return HT_SUCCESS;
}

/* In the local part of the rank that has it. */
static void find_bounds(const ht_tiles *tiles, const int64_t wrapped[], int64_t start[],
                        int64_t stop[])
{
    int owner = owner_of(tiles, wrapped);

    for (int i = 0; i < tiles->body->ndim; i++) {
        int64_t first = i == tiles->body->split ? ht__body_start(tiles->body, owner) : 0;

        start[i] = tiles->edges[i][wrapped[i]] - first;
        stop[i] = tiles->edges[i][wrapped[i] + 1] - first;
    }
}

ht_status ht_tiles_bounds(const ht_tiles *tiles, const int64_t index[], int64_t start[],
                          int64_t stop[])
{
    int64_t wrapped[HT_MAX_NDIM];
    ht_status status = check_index("ht_tiles_bounds", tiles, index, wrapped);

    if (status != HT_SUCCESS || HT_IS_NULL(start, "ht_tiles_bounds", "start") ||
        HT_IS_NULL(stop, "ht_tiles_bounds", "stop"))
        return ht_error_get(NULL);
    find_bounds(tiles, wrapped, start, stop);
    return HT_SUCCESS;
}

ht_status ht_tiles_shape(const ht_tiles *tiles, const int64_t index[], int64_t shape[])
{
    int64_t wrapped[HT_MAX_NDIM], start[HT_MAX_NDIM], stop[HT_MAX_NDIM];
    ht_status status = check_index("ht_tiles_shape", tiles, index, wrapped);

    if (status != HT_SUCCESS || HT_IS_NULL(shape, "ht_tiles_shape", "shape"))
        return ht_error_get(NULL);
    find_bounds(tiles, wrapped, start, stop);
    for (int i = 0; i < tiles->body->ndim; i++)
        shape[i] = stop[i] - start[i];
    return HT_SUCCESS;
}

ht_status ht_tiles_to_global(const ht_tiles *tiles, int rank, const int64_t local[],
                             int64_t index[])
{
    static const char what[] = "ht_tiles_to_global";
    int64_t before = 0, counts[HT_MAX_NDIM];
    bool right = true;

    if (HT_IS_NULL(tiles, what, "tiles") || HT_IS_NULL(local, what, "local") ||
        HT_IS_NULL(index, what, "index"))
        return ht_error_get(NULL);
    if (rank < 0 || rank >= tiles->body->comm->size)
        return HT_FAIL(NULL, HT_ERR_ARGUMENT,
                       "%s: rank is %s, expected a rank of a communicator of %d", what,
                       ht__int_str(rank), tiles->body->comm->size);
    for (int r = 0; r < rank && tiles->owners != NULL; r++)
        before += ht_tiles_count_of(tiles, tiles->body->split, r);
    for (int i = 0; i < tiles->body->ndim && right; i++) {
        counts[i] = ht_tiles_count_of(tiles, i, rank);
        index[i] = local[i] + (local[i] < 0 ? counts[i] : 0);
        right = index[i] >= 0 && index[i] < counts[i];
        index[i] += i == tiles->body->split ? before : 0;
    }
    return right ? HT_SUCCESS
                 : HT_FAIL(NULL, HT_ERR_ARGUMENT,
                           "%s: index is out of range, expected a tile of rank %d", what, rank);
}

/* ---- tiles ----------------------------------------------------------------------------------- */
static ht_tensor *view_of(const char *what, const ht_tiles *tiles, const int64_t wrapped[])
{
    int64_t start[HT_MAX_NDIM], stop[HT_MAX_NDIM];
    ht_tensor *view;

    if (!ht__body_same_shape(tiles->body, tiles->x->body) ||
        !ht__body_same_slabs(tiles->body, tiles->x->body)) {
        HT_FAIL(NULL, HT_ERR_STATE,
                "%s: tiles has a tensor of another shape or slabs, expected those at its making",
                what);
        return NULL;
    }
    find_bounds(tiles, wrapped, start, stop);
    view = ht_tensor_local(tiles->x);
    for (int i = 0; i < tiles->body->ndim && view != NULL; i++)
        view = ht_narrow(view, i, start[i], stop[i]);
    return view;
}

ht_tensor *ht_tiles_get(const ht_tiles *tiles, const int64_t index[])
{
    static const char what[] = "ht_tiles_get";
    HT_NAMED(what);
    int64_t wrapped[HT_MAX_NDIM];
    int owner;

    if (check_index(what, tiles, index, wrapped) != HT_SUCCESS)
        return NULL;
    owner = owner_of(tiles, wrapped);
    if (owner == HT_NONE || owner == tiles->body->comm->rank)
        return view_of(what, tiles, wrapped);
    HT_FAIL(NULL, HT_ERR_ARGUMENT,
            "%s: tile %s is on rank %d, expected a tile of this rank (ht_tiles_location)", what,
            ht__shape_str(tiles->body->ndim, wrapped), owner);
    return NULL;
}

ht_status ht_tiles_set_(ht_tiles *tiles, const int64_t index[], ht_tensor *value)
{
    static const char what[] = "ht_tiles_set_";
    HT_NAMED(what);
    int64_t wrapped[HT_MAX_NDIM];
    ht_status status = check_index(what, tiles, index, wrapped);
    ht_tensor *view;
    int owner;

    if (status != HT_SUCCESS)
        return status;
    if (HT_IS_NULL(value, what, "value"))
        return ht_error_get(NULL);
    owner = owner_of(tiles, wrapped);
    if (owner != HT_NONE && owner != tiles->body->comm->rank)
        return HT_SUCCESS;
    view = view_of(what, tiles, wrapped);
    value = ht_to_device(value, tiles->x->body->storage->device);
    if (view == NULL || value == NULL)
        return ht_error_get(NULL);
    value = ht__broadcast_to(what, "value", value, view->body->ndim, view->body->shape);
    return value != NULL ? ht__copy_into(what, view, value) : ht_error_get(NULL);
}
