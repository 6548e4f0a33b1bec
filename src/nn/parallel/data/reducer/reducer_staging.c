/* SPDX-License-Identifier: MIT
 *
 * Buckets on devices. Gradients that the host cannot reach are copied to memory of the exchange
 * when their bucket is complete. Their average is copied back when it has arrived. Both copies run
 * in parallel with the device's work if the device can do that, and no thread waits for them: the
 * device's next work waits for the second one. Flags lie on the host alone.
 * Gradients that the host can reach are exchanged in place. */
#include "nn/parallel/data/reducer/reducer.h"

ht_status ht__bucket_allocate(ht_bucket *bucket, size_t bytes)
{
    ht_exchange *exchange = bucket->reducer->exchange;
    bool reached = bucket->device->backend->host_memory;

    bucket->staging = ht__exchange_storage(exchange, reached ? bucket->device : ht__device_cpu(),
                                           bytes);
    if (bucket->staging != NULL)
        bucket->storage = reached ? ht_retain(bucket->staging)
                                  : ht__storage_new(bucket->device, bytes);
    if (bucket->storage == NULL)
        return HT_FAIL_HERE(bucket->reducer->comm, HT_ERR_MEMORY,
                            "ht_nn_data_parallel: out of memory: %zu bytes for a bucket", bytes);
    bucket->flags = ht__storage_raw(bucket->staging);
    return HT_SUCCESS;
}

/* The data after the flags. */
static size_t begin_of(const ht_bucket *bucket)
{
    return (size_t)bucket->all->body->offset * ht_dtype_size(bucket->dtype);
}

static size_t bytes_of(const ht_bucket *bucket)
{
    return (size_t)bucket->all->body->lsize * ht_dtype_size(bucket->dtype);
}

static char *on_host(const ht_bucket *bucket)
{
    return (char *)ht__storage_raw(bucket->staging) + begin_of(bucket);
}

static char *on_device(const ht_bucket *bucket)
{
    return (char *)ht__storage_raw(bucket->storage) + begin_of(bucket);
}

/* The device determines when it is noticed: it must not reach the program in just any call. */
static void note_failure(const ht_bucket *bucket, const ht_error_kept *earlier)
{
    ht_error_kept cause;
    bool held = ht__error_hold(true);

    ht__kernel_failed(bucket->reducer->comm, bucket->what);
    ht__error_set_aside(&cause);
    ht__reducer_spoil(bucket->reducer, &cause);
    ht__error_put_back(earlier);
    ht__error_hold(held);
}

void ht__bucket_fetch(ht_bucket *bucket)
{
    ht_error_kept earlier;

    bucket->fetched = true;
    ht__error_set_aside(&earlier);
    if (ht__fetch_begin(&bucket->fetch, bucket->device, on_host(bucket), on_device(bucket),
                        bytes_of(bucket)) != 0)
        note_failure(bucket, &earlier);
    else
        ht__error_put_back(&earlier);
}

bool ht__bucket_is_fetched(ht_bucket *bucket)
{
    ht_error_kept earlier;
    int done;

    ht__error_set_aside(&earlier);
    done = ht__fetch_done(&bucket->fetch);
    if (done < 0)
        note_failure(bucket, &earlier);
    else
        ht__error_put_back(&earlier);
    return done != 0;
}

ht_status ht__bucket_put_back(ht_bucket *bucket)
{
    if (ht__fetch_back(&bucket->fetch, on_device(bucket), on_host(bucket), bytes_of(bucket)) == 0)
        return HT_SUCCESS;
    return ht__kernel_failed(bucket->reducer->comm, bucket->what);
}
