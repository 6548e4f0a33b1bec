/* SPDX-License-Identifier: MIT
 *
 * Tensors of any shapes and strides, one after the other in one piece of memory: what travels where
 * parameters are averaged. */
#ifndef HT_OPTIM_FLAT_TENSORS_H
#define HT_OPTIM_FLAT_TENSORS_H

#include "core/core.h"
#include "core/exchange.h"
#include "ht/value.h"

typedef struct ht_flat_tensors {
    ht_tensor *all;    /* owned; 1-dimensional, on the CPU; float64 if one of the parts is, else
                          float32 */
    ht_tensor **parts; /* owned array of retained ones */
    ht_tensor **views; /* owned array of owned ones; of `all`, in the shapes of the parts */
    int count;
} ht_flat_tensors;

/* Memory for a list value of process-local floating-point tensors, zeroed. NULL, having said why,
 * without memory. */
ht_flat_tensors *ht__flat_new(const ht_value *tensors);
void ht__flat_free(ht_flat_tensors *flat); /* NULL is ignored */

/* Parts to memory, and memory to parts; of the first `count` of them. */
ht_status ht__flat_gather(ht_flat_tensors *flat, int count);
ht_status ht__flat_scatter(ht_flat_tensors *flat, int count);

/* The memory <- its mean over the ranks of the exchange's communicator, which are `ranks`; between
 * nodes as `wire`. `what` names it in a timeout message. Collective. */
ht_status ht__flat_average(ht_flat_tensors *flat, ht_exchange *exchange, int ranks, ht_dtype wire,
                           const char *what);

/* Elements of the first `count` parts. */
int64_t ht__flat_elements(const ht_flat_tensors *flat, int count);

static inline void *ht__flat_data(const ht_flat_tensors *flat)
{
    return ht__body_data(flat->all->body);
}

#endif
