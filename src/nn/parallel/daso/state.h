/* SPDX-License-Identifier: MIT
 *
 * DASO's state, for saving and loading. */
#ifndef HT_NN_PARALLEL_DASO_STATE_H
#define HT_NN_PARALLEL_DASO_STATE_H

#include <stddef.h>

#include "nn/parallel/daso/daso.h"

/* The numbers by name, the same on all ranks. */
typedef struct ht_daso_number {
    const char *name;
    size_t at;
} ht_daso_number;
enum { HT_DASO_NUMBERS = 8 };
extern const ht_daso_number ht__daso_numbers[HT_DASO_NUMBERS];

/* Whether parameters differ between ranks after this number of batches of an epoch. */
static inline bool ht__daso_skips_sync(int64_t global_skip, int64_t batch, int64_t batches)
{
    return global_skip > 0 && batch > 0 && batch < batches;
}

static inline int64_t *ht__daso_number(ht_daso *daso, int i)
{
    return (int64_t *)(void *)((char *)daso + ht__daso_numbers[i].at);
}

/* state_rows.c. One row for each rank: n numbers, or all of a flat memory. */
ht_value *ht__daso_rows(const ht_daso *daso, const void *mine, int64_t n, ht_dtype dtype);
ht_value *ht__daso_flat_rows(const ht_daso *daso, const ht_flat_tensors *flat);

/* These read a state that was checked: a tensor that all ranks have, on the host; the node of each
 * rank; whether ranks and nodes are those of this job. */
ht_tensor *ht__daso_whole(const ht_value *state, const char *name);
const double *ht__daso_saved_nodes(const ht_value *state);
bool ht__daso_is_same_job(const ht_daso *daso, const ht_value *state);

/* This rank's row. If the state is of other ranks or nodes, the mean of all rows, or with `most` their
 * maximum: then the ranks of a node agree. */
ht_tensor *ht__daso_row_of(const ht_daso *daso, const ht_value *state, const char *name, bool most);

/* state_counts.c. Integer buffers: the entry's name; how many elements a row has. load: a state
 * without the entry changes nothing. On other ranks or nodes each rank takes the maximum. */
extern const char ht__daso_counts[];
int64_t ht__daso_count_elements(const ht_daso *daso);
ht_status ht__daso_save_counts(const ht_daso *daso, ht_value *map);
ht_status ht__daso_load_counts(const ht_daso *daso, const ht_value *state);

/* state_optimizer.c. The optimizer's part of the state. saved_states: the tensors that the state has
 * values for, new ones where this rank lacks them; NULL after an error, which is recorded. It does
 * not communicate. load: the optimizer takes those, with the values of a state that was checked. */
ht_status ht__daso_save_optimizer(ht_daso *daso, ht_value *map);
ht_flat_tensors *ht__daso_saved_states(const char *what, ht_daso *daso, const ht_value *state);
ht_status ht__daso_load_optimizer(const char *what, ht_daso *daso, const ht_value *state,
                                  ht_flat_tensors *flat);

#endif
