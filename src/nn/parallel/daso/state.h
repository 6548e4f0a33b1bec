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

/* Whether parameters differ between ranks after so many batches of an epoch. */
static inline bool ht__daso_is_apart(int64_t global_skip, int64_t batch, int64_t batches)
{
    return global_skip > 0 && batch > 0 && batch < batches;
}

static inline int64_t *ht__daso_number(ht_daso *daso, int i)
{
    return (int64_t *)(void *)((char *)daso + ht__daso_numbers[i].at);
}

/* The states of the optimizer, one after another; the caller frees them. NULL after an error. */
ht_flat_tensors *ht__daso_flat_states(const ht_daso *daso);

#endif
