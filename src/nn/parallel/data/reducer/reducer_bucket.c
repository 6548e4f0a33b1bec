/* SPDX-License-Identifier: MIT
 *
 * Buckets: flat memory of one dtype and device. Gradients lie in it one after another, in about the
 * order in which they become ready. Before them come flags, one for each gradient and one for the
 * pass. Flags are summed in the same message as the gradients, and first: a sum of 0 means that no
 * rank had the gradient. */
#include "nn/parallel/data/reducer/comm_hook.h"
#include "core/base/environment.h"

#include <stdlib.h>
#include <string.h>

enum {
    SLOT_ALIGN = 64,           /* bytes: a cache line */
    ENDS_BUCKET = 1024 * 1024, /* bytes of a gradient that must not wait for the one after it */
};

void ht__reducer_drop_buckets(ht_bucket *buckets, int count)
{
    for (int i = 0; i < count; i++) {
        ht__guard_clear(&buckets[i].guard);
        ht__hook_bucket_free(buckets[i].hooked);
        if (buckets[i].op != NULL) /* after a failure no code has waited for it */
            ht__exchange_release(buckets[i].reducer->exchange, buckets[i].op);
        if (ht__side_copy_end(&buckets[i].fetch) != 0)
            ht__kernel_failed(buckets[i].reducer->comm, buckets[i].what);
        if (ht__link_end(&buckets[i].sum) != 0)
            ht__kernel_failed(buckets[i].reducer->comm, buckets[i].what);
        ht_release(buckets[i].all);
        ht_release(buckets[i].storage);
        ht_release(buckets[i].staging);
    }
    ht__free(buckets);
}

static size_t slot_bytes(const ht_tensor *parameter)
{
    size_t bytes = (size_t)ht_tensor_nbytes(parameter);

    return (bytes + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
}

static bool same_kind(const ht_tensor *a, const ht_tensor *b)
{
    return a->body->dtype == b->body->dtype && a->body->storage->device == b->body->storage->device;
}

/* HT_BUCKET_CAP_MB sets both limits, for experiments. */
static double limit_bytes(const ht_reducer *reducer, int bucket)
{
    double megabytes = bucket == 0 ? reducer->options.first_bucket_mb
                                   : reducer->options.bucket_cap_mb;

    ht__env_number(HT_ENV_HT_BUCKET_CAP_MB, &megabytes);
    return megabytes * 1024 * 1024;
}

static void name_bucket(ht_bucket *bucket, const ht_reducer *reducer)
{
    const char *first = reducer->params[reducer->order[bucket->first]].name;
    const char *last = reducer->params[reducer->order[bucket->first + bucket->count - 1]].name;
    size_t room = strlen(first) + strlen(last) + 64;
    char *text = ht__alloc(room);

    snprintf(text, room, "averaging the gradients of %s%s%s", first,
             bucket->count > 1 ? " ... " : "", bucket->count > 1 ? last : "");
    bucket->what = ht__name(text);
    ht__free(text);
}

/* The gradient's place: shape of the parameter, row-major. */
static ht_body *slot_body(const ht_bucket *bucket, const ht_tensor *parameter, size_t start)
{
    ht_body *body = ht__body_metadata(parameter->body);

    body->storage = ht_retain(bucket->storage);
    body->offset = (int64_t)(start / ht_dtype_size(bucket->dtype));
    body->read_only = HT_WRITABLE;
    ht__body_lay_row_major(body);
    return body;
}

/* The same memory for the reducer itself, in any state of it. */
static ht_body *inside(const ht_body *slot)
{
    ht_body *body = ht__body_view(slot);

    body->inside = true;
    return body;
}

/* The length of a flag for each parameter, and one for the pass. */
static size_t flag_bytes(const ht_bucket *bucket)
{
    size_t bytes = ((size_t)bucket->count + 1) * ht_dtype_size(bucket->dtype);

    return (bytes + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
}

/* The bucket without its flags, in a row. */
static ht_tensor *all_of(const ht_bucket *bucket, const ht_tensor *some)
{
    int64_t flags = (int64_t)(flag_bytes(bucket) / ht_dtype_size(bucket->dtype));
    ht_body *body = ht__body_metadata(some->body);

    body->storage = ht_retain(bucket->storage);
    body->inside = true;
    body->offset = flags;
    body->ndim = 1;
    body->shape[0] = bucket->elements - flags;
    ht__body_settle(body);
    ht__body_lay_row_major(body);
    return ht_retain(ht__tensor_view(body));
}

/* A new slot for one parameter; the gradient in its old one moves with it, and so do the handles,
 * one of which the program may have. */
static ht_status place(ht_reducer_param *param, const ht_bucket *bucket, size_t start)
{
    ht_body *body = slot_body(bucket, param->tensor, start), *old;
    ht_status status;

    if (param->view == NULL) {
        param->view = ht_retain(ht__tensor_view(body));
        param->inside = ht_retain(ht__tensor_view(inside(body)));
        return HT_SUCCESS;
    }
    ht_release(param->view->body);
    param->view->body = body;
    old = param->inside->body;
    param->inside->body = inside(body);
    status = ht__copy_local("ht_nn_data_parallel", param->inside->body, old);
    param->grad = NULL;
    ht_release(old);
    return status;
}

/* Memory for the parameters order[first ... first + count - 1]. */
static ht_status make_bucket(ht_reducer *reducer, int number, int first, int count)
{
    ht_bucket *bucket = &reducer->buckets[number];
    const ht_tensor *some = reducer->params[reducer->order[first]].tensor;
    size_t element = ht_dtype_size(some->body->dtype), bytes, start;
    ht_status status;

    *bucket = (ht_bucket){
        .reducer = reducer, .first = first, .count = count, .dtype = some->body->dtype};
    bytes = start = flag_bytes(bucket);
    bucket->device = some->body->storage->device;
    name_bucket(bucket, reducer);
    for (int i = first; i < first + count; i++)
        bytes += slot_bytes(reducer->params[reducer->order[i]].tensor);
    bucket->elements = (int64_t)(bytes / element);
    status = ht__bucket_allocate(bucket, bytes, start);
    if (status != HT_SUCCESS)
        return status;
    bucket->all = all_of(bucket, some);
    if (ht__bucket_is_staged(bucket))
        status = ht__fill_local("ht_nn_data_parallel", bucket->all->body, HT_NUM(0));

    for (int i = first; i < first + count && status == HT_SUCCESS; i++) {
        ht_reducer_param *param = &reducer->params[reducer->order[i]];

        param->bucket = number;
        param->flag = i - first;
        status = place(param, bucket, start);
        start += slot_bytes(param->tensor);
    }
    return status;
}

/* Parameters of one kind are adjacent in `order`; kinds in the order in which they first come. */
static void group_kinds(ht_reducer *reducer)
{
    int *grouped = ht__alloc((size_t)reducer->count * sizeof *grouped), filled = 0;
    bool *taken = ht__alloc((size_t)reducer->count * sizeof *taken);

    for (int i = 0; i < reducer->count; i++) {
        const ht_tensor *some = reducer->params[reducer->order[i]].tensor;

        for (int k = i; k < reducer->count && !taken[i]; k++) {
            if (taken[k] || !same_kind(some, reducer->params[reducer->order[k]].tensor))
                continue;
            grouped[filled++] = reducer->order[k];
            if (k > i)
                taken[k] = true;
        }
    }
    ht__free(taken);
    ht__free(reducer->order);
    reducer->order = grouped;
}

/* How many of order[first ...] go into one bucket. A large gradient is the last one of its bucket,
 * so that it can leave while it is made. */
static int bucket_length(const ht_reducer *reducer, int number, int first)
{
    double room = limit_bytes(reducer, number);
    const ht_tensor *some = reducer->params[reducer->order[first]].tensor;
    int length = 0;

    for (int i = first; i < reducer->count; i++) {
        const ht_tensor *tensor = reducer->params[reducer->order[i]].tensor;

        room -= (double)slot_bytes(tensor);
        if (length > 0 && (room < 0 || !same_kind(some, tensor)))
            break;
        length++;
        if (slot_bytes(tensor) >= ENDS_BUCKET)
            break;
    }
    return length;
}

ht_status ht__reducer_layout(ht_reducer *reducer)
{
    ht_bucket *old = reducer->buckets;
    int old_count = reducer->bucket_count, first = 0;
    ht_scope *scope = ht_scope_open();
    ht_status status = HT_SUCCESS;

    group_kinds(reducer);
    reducer->buckets = ht__alloc((size_t)reducer->count * sizeof *reducer->buckets);
    reducer->bucket_count = 0;
    while (first < reducer->count && status == HT_SUCCESS) {
        int length = bucket_length(reducer, reducer->bucket_count, first);

        status = make_bucket(reducer, reducer->bucket_count++, first, length);
        first += length;
    }
    ht__reducer_drop_buckets(old, old_count);
    ht_scope_close(scope);
    return status;
}
