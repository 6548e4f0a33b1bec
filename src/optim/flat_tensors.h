/* SPDX-License-Identifier: MIT
 *
 * Tensors of any shapes and strides, one after another in one piece of memory: the message of an
 * average of parameters. */
#ifndef HT_OPTIM_FLAT_TENSORS_H
#define HT_OPTIM_FLAT_TENSORS_H

#include "core/exchange/exchange.h"
#include "ht/value.h"

typedef struct ht_flat_tensors {
    ht_tensor *all;    /* owned; one axis, on the CPU; float64 if one of the parts is, else
                          float32 */
    ht_tensor **parts; /* owned array of retained ones */
    ht_tensor **views; /* owned array of owned ones; of `all`, in the shapes of the parts */
    int count;
} ht_flat_tensors;

/* How many elements such memory would have, and of which dtype. */
int64_t ht__flat_size(const ht_value *tensors, ht_dtype *dtype);

/* Memory for a list value of process-local floating-point tensors, zeroed. With an exchange,
 * through which it is to be averaged, it is that exchange's, and this is collective. NULL, having
 * said why, without memory. */
ht_flat_tensors *ht__flat_new(const ht_value *tensors, ht_exchange *exchange);
void ht__flat_free(ht_flat_tensors *flat); /* NULL is ignored */

/* An action on elements begin ... end - 1 of the memory, all of one part. */
typedef ht_status ht_flat_visit(void *user, int64_t begin, int64_t end);

/* Parts to memory, and memory to parts; of the first `count` of them. Piece by piece: each is
 * visited when it has come, or before it goes, while it is in the cache. NULL: it is not. An update
 * of a part that is due is made as its pieces are gathered. */
ht_status ht__flat_gather(const char *what, ht_flat_tensors *flat, int count, ht_flat_visit *visit,
                          void *user);
ht_status ht__flat_scatter(const char *what, ht_flat_tensors *flat, int count, ht_flat_visit *visit,
                           void *user);

typedef struct ht_flat_average {
    ht_exchange *exchange;
    int ranks;     /* of its communicator */
    ht_dtype wire; /* between nodes */
    const char *what;
    ht_flat_visit *leave, *arrive; /* before elements leave; when their mean has come */
    void *user;
} ht_flat_average;

/* Each part <- its mean over the ranks. Pieces leave as they are gathered, and are scattered as
 * they come, while others are on their way. After an error in arrive the parts that follow stay as
 * they were. Collective. */
ht_status ht__flat_average(ht_flat_tensors *flat, const ht_flat_average *how);

/* Elements of the first `count` parts. */
int64_t ht__flat_elements(const ht_flat_tensors *flat, int count);

static inline void *ht__flat_data(const ht_flat_tensors *flat)
{
    return ht__body_data(flat->all->body);
}

#endif
