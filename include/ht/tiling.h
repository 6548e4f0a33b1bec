/* SPDX-License-Identifier: MIT
 *
 * Tensors as grids of tiles, each on one rank. A tiling describes: it moves nothing, and its tiles
 * are views. Calls are not collective unless they say so; indices of a tile are one for each axis,
 * and negative ones count from the end. Source: heat.core.tiling. */
#ifndef HT_TILING_H
#define HT_TILING_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

typedef struct ht_tiles ht_tiles; /* counted: ht_retain, ht_release */

/* As many tiles along each axis as there are ranks: the slabs of x along its split axis, those of
 * ht_comm_chunk along the others, empty ones too. Keeps x; owned. Logically collective. Source:
 * heat SplitTiles. */
HT_API ht_tiles *ht_tiles_split(ht_tensor *x);

/* Tiles of a matrix that are square along its diagonal: each rank's slab of it in `per_rank` tiles
 * (fewer of fewer rows), the other axis in the same places, its last tile as long as the rest.
 * Along the split axis, what a slab has beyond the end of the diagonal is a tile if it is more than
 * half of the slab, else it makes the last one longer; slabs beyond it are in `per_rank` tiles.
 * Without a split it is one slab, of rows. x keeps its slabs, where Heat's may be moved. Keeps x;
 * owned. Logically collective. Source: heat SquareDiagTiles. */
HT_API ht_tiles *ht_tiles_square(ht_tensor *x, int per_rank);

HT_API ht_tensor *ht_tiles_tensor(const ht_tiles *tiles); /* borrowed */

/* Tiles along an axis: of all ranks, and of one. 0 for an axis that is none. */
HT_API int64_t ht_tiles_count(const ht_tiles *tiles, int axis);
HT_API int64_t ht_tiles_count_of(const ht_tiles *tiles, int axis, int rank);

/* The places along an axis where tiles begin, and its length: ht_tiles_count + 1; borrowed. NULL
 * for an axis that is none. */
HT_API const int64_t *ht_tiles_edges(const ht_tiles *tiles, int axis);

/* The rank of the slab in which the diagonal ends. Of ht_tiles_square; else -1. */
HT_API int ht_tiles_last_diagonal_rank(const ht_tiles *tiles);

/* *rank <- who has a tile; HT_NONE: every rank. */
HT_API ht_status ht_tiles_location(const ht_tiles *tiles, const int64_t index[], int *rank);

/* shape[] <- the lengths of a tile. And where it begins and ends in the local part of its rank. */
HT_API ht_status ht_tiles_shape(const ht_tiles *tiles, const int64_t index[], int64_t shape[]);
HT_API ht_status ht_tiles_bounds(const ht_tiles *tiles, const int64_t index[], int64_t start[],
                                 int64_t stop[]);

/* index[] <- that of a tile by its index among those of a rank. */
HT_API ht_status ht_tiles_to_global(const ht_tiles *tiles, int rank, const int64_t local[],
                                    int64_t index[]);

/* A tile as a view of this rank's own, on HT_COMM_SELF, without history; scoped. HT_ERR_ARGUMENT on
 * a rank that has it not. HT_ERR_STATE where the tensor has been given other slabs since. */
HT_API ht_tensor *ht_tiles_get(const ht_tiles *tiles, const int64_t index[]);

/* A tile <- value, of any device, converted and broadcast; nothing on the ranks that have it not.
 */
HT_API ht_status ht_tiles_set_(ht_tiles *tiles, const int64_t index[], ht_tensor *value);

HT_END_DECLS
#endif
