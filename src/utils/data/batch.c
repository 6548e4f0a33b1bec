/* SPDX-License-Identifier: MIT
 *
 * The tensors of one batch: raw rows, and the results of the transform. The reading thread makes
 * and releases all of them, so that headers return to the free list from which they came. */
#include "core/ops/creation/random_stream.h"
#include "core/ops/ops.h"
#include "ht/autograd.h"
#include "utils/data/data.h"

#include <string.h>

#include "ht/factories.h"

int ht__batch_join(ht_made *made, int arrays)
{
    int failed = 0;

    for (int i = 0; i < arrays; i++)
        failed |= ht__ahead_join(&made->ahead[i]);
    return failed;
}

void ht__made_settle(ht_made *made, int arrays)
{
    for (int i = 0; i < arrays; i++) {
        if (ht__side_copy_end(&made->ahead[i]) != 0)
            ht__kernel_failed(HT_COMM_SELF, "ht_dataloader_next");
    }
}

/* The next user of their memory gets it after the copies, or when they have ended. */
static void release_outputs(ht_made *made, int arrays)
{
    ht_error_kept earlier;

    ht__error_set_aside(&earlier);
    if (ht__batch_join(made, arrays) != 0)
        ht_error_clear(); /* an error of the device, which its next call has, too */
    ht__error_put_back(&earlier);
    for (int i = 0; i < arrays; i++) {
        ht_release(made->arrays[i]);
        made->arrays[i] = NULL;
    }
}

void ht__made_free(ht_made *made, int arrays)
{
    release_outputs(made, arrays);
    ht__made_settle(made, arrays);
    for (int i = 0; i < arrays; i++)
        ht_release(made->raw[i]);
    ht__free(made->ids);
}

/* Whether the program, or a view it keeps, still looks at this memory. */
static bool only_ours(const ht_tensor *x)
{
    return ht__object_count(x) == 1 && ht__object_count(x->body) == 1 &&
           ht__object_count(x->body->storage) == 1;
}

static ht_status memory_error(const ht_made *made, const ht_dataset *dataset, int array)
{
    const char *cause;
    const ht_status code = ht_error_get(&cause);

    return ht__error_set(code, "ht_dataloader_next: %s: %s: cannot hold %lld rows: %s",
                         dataset->path, dataset->arrays[array].name, (long long)made->rows, cause);
}

ht_status ht__batch_raw(ht_made *made, const ht_dataset *dataset)
{
    release_outputs(made, dataset->count);
    if (made->rows > made->room) {
        made->room = made->rows;
        made->ids = ht__realloc(made->ids, (size_t)made->room * sizeof *made->ids);
    }
    for (int i = 0; i < dataset->count; i++) {
        const ht_hdf5_info *info = &dataset->arrays[i].info;
        ht_tensor *old = made->raw[i];
        int64_t shape[HT_MAX_NDIM];

        if (old != NULL && only_ours(old) && old->body->shape[0] == made->rows)
            continue;
        memcpy(shape, info->shape, sizeof shape);
        shape[0] = made->rows;
        ht_release(old);

        ht_scope *scope = ht_scope_open();

        made->raw[i] = ht_retain(
            ht_empty_ext(info->ndim, shape, info->dtype, HT_NONE, ht__device_cpu(), HT_COMM_SELF));
        ht_scope_close(scope);
        if (made->raw[i] == NULL)
            return memory_error(made, dataset, i);
    }
    return HT_SUCCESS;
}

static ht_status transform_error(const ht_made *made, const ht_dataset *dataset, int array)
{
    const char *cause;
    ht_status code = ht_error_get(&cause);
    char where[64] = "a batch of no rows";

    if (code == HT_SUCCESS) {
        code = HT_ERR_ARGUMENT;
        cause = "the transform returned NULL and gave no reason";
    }
    if (made->rows > 0)
        snprintf(where, sizeof where, "the %lld rows from row %lld on", (long long)made->rows,
                 (long long)made->ids[0]);
    return ht__error_set(code, "ht_dataloader_next: %s: %s: cannot transform %s: %s", dataset->path,
                         dataset->arrays[array].name, where, cause);
}

static ht_tensor *transform_one(ht_made *made, int array, const ht_dataloader_options *options)
{
    ht_tensor *x = made->raw[array];

    ht_error_clear();
    if (options->transform != NULL)
        x = options->transform(x, array, options->user);
    if (ht_error_get(NULL) != HT_SUCCESS)
        return NULL;
    if (x != NULL && (x->body->ndim < 1 || x->body->shape[0] != made->rows))
        return ht_transform_fail("the transform returned shape %s for %lld rows",
                                 ht__shape_str(x->body->ndim, x->body->shape),
                                 (long long)made->rows);
    if (x != NULL && options->device != NULL)
        x = ht__to_device_ahead(x, options->device, &made->ahead[array]);
    return x;
}

/* The first row stands for the batch: an epoch that is resumed has the same batches again. */
static void enter_stream(ht_random_stream *stream, const ht_made *made,
                         const ht_dataloader_options *options, int64_t epoch)
{
    const int64_t first = made->rows > 0 ? made->ids[0] : -1;

    ht__random_enter(stream, HT_STREAM_BATCH, options->seed, (uint64_t)epoch, (uint64_t)first);
}

ht_status ht__batch_transform(ht_made *made, const ht_dataset *dataset,
                              const ht_dataloader_options *options, int64_t epoch)
{
    bool grad = ht_set_grad_enabled(false);
    ht_scope *scope = ht_scope_open();
    ht_status status = HT_SUCCESS;
    ht_random_stream stream;
    ht_error_kept earlier;

    ht__error_set_aside(&earlier);
    enter_stream(&stream, made, options, epoch);
    for (int i = 0; i < dataset->count && status == HT_SUCCESS; i++) {
        made->arrays[i] = ht_retain(transform_one(made, i, options));
        if (made->arrays[i] == NULL)
            status = transform_error(made, dataset, i);
    }
    ht__random_leave(&stream);
    ht__error_put_back(&earlier);
    ht_scope_close(scope);
    ht_set_grad_enabled(grad);
    return status;
}
