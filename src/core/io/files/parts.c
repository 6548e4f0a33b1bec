/* SPDX-License-Identifier: MIT
 *
 * Parts in files as one tensor. Rank r describes files r, r + P, r + 2P, ..., and one small
 * Allreduce gives the descriptions to all ranks. Then each rank reads the part of each file that
 * lies in its slab. It reads straight into the result if the part is one run of the result's
 * memory, else into a buffer of the part's size. No element is read twice. If the slabs of the
 * split are short runs of the file, the tensor is read split along an outer axis, and then resplit
 * by one exchange. */
#include "core/io/files/file.h"
#include "core/io/files/parts.h"
#include "core/io/files/request.h"

#include <string.h>

#include "ht/autograd.h"
#include "ht/devices.h"
#include "ht/io.h"
#include "ht/manipulations.h"

enum { RECORD = 6 + HT_MAX_NDIM }; /* numbers that describe a part */

static void pack(const ht_file_part *part, int64_t record[])
{
    record[0] = part->dtype;
    record[1] = part->ndim;
    record[2] = part->fortran;
    memcpy(record + 3, part->note, sizeof part->note);
    memcpy(record + 6, part->shape, (size_t)part->ndim * sizeof *record);
}

static void unpack(const int64_t record[], ht_file_part *part)
{
    part->dtype = (ht_dtype)record[0];
    part->ndim = (int)record[1];
    part->fortran = record[2] != 0;
    memcpy(part->note, record + 3, sizeof part->note);
    memcpy(part->shape, record + 6, sizeof part->shape);
}

/* All ranks get the records of all files. */
static ht_status describe(const ht_file_parts *job, int count, ht_file_part parts[])
{
    const ht_comm *comm = job->place.comm;
    int64_t *records = ht__alloc((size_t)count * RECORD * sizeof *records);
    ht_status status = HT_SUCCESS;
    bool begun = ht__agree_begin();

    for (int i = comm->rank; i < count && status == HT_SUCCESS; i += comm->size) {
        status = job->format->describe(job->what, job->dataset, &parts[i]);
        if (status == HT_SUCCESS)
            pack(&parts[i], records + (int64_t)i * RECORD);
    }
    status = ht__agree_end(job->what, job->place.comm, begun, status);
    if (status == HT_SUCCESS)
        status = ht__comm_allreduce_i64(job->place.comm, records, count * RECORD, HT_OP_SUM,
                                        job->what);
    for (int i = 0; i < count && status == HT_SUCCESS; i++)
        unpack(records + (int64_t)i * RECORD, &parts[i]);
    ht__free(records);
    return status;
}

/* The shape of all together, and the dtype; every rank sees the same. */
static ht_status fit(ht_file_parts *job, int count, const ht_file_part parts[], int64_t shape[])
{
    ht_comm *comm = job->place.comm;
    int ndim = parts[0].ndim, axis = job->axis < 0 ? job->axis + ndim : job->axis;
    ht_dtype dtype = parts[0].dtype;
    int64_t rows;

    memcpy(shape, parts[0].shape, sizeof parts[0].shape);
    if (job->is_folder && (axis < 0 || axis >= ndim))
        return HT_FAIL(comm, HT_ERR_ARGUMENT,
                       "%s: axis is %s, expected one of %s, which has %d axes", job->what,
                       ht__int_str(job->axis), parts[0].path, ndim);
    job->axis = axis;
    rows = ndim > 0 ? shape[axis] : 0;
    for (int i = 1; i < count; i++) {
        dtype = ht_promote_types(dtype, parts[i].dtype);
        rows += parts[i].shape[axis];
        shape[axis] = parts[i].shape[axis];
        if (!ht__same_shape(ndim, shape, parts[i].ndim, parts[i].shape))
            return HT_FAIL(comm, HT_ERR_SHAPE,
                           "%s: %s is %s and %s is %s, expected shapes that differ along axis %d "
                           "only",
                           job->what, parts[0].path, ht__shape_str(ndim, parts[0].shape),
                           parts[i].path, ht__shape_str(parts[i].ndim, parts[i].shape), axis);
    }
    if (job->is_folder)
        shape[axis] = rows;
    if (job->dtype == HT_DTYPE_OF_FILE)
        job->dtype = dtype;
    if (ht_dtype_is_complex(dtype) && !ht_dtype_is_complex(job->dtype))
        return HT_FAIL(comm, HT_ERR_DTYPE,
                       "%s: %s has elements of %s, which %s cannot hold, expected a complex dtype",
                       job->what, job->path, ht_dtype_name(dtype), ht_dtype_name(job->dtype));
    return HT_SUCCESS;
}

/* Row-major, or with the first axis innermost. */
static void lay(int ndim, const int64_t shape[], bool fortran, int64_t stride[])
{
    int64_t step = 1;

    for (int k = 0; k < ndim; k++) {
        int i = fortran ? k : ndim - 1 - k;

        stride[i] = step;
        step *= shape[i] > 1 ? shape[i] : 1;
    }
}

/* A part of a body's local part as a view of it. Owned. */
static ht_body *region(const ht_body *of, const int64_t at[], const int64_t count[])
{
    ht_body *view = ht__body_view(of);

    view->lsize = 1;
    for (int i = 0; i < of->ndim; i++) {
        view->offset += at[i] * of->stride[i];
        view->lshape[i] = count[i];
        view->lsize *= count[i];
    }
    return view;
}

static bool is_one_run(const ht_body *view, bool fortran)
{
    int64_t stride[HT_MAX_NDIM];

    lay(view->ndim, view->lshape, fortran, stride);
    for (int i = 0; i < view->ndim; i++) {
        if (view->lshape[i] > 1 && view->stride[i] != stride[i])
            return false;
    }
    return true;
}

/* The slab of a part, in the order of the file's axes, into a view of the result. */
static ht_status read_region(const ht_file_parts *job, const ht_file_part *part,
                             const int64_t start[], ht_body *view)
{
    int64_t count = view->lsize;
    ht_slab slab = {.ndim = part->ndim, .element = ht_dtype_size(part->dtype)};
    ht_status status;

    for (int i = 0; i < part->ndim; i++) {
        int k = part->fortran ? part->ndim - 1 - i : i;

        slab.start[k] = start[i];
        slab.count[k] = view->lshape[i];
    }
    if (view->dtype == part->dtype && is_one_run(view, part->fortran))
        return job->format->read(job->what, job->dataset, part, &slab, ht__body_data(view));

    ht_body *buffer = ht__body_new(job->what, ht_comm_self(), ht__device_cpu(), part->dtype, 1,
                                   &count, HT_NONE, NULL);

    if (buffer == NULL)
        return ht_error_get(NULL);
    status = job->format->read(job->what, job->dataset, part, &slab, ht__body_data(buffer));
    buffer->ndim = part->ndim;
    memcpy(buffer->lshape, view->lshape, sizeof view->lshape);
    lay(part->ndim, view->lshape, part->fortran, buffer->stride);
    if (status == HT_SUCCESS)
        status = ht__copy_local(job->what, view, buffer);
    ht_release(buffer);
    return status;
}

/* Reads from one part the range in this rank's slab. The part begins at index `first` of the axis.
 */
static ht_status read_part(const ht_file_parts *job, const ht_file_part *part, int64_t first,
                           const ht_body *to)
{
    int64_t start[HT_MAX_NDIM] = {0}, at[HT_MAX_NDIM] = {0}, count[HT_MAX_NDIM] = {0};
    ht_status status = HT_SUCCESS;
    ht_body *view;

    for (int i = 0; i < to->ndim; i++) {
        int64_t mine = i == to->split ? to->split_start : 0, origin = i == job->axis ? first : 0;
        int64_t low = mine > origin ? mine : origin, high = mine + to->lshape[i];

        if (high > origin + part->shape[i])
            high = origin + part->shape[i];
        if (low >= high)
            return HT_SUCCESS;
        start[i] = low - origin;
        at[i] = low - mine;
        count[i] = high - low;
    }
    view = region(to, at, count);
    status = read_region(job, part, start, view);
    ht_release(view);
    return status;
}

/* The axis to read along: as the bytes of the first part lie. */
static int reading_axis(const ht_file_parts *job, const ht_file_part *part, const int64_t shape[],
                        int split)
{
    int ndim = part->ndim, found;
    int64_t turned[HT_MAX_NDIM];

    if (ndim == 0)
        return split;
    for (int i = 0; i < ndim; i++)
        turned[i] = part->fortran ? shape[ndim - 1 - i] : shape[i];
    if (split == HT_NONE)
        return part->fortran ? ndim - 1 : 0;
    found = ht__slab_axis(job->place.comm, ndim, turned, ht_dtype_size(part->dtype),
                          part->fortran ? ndim - 1 - split : split);
    return part->fortran ? ndim - 1 - found : found;
}

static ht_tensor *read_all(const ht_file_parts *job, int count, const ht_file_part parts[],
                           const int64_t shape[])
{
    ht_comm *comm = job->place.comm;
    int split = job->place.split, ndim = parts[0].ndim;

    if (!ht__check_shape(job->what, comm, ndim, shape, &split))
        return NULL;

    int axis = reading_axis(job, &parts[0], shape, split);
    ht_tensor *x = ht__tensor_new(
        ht__body_new(job->what, comm, ht__device_cpu(), job->dtype, ndim, shape, axis, NULL));
    ht_status status = HT_SUCCESS;
    int64_t first = 0;

    if (x == NULL)
        return NULL;
    ht_comm *outer = ht__together(comm);
    bool begun = ht__agree_begin();

    for (int i = 0; i < count && status == HT_SUCCESS; i++) {
        status = read_part(job, &parts[i], first, x->body);
        first += parts[i].shape[ndim > 0 ? job->axis : 0];
    }
    ht__together_end(outer);
    if (ht__agree_end(job->what, comm, begun, status) != HT_SUCCESS)
        return NULL;
    return ht_to_device(ht_resplit(x, split), job->place.device);
}

static ht_status check_arguments(const ht_file_parts *job)
{
    const int split = job->place.split;

    if (HT_IS_NULL(job->place.device, job->what, "device") ||
        HT_IS_NULL(job->path, job->what,
                   job->is_folder && job->format->has_sets ? "folder" : "path") ||
        (job->format->has_sets && HT_IS_NULL(job->dataset, job->what, "dataset")))
        return ht_error_get(NULL);
    if ((unsigned)job->dtype > HT_DTYPE_OF_FILE)
        return ht__error_set(HT_ERR_ARGUMENT,
                             "%s: dtype is %d, expected an ht_dtype or HT_DTYPE_OF_FILE", job->what,
                             (int)job->dtype);
    if (split == HT_LOCAL)
        return ht__error_set(
            HT_ERR_ARGUMENT,
            "%s: split is HT_LOCAL with a communicator, expected HT_NONE and HT_COMM_SELF",
            job->what);
    return HT_SUCCESS;
}

static ht_tensor *load_files(ht_file_parts *job, const char *paths, int count)
{
    ht_file_part *parts = ht__alloc((size_t)count * sizeof *parts);
    int64_t shape[HT_MAX_NDIM];
    ht_tensor *x = NULL;

    for (int i = 0; i < count; i++) {
        parts[i].path = paths;
        paths += strlen(paths) + 1;
    }
    if (describe(job, count, parts) == HT_SUCCESS && fit(job, count, parts, shape) == HT_SUCCESS)
        x = read_all(job, count, parts, shape);
    ht__free(parts);
    return x;
}

/* A file that one rank alone cannot read is an error on all: each looks by itself. */
static ht_tensor *load(ht_file_parts *job)
{
    char *list;
    int count = 1;
    ht_tensor *x;

    if (!job->is_folder) {
        bool begun = ht__agree_begin();

        if (ht__agree_end(job->what, job->place.comm, begun,
                          ht__file_check(job->what, job->path)) != HT_SUCCESS)
            return NULL;
        return load_files(job, job->path, 1);
    }
    list = ht__folder_list(job->what, job->place.comm, job->path, job->format->suffixes, &count);
    if (list == NULL)
        return NULL;
    x = load_files(job, list, count);
    ht__free(list);
    return x;
}

ht_tensor *ht__parts_load(ht_file_parts *job)
{
    HT_NAMED(job->what);
    ht_comm *comm = job->place.comm;
    bool begun, grad;
    ht_status status;
    ht_tensor *x;

    if (comm == NULL)
        return NULL;
    begun = ht__agree_begin();
    status = check_arguments(job);
    ht__begin(comm, (ht_call){.what = job->what, .refused = status != HT_SUCCESS});
    if (ht__request_agree(job->what, comm, begun, status, 3,
                          (ht_agreed_argument[]){{"dtype", (int)job->dtype},
                                                 {"split", job->place.split},
                                                 {"axis", job->axis}}) != HT_SUCCESS)
        return NULL;

    ht_scope *scope = ht_scope_open();

    grad = ht_set_grad_enabled(false);
    x = load(job);
    ht_set_grad_enabled(grad);
    return ht_scope_return(scope, x);
}
