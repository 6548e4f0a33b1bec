/* SPDX-License-Identifier: MIT
 *
 * Tensors from nothing, from numbers, and from host memory. */
#include "ht/factories.h"

#include <math.h>
#include <string.h>

#include "core.h"
#include "ht/arithmetics.h"
#include "ht/manipulations.h"

static ht_tensor *new_on(const char *what, int ndim, const int64_t shape[], ht_dtype dtype,
                         int split, ht_device *device, ht_comm *comm)
{
    if (HT_IS_NULL(device, what, "the device") || HT_IS_NULL(comm, what, "the communicator"))
        return NULL;
    if ((unsigned)dtype >= HT_DTYPE_COUNT) {
        HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: %d is no dtype", what, (int)dtype);
        return NULL;
    }
    if (!ht__check_shape(what, comm, ndim, shape, &split))
        return NULL;
    return ht__tensor_new(ht__body_new(what, comm, device, dtype, ndim, shape, split, NULL));
}

static ht_tensor *filled(const char *what, ht_tensor *x, double value)
{
    return x != NULL && ht__fill_local(what, x->body, value) == HT_SUCCESS ? x : NULL;
}

ht_tensor *ht_empty_on(int ndim, const int64_t shape[], ht_dtype dtype, int split,
                       ht_device *device, ht_comm *comm)
{
    return new_on("ht_empty", ndim, shape, dtype, split, device, comm);
}

ht_tensor *ht_full_on(int ndim, const int64_t shape[], double value, ht_dtype dtype, int split,
                      ht_device *device, ht_comm *comm)
{
    return filled("ht_full", new_on("ht_full", ndim, shape, dtype, split, device, comm), value);
}

ht_tensor *ht_empty(int ndim, const int64_t shape[], ht_dtype dtype, int split)
{
    return new_on("ht_empty", ndim, shape, dtype, split, ht_get_device(), ht_get_comm());
}

ht_tensor *ht_full(int ndim, const int64_t shape[], double value, ht_dtype dtype, int split)
{
    return ht_full_on(ndim, shape, value, dtype, split, ht_get_device(), ht_get_comm());
}

ht_tensor *ht_zeros(int ndim, const int64_t shape[], ht_dtype dtype, int split)
{
    return ht_full(ndim, shape, 0, dtype, split);
}

ht_tensor *ht_ones(int ndim, const int64_t shape[], ht_dtype dtype, int split)
{
    return ht_full(ndim, shape, 1, dtype, split);
}

static ht_tensor *like(const char *what, ht_tensor *x)
{
    return HT_IS_NULL(x, what, "x") ? NULL : ht__empty(what, x->body, x->body->dtype);
}

ht_tensor *ht_empty_like(ht_tensor *x)
{
    return like("ht_empty_like", x);
}

ht_tensor *ht_full_like(ht_tensor *x, double value)
{
    return filled("ht_full_like", like("ht_full_like", x), value);
}

ht_tensor *ht_zeros_like(ht_tensor *x)
{
    return filled("ht_zeros_like", like("ht_zeros_like", x), 0);
}

ht_tensor *ht_ones_like(ht_tensor *x)
{
    return filled("ht_ones_like", like("ht_ones_like", x), 1);
}

/* start + step i for this rank's i, in float64, then converted. */
static ht_tensor *progression(const char *what, double start, double step, int64_t count,
                              ht_dtype dtype, int split)
{
    ht_tensor *host = new_on(what, 1, &count, HT_FLOAT64, split, ht__device_cpu(), ht_get_comm());
    double *data;

    if (host == NULL)
        return NULL;
    data = ht__body_data(host->body);
    for (int64_t i = 0; i < host->body->lsize; i++)
        data[i] = start + step * (double)(host->body->split_start + i);
    return ht_to_device(ht_astype(host, dtype), ht_get_device());
}

ht_tensor *ht_arange(double start, double stop, double step, ht_dtype dtype, int split)
{
    double count = ceil((stop - start) / step);

    if (step == 0 || !isfinite(count) || count > 0x1p59) {
        HT_FAIL(ht_get_comm(), HT_ERR_ARGUMENT, "ht_arange: no sequence from %g to %g by %g", start,
                stop, step);
        return NULL;
    }
    return progression("ht_arange", start, step, count > 0 ? (int64_t)count : 0, dtype, split);
}

ht_tensor *ht_linspace(double start, double stop, int64_t count, ht_dtype dtype, int split)
{
    double step = count > 1 ? (stop - start) / (double)(count - 1) : 0;

    return progression("ht_linspace", start, step, count, dtype, split);
}

ht_tensor *ht_eye(int64_t rows, int64_t columns, ht_dtype dtype, int split)
{
    int64_t shape[2] = {rows, columns}, row_start, column_start;
    ht_tensor *eye = ht_zeros(2, shape, dtype, split);
    ht_body *diagonal;

    if (eye == NULL || eye->body->lsize == 0)
        return eye;
    row_start = eye->body->split == 0 ? eye->body->split_start : 0;
    column_start = eye->body->split == 1 ? eye->body->split_start : 0;

    /* The diagonal of this slab as a 1-d view: from element (first, first) on. */
    int64_t first = row_start > column_start ? row_start : column_start;
    int64_t row_end = row_start + eye->body->lshape[0];
    int64_t column_end = column_start + eye->body->lshape[1];
    int64_t end = row_end < column_end ? row_end : column_end;

    if (first >= end)
        return eye;
    diagonal = ht__body_view(eye->body);
    diagonal->ndim = 1;
    diagonal->lshape[0] = diagonal->lsize = end - first;
    diagonal->stride[0] = eye->body->stride[0] + eye->body->stride[1];
    diagonal->offset += (first - row_start) * eye->body->stride[0] +
                        (first - column_start) * eye->body->stride[1];
    ht_status status = ht__fill_local("ht_eye", diagonal, 1);
    ht_release(diagonal);
    return status == HT_SUCCESS ? eye : NULL;
}

/* Whether there are elements and no memory that they are in. */
static bool no_data(const char *what, const ht_tensor *x, const void *data)
{
    return x != NULL && ht_tensor_size(x) > 0 && HT_IS_NULL(data, what, "the data");
}

/* Host memory of this rank's own part, row-major, as a tensor. */
static ht_tensor *from_host(ht_tensor *x, const void *data)
{
    ht_device *device;
    size_t bytes;

    if (x == NULL)
        return NULL;
    device = x->body->storage->device;
    bytes = (size_t)x->body->lsize * ht_dtype_size(x->body->dtype);
    if (bytes > 0 && device->backend->memory_copy(device->stream, ht__body_data(x->body), data,
                                                  bytes, HT_COPY_HOST_TO_DEVICE) != 0) {
        ht__kernel_failed(x->body->comm, "ht_array");
        return NULL;
    }
    return x;
}

ht_tensor *ht_array_local(const void *data, int ndim, const int64_t shape[], ht_dtype dtype)
{
    static const char what[] = "ht_array_local";
    ht_tensor *x = new_on(what, ndim, shape, dtype, HT_NONE, ht_get_device(), ht_comm_self());

    return no_data(what, x, data) ? NULL : from_host(x, data);
}

ht_tensor *ht_array(const void *data, int ndim, const int64_t shape[], ht_dtype dtype, int split)
{
    ht_comm *comm = ht_get_comm();
    ht_tensor *whole, *x;
    ht_body *slab;
    int64_t stride[HT_MAX_NDIM];

    if (split == HT_NONE || comm->size == 1) {
        x = new_on("ht_array", ndim, shape, dtype, split, ht_get_device(), comm);
        return no_data("ht_array", x, data) ? NULL : from_host(x, data);
    }
    x = new_on("ht_array", ndim, shape, dtype, split, ht__device_cpu(), comm);
    if (no_data("ht_array", x, data))
        return NULL;
    if (x == NULL || x->body->lsize == 0)
        return ht_to_device(x, ht_get_device());

    /* The slab inside `data` as a view of memory that stays the caller's. */
    whole = x;
    slab = ht__body_view(x->body);
    ht__strides_row_major(ndim, shape, stride);
    memcpy(slab->stride, stride, sizeof stride);
    slab->offset = slab->split_start * stride[slab->split];
    ht_storage *own = slab->storage;
    slab->storage = ht__storage_lend(own->device, (void *)data, NULL, NULL);
    ht_release(own);
    ht_status status = ht__copy_local("ht_array", whole->body, slab);
    ht_release(slab);
    return status == HT_SUCCESS ? ht_to_device(x, ht_get_device()) : NULL;
}

/* Whether all ranks bring one dtype, and the same lengths but along the split axis; the sum there.
 * A record is ndim, the lengths, dtype. */
static ht_status agree_on_shape(ht_comm *comm, int ndim, int64_t shape[], ht_dtype dtype, int split,
                                ht_bounds *bounds)
{
    enum { DTYPE = HT_MAX_NDIM + 1, RECORD };
    int64_t *all = ht__alloc((size_t)comm->size * RECORD * sizeof *all);
    int64_t mine[RECORD] = {ndim, [DTYPE] = dtype};
    ht_status status;

    memcpy(mine + 1, shape, (size_t)ndim * sizeof *shape);
    status = ht__comm_allgather_i64(comm, mine, RECORD, all, "ht_array_from_local");
    for (int rank = 0; status == HT_SUCCESS && rank < comm->size; rank++) {
        const int64_t *theirs = all + (size_t)rank * RECORD;

        if (theirs[DTYPE] != all[DTYPE])
            status = HT_FAIL(
                comm, HT_ERR_DTYPE, "ht_array_from_local: part of rank %d is %s, of rank 0 %s",
                rank, ht_dtype_name((ht_dtype)theirs[DTYPE]), ht_dtype_name((ht_dtype)all[DTYPE]));
        bounds->start[rank + 1] = bounds->start[rank] + theirs[split + 1];
        for (int i = 0; status == HT_SUCCESS && i <= ndim; i++) {
            if (i != split + 1 && theirs[i] != all[i])
                status = HT_FAIL(
                    comm, HT_ERR_SHAPE,
                    "ht_array_from_local: part of rank %d is %s, of rank 0 %s: only axis "
                    "%d may differ",
                    rank, ht__shape_str((int)theirs[0], theirs + 1),
                    ht__shape_str((int)all[0], all + 1), split);
        }
    }
    shape[split] = bounds->start[comm->size];
    ht__free(all);
    return status;
}

ht_tensor *ht_array_from_local(const void *data, int ndim, const int64_t lshape[], ht_dtype dtype,
                               int split, ht_comm *comm)
{
    int64_t shape[HT_MAX_NDIM];
    ht_tensor *x = NULL;
    ht_bounds *bounds;

    if (HT_IS_NULL(comm, "ht_array_from_local", "the communicator") ||
        !ht__check_shape("ht_array_from_local", comm, ndim, lshape, &split))
        return NULL;
    if (split == HT_NONE) {
        HT_FAIL(comm, HT_ERR_ARGUMENT, "ht_array_from_local: a split axis is needed");
        return NULL;
    }
    memcpy(shape, lshape, (size_t)ndim * sizeof *shape);
    bounds = ht__bounds_new(comm->size);
    if (agree_on_shape(comm, ndim, shape, dtype, split, bounds) == HT_SUCCESS)
        x = from_host(ht__tensor_new(ht__body_new("ht_array_from_local", comm, ht_get_device(),
                                                  dtype, ndim, shape, split, bounds)),
                      data);
    ht_release(bounds);
    return x;
}
