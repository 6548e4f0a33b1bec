/* SPDX-License-Identifier: MIT
 *
 * Counter-based random numbers (Philox 4x32-10), keyed by (seed, draw, global element index). The
 * same seed gives the same tensor on any number of ranks and for every split.
 *
 * Each communicator counts its own draws, one for each call: a draw on a part of the ranks does not
 * move the count of other communicators. Draw n has the same numbers on each communicator. Seed and
 * counts are those of the process, and 0 at first.
 *
 * The transform of a loader (ht/data.h) and the copies of a module on further devices
 * (ht/device_parallel.h) run on threads of the library. Process-local draws there come from
 * separate streams. They do not depend on the order of the threads, and do not count here. Calls
 * there for the seed or the state concern that stream alone.
 *
 * Calls are logically collective unless their comment says otherwise. ndim, shape, dtype, split,
 * device and comm, and the difference of short and long calls, are those of ht/factories.h. Draws
 * with HT_LOCAL count as draws on HT_COMM_SELF, separately on each rank; ranks that have drawn
 * equally often get the same numbers.
 *
 * Result: scoped, as of ht/factories.h.
 * Errors: those of ht/factories.h for shape, dtype, split, device and comm. HT_ERR_DTYPE if
 * a call does not support dtype. HT_ERR_ARGUMENT for numbers outside of what a comment names.
 * Source: heat.random. */
#ifndef HT_RANDOM_H
#define HT_RANDOM_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* Sets the seed of the calls below and starts again at draw 0 on every communicator. */
HT_API void ht_random_seed(uint64_t seed);

/* Writes the seed to *seed and the number of the next draw on HT_COMM_WORLD to *draw.
 *
 * NULL skips one. ht_nn_random_state_dict knows the draws of other communicators, too.
 *
 * Not collective. */
HT_API void ht_random_get_state(uint64_t *seed, uint64_t *draw);

/* Sets the seed, and the number of the next draw on HT_COMM_WORLD to draw. Other communicators
 * start again at draw 0. */
HT_API void ht_random_set_state(uint64_t seed, uint64_t draw);

/* Draws a tensor of shape (ndim axes) and split, uniform in [0, 1); dtype is floating. */
HT_API ht_tensor *ht_rand(int ndim, const int64_t shape[], ht_dtype dtype, int split);

/* Draws a tensor of shape (ndim axes) and split from the standard normal distribution; dtype is
 * floating. */
HT_API ht_tensor *ht_randn(int ndim, const int64_t shape[], ht_dtype dtype, int split);

/* Draws a tensor of shape (ndim axes) and split from the integers in [low, high).
 *
 * low, high: low < high.
 * dtype: not complex; must hold low and high - 1. A floating dtype rounds. */
HT_API ht_tensor *ht_randint(int64_t low, int64_t high, int ndim, const int64_t shape[],
                             ht_dtype dtype, int split);

/* ht_rand on device and comm, with the same ndim, shape, dtype and split. */
HT_API ht_tensor *ht_rand_ext(int ndim, const int64_t shape[], ht_dtype dtype, int split,
                              ht_device *device, ht_comm *comm);

/* ht_randn on device and comm, with the same ndim, shape, dtype and split. */
HT_API ht_tensor *ht_randn_ext(int ndim, const int64_t shape[], ht_dtype dtype, int split,
                               ht_device *device, ht_comm *comm);

/* ht_randint on device and comm, with the same low, high, ndim, shape, dtype and split. */
HT_API ht_tensor *ht_randint_ext(int64_t low, int64_t high, int ndim, const int64_t shape[],
                                 ht_dtype dtype, int split, ht_device *device, ht_comm *comm);

/* Replaces x by one draw, uniform in [low, high).
 *
 * x: of a floating dtype.
 * low, high: low <= high, where equal ones fill x with low; the dtype of x must hold low, high and
 *   high - low.
 * Errors: HT_ERR_STATE where ht_fill_ refuses x. */
HT_API ht_status ht_uniform_(ht_tensor *x, double low, double high);

/* Replaces x by one draw from the normal distribution with this mean and standard deviation std.
 *
 * x: of a floating dtype.
 * mean, std: finite in the dtype of x; std is at least 0.
 * Errors: HT_ERR_STATE where ht_fill_ refuses x. */
HT_API ht_status ht_normal_(ht_tensor *x, double mean, double std);

/* Draws a tensor of shape (ndim axes), dtype and split: mean + std z, z standard normal.
 *
 * mean, std: finite in dtype, which is floating; std is at least 0.
 * Source: heat.random.normal. */
HT_API ht_tensor *ht_normal(double mean, double std, int ndim, const int64_t shape[],
                            ht_dtype dtype, int split);

/* ht_normal on device and comm, with tensors as mean and standard deviation: mean + std * randn.
 *
 * mean, std: ht_scalar, or tensors of any dtype but complex on device and comm. They broadcast to
 *   shape (ndim axes). Elements may be NaN or infinite, unlike the numbers of ht_normal.
 * dtype, split: those of the result. mean + std * randn is computed in the dtype to which dtype and
 *   the operands promote, and then converted.
 * Collective if mean or std is split. Differentiable in mean and std.
 * Errors: HT_ERR_ARGUMENT on all ranks if an element of std is below 0; NaN is not. HT_ERR_SHAPE if
 * mean and std do not broadcast to shape. HT_ERR_DEVICE and HT_ERR_COMM for a tensor elsewhere.
 * HT_ERR_DTYPE unless dtype is floating, and for a complex mean or std. */
HT_API ht_tensor *ht_normal_ext(ht_tensor *mean, ht_tensor *std, int ndim, const int64_t shape[],
                                ht_dtype dtype, int split, ht_device *device, ht_comm *comm);

/* Draws a random order of the integers 0 to n - 1.
 *
 * Up to 4096 integers, every order is as likely as any other, as far as the 128 bits of seed and
 * draw distinguish orders. Beyond that, the order is a Feistel network of 12 rounds of random
 * functions.
 *
 * n: at least 0; 0 gives an empty tensor.
 * dtype: an integer type that holds n - 1.
 * Logically collective: each rank computes its own slab, and nothing is sent.
 * Result: (n) of dtype and split.
 * Errors: HT_ERR_DTYPE if dtype is not an integer type. HT_ERR_ARGUMENT if it does not hold n - 1.
 * HT_ERR_SHAPE if n is below 0.
 * Source: heat.random.randperm. */
HT_API ht_tensor *ht_randperm(int64_t n, ht_dtype dtype, int split);

/* ht_randperm on device and comm, with the same n, dtype and split. */
HT_API ht_tensor *ht_randperm_ext(int64_t n, ht_dtype dtype, int split, ht_device *device,
                                  ht_comm *comm);

/* Returns a copy of x whose rows (indices of axis 0) are in the order that ht_randperm would draw
 * next on the communicator of x.
 *
 * Collective if x is split along axis 0, with one Alltoall of the rows; else logically collective.
 * Differentiable.
 * Result: the shape, dtype, split and slabs of x.
 * Errors: HT_ERR_SHAPE if x has no axes.
 * Source: heat.random.permutation. */
HT_API ht_tensor *ht_permutation(ht_tensor *x);

HT_END_DECLS
#endif
