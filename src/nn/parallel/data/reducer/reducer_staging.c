/* SPDX-License-Identifier: MIT
 *
 * Buckets on devices. Gradients that the host cannot reach are copied to memory of the exchange
 * when their bucket is complete. Their average is copied back when it has arrived. Both copies run
 * in parallel with the device's work if the device can do that, and no thread waits for them: the
 * device's next work waits for the second one. Flags lie on the host alone.
 * Gradients that the host can reach are exchanged in place.
 * If the devices of the ranks are linked, they average the gradients, and the host sums the flags
 * alone. */
#include "nn/parallel/data/reducer/reducer.h"

/* A hook adds its sums on the host. */
static ht_status find_link(ht_bucket *bucket)
{
    const ht_reducer *reducer = bucket->reducer;

    if (!reducer->links || reducer->hook != NULL)
        return HT_SUCCESS;
    return ht__link_get(reducer->exchange, bucket->device, &bucket->link);
}

ht_status ht__bucket_allocate(ht_bucket *bucket, size_t bytes, size_t flags)
{
    ht_exchange *exchange = bucket->reducer->exchange;
    bool reached = bucket->device->backend->host_memory;
    ht_status status = find_link(bucket);
    size_t exchanged = bucket->link != NULL ? flags : bytes;

    if (status != HT_SUCCESS)
        return status;
    bucket->exchanged = bucket->link != NULL ? bucket->count + 1 : bucket->elements;
    bucket->staging = ht__exchange_storage(exchange, reached ? bucket->device : ht__device_cpu(),
                                           exchanged);
    if (bucket->staging != NULL)
        bucket->storage = reached ? ht_retain(bucket->staging)
                                  : ht__storage_new(bucket->device, bytes);
    if (bucket->storage != NULL && bucket->link != NULL &&
        ht__link_reserve(bucket->link, bytes - flags) != 0)
        return ht__kernel_failed(bucket->reducer->comm, bucket->what);
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

/* Other ranks have begun the average or will: without this one it would never end. So an error here
 * ends the job. An error in data is one of the pass, if the device has it so far. */
static void average(ht_bucket *bucket, double scale)
{
    ht_error_kept earlier;

    ht__error_set_aside(&earlier);
    if (ht__device_poll(bucket->device) != 0)
        note_failure(bucket, &earlier);
    else
        ht__error_put_back(&earlier);
    if (ht__link_begin(&bucket->sum, bucket->link, on_device(bucket), bucket->all->body->lsize,
                       bucket->dtype, scale) != 0)
        ht__reducer_fail(bucket->reducer, ht__kernel_failed(bucket->reducer->comm, bucket->what));
}

void ht__bucket_fetch(ht_bucket *bucket, double scale)
{
    ht_error_kept earlier;

    bucket->fetched = true;
    if (bucket->link != NULL) {
        average(bucket, scale);
        return;
    }
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

    if (bucket->link != NULL)
        return true; /* the exchange does not wait for them */
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
    if (bucket->link != NULL)
        return ht__link_follow(&bucket->sum) == 0
                   ? HT_SUCCESS
                   : ht__kernel_failed(bucket->reducer->comm, bucket->what);
    if (ht__fetch_back(&bucket->fetch, on_device(bucket), on_host(bucket), bytes_of(bucket)) == 0)
        return HT_SUCCESS;
    return ht__kernel_failed(bucket->reducer->comm, bucket->what);
}
