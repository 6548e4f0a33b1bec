/* SPDX-License-Identifier: MIT
 *
 * Channel statistics over the ranks of a communicator. Results are merged in the order of the
 * ranks: all have the same bits, and a rank with an empty batch takes part. A rank that an error
 * keeps from its part sends the error, and all ranks get one. Collective. `what` is from ht__name. */
#ifndef HT_NN_FUNCTIONAL_NORM_RANKS_H
#define HT_NN_FUNCTIONAL_NORM_RANKS_H

#include "nn/functional/functional.h"

/* moments (2, C) of float64, mean and M2 of `count` values per channel, <- those of all ranks. The
 * number of values per channel on all of them; negative after an error. */
double ht__norm_merge_moments(const char *what, ht_comm *comm, ht_tensor *moments, double count);

/* sums (2, C) of float64 <- their sums over the ranks. */
bool ht__norm_add_sums(const char *what, ht_comm *comm, ht_tensor *sums);

/* In place of either one; nothing where all ranks know of the failure. */
void ht__norm_send_error(const char *what, ht_comm *comm, int64_t channels);

/* Either one as a pass waits in it. */
ht_meeting ht__norm_meeting(const char *what, ht_comm *comm, int64_t channels);

#endif
