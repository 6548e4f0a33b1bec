/* SPDX-License-Identifier: MIT
 *
 * Averaging of models after some steps, instead of gradients after each batch: the plain
 * alternative to DASO (ht/daso.h).
 *
 * Every rank trains by itself; with data-parallel wrappers on the nodes' communicators, every node
 * does. After a period of steps, small groups of ranks average their parameters; after longer
 * periods, larger groups do.
 *
 *     ht_hierarchical_averager *averager = ht_hierarchical_averager_new(
 *         HT_COMM_WORLD, 2, (int64_t[]){4, 16}, (int[]){4, 16}, 100);
 *
 *     for each batch:
 *         ht_optimizer_zero_grad(optimizer);
 *         ht_backward(loss of ht_forward(net, batch));
 *         ht_optimizer_step(optimizer);
 *         ht_hierarchical_averager_average_parameters(averager, ht_module_parameters(net));
 */
#ifndef HT_AVERAGER_H
#define HT_AVERAGER_H

#include "ht/value.h"

HT_BEGIN_DECLS

typedef struct ht_hierarchical_averager ht_hierarchical_averager;

/* Makes an averager over groups of ranks that grow with their periods.
 *
 * In every step that periods[i] divides, groups of group_sizes[i] consecutive ranks of `comm`
 * average. If several periods divide the step, only the largest group averages. Steps count from 0.
 *
 * comm: retained.
 * count: number of levels, at least 1.
 * periods: in steps, ascending, each at least 1; read at once.
 * group_sizes: in ranks, ascending; each divides the next, and the last is the size of `comm`. Read
 * at once.
 * warmup_steps: the first steps, which average nothing; at least 0. In them the program averages
 * gradients, as data-parallel wrappers do.
 * Collective over `comm`, agrees.
 * Result: owned.
 * Errors: HT_ERR_ARGUMENT for a value out of range, and for values that differ between ranks.
 * Source: HierarchicalModelAverager of
 * torch.distributed.algorithms.model_averaging.hierarchical_model_averager. */
HT_API ht_hierarchical_averager *ht_hierarchical_averager_new(ht_comm *comm, int count,
                                                              const int64_t periods[],
                                                              const int group_sizes[],
                                                              int64_t warmup_steps);

/* Ends a step: if an average is due, x = (sum of x over the group) / group size, for each trainable
 * parameter x.
 *
 * Call it after the update. All ranks of a group get the same bits. In the source only parameters
 * with a gradient take part. Ranks can differ in these, so here all parameters take part. The state
 * of optimizers is not averaged.
 *
 * averager: counts the step.
 * parameters: a list value (ht_module_parameters) of process-local tensors, the same on all ranks.
 * Logically collective; in a step with an average it is collective and agrees on errors.
 * Errors: HT_ERR_ARGUMENT for an entry that is not a tensor, is split or cannot be written, and for
 * a list without a trainable parameter. HT_ERR_STATE for the result of a recorded operation.
 * HT_ERR_DTYPE for an entry that is not floating-point. HT_ERR_SHAPE if the numbers of elements or
 * the widest dtypes differ between ranks. Only a step with an average checks parameters, and after
 * an error the step is not counted. */
HT_API ht_status ht_hierarchical_averager_average_parameters(ht_hierarchical_averager *averager,
                                                             ht_value *parameters);

/* Returns the size of the group over which the last step of `averager` averaged; 0 if it did not,
 * and for NULL. Not collective. */
HT_API int ht_hierarchical_averager_last_group_size(const ht_hierarchical_averager *averager);

/* Returns the number of steps of `averager` ("step") as a map, scoped. Not collective. */
HT_API ht_value *ht_hierarchical_averager_state_dict(const ht_hierarchical_averager *averager);

/* Loads a state of ht_hierarchical_averager_state_dict.
 *
 * averager: unchanged after an error.
 * state: not retained.
 * Not collective.
 * Errors: HT_ERR_FORMAT without a number "step" in [0, 1e15). */
HT_API ht_status ht_hierarchical_averager_load_state_dict(ht_hierarchical_averager *averager,
                                                          const ht_value *state);

/* x = the mean of x over all ranks of `comm`, for each tensor x of a list.
 *
 * The list holds parameters, or the buffers of a model before it is tested or saved.
 *
 * parameters: process-local floating-point tensors on any device; of the same sizes on all ranks.
 * comm: the ranks to average over.
 * Collective, agrees.
 * Errors: those of ht_hierarchical_averager_average_parameters for an entry; HT_ERR_ARGUMENT for an
 * empty list.
 * Source: torch.distributed.algorithms.model_averaging.utils.average_parameters. */
HT_API ht_status ht_average_parameters(ht_value *parameters, ht_comm *comm);

HT_END_DECLS
#endif
