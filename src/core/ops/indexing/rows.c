/* SPDX-License-Identifier: MIT
 *
 * The places of rows in a tensor and in a result, for the kernels that move them. */
#include "core/ops/indexing/rows.h"
#include "ht/kernels/index.h"

static bool has_index(const ht_row_index *index, int axis)
{
    for (int i = 0; i < index->axes; i++) {
        if (index->axis[i] == axis)
            return true;
    }
    return false;
}

int ht__rows_axis(const ht_row_index *index, int axis)
{
    int at = 0;

    for (int i = 0; i < axis; i++)
        at += !has_index(index, i);
    return at < index->place ? at : at + index->at[0]->body->ndim;
}

bool ht__rows_shape(const char *what, const ht_body *x, const ht_row_index *index,
                    ht_rows_shape *shape)
{
    const ht_body *at = index->at[0]->body;
    const bool covered = x->split != HT_NONE && has_index(index, x->split);

    *shape = (ht_rows_shape){.ndim = x->ndim - index->axes + at->ndim, .split = HT_NONE};
    if (shape->ndim > HT_MAX_NDIM) {
        HT_FAIL(x->comm, HT_ERR_ARGUMENT, "%s: the result would have more than %d axes", what,
                HT_MAX_NDIM);
        return false;
    }
    for (int i = 0; i < at->ndim; i++)
        shape->shape[index->place + i] = at->shape[i];
    for (int i = 0; i < x->ndim; i++) {
        if (!has_index(index, i))
            shape->shape[ht__rows_axis(index, i)] = x->shape[i];
    }
    if (x->split != HT_NONE && !covered) {
        shape->split = ht__rows_axis(index, x->split);
        shape->bounds = x->bounds;
    } else if (at->split != HT_NONE) {
        shape->split = index->place + at->split;
        shape->bounds = at->bounds;
    } else if (covered) {
        shape->split = index->place;
    }
    return true;
}

/* Along the axes without an index: x's strides, and those of the rows. */
static void fill_loop(ht_index_call *call, const ht_body *x, const ht_row_index *index,
                      int index_ndim, const ht_body *rows, bool take)
{
    ht_operand operands[2] = {{0}};
    ht_reach beyond[2] = {{0}};
    ht_operand *of_x = &operands[take ? 1 : 0], *of_rows = &operands[take ? 0 : 1];
    int64_t shape[HT_MAX_NDIM];
    int ndim = 0;

    of_x->data = ht__body_data(x);
    of_rows->data = ht__body_data(rows);
    of_x->dtype = of_rows->dtype = x->dtype;
    for (int i = 0; i < x->ndim; i++) {
        if (has_index(index, i))
            continue;
        shape[ndim] = x->lshape[i];
        of_x->stride[ndim] = x->stride[i];
        of_rows->stride[ndim] = rows->stride[ndim < index->place ? ndim : ndim + index_ndim];
        ndim++;
    }
    ht__loop_fill(&call->loop, ndim, shape, 2, operands);
    for (int i = 0; i < call->axes; i++) {
        if (call->axis[i].count > 0)
            ht__reach_along(&beyond[take ? 1 : 0], call->axis[i].count, call->axis[i].stride);
    }
    ht__reach_along(&beyond[take ? 0 : 1], call->rows, call->row_step);
    ht__loop_reach(&call->loop, x->storage->device, 2, operands, beyond);
}

static int64_t last_stride(const ht_body *body, int axis, int count)
{
    for (int i = axis + count - 1; i >= axis; i--) {
        if (body->lshape[i] != 1)
            return body->stride[i];
    }
    return 0;
}

ht_status ht__rows_run(const char *what, ht_kernel kernel, const ht_body *x,
                       const ht_row_index *index, int index_ndim, const ht_body *rows)
{
    ht_index_call call = {.rows = index->at[0]->body->lsize, .axes = index->axes};

    if (call.rows == 0 || rows->lsize == 0)
        return HT_SUCCESS;
    call.row_step = last_stride(rows, index->place, index_ndim);
    for (int i = 0; i < index->axes; i++) {
        const ht_body *at = index->at[i]->body;
        const int axis = index->axis[i];

        call.axis[i] = (ht_indexed_axis){.at = ht__operand_of(at, HT_READ),
                                         .at_step = last_stride(at, 0, at->ndim),
                                         .length = x->shape[axis],
                                         .start = axis == x->split ? x->split_start : 0,
                                         .count = x->lshape[axis],
                                         .stride = x->stride[axis]};
    }
    fill_loop(&call, x, index, index_ndim, rows, kernel == HT_KERNEL_TAKE);
    call.loop.call.table = offsetof(ht_index_call, axis);
    call.loop.call.rows = (uint32_t)index->axes;
    call.loop.call.row_bytes = sizeof(ht_indexed_axis);
    call.loop.call.row_operands = 1;
    return HT_LAUNCH(x->comm, x->storage->device, kernel, x->dtype, &call, what);
}
