/* SPDX-License-Identifier: MIT
 *
 * Tensors as grids of tiles, each on one rank. A tiling is a description: it moves nothing, and its
 * tiles are views. Source: heat.core.tiling.
 *
 * The index of a tile has one number for each axis; a negative one counts from the end.
 * Arrays that functions write have a number for each axis of the tensor, and are not NULL.
 * Not collective, unless a comment says otherwise.
 * Errors: HT_ERR_ARGUMENT for a tile or a rank that does not exist, and for NULL. A query without a
 * status gives 0, -1 or NULL for a NULL tiling, without an error. */
#ifndef HT_TILING_H
#define HT_TILING_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* A tiling. Counted: ht_retain, ht_release. */
typedef struct ht_tiles ht_tiles;

/* Returns a grid of x with as many tiles along each axis as there are ranks, empty ones included.
 *
 * Tiles are the slabs of x along its split axis, and those of ht_comm_chunk along other axes.
 * x: retained.
 * Logically collective.
 * Result: owned.
 * Source: heat SplitTiles. */
HT_API ht_tiles *ht_tiles_split(ht_tensor *x);

/* Returns a grid of a matrix x whose tiles are square along its diagonal.
 *
 * Each rank's slab has `per_rank` tiles, or fewer if it has fewer rows. The other axis is cut at
 * the same indices, and its last tile has the rest. Along the split axis, a slab may go beyond the
 * end of the diagonal. That rest is a tile if it is more than half of the slab; else it lengthens
 * the last tile. Slabs beyond the diagonal have `per_rank` tiles. Without a split there is one
 * slab, of rows. x keeps its slabs, while Heat may move them.
 * x: retained.
 * per_rank: 1 to 2^20.
 * Logically collective.
 * Result: owned.
 * Errors: HT_ERR_SHAPE unless x has two axes, HT_ERR_ARGUMENT for another per_rank.
 * Source: heat SquareDiagTiles. */
HT_API ht_tiles *ht_tiles_square(ht_tensor *x, int per_rank);

/* Returns the tensor that tiles divides; borrowed. */
HT_API ht_tensor *ht_tiles_tensor(const ht_tiles *tiles);

/* Returns the number of tiles along axis (from 0), on all ranks; 0 for an axis that does not exist.
 */
HT_API int64_t ht_tiles_count(const ht_tiles *tiles, int axis);

/* Returns the number of tiles of one rank along axis; 0 for an axis that does not exist.
 *
 * rank: not checked. On a rank without tiles along the split axis, the number is 0 there. */
HT_API int64_t ht_tiles_count_of(const ht_tiles *tiles, int axis, int rank);

/* Returns the ht_tiles_count + 1 edges of tiles along axis: their beginnings, then the length of
 * the axis.
 *
 * Result: borrowed. NULL for an axis that does not exist. */
HT_API const int64_t *ht_tiles_edges(const ht_tiles *tiles, int axis);

/* Returns the rank of the slab in which the diagonal ends; -1 unless tiles come from
 * ht_tiles_square. */
HT_API int ht_tiles_last_diagonal_rank(const ht_tiles *tiles);

/* *rank <- the rank that has tile index[] of tiles; HT_NONE: every rank has it (no split). */
HT_API ht_status ht_tiles_location(const ht_tiles *tiles, const int64_t index[], int *rank);

/* shape[] <- the lengths of tile index[] of tiles. */
HT_API ht_status ht_tiles_shape(const ht_tiles *tiles, const int64_t index[], int64_t shape[]);

/* start[], stop[] <- the bounds of tile index[] of tiles, in the local part of its rank. */
HT_API ht_status ht_tiles_bounds(const ht_tiles *tiles, const int64_t index[], int64_t start[],
                                 int64_t stop[]);

/* index[] <- the index in tiles of the tile that has index local[] among those of rank. */
HT_API ht_status ht_tiles_to_global(const ht_tiles *tiles, int rank, const int64_t local[],
                                    int64_t index[]);

/* Returns tile index[] of tiles: a process-local view, on HT_COMM_SELF, without history; scoped.
 *
 * Errors: HT_ERR_ARGUMENT on a rank that lacks the tile. HT_ERR_STATE if the tensor has received
 * another shape or other slabs since. */
HT_API ht_tensor *ht_tiles_get(const ht_tiles *tiles, const int64_t index[]);

/* Tile index[] of tiles <- value. Does nothing on ranks that lack the tile.
 *
 * The write is not recorded for gradients. Each rank sets the tiles of a replicated tensor, to the
 * same value.
 * value: process-local, converted and broadcast; on any device.
 * Errors: HT_ERR_SHAPE if value does not broadcast to the tile, HT_ERR_COMM if it is shared by
 * several ranks. HT_ERR_STATE if the tensor is read-only, or has received another shape or other
 * slabs since. */
HT_API ht_status ht_tiles_set_(ht_tiles *tiles, const int64_t index[], ht_tensor *value);

HT_END_DECLS
#endif
