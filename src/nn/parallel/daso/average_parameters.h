/* SPDX-License-Identifier: MIT
 *
 * The steps of an average of parameters, for callers that keep its memory. `what` names the public
 * function in errors, which are the same on all ranks of `comm`. */
#ifndef HT_NN_PARALLEL_DASO_AVERAGE_PARAMETERS_H
#define HT_NN_PARALLEL_DASO_AVERAGE_PARAMETERS_H

#include "optim/flat_tensors.h"

/* Memory for tensors, of the same size on all ranks, or NULL. Owned. `exchange` as in ht__flat_new.
 * Collective, agrees. */
ht_flat_tensors *ht__average_memory(const char *what, ht_comm *comm, const ht_value *parts,
                                    ht_exchange *exchange);

/* The same for those of a list that take part, all or those that are trained: *flat (NULL at first)
 * stays where it is theirs on all ranks. Collective, agrees: for any arguments of a rank. */
ht_status ht__average_prepare(const char *what, ht_comm *comm, ht_value *parameters, bool trainable,
                              ht_exchange *exchange, ht_flat_tensors **flat);

/* Each tensor <- its mean over the ranks of `comm`. Collective. */
ht_status ht__average(const char *what, ht_flat_tensors *flat, ht_comm *comm);

#endif
