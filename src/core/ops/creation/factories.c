/* SPDX-License-Identifier: MIT
 *
 * Tensors without input, and from numbers. */
#include "core/ops/ops.h"
#include "ht/factories.h"

#include <math.h>
#include <string.h>

#include "ht/arithmetics.h"
#include "ht/manipulations.h"

static ht_tensor *filled(const char *what, ht_tensor *x, ht_number value)
{
    return x != NULL && ht__fill_local(what, x->body, value) == HT_SUCCESS ? x : NULL;
}

static ht_tensor *full(const char *what, int ndim, const int64_t shape[], ht_number value,
                       ht_dtype dtype, ht_place place)
{
    return filled(what, ht__new_at(what, ndim, shape, dtype, place), value);
}

static ht_tensor *full_here(const char *what, int ndim, const int64_t shape[], double value,
                            ht_dtype dtype, int split)
{
    return full(what, ndim, shape, ht_number_real(value), dtype, ht__place_here(what, split));
}

ht_tensor *ht_empty(int ndim, const int64_t shape[], ht_dtype dtype, int split)
{
    return ht__new_at("ht_empty", ndim, shape, dtype, ht__place_here("ht_empty", split));
}

ht_tensor *ht_empty_ext(int ndim, const int64_t shape[], ht_dtype dtype, int split,
                        ht_device *device, ht_comm *comm)
{
    static const char what[] = "ht_empty_ext";

    return ht__new_at(what, ndim, shape, dtype, ht__place_at(what, split, device, comm));
}

ht_tensor *ht_zeros(int ndim, const int64_t shape[], ht_dtype dtype, int split)
{
    return full_here("ht_zeros", ndim, shape, 0, dtype, split);
}

ht_tensor *ht_zeros_ext(int ndim, const int64_t shape[], ht_dtype dtype, int split,
                        ht_device *device, ht_comm *comm)
{
    static const char what[] = "ht_zeros_ext";

    return full(what, ndim, shape, HT_NUM(0), dtype, ht__place_at(what, split, device, comm));
}

ht_tensor *ht_ones(int ndim, const int64_t shape[], ht_dtype dtype, int split)
{
    return full_here("ht_ones", ndim, shape, 1, dtype, split);
}

ht_tensor *ht_ones_ext(int ndim, const int64_t shape[], ht_dtype dtype, int split,
                       ht_device *device, ht_comm *comm)
{
    static const char what[] = "ht_ones_ext";

    return full(what, ndim, shape, HT_NUM(1), dtype, ht__place_at(what, split, device, comm));
}

ht_tensor *ht_full(int ndim, const int64_t shape[], double value, ht_dtype dtype, int split)
{
    return full_here("ht_full", ndim, shape, value, dtype, split);
}

ht_tensor *ht_full_ext(int ndim, const int64_t shape[], ht_number value, ht_dtype dtype, int split,
                       ht_device *device, ht_comm *comm)
{
    static const char what[] = "ht_full_ext";

    return full(what, ndim, shape, value, dtype, ht__place_at(what, split, device, comm));
}

static ht_tensor *like(const char *what, ht_tensor *x)
{
    return !HT_IS_NULL(x, what, "x") ? ht__empty(what, x->body, x->body->dtype) : NULL;
}

static ht_tensor *like_of(const char *what, ht_tensor *x, ht_dtype dtype)
{
    if (HT_IS_NULL(x, what, "x"))
        return NULL;
    if ((unsigned)dtype >= HT_DTYPE_COUNT) {
        HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: dtype is %d, expected an ht_dtype", what,
                (int)dtype);
        return NULL;
    }
    return ht__empty(what, x->body, dtype);
}

ht_tensor *ht_empty_like(ht_tensor *x)
{
    return like("ht_empty_like", x);
}

ht_tensor *ht_empty_like_ext(ht_tensor *x, ht_dtype dtype)
{
    return like_of("ht_empty_like_ext", x, dtype);
}

ht_tensor *ht_zeros_like(ht_tensor *x)
{
    return filled("ht_zeros_like", like("ht_zeros_like", x), HT_NUM(0));
}

ht_tensor *ht_zeros_like_ext(ht_tensor *x, ht_dtype dtype)
{
    return filled("ht_zeros_like_ext", like_of("ht_zeros_like_ext", x, dtype), HT_NUM(0));
}

ht_tensor *ht_ones_like(ht_tensor *x)
{
    return filled("ht_ones_like", like("ht_ones_like", x), HT_NUM(1));
}

ht_tensor *ht_ones_like_ext(ht_tensor *x, ht_dtype dtype)
{
    return filled("ht_ones_like_ext", like_of("ht_ones_like_ext", x, dtype), HT_NUM(1));
}

ht_tensor *ht_full_like(ht_tensor *x, double value)
{
    return filled("ht_full_like", like("ht_full_like", x), ht_number_real(value));
}

ht_tensor *ht_full_like_ext(ht_tensor *x, ht_number value, ht_dtype dtype)
{
    return filled("ht_full_like_ext", like_of("ht_full_like_ext", x, dtype), value);
}

static ht_tensor *new_eye(const char *what, int64_t rows, int64_t columns, ht_dtype dtype,
                          ht_place place)
{
    int64_t shape[2] = {rows, columns}, row_start, column_start;
    ht_tensor *eye;
    ht_body *diagonal;

    if (place.comm != NULL && (!ht__check_length(what, place.comm, "rows", rows) ||
                               !ht__check_length(what, place.comm, "columns", columns)))
        return NULL;
    eye = full(what, 2, shape, HT_NUM(0), dtype, place);
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
    ht_status status = ht__fill_local(what, diagonal, HT_NUM(1));
    ht_release(diagonal);
    return status == HT_SUCCESS ? eye : NULL;
}

ht_tensor *ht_eye(int64_t rows, int64_t columns, ht_dtype dtype, int split)
{
    return new_eye("ht_eye", rows, columns, dtype, ht__place_here("ht_eye", split));
}

ht_tensor *ht_eye_ext(int64_t rows, int64_t columns, ht_dtype dtype, int split, ht_device *device,
                      ht_comm *comm)
{
    return new_eye("ht_eye_ext", rows, columns, dtype,
                   ht__place_at("ht_eye_ext", split, device, comm));
}
