/* SPDX-License-Identifier: MIT
 *
 * Tensors from nothing, from numbers, and from host memory. */
#include "ht/factories.h"

#include <math.h>
#include <string.h>

#include "core/core.h"
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

static ht_tensor *filled(const char *what, ht_tensor *x, ht_number value)
{
    return x != NULL && ht__fill_local(what, x->body, value) == HT_SUCCESS ? x : NULL;
}

ht_tensor *ht__new_here(const char *what, int ndim, const int64_t shape[], ht_dtype dtype,
                        int split)
{
    ht_comm *comm = ht__comm_in_use(what);

    return comm != NULL ? new_on(what, ndim, shape, dtype, split, ht_get_device(), comm) : NULL;
}

static ht_tensor *full(const char *what, int ndim, const int64_t shape[], ht_number value,
                       ht_dtype dtype, int split)
{
    return filled(what, ht__new_here(what, ndim, shape, dtype, split), value);
}

static ht_tensor *like(const char *what, ht_tensor *x)
{
    return !HT_IS_NULL(x, what, "x") ? ht__empty(what, x->body, x->body->dtype) : NULL;
}

ht_tensor *ht_empty_on(int ndim, const int64_t shape[], ht_dtype dtype, int split,
                       ht_device *device, ht_comm *comm)
{
    return new_on("ht_empty_on", ndim, shape, dtype, split, device, comm);
}

ht_tensor *ht_full_on(int ndim, const int64_t shape[], double value, ht_dtype dtype, int split,
                      ht_device *device, ht_comm *comm)
{
    return filled("ht_full_on", new_on("ht_full_on", ndim, shape, dtype, split, device, comm),
                  ht__real(value));
}

ht_tensor *ht_empty(int ndim, const int64_t shape[], ht_dtype dtype, int split)
{
    return ht__new_here("ht_empty", ndim, shape, dtype, split);
}

ht_tensor *ht_full(int ndim, const int64_t shape[], double value, ht_dtype dtype, int split)
{
    return full("ht_full", ndim, shape, ht__real(value), dtype, split);
}

ht_tensor *ht_full_i64(int ndim, const int64_t shape[], int64_t value, ht_dtype dtype, int split)
{
    return full("ht_full_i64", ndim, shape, ht__integer(value), dtype, split);
}

ht_tensor *ht_zeros(int ndim, const int64_t shape[], ht_dtype dtype, int split)
{
    return full("ht_zeros", ndim, shape, ht__real(0), dtype, split);
}

ht_tensor *ht_ones(int ndim, const int64_t shape[], ht_dtype dtype, int split)
{
    return full("ht_ones", ndim, shape, ht__real(1), dtype, split);
}

ht_tensor *ht_empty_like(ht_tensor *x)
{
    return like("ht_empty_like", x);
}

ht_tensor *ht_full_like(ht_tensor *x, double value)
{
    return filled("ht_full_like", like("ht_full_like", x), ht__real(value));
}

ht_tensor *ht_full_like_i64(ht_tensor *x, int64_t value)
{
    return filled("ht_full_like_i64", like("ht_full_like_i64", x), ht__integer(value));
}

ht_tensor *ht_zeros_like(ht_tensor *x)
{
    return filled("ht_zeros_like", like("ht_zeros_like", x), ht__real(0));
}

ht_tensor *ht_ones_like(ht_tensor *x)
{
    return filled("ht_ones_like", like("ht_ones_like", x), ht__real(1));
}

ht_tensor *ht_eye(int64_t rows, int64_t columns, ht_dtype dtype, int split)
{
    int64_t shape[2] = {rows, columns}, row_start, column_start;
    ht_tensor *eye = full("ht_eye", 2, shape, ht__real(0), dtype, split);
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
    ht_status status = ht__fill_local("ht_eye", diagonal, ht__real(1));
    ht_release(diagonal);
    return status == HT_SUCCESS ? eye : NULL;
}

/* Whether there are elements and no memory that they are in. */
static bool no_data(const char *what, const ht_tensor *x, const void *data)
{
    return x != NULL && ht_tensor_size(x) > 0 && HT_IS_NULL(data, what, "the data");
}

/* Host memory of this rank's own part, row-major, as a tensor. */
static ht_tensor *from_host(const char *what, ht_tensor *x, const void *data)
{
    ht_device *device;
    size_t bytes;

    if (x == NULL)
        return NULL;
    device = x->body->storage->device;
    bytes = (size_t)x->body->lsize * ht_dtype_size(x->body->dtype);
    if (bytes > 0 && device->backend->memory_copy(device->stream, ht__body_data(x->body), data,
                                                  bytes, HT_COPY_HOST_TO_DEVICE) != 0) {
        ht__kernel_failed(x->body->comm, what);
        return NULL;
    }
    return x;
}

ht_tensor *ht_array_local(const void *data, int ndim, const int64_t shape[], ht_dtype dtype)
{
    static const char what[] = "ht_array_local";
    ht_comm *self = ht__comm_in_use(what) != NULL ? ht_comm_self() : NULL;
    ht_tensor *x = self != NULL ? new_on(what, ndim, shape, dtype, HT_NONE, ht_get_device(), self)
                                : NULL;

    return no_data(what, x, data) ? NULL : from_host(what, x, data);
}

ht_tensor *ht_array(const void *data, int ndim, const int64_t shape[], ht_dtype dtype, int split)
{
    ht_comm *comm = ht__comm_in_use("ht_array");
    ht_tensor *whole, *x;
    ht_body *slab;
    int64_t stride[HT_MAX_NDIM];

    if (comm == NULL || split == HT_NONE || comm->size == 1) {
        x = ht__new_here("ht_array", ndim, shape, dtype, split);
        return no_data("ht_array", x, data) ? NULL : from_host("ht_array", x, data);
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

/* What a rank says of its part: ndim, the lengths, dtype. */
enum { PART_DTYPE = HT_MAX_NDIM + 1, PART_FIELDS };

/* What a rank can see of its own part; fills the record of it. */
static ht_status check_part(const char *what, ht_comm *comm, const void *data, int ndim,
                            const int64_t lshape[], ht_dtype dtype, int *split,
                            int64_t mine[PART_FIELDS])
{
    int64_t size = 1;

    if ((unsigned)dtype >= HT_DTYPE_COUNT)
        return HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: %d is no dtype", what, (int)dtype);
    if (!ht__check_shape(what, comm, ndim, lshape, split))
        return ht_error_get(NULL);
    if (*split == HT_NONE)
        return HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: a split axis is needed", what);
    for (int i = 0; i < ndim; i++)
        size *= lshape[i];
    if (size > 0 && data == NULL)
        return HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: the data is NULL", what);
    mine[0] = ndim;
    memcpy(mine + 1, lshape, (size_t)ndim * sizeof *lshape);
    mine[PART_DTYPE] = dtype;
    return HT_SUCCESS;
}

/* Whether all ranks bring one dtype, and the same lengths but along the split axis. */
static ht_status compare_part(const char *what, ht_comm *comm, int rank, const int64_t *theirs,
                              const int64_t *first, int split)
{
    if (theirs[PART_DTYPE] != first[PART_DTYPE])
        return HT_FAIL(comm, HT_ERR_DTYPE, "%s: part of rank %d is %s, of rank 0 %s", what, rank,
                       ht_dtype_name((ht_dtype)theirs[PART_DTYPE]),
                       ht_dtype_name((ht_dtype)first[PART_DTYPE]));
    for (int i = 0; i <= first[0]; i++) {
        if (i != split + 1 && theirs[i] != first[i])
            return HT_FAIL(comm, HT_ERR_SHAPE,
                           "%s: part of rank %d is %s, of rank 0 %s: only axis %d may differ", what,
                           rank, ht__shape_str((int)theirs[0], theirs + 1),
                           ht__shape_str((int)first[0], first + 1), split);
    }
    return HT_SUCCESS;
}

/* The bounds of all parts; NULL after an error. */
static ht_bounds *collect_parts(const char *what, ht_comm *comm, const int64_t mine[PART_FIELDS],
                                int split)
{
    int64_t *all = ht__alloc((size_t)comm->size * PART_FIELDS * sizeof *all), size;
    ht_bounds *bounds = ht__bounds_new(comm->size);
    ht_status status = ht__comm_allgather_i64(comm, mine, PART_FIELDS, all, what);

    for (int rank = 0; status == HT_SUCCESS && rank < comm->size; rank++) {
        const int64_t *theirs = all + (size_t)rank * PART_FIELDS;

        status = compare_part(what, comm, rank, theirs, all, split);
        if (status == HT_SUCCESS &&
            __builtin_add_overflow(bounds->start[rank], theirs[split + 1], &size))
            status = HT_FAIL(comm, HT_ERR_SHAPE, "%s: the parts have more than 2^63 rows", what);
        if (status == HT_SUCCESS)
            bounds->start[rank + 1] = size;
    }
    ht__free(all);
    if (status == HT_SUCCESS)
        return bounds;
    ht_release(bounds);
    return NULL;
}

ht_tensor *ht_array_from_local(const void *data, int ndim, const int64_t lshape[], ht_dtype dtype,
                               int split, ht_comm *comm)
{
    static const char what[] = "ht_array_from_local";
    int64_t mine[PART_FIELDS] = {0}, shape[HT_MAX_NDIM];
    ht_bounds *bounds;
    ht_tensor *x = NULL;
    ht_status status;
    bool begun;

    if (HT_IS_NULL(comm, what, "the communicator"))
        return NULL;
    begun = ht__agree_begin();
    status = check_part(what, comm, data, ndim, lshape, dtype, &split, mine);
    if (ht__agree_end(what, comm, begun, status) != HT_SUCCESS)
        return NULL;
    bounds = collect_parts(what, comm, mine, split);
    if (bounds == NULL)
        return NULL;
    memcpy(shape, lshape, (size_t)ndim * sizeof *shape);
    shape[split] = bounds->start[comm->size];
    if (ht__check_shape(what, comm, ndim, shape, &split))
        x = from_host(what,
                      ht__tensor_new(ht__body_new(what, comm, ht_get_device(), dtype, ndim, shape,
                                                  split, bounds)),
                      data);
    ht_release(bounds);
    return x;
}
