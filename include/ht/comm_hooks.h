/* SPDX-License-Identifier: MIT
 *
 * Communication hooks of the data-parallel wrapper. A hook replaces the plain average: it decides
 * how a bucket of gradients travels between the ranks.
 *
 * Functions of a bucket are called inside a hook only; their bucket is not NULL. They are not
 * collective, unless a block says otherwise. Source: torch's DDP communication hooks. */
#ifndef HT_COMM_HOOKS_H
#define HT_COMM_HOOKS_H

#include "ht/module.h"

HT_BEGIN_DECLS

/* A bucket of gradients that a hook works on; borrowed, and valid during the call. Functions do not
 * check it for NULL. The order of its parameters is not fixed. */
typedef struct ht_grad_bucket ht_grad_bucket;

/* Returns the buffer of `bucket`: all its gradients, one after another, with zeros between them.
 *
 * The buffer holds the gradients of this rank first. The hook ends with the final gradients in it.
 *
 * Result: 1-d, float32 or float64, process-local; borrowed. */
HT_API ht_tensor *ht_grad_bucket_buffer(ht_grad_bucket *bucket);

/* Returns the number of parameters of `bucket`. */
HT_API int ht_grad_bucket_count(const ht_grad_bucket *bucket);

/* Returns parameter `index` of `bucket`, borrowed; NULL, without an error, if it has no such
 * parameter.
 *
 * A hook may ask for its shape, but not for its values: reading them would wait for the hook. */
HT_API ht_tensor *ht_grad_bucket_parameter(ht_grad_bucket *bucket, int index);

/* Returns the gradient of parameter `index` of `bucket`, borrowed; NULL, without an error, if it
 * has no such parameter.
 *
 * Result: a view of the buffer in the shape of the parameter. */
HT_API ht_tensor *ht_grad_bucket_gradient(ht_grad_bucket *bucket, int index);

/* Returns the index of `bucket` in the order of posting. */
HT_API int ht_grad_bucket_index(const ht_grad_bucket *bucket);

/* Returns true if `bucket` is the last one of this backward pass. */
HT_API bool ht_grad_bucket_is_last(const ht_grad_bucket *bucket);

/* Returns the communicator of `bucket`, borrowed: that of the wrapper; under DASO, that of the
 * node.
 *
 * A hook may ask for its rank and size. It must not communicate on it by other calls than
 * ht_grad_bucket_sum, because each rank calls the hook at a different time. */
HT_API ht_comm *ht_grad_bucket_comm(ht_grad_bucket *bucket);

/* Returns the factor of `bucket` that makes a sum over the ranks the wrapper's average.
 *
 * The hook multiplies by it. It is 1 / ranks (HT_AVERAGE_MEAN), 1 (HT_AVERAGE_SUM) or 1 / the sum
 * of the weights (HT_AVERAGE_WEIGHTED), 0 if that sum is 0.
 *
 * The buffer already has the other factors. Its gradients are multiplied by the weight of their
 * pass (HT_AVERAGE_WEIGHTED), or divided by accumulation_steps (HT_AVERAGE_MEAN). The sum of the
 * weights is that of all accumulated passes. In a join, HT_AVERAGE_MEAN counts ranks without data
 * only with divide_by_initial_world_size. */
HT_API double ht_grad_bucket_scale(const ht_grad_bucket *bucket);

/* Returns the factor by which mixed precision scaled the losses of `bucket` (ht_optim_wrapper).
 *
 * It is the unit of values that a hook keeps from one step to the next.
 *
 * Result: 1 without mixed precision. */
HT_API double ht_grad_bucket_loss_scale(const ht_grad_bucket *bucket);

/* Starts x <- scale * (sum of x over the ranks), in place, and returns at once.
 *
 * bucket: the one for which the hook was called.
 * x: contiguous, process-local, float32 or float64, on any device. Retained until the sum is
 * complete; the program leaves it alone until then.
 * scale: multiplies the sum.
 * wire: dtype of x between nodes: the dtype of x itself, or for float32 HT_BFLOAT16 or HT_FLOAT16.
 * Both operands of an addition and the result are then rounded to nearest even. Sums stay float32,
 * and inside a node nothing is rounded.
 * Logically collective: all ranks start the same sums in the same order.
 * Errors: HT_ERR_STATE outside a hook or after the last round; HT_ERR_ARGUMENT for an x that is
 * NULL, not contiguous or not process-local; HT_ERR_DTYPE for another dtype or wire. */
HT_API ht_status ht_grad_bucket_sum(ht_grad_bucket *bucket, ht_tensor *x, double scale,
                                    ht_dtype wire);

enum { HT_COMM_HOOK_ROUNDS = 3 };

/* The type of a hook: it starts sums of a bucket and never waits.
 *
 * The hook is called with round 0 when its bucket is due. When all sums of a round are complete, it
 * is called with the next round. A call that starts no sum ends the work on the bucket. Sums can be
 * started in rounds 0 to HT_COMM_HOOK_ROUNDS - 1.
 *
 * A hook must not depend on anything that differs between ranks. It is called inside backward,
 * forward or any call that waits for a gradient. Gradients are not recorded. Rounds of different
 * buckets overlap. Tensors made in a call live in a scope of that call.
 *
 * A status other than HT_SUCCESS ends the bucket. The call that waits for the bucket returns it:
 * ht_optimizer_step, or in the non-blocking mode the next forward. The wrapper is unusable from
 * then on.
 *
 * bucket: borrowed for the call.
 * round: counted from 0.
 * state: that of ht_data_parallel_register_comm_hook. */
typedef ht_status (*ht_comm_hook)(ht_grad_bucket *bucket, int round, void *state);

/* Replaces the average of the gradients of `wrapper` by `hook`.
 *
 * Call it once for a wrapper, before its first backward pass.
 *
 * wrapper: a data-parallel wrapper.
 * hook: the same on all ranks, which is not checked.
 * state: passed to each call of the hook; not owned. It must live as long as the wrapper.
 * Collective over the communicator of the wrapper.
 * Errors: HT_ERR_STATE for a second hook, or after a backward pass; HT_ERR_ARGUMENT for a NULL
 * hook, or another module. */
HT_API ht_status ht_data_parallel_register_comm_hook(ht_module *wrapper, ht_comm_hook hook,
                                                     void *state);

/* A hook that does the same as no hook: the average of `bucket` in its own dtype.
 *
 * It starts one sum, in `round` 0. Register it with a NULL `state`, which it ignores.
 * Errors: those of ht_grad_bucket_sum. */
HT_API ht_status ht_comm_hook_allreduce(ht_grad_bucket *bucket, int round, void *state);

/* ht_comm_hook_allreduce of a float32 `bucket` as bfloat16: half the bytes between nodes.
 *
 * Float64 buckets travel unchanged. The sum is started in `round` 0; `state` is ignored. */
HT_API ht_status ht_comm_hook_bf16(ht_grad_bucket *bucket, int round, void *state);

/* ht_comm_hook_allreduce of a float32 `bucket` as float16: half the bytes between nodes.
 *
 * It divides before the sum. So a value overflows only if the averaged gradient itself can. Float64
 * buckets travel unchanged. The sum is started in `round` 0; `state` is ignored. */
HT_API ht_status ht_comm_hook_fp16(ht_grad_bucket *bucket, int round, void *state);

/* PowerSGD (Vogels, Karimireddy, Jaggi 2019), computed as in torch's powerSGD_hook.
 *
 * A gradient M is taken as a matrix (n, m): all axes but the first are merged. It travels as
 * P (n, r) and Q (m, r) with M ~ P Q' if min_compression_rate (n + m) r < n m. Other gradients
 * travel uncompressed. */
typedef struct ht_power_sgd ht_power_sgd;

typedef struct ht_power_sgd_options {
    size_t size;        /* of this struct; set by the default function */
    int rank;           /* 1: largest r */
    int64_t start_iter; /* 1000: steps with a plain average before the first compressed one */
    double min_compression_rate; /* 2: least n m / ((n + m) r) of a compressed gradient */
    bool error_feedback;         /* true: the error of a step is added to the next gradient */
    bool warm_start;             /* true: Q starts with its value of the step before */
    uint64_t seed;               /* 0: seed of the first Q */
} ht_power_sgd_options;

/* Returns the default options of ht_power_sgd_new, given at each field. */
HT_API ht_power_sgd_options ht_power_sgd_options_default(void);

/* Makes the state of ht_comm_hook_power_sgd, for one wrapper.
 *
 * options: NULL takes the defaults; the same on all ranks. rank is at least 1, start_iter at least
 * 0, and min_compression_rate finite and at least 0. With error_feedback or warm_start, start_iter
 * is at least 2, because the first step changes the layout of the buckets.
 * Result: owned; release it after the wrapper.
 * Errors: HT_ERR_ARGUMENT for a value out of range. */
HT_API ht_power_sgd *ht_power_sgd_new(const ht_power_sgd_options *options);

/* A hook that compresses the gradients of `bucket` by PowerSGD.
 *
 * It sums P in `round` 0 and Q in round 1. Before step start_iter it is ht_comm_hook_allreduce.
 *
 * state: an ht_power_sgd, not NULL. */
HT_API ht_status ht_comm_hook_power_sgd(ht_grad_bucket *bucket, int round, void *state);

/* Returns the ratio of elements before and after compression so far, on this rank.
 *
 * state: NULL gives 1.
 * Result: 1 before the first compressed step. */
HT_API double ht_power_sgd_compression_rate(const ht_power_sgd *state);

HT_END_DECLS
#endif
