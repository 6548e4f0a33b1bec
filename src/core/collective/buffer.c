/* SPDX-License-Identifier: MIT
 *
 * The local part of a tensor as contiguous host memory. This is the tensor's own memory if that is
 * suitable, else a packed copy on its device. If MPI cannot reach the device, the packed copy is
 * copied to host memory. */

#include "core/collective/call.h"

static ht_status out_of_memory(const char *what, const ht_body *body, size_t bytes)
{
    return HT_FAIL_HERE(body->comm, HT_ERR_MEMORY, "%s: out of memory: %zu bytes for a packed copy",
                        what, bytes);
}

/* A body like `of` with row-major memory that it does not share. */
static ht_body *packed_body(const char *what, const ht_body *of, size_t bytes)
{
    ht_storage *storage = ht__storage_new(of->storage->device, bytes);

    if (storage == NULL) {
        out_of_memory(what, of, bytes);
        return NULL;
    }

    ht_body *packed = ht__body_view(of);

    ht_release(packed->storage);
    packed->storage = storage;
    packed->offset = 0;
    packed->read_only = HT_WRITABLE;
    ht__body_lay_row_major(packed);
    return packed;
}

static ht_status pack(const char *what, ht_buffer *buffer, size_t bytes, bool always)
{
    const ht_body *body = buffer->tensor->body;

    if (always || !ht__body_is_contiguous(body)) {
        buffer->packed = packed_body(what, body, bytes);
        if (buffer->packed == NULL)
            return HT_ERR_MEMORY;
        body = buffer->packed;
    }
    if (body->storage->device->backend->host_memory) {
        buffer->data = ht__body_data(body);
        return HT_SUCCESS;
    }
    buffer->host = ht__storage_new(ht__device_cpu(), bytes);
    if (buffer->host == NULL)
        return out_of_memory(what, body, bytes);
    buffer->data = ht__storage_raw(buffer->host);
    return HT_SUCCESS;
}

static ht_status fill(const char *what, ht_buffer *buffer)
{
    ht_status status = HT_SUCCESS;
    const ht_body *body = buffer->tensor->body;

    if (buffer->packed != NULL) {
        status = ht__copy_local(what, buffer->packed, body);
        body = buffer->packed;
    }
    if (status == HT_SUCCESS && buffer->host != NULL)
        status = ht__get_local(what, body, buffer->data);
    return status;
}

ht_status ht__buffer_open(const char *what, ht_buffer *buffer, ht_tensor *tensor, bool read,
                          bool write)
{
    const ht_body *body = tensor->body;
    size_t bytes = (size_t)body->lsize * ht_dtype_size(body->dtype);

    *buffer = (ht_buffer){.tensor = ht_retain(tensor), .write = write};
    buffer->count = body->lsize;
    buffer->dtype = body->dtype;
    if (body->lsize == 0)
        return HT_SUCCESS;

    ht_status status = pack(what, buffer, bytes, false);

    return status == HT_SUCCESS && read ? fill(what, buffer) : status;
}

ht_status ht__buffer_open_copy(const char *what, ht_buffer *buffer, ht_tensor *tensor)
{
    const ht_body *body = tensor->body;

    *buffer = (ht_buffer){.tensor = ht_retain(tensor), .count = body->lsize, .dtype = body->dtype};
    if (body->lsize == 0)
        return HT_SUCCESS;

    ht_status status = pack(what, buffer, (size_t)body->lsize * ht_dtype_size(body->dtype), true);

    return status == HT_SUCCESS ? fill(what, buffer) : status;
}

static bool overlap(const char *a, size_t bytes_a, const char *b, size_t bytes_b)
{
    return a < b + bytes_b && b < a + bytes_a;
}

ht_status ht__buffer_detach(const char *what, ht_buffer *buffer, const ht_buffer *other)
{
    size_t bytes = (size_t)buffer->count * ht_dtype_size(buffer->dtype);

    if (buffer->count == 0 || other->count == 0 ||
        !overlap(buffer->data, bytes, other->data,
                 (size_t)other->count * ht_dtype_size(other->dtype)))
        return HT_SUCCESS;

    ht_status status = pack(what, buffer, bytes, true);

    return status == HT_SUCCESS ? fill(what, buffer) : status;
}

bool ht__buffer_same(const ht_tensor *a, const ht_tensor *b)
{
    const ht_body *x = a->body, *y = b->body;
    bool same = ht__body_data(x) == ht__body_data(y) && x->dtype == y->dtype && x->ndim == y->ndim;

    for (int i = 0; same && i < x->ndim; i++)
        same = x->lshape[i] == y->lshape[i] && (x->stride[i] == y->stride[i] || x->lshape[i] == 1);
    return same;
}

#define HT_TRUTH(type)                          \
    for (int64_t i = 0; i < buffer->count; i++) \
    ((type *)buffer->data)[i] = ((type *)buffer->data)[i] != 0

static void make_truth(const ht_buffer *buffer)
{
    switch (ht_dtype_size(buffer->dtype)) {
    case 1:
        HT_TRUTH(uint8_t);
        break;
    case 2:
        HT_TRUTH(uint16_t);
        break;
    case 4:
        HT_TRUTH(uint32_t);
        break;
    default:
        HT_TRUTH(uint64_t);
    }
}

static ht_status unpack(const char *what, ht_buffer *buffer)
{
    ht_status status = HT_SUCCESS;
    const ht_body *body = buffer->tensor->body;
    const ht_body *nearest = buffer->packed != NULL ? buffer->packed : body;

    if (buffer->truth)
        make_truth(buffer);
    if (buffer->host != NULL)
        status = ht__set_local(what, nearest, buffer->data);
    if (status == HT_SUCCESS && buffer->packed != NULL)
        status = ht__copy_local(what, body, buffer->packed);
    ht__storage_touch(body->storage);
    return status;
}

ht_status ht__buffer_close(const char *what, ht_buffer *buffer, bool copy_back)
{
    ht_status status = HT_SUCCESS;

    if (buffer->tensor != NULL && buffer->write && copy_back && buffer->count > 0)
        status = unpack(what, buffer);
    ht_release(buffer->packed);
    ht_release(buffer->host);
    ht_release(buffer->tensor);
    *buffer = (ht_buffer){.tensor = NULL};
    return status;
}
