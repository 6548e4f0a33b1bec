/* SPDX-License-Identifier: MIT
 *
 * Hooks of one round: the plain average, and 16-bit compression. */
#include "ht/comm_hooks.h"
#include "ht/arithmetics.h"

ht_status ht_comm_hook_allreduce(ht_grad_bucket *bucket, int round, void *state)
{
    ht_tensor *x = ht_grad_bucket_buffer(bucket);

    (void)state;
    if (round > 0)
        return HT_SUCCESS;
    return ht_grad_bucket_sum(bucket, x, ht_grad_bucket_scale(bucket), ht_tensor_dtype(x));
}

ht_status ht_comm_hook_bf16(ht_grad_bucket *bucket, int round, void *state)
{
    ht_tensor *x = ht_grad_bucket_buffer(bucket);

    if (ht_tensor_dtype(x) != HT_FLOAT32)
        return ht_comm_hook_allreduce(bucket, round, state);
    if (round > 0)
        return HT_SUCCESS;
    return ht_grad_bucket_sum(bucket, x, ht_grad_bucket_scale(bucket), HT_BFLOAT16);
}

/* Sums of weighted gradients soon pass 65504, the averages do not: the scale comes first. */
ht_status ht_comm_hook_fp16(ht_grad_bucket *bucket, int round, void *state)
{
    ht_tensor *x = ht_grad_bucket_buffer(bucket);
    ht_status status;

    if (ht_tensor_dtype(x) != HT_FLOAT32)
        return ht_comm_hook_allreduce(bucket, round, state);
    if (round > 0)
        return HT_SUCCESS;
    status = ht_mul_scalar_(x, ht_grad_bucket_scale(bucket));
    return status != HT_SUCCESS ? status : ht_grad_bucket_sum(bucket, x, 1, HT_FLOAT16);
}
