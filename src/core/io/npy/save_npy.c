/* SPDX-License-Identifier: MIT
 *
 * Saving .npy files. Rank 0 writes the header, and each rank its slab, by itself. A slab of split 0
 * is one run of the file; with another split there is a run for each combination of indices before
 * it. If these runs would be short, x is split along an outer axis first, by one exchange. */
#include "core/io/files/joint.h"
#include "core/io/npy/npy.h"
#include "core/io/files/runs.h"

#include <string.h>

#include "ht/autograd.h"
#include "ht/devices.h"
#include "ht/io.h"
#include "ht/manipulations.h"

static const char what[] = "ht_save_npy";

/* x as it can be stored: a dtype that NumPy has, in slabs of long runs, row-major, on the host. */
static ht_tensor *storable(ht_tensor *x)
{
    const ht_body *body = x->body;
    const int axis = ht__slab_axis(body->comm, body->ndim, body->shape, ht_dtype_size(body->dtype),
                                   body->split);

    if (axis != body->split)
        x = ht_resplit(x, axis);
    if (body->dtype == HT_BFLOAT16)
        x = ht_astype(x, HT_FLOAT32);
    return ht_contiguous(ht_to_device(x, ht_device_get("cpu")));
}

static ht_status write_slab(ht__joint *file, const ht_body *body, int64_t offset)
{
    const char *data;
    ht__slab slab = ht__slab_share(file->comm, body, &data);
    ht__runs runs = ht__runs_of(&slab, body->shape, (int64_t)slab.element);
    ht_status status = HT_SUCCESS;

    for (int64_t i = 0; i < runs.count && status == HT_SUCCESS; i++)
        status = ht__joint_write(file, data + i * runs.bytes, runs.bytes,
                                 offset + ht__run_at(&runs, i));
    return status;
}

/* A scalar that all ranks have is rank 0's to write: ht__slab_share gives others an empty list. */
static ht_status write_all(ht__joint *file, const ht_body *body)
{
    const ht__npy_type *type = ht__npy_type_for(body->dtype);
    char header[HT_NPY_HEADER_ROOM];
    size_t front = ht__npy_make_header(header, type, body->ndim, body->shape);
    int64_t bytes = type->bytes;
    ht_status status;

    for (int i = 0; i < body->ndim; i++)
        bytes *= body->shape[i];
    status = ht__joint_reserve(file, (int64_t)front + bytes);
    if (status != HT_SUCCESS)
        return status;
    if (file->comm->rank == 0)
        status = ht__joint_write(file, header, (int64_t)front, 0);
    if (status == HT_SUCCESS && (body->ndim > 0 || file->comm->rank == 0))
        status = write_slab(file, body, (int64_t)front);
    return status;
}

static ht_status save(ht_tensor *x, const char *path)
{
    ht_comm *comm = x->body->comm;
    ht__joint file;
    ht_status status;

    x = storable(x);
    if (x == NULL)
        return ht_error_get(NULL);
    ht__body_await(x->body);
    status = ht__joint_begin(&file, what, path, comm);
    return status == HT_SUCCESS ? ht__joint_end(&file, write_all(&file, x->body)) : status;
}

ht_status ht_save_npy(ht_tensor *x, const char *path)
{
    bool begun, grad;
    ht_status status;

    if (HT_IS_NULL(x, what, "x"))
        return ht_error_get(NULL);
    ht_comm *comm = ht_tensor_comm(x);

    begun = ht__agree_begin();
    status = HT_IS_NULL(path, what, "the path") ? ht_error_get(NULL) : HT_SUCCESS;
    ht__begin(comm,
              (ht_call){.what = what, .dtype = x->body->dtype, .refused = status != HT_SUCCESS});
    status = ht__agree_end(what, comm, begun, status);
    if (status != HT_SUCCESS)
        return status;

    ht_scope *scope = ht_scope_open();

    grad = ht_set_grad_enabled(false);
    status = save(x, path);
    ht_set_grad_enabled(grad);
    ht_scope_close(scope);
    return status;
}
