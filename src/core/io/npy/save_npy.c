/* SPDX-License-Identifier: MIT
 *
 * Saving .npy files. Rank 0 writes the header, and each rank its slab, by itself. */
#include "core/io/npy/npy.h"

#include "ht/autograd.h"
#include "ht/io.h"
#include "ht/manipulations.h"

static const char what[] = "ht_save_npy";

static ht_status write_all(ht_joint *file, const ht_body *body)
{
    const ht_stored_type *type = ht__npy_type_for(body->dtype);
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
    return status == HT_SUCCESS ? ht__stored_write(file, body, (int64_t)front) : status;
}

static ht_status save(ht_tensor *x, const char *path)
{
    ht_comm *comm = x->body->comm;
    ht_joint file;
    ht_status status;

    if (x->body->dtype == HT_BFLOAT16) /* a dtype that NumPy lacks */
        x = ht_astype(x, HT_FLOAT32);
    x = ht__stored_form(x);
    if (x == NULL)
        return ht_error_get(NULL);
    ht__body_await(x->body);
    status = ht__joint_begin(&file, what, path, comm);
    return status == HT_SUCCESS ? ht__joint_end(&file, write_all(&file, x->body)) : status;
}

ht_status ht_save_npy(ht_tensor *x, const char *path)
{
    HT_NAMED(what);
    bool begun, grad;
    ht_status status;

    if (HT_IS_NULL(x, what, "x"))
        return ht_error_get(NULL);
    ht_comm *comm = ht_tensor_comm(x);

    begun = ht__agree_begin();
    status = HT_IS_NULL(path, what, "path") ? ht_error_get(NULL) : HT_SUCCESS;
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
