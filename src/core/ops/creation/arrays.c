/* SPDX-License-Identifier: MIT
 *
 * Tensors from host memory: all of it on each rank, or a part from each. */
#include "core/ops/ops.h"
#include "ht/factories.h"

#include <string.h>

#include "ht/devices.h"
#include "ht/manipulations.h"

/* Whether there are elements and no memory that they are in. */
static bool no_data(const char *what, const ht_tensor *x, const void *data)
{
    return x != NULL && ht_tensor_size(x) > 0 && HT_IS_NULL(data, what, "data");
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
    if (ht__device_put(device, ht__body_data(x->body), data, bytes) != 0) {
        ht__kernel_failed(x->body->comm, what);
        return NULL;
    }
    return x;
}

/* This rank's slab of a complete array in host memory. */
static ht_status copy_slab(const char *what, const ht_tensor *x, const void *whole)
{
    ht_body *slab = ht__body_view(x->body); /* inside the caller's memory, that stays its own */
    ht_storage *own = slab->storage;
    ht_status status;

    ht__strides_row_major(slab->ndim, slab->shape, slab->stride);
    slab->offset = slab->split_start * slab->stride[slab->split];
    slab->storage = ht__storage_lend(own->device, (void *)whole, NULL, NULL);
    ht_release(own);
    status = ht__copy_local(what, x->body, slab);
    ht_release(slab);
    return status;
}

static ht_tensor *array(const char *what, const void *data, int ndim, const int64_t shape[],
                        ht_dtype dtype, ht_place place)
{
    ht_device *device = place.device;
    bool whole = place.comm == NULL || place.split == HT_NONE || place.comm->size == 1;
    ht_tensor *x;

    if (!whole)
        place.device = ht__device_cpu();
    x = ht__new_at(what, ndim, shape, dtype, place);
    if (no_data(what, x, data))
        return NULL;
    if (whole)
        return from_host(what, x, data);
    if (x != NULL && x->body->lsize > 0 && copy_slab(what, x, data) != HT_SUCCESS)
        return NULL;
    return ht_to_device(x, device);
}

ht_tensor *ht_array(const void *data, int ndim, const int64_t shape[], ht_dtype dtype, int split)
{
    return array("ht_array", data, ndim, shape, dtype, ht__place_here("ht_array", split));
}

ht_tensor *ht_array_ext(const void *data, int ndim, const int64_t shape[], ht_dtype dtype,
                        int split, ht_device *device, ht_comm *comm)
{
    return array("ht_array_ext", data, ndim, shape, dtype,
                 ht__place_at("ht_array_ext", split, device, comm));
}

/* The description of a rank's part: ndim, the lengths, dtype, split. */
enum { PART_DTYPE = HT_MAX_NDIM + 1, PART_SPLIT, PART_FIELDS };

/* The checks that a rank can make on its own part; fills the record of it. */
static ht_status check_part(const char *what, const void *data, int ndim, const int64_t lshape[],
                            ht_dtype dtype, ht_place *place, int64_t mine[PART_FIELDS])
{
    ht_comm *comm = place->comm;
    int64_t size = 1;

    if (HT_IS_NULL(place->device, what, "device"))
        return ht_error_get(NULL);
    if ((unsigned)dtype >= HT_DTYPE_COUNT)
        return HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: dtype is %d, expected an ht_dtype", what,
                       (int)dtype);
    if (!ht__check_shape(what, comm, ndim, lshape, &place->split))
        return ht_error_get(NULL);
    if (place->split == HT_NONE)
        return HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: split is HT_NONE, expected an axis", what);
    for (int i = 0; i < ndim; i++)
        size *= lshape[i];
    if (size > 0 && data == NULL)
        return HT_FAIL(comm, HT_ERR_ARGUMENT, "%s: data is NULL", what);
    mine[0] = ndim;
    memcpy(mine + 1, lshape, (size_t)ndim * sizeof *lshape);
    mine[PART_DTYPE] = dtype;
    mine[PART_SPLIT] = place->split;
    return HT_SUCCESS;
}

/* Whether all ranks bring one dtype and split, and the same lengths but along the split axis. */
static ht_status compare_part(const char *what, ht_comm *comm, int rank, const int64_t *theirs,
                              const int64_t *first)
{
    const int split = (int)first[PART_SPLIT];

    if (theirs[PART_DTYPE] != first[PART_DTYPE])
        return HT_FAIL(comm, HT_ERR_DTYPE,
                       "%s: the part of rank %d is %s, that of rank 0 is %s, expected the same "
                       "dtype",
                       what, rank, ht_dtype_name((ht_dtype)theirs[PART_DTYPE]),
                       ht_dtype_name((ht_dtype)first[PART_DTYPE]));
    if (theirs[0] == first[0] && theirs[PART_SPLIT] != split)
        return HT_FAIL(comm, HT_ERR_ARGUMENT,
                       "%s: split is %d on rank %d and %d on rank 0, expected the same on all "
                       "ranks",
                       what, (int)theirs[PART_SPLIT], rank, split);
    for (int i = 0; i <= first[0]; i++) {
        if (i != split + 1 && theirs[i] != first[i])
            return HT_FAIL(comm, HT_ERR_SHAPE,
                           "%s: the part of rank %d is %s, that of rank 0 is %s, expected "
                           "shapes that differ along axis %d only",
                           what, rank, ht__shape_str((int)theirs[0], theirs + 1),
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

        status = compare_part(what, comm, rank, theirs, all);
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

static ht_tensor *array_from_local(const char *what, const void *data, int ndim,
                                   const int64_t lshape[], ht_dtype dtype, ht_place place)
{
    int64_t mine[PART_FIELDS] = {0}, shape[HT_MAX_NDIM];
    ht_comm *comm = place.comm;
    ht_bounds *bounds;
    ht_tensor *x = NULL;
    ht_status status;
    bool begun;

    if (comm == NULL)
        return NULL;
    begun = ht__agree_begin();
    status = check_part(what, data, ndim, lshape, dtype, &place, mine);
    if (ht__agree_end(what, comm, begun, status) != HT_SUCCESS)
        return NULL;
    bounds = collect_parts(what, comm, mine, place.split);
    if (bounds == NULL)
        return NULL;
    memcpy(shape, lshape, (size_t)ndim * sizeof *shape);
    shape[place.split] = bounds->start[comm->size];
    if (ht__check_shape(what, comm, ndim, shape, &place.split))
        x = from_host(what,
                      ht__tensor_new(ht__body_new(what, comm, place.device, dtype, ndim, shape,
                                                  place.split, bounds)),
                      data);
    ht_release(bounds);
    return x;
}

ht_tensor *ht_array_from_local(const void *data, int ndim, const int64_t lshape[], ht_dtype dtype,
                               int split)
{
    return array_from_local("ht_array_from_local", data, ndim, lshape, dtype,
                            ht__place_here("ht_array_from_local", split));
}

ht_tensor *ht_array_from_local_ext(const void *data, int ndim, const int64_t lshape[],
                                   ht_dtype dtype, int split, ht_device *device, ht_comm *comm)
{
    static const char what[] = "ht_array_from_local_ext";
    ht_place place = {.comm = comm, .device = device, .split = split};

    return !HT_IS_NULL(comm, what, "comm")
               ? array_from_local(what, data, ndim, lshape, dtype, place)
               : NULL;
}
