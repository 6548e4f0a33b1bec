/* SPDX-License-Identifier: MIT
 *
 * Counter-based random numbers (Philox 4x32-10), keyed by (seed, draw, global element index): the
 * same seed gives the same global tensor on any number of ranks and for every split. Each
 * communicator counts its own draws, so that one on a part of the ranks leaves the others' alone;
 * draw n has the same numbers on each. Logically collective. Errors: HT_ERR_DTYPE, HT_ERR_ARGUMENT
 * (a range that the dtype does not hold). Source: heat.random. */
#ifndef HT_RANDOM_H
#define HT_RANDOM_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* Seeds the generator of the calls below; the first draw after it is draw 0, on every communicator.
 * Logically collective. The state is the world's: its next draw. Setting it seeds, so that other
 * communicators go on with draw 0 (ht_nn_random_state_dict knows theirs, too). Of the state what is
 * NULL is not wanted. */
HT_API void ht_random_seed(uint64_t seed);
HT_API void ht_random_get_state(uint64_t *seed, uint64_t *draw);
HT_API void ht_random_set_state(uint64_t seed, uint64_t draw);

/* Uniform in [0, 1), standard normal, integers in [low, high). split, and the long forms, as in
 * ht/factories.h. HT_LOCAL draws count as HT_COMM_SELF's, each rank its own: as many have the same
 * numbers on all ranks. */
HT_API ht_tensor *ht_rand(int ndim, const int64_t shape[], ht_dtype dtype, int split);
HT_API ht_tensor *ht_randn(int ndim, const int64_t shape[], ht_dtype dtype, int split);
HT_API ht_tensor *ht_randint(int64_t low, int64_t high, int ndim, const int64_t shape[],
                             ht_dtype dtype, int split);
HT_API ht_tensor *ht_rand_ext(int ndim, const int64_t shape[], ht_dtype dtype, int split,
                              ht_device *device, ht_comm *comm);
HT_API ht_tensor *ht_randn_ext(int ndim, const int64_t shape[], ht_dtype dtype, int split,
                               ht_device *device, ht_comm *comm);
HT_API ht_tensor *ht_randint_ext(int64_t low, int64_t high, int ndim, const int64_t shape[],
                                 ht_dtype dtype, int split, ht_device *device, ht_comm *comm);

/* In place: uniform in [low, high), normal with mean and standard deviation. One draw each. Neither
 * an end of the range nor its width may be more than the dtype holds. */
HT_API ht_status ht_uniform_(ht_tensor *x, double low, double high);
HT_API ht_status ht_normal_(ht_tensor *x, double mean, double std);

/* Normal with mean and deviation std; in the long form tensors or ht_scalar, which broadcast to the
 * shape: mean + std * randn, differentiable by both. HT_ERR_ARGUMENT: std below 0. Source:
 * heat.random.normal. */
HT_API ht_tensor *ht_normal(double mean, double std, int ndim, const int64_t shape[],
                            ht_dtype dtype, int split);
HT_API ht_tensor *ht_normal_ext(ht_tensor *mean, ht_tensor *std, int ndim, const int64_t shape[],
                                ht_dtype dtype, int split, ht_device *device, ht_comm *comm);

/* The integers below n in a random order: up to 4096 of them all orders are as likely as each other
 * (as far as the 128 bits of seed and draw tell them apart), beyond that it is a Feistel network of
 * 12 rounds of random functions, of which each rank computes its slab. Not collective. An integer
 * dtype that holds n - 1 (HT_ERR_DTYPE, HT_ERR_ARGUMENT). Source: heat.random.randperm. */
HT_API ht_tensor *ht_randperm(int64_t n, ht_dtype dtype, int split);
HT_API ht_tensor *ht_randperm_ext(int64_t n, ht_dtype dtype, int split, ht_device *device,
                                  ht_comm *comm);

/* A copy of x with its rows (indices of axis 0) in the order that ht_randperm would draw. Split as
 * x, in the same slabs; collective if that is axis 0: one Alltoall. HT_ERR_SHAPE: no axes.
 * Differentiable. Source: heat.random.permutation. */
HT_API ht_tensor *ht_permutation(ht_tensor *x);

HT_END_DECLS
#endif
