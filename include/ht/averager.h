/* SPDX-License-Identifier: MIT
 *
 * Averaging of models now and then, instead of gradients after each batch: the plain alternative to
 * DASO (ht/daso.h). Every rank (or every node, with a data-parallel wrapper on its communicator)
 * trains by itself; every so many steps small groups of ranks average their parameters, and more
 * rarely larger ones.
 *
 *     ht_hierarchical_averager *averager = ht_hierarchical_averager_new(
 *         HT_COMM_WORLD, 2, (int64_t[]){4, 16}, (int[]){4, 16}, 100);
 *
 *     for each batch:
 *         ht_optimizer_zero_grad(optimizer);
 *         ht_backward(loss of ht_forward(net, batch));
 *         ht_optimizer_step(optimizer);
 *         ht_hierarchical_averager_average_parameters(averager, ht_module_parameters(net)); */
#ifndef HT_AVERAGER_H
#define HT_AVERAGER_H

#include "ht/value.h"

HT_BEGIN_DECLS

typedef struct ht_hierarchical_averager ht_hierarchical_averager;

/* Averages over groups of group_sizes[i] consecutive ranks of `comm` (retained) in every step that
 * periods[i] divides; where several do, over the largest group only. Steps count from 0; the first
 * `warmup_steps` average nothing (the program then averages gradients, as data-parallel wrappers
 * do). Both arrays are read at once; periods and group sizes ascend, each size divides the next,
 * and the last is the size of `comm`. Owned. Collective over `comm`, agrees. Errors:
 * HT_ERR_ARGUMENT, and where ranks bring different ones. Source:
 * torch.distributed.algorithms.model_averaging.HierarchicalModelAverager. */
HT_API ht_hierarchical_averager *ht_hierarchical_averager_new(ht_comm *comm, int count,
                                                              const int64_t periods[],
                                                              const int group_sizes[],
                                                              int64_t warmup_steps);

/* The end of a step, after the update: x = (sum of x over the group) / group size, with the same
 * bits on all its ranks, for each trainable parameter of the list (ht_module_parameters); and one
 * step more. In the source only those with a gradient take part; which ones have one may differ
 * between ranks, so here all do. Optimizers keep their own state. All ranks bring the same
 * parameters. Logically collective; collective when an average is due, and agrees then.
 * Errors: HT_ERR_ARGUMENT, HT_ERR_DTYPE for what is not floating-point, HT_ERR_SHAPE for different
 * parameters on the ranks. */
HT_API ht_status ht_hierarchical_averager_average_parameters(ht_hierarchical_averager *averager,
                                                             ht_value *parameters);

/* The size of the group that the last step averaged over; 0: it did not. Not collective. */
HT_API int ht_hierarchical_averager_last_group_size(const ht_hierarchical_averager *averager);

/* The number of steps ("step"), as a map. load: HT_ERR_FORMAT when there is none below 1e15.
 * Scoped. Not collective. */
HT_API ht_value *ht_hierarchical_averager_state_dict(const ht_hierarchical_averager *averager);
HT_API ht_status ht_hierarchical_averager_load_state_dict(ht_hierarchical_averager *averager,
                                                          const ht_value *state);

/* The mean over all ranks of `comm`, at once, of each tensor of a list: parameters, or a model's
 * buffers, before it is tested or saved. Process-local floating-point tensors, the same on all
 * ranks, on any device. Collective, agrees. Errors as above. Source:
 * torch.distributed.algorithms.model_averaging.utils.average_parameters. */
HT_API ht_status ht_average_parameters(ht_value *parameters, ht_comm *comm);

HT_END_DECLS
#endif
