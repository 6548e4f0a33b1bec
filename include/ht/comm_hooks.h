/* SPDX-License-Identifier: MIT
 *
 * Communication hooks of the data-parallel wrapper: what happens to a bucket of gradients between
 * the ranks, in place of the plain average. Source: torch's DDP communication hooks. */
#ifndef HT_COMM_HOOKS_H
#define HT_COMM_HOOKS_H

#include "ht/module.h"

HT_BEGIN_DECLS

/* A bucket as a hook sees it; borrowed, for the duration of the call. */
typedef struct ht_grad_bucket ht_grad_bucket;

/* All gradients of the bucket, one after another and zeros in between: 1-d, float32 or float64,
 * process-local. What it holds in the end is the gradient. Borrowed. */
HT_API ht_tensor *ht_grad_bucket_buffer(ht_grad_bucket *bucket);

/* Its parameters (their shapes: a value would wait for the hook), and their gradients as views of
 * the buffer in the shape of the parameter. Borrowed. */
HT_API int ht_grad_bucket_count(const ht_grad_bucket *bucket);
HT_API ht_tensor *ht_grad_bucket_parameter(ht_grad_bucket *bucket, int index);
HT_API ht_tensor *ht_grad_bucket_gradient(ht_grad_bucket *bucket, int index);

HT_API int ht_grad_bucket_index(const ht_grad_bucket *bucket);    /* in the order of posting */
HT_API bool ht_grad_bucket_is_last(const ht_grad_bucket *bucket); /* of this backward pass */
HT_API ht_comm *ht_grad_bucket_comm(ht_grad_bucket *bucket);      /* borrowed */

/* What the sum over the ranks times this is the average that the wrapper was made for: 1 / ranks,
 * 1, or 1 / the sum of the weights. The hook owns that division. */
HT_API double ht_grad_bucket_scale(const ht_grad_bucket *bucket);

/* What mixed precision multiplied the losses of these gradients with (ht_optim_wrapper), 1 without:
 * the unit of what a hook keeps from one step to the next. */
HT_API double ht_grad_bucket_loss_scale(const ht_grad_bucket *bucket);

/* Starts x <- scale * (sum of x over the ranks), in place, and returns at once. x is contiguous,
 * float32 or float64, on the host; retained until the sum is there, and not to be touched before.
 * Between nodes it travels as `wire`: the dtype of x, or for float32 HT_BFLOAT16 or HT_FLOAT16
 * (both sides of an addition and the result are rounded to nearest even; sums stay float32; inside
 * a node nothing is rounded). To be called by hooks, on all ranks alike. */
HT_API ht_status ht_grad_bucket_sum(ht_grad_bucket *bucket, ht_tensor *x, double scale,
                                    ht_dtype wire);

enum { HT_COMM_HOOK_ROUNDS = 3 };

/* A hook starts work and never waits. It is called with round 0 when its bucket's turn comes; when
 * all sums that it started are there, with the next round; and so on until a call starts none,
 * which ends its work on this bucket. Sums may be started in rounds 0 to HT_COMM_HOOK_ROUNDS - 1.
 * What a hook does must depend on nothing that differs between ranks. Called inside backward,
 * forward, or whatever call waits for a gradient, without recording; buckets and rounds overlap.
 * Tensors made in a call live in a scope of its own. A status other than success ends the bucket,
 * and is the error of the call that waits for it: ht_optimizer_step or, in the non-blocking mode,
 * the next forward. The wrapper is then of no use any more. */
typedef ht_status (*ht_comm_hook)(ht_grad_bucket *bucket, int round, void *state);

/* Replaces the average of this wrapper's gradients by `hook`, called with `state` (not owned; it
 * must live as long as the wrapper). Once, and before the first backward pass: HT_ERR_STATE
 * otherwise. Collective over the wrapper's communicator; all ranks register the same. */
HT_API ht_status ht_data_parallel_register_comm_hook(ht_module *wrapper, ht_comm_hook hook,
                                                     void *state);

/* Built in; state NULL. allreduce: what happens without a hook. bf16 and fp16: half the bytes
 * between nodes; fp16 divides before the sum, so that only what a gradient itself may overflow
 * does. Float64 buckets travel as they are. */
HT_API ht_status ht_comm_hook_allreduce(ht_grad_bucket *bucket, int round, void *state);
HT_API ht_status ht_comm_hook_bf16(ht_grad_bucket *bucket, int round, void *state);
HT_API ht_status ht_comm_hook_fp16(ht_grad_bucket *bucket, int round, void *state);

/* PowerSGD (Vogels, Karimireddy, Jaggi 2019), as torch's powerSGD_hook does it: a gradient of n x m
 * (all dimensions but the first taken together) travels as P (n x r) and Q (m x r), M ~ P Q', where
 * that is smaller than n m by more than min_compression_rate; the others travel whole. */
typedef struct ht_power_sgd ht_power_sgd;

typedef struct ht_power_sgd_options {
    size_t size;        /* of this struct; set by the default function */
    int rank;           /* 1 */
    int64_t start_iter; /* 1000: steps with a plain average before the first compressed one */
    double min_compression_rate; /* 2 */
    bool error_feedback;         /* true: what was left out is added to the next gradient */
    bool warm_start;             /* true: Q begins as it ended in the step before */
    uint64_t seed;               /* 0; of the first Q */
} ht_power_sgd_options;

HT_API ht_power_sgd_options ht_power_sgd_options_default(void);

/* The state of ht_comm_hook_power_sgd, for one wrapper. Owned; release it after the wrapper.
 * options NULL: defaults. HT_ERR_ARGUMENT for values out of range; with error feedback or warm
 * start, start_iter is at least 2, for the buckets are laid out anew after the first step. */
HT_API ht_power_sgd *ht_power_sgd_new(const ht_power_sgd_options *options);
HT_API ht_status ht_comm_hook_power_sgd(ht_grad_bucket *bucket, int round, void *state);

/* Elements before / after compression so far, of one rank; 1 before the first compressed step. */
HT_API double ht_power_sgd_compression_rate(const ht_power_sgd *state);

HT_END_DECLS
#endif
