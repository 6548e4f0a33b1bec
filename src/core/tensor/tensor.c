/* SPDX-License-Identifier: MIT
 *
 * Tensor handles and their attributes. */
#include "core/tensor/graph.h"
#include "core/tensor/tensor.h"
#include "ht/tensor.h"

#include <string.h>

static void destroy(void *object)
{
    ht_tensor *x = object;

    if (x->meta != NULL && x->meta->leaf == x)
        x->meta->leaf = NULL;
    ht_release(x->meta);
    ht_release(x->node);
    ht_release(x->root);
    ht_release(x->body);
    ht__object_fini(x);
    ht__block_free(x, sizeof *x);
}

static ht_kind kind = {.name = "tensor", .destroy = destroy};

ht_tensor *ht__tensor_new(ht_body *body)
{
    ht_tensor *x;

    if (body == NULL)
        return NULL;
    x = ht__block_alloc(sizeof *x);
    ht__object_init(x, &kind);
    x->body = body;
    x->history = body->storage->history;
    if (ht__compare_on)
        ht__compare_tensor(body, false);
    return ht__scoped(x);
}

ht_tensor *ht__tensor_view(ht_body *body)
{
    ht_tensor *x = ht__tensor_new(body);

    if (x != NULL)
        x->view = true;
    return x;
}

ht_tensor *ht__empty(const char *what, const ht_body *like, ht_dtype dtype)
{
    return ht__tensor_new(ht__body_new_as(what, like, dtype));
}

int ht_tensor_ndim(const ht_tensor *x)
{
    return HT_IS_THERE(x) ? x->body->ndim : 0;
}

const int64_t *ht_tensor_shape(const ht_tensor *x)
{
    return HT_IS_THERE(x) ? x->body->shape : NULL;
}

const int64_t *ht_tensor_lshape(const ht_tensor *x)
{
    return HT_IS_THERE(x) ? x->body->lshape : NULL;
}

const int64_t *ht_tensor_stride(const ht_tensor *x)
{
    return HT_IS_THERE(x) ? x->body->stride : NULL;
}

int64_t ht_tensor_size(const ht_tensor *x)
{
    int64_t size = HT_IS_THERE(x);

    for (int i = 0; x != NULL && i < x->body->ndim; i++)
        size *= x->body->shape[i];
    return size;
}

int64_t ht_tensor_lsize(const ht_tensor *x)
{
    return HT_IS_THERE(x) ? x->body->lsize : 0;
}

int64_t ht_tensor_nbytes(const ht_tensor *x)
{
    return HT_IS_THERE(x) ? x->body->lsize * (int64_t)ht_dtype_size(x->body->dtype) : 0;
}

int64_t ht_tensor_gnbytes(const ht_tensor *x)
{
    return HT_IS_THERE(x) ? ht_tensor_size(x) * (int64_t)ht_dtype_size(x->body->dtype) : 0;
}

ht_status ht_tensor_lshape_map(const ht_tensor *x, int64_t map[])
{
    static const char what[] = "ht_tensor_lshape_map";
    const ht_body *body;

    if (HT_IS_NULL(x, what, "x") || HT_IS_NULL_ON(x->body->comm, map, what, "map"))
        return ht_error_get(NULL);
    body = x->body;
    for (int rank = 0; rank < body->comm->size; rank++) {
        for (int i = 0; i < body->ndim; i++)
            map[rank * body->ndim + i] = i == body->split ? ht__body_start(body, rank + 1) -
                                                                ht__body_start(body, rank)
                                                          : body->shape[i];
    }
    return HT_SUCCESS;
}

ht_status ht_tensor_counts_displs(const ht_tensor *x, int64_t counts[], int64_t displs[])
{
    static const char what[] = "ht_tensor_counts_displs";

    if (HT_IS_NULL(x, what, "x") || HT_IS_NULL_ON(x->body->comm, counts, what, "counts") ||
        HT_IS_NULL_ON(x->body->comm, displs, what, "displs"))
        return ht_error_get(NULL);
    if (x->body->split == HT_NONE)
        return HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: x has no split, expected one", what);
    for (int rank = 0; rank < x->body->comm->size; rank++) {
        displs[rank] = ht__body_start(x->body, rank);
        counts[rank] = ht__body_start(x->body, rank + 1) - displs[rank];
    }
    return HT_SUCCESS;
}

int ht_tensor_split(const ht_tensor *x)
{
    return HT_IS_THERE(x) ? x->body->split : HT_NONE;
}

ht_dtype ht_tensor_dtype(const ht_tensor *x)
{
    return HT_IS_THERE(x) ? x->body->dtype : HT_DTYPE_COUNT;
}

ht_device *ht_tensor_device(const ht_tensor *x)
{
    return HT_IS_THERE(x) ? x->body->storage->device : NULL;
}

ht_comm *ht_tensor_comm(const ht_tensor *x)
{
    return HT_IS_THERE(x) ? x->body->comm : NULL;
}

bool ht_tensor_is_balanced(const ht_tensor *x)
{
    ht_body canonical;

    if (!HT_IS_THERE(x) || x->body->bounds == NULL)
        return true;
    canonical = *x->body;
    canonical.bounds = NULL;
    return ht__body_same_slabs(x->body, &canonical);
}

bool ht_tensor_is_contiguous(const ht_tensor *x)
{
    return HT_IS_THERE(x) && ht__body_is_contiguous(x->body);
}

bool ht_tensor_is_channels_last(const ht_tensor *x)
{
    return HT_IS_THERE(x) && ht__body_is_channels_last(x->body);
}

int64_t ht_tensor_offset(const ht_tensor *x)
{
    return HT_IS_THERE(x) ? x->body->split_start : 0;
}

const void *ht_tensor_data(const ht_tensor *x)
{
    if (!HT_IS_THERE(x) || x->body->lsize == 0 || !x->body->storage->device->backend->host_memory)
        return NULL;
    if (ht__storage_away(x->body->storage) != NULL) {
        HT_FAIL(x->body->comm, HT_ERR_STATE,
                "ht_tensor_data: the memory of %s is released temporarily",
                ht__storage_away(x->body->storage));
        return NULL;
    }
    return ht__body_data(x->body);
}

void *ht_tensor_mutable_data(ht_tensor *x)
{
    void *data = (void *)ht_tensor_data(x);

    if (x != NULL && ht__storage_away(x->body->storage) == NULL)
        ht__storage_touch(x->body->storage);
    return data;
}

ht_tensor *ht_tensor_local(ht_tensor *x)
{
    ht_body *body;

    if (HT_IS_NULL(x, "ht_tensor_local", "x"))
        return NULL;
    body = ht__body_view(x->body);
    ht_release(body->comm);
    ht_release(body->bounds);
    body->comm = ht_retain(ht_comm_self());
    body->bounds = NULL;
    body->split = HT_NONE;
    body->split_start = 0;
    memcpy(body->shape, body->lshape, sizeof body->shape);
    memcpy(body->gstride, body->stride, sizeof body->gstride);
    return ht__tensor_view(body);
}
