/* SPDX-License-Identifier: MIT
 *
 * The steps of an average of parameters, for those who keep its memory. `what` names the public
 * function in errors, which all ranks of `comm` meet alike. */
#ifndef HT_OPTIM_AVERAGE_PARAMETERS_H
#define HT_OPTIM_AVERAGE_PARAMETERS_H

#include "flat_tensors.h"

/* The tensors of a list that take part, as a list: all, or those that are trained. NULL when one
 * cannot, or none is there. Scoped. */
ht_value *ht__average_select(const char *what, ht_comm *comm, ht_value *parameters, bool trainable);

/* Memory for them, of the same size on all ranks, or NULL. Owned. `exchange` as in ht__flat_new.
 * Collective. */
ht_flat_tensors *ht__average_memory(const char *what, ht_comm *comm, const ht_value *parts,
                                    ht_exchange *exchange);

/* Whether memory (or NULL) is that of these tensors as they are now. */
bool ht__average_fits(const ht_flat_tensors *flat, const ht_value *parts);

/* Each tensor <- its mean over the ranks of `comm`. Collective. */
ht_status ht__average(const char *what, ht_flat_tensors *flat, ht_comm *comm);

#endif
