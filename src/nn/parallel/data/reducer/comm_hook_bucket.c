/* SPDX-License-Identifier: MIT
 *
 * The functions of a bucket that a hook may call. */
#include "nn/parallel/data/reducer/comm_hook.h"

static const ht_bucket *inside(const ht_grad_bucket *bucket)
{
    return &bucket->reducer->buckets[bucket->number];
}

static ht_reducer_param *param_at(const ht_grad_bucket *bucket, int index)
{
    const ht_bucket *b = inside(bucket);

    if (index < 0 || index >= b->count)
        return NULL;
    return &bucket->reducer->params[bucket->reducer->order[b->first + index]];
}

ht_tensor *ht_grad_bucket_buffer(ht_grad_bucket *bucket)
{
    return bucket->buffer;
}

int ht_grad_bucket_count(const ht_grad_bucket *bucket)
{
    return inside(bucket)->count;
}

ht_tensor *ht_grad_bucket_parameter(ht_grad_bucket *bucket, int index)
{
    ht_reducer_param *param = param_at(bucket, index);

    return param != NULL ? param->tensor : NULL;
}

ht_tensor *ht_grad_bucket_gradient(ht_grad_bucket *bucket, int index)
{
    ht_reducer_param *param = param_at(bucket, index);

    return param != NULL ? param->inside : NULL;
}

int ht_grad_bucket_index(const ht_grad_bucket *bucket)
{
    return bucket->number;
}

bool ht_grad_bucket_is_last(const ht_grad_bucket *bucket)
{
    return bucket->number == bucket->reducer->bucket_count - 1;
}

ht_comm *ht_grad_bucket_comm(ht_grad_bucket *bucket)
{
    return bucket->reducer->comm;
}

double ht_grad_bucket_scale(const ht_grad_bucket *bucket)
{
    return bucket->scale;
}

double ht_grad_bucket_loss_scale(const ht_grad_bucket *bucket)
{
    return bucket->loss_scale;
}
