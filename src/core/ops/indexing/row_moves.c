/* SPDX-License-Identifier: MIT
 *
 * Reading and writing rows of a tensor. If x is not split along an axis with an index, each rank
 * moves its own elements. Indices and values with another split are brought to it first. If x is
 * split along an indexed axis, rows travel between their owners and the ranks that have the indices
 * (row_route.c). This takes one Alltoall of the rows, or none if each rank's indices lie in its own
 * slab; those of a mask do. */
#include <stddef.h>
#include <string.h>

#include "core/collective/collective.h"
#include "core/ops/indexing/rows.h"
#include "core/ops/drivers/drivers.h"
#include "ht/factories.h"
#include "ht/kernels/index.h"
#include "ht/manipulations.h"
#include "ht/relational.h"

/* The parts of an index that a node keeps, in addition to its saved tensors. */
typedef struct row_context {
    ht_row_index index;
    bool add;
} row_context;

static bool is_covered(const ht_body *x, const ht_row_index *index)
{
    for (int i = 0; i < index->axes; i++) {
        if (index->axis[i] == x->split)
            return true;
    }
    return false;
}

/* All of the indices where x is split along other axes. One may be NULL after an error. */
static bool settle_index(const ht_body *x, ht_row_index *index)
{
    const bool all = x->split != HT_NONE && !is_covered(x, index);

    for (int i = 0; i < index->axes; i++) {
        if (all)
            index->at[i] = ht_resplit(index->at[i], HT_NONE);
        if (index->at[i] == NULL)
            return false;
    }
    return true;
}

static bool must_travel(const ht_body *x, const ht_row_index *index)
{
    return x->comm->size > 1 && is_covered(x, index) && !index->own;
}

/* `count` rows one after another, on x's device: what x has along the axes without an index. */
static ht_tensor *new_rows(const char *what, const ht_body *x, const ht_row_index *index,
                           int64_t count)
{
    int64_t shape[HT_MAX_NDIM] = {count};
    int ndim = 1;

    for (int i = 0; i < x->ndim; i++) {
        bool indexed = false;

        for (int k = 0; k < index->axes; k++)
            indexed = indexed || index->axis[k] == i;
        if (!indexed)
            shape[ndim++] = x->lshape[i];
    }
    return ht__tensor_new(
        ht__body_new(what, HT_COMM_SELF, x->storage->device, x->dtype, ndim, shape, HT_NONE, NULL));
}

/* An index of the rows of such a tensor. */
static ht_row_index along_rows(ht_tensor *at)
{
    return (ht_row_index){.axes = 1, .axis = {0}, .at = {at}};
}

/* ---- reading ------------------------------------------------------------------------------- */

static ht_status take_others(const char *what, ht_tensor *x, const ht_row_index *index,
                             ht_tensor *y)
{
    ht_tensor *rows = NULL, *came = NULL;
    ht_row_route route;
    ht_row_index sorted;
    ht_status status = ht__row_route(what, x, index, &route);

    if (status == HT_SUCCESS) {
        route.asked.place = 0;
        rows = new_rows(what, x->body, index, route.serve[x->body->comm->size]);
        status = rows != NULL
                     ? ht__rows_run(what, HT_KERNEL_TAKE, x->body, &route.asked, 1, rows->body)
                     : ht_error_get(NULL);
    }
    if (status == HT_SUCCESS)
        came = ht__comm_deal(x->body->comm, rows, route.serve, route.want, what);
    if (came != NULL) {
        sorted = along_rows(route.position);
        sorted.place = index->place;
        status = ht__rows_run(what, HT_KERNEL_TAKE, came->body, &sorted, index->at[0]->body->ndim,
                              y->body);
    }
    ht__row_route_end(&route);
    return came != NULL ? status : ht_error_get(NULL);
}

static ht_tensor *take(const char *what, ht_tensor *x, ht_row_index *index)
{
    ht_rows_shape shape;
    ht_status status;
    ht_tensor *y;

    if (!settle_index(x->body, index) || !ht__rows_shape(what, x->body, index, &shape))
        return NULL;
    y = ht__tensor_new(ht__body_new(what, x->body->comm, x->body->storage->device, x->body->dtype,
                                    shape.ndim, shape.shape, shape.split, shape.bounds));
    if (y == NULL)
        return NULL;
    status = must_travel(x->body, index) ? take_others(what, x, index, y)
                                         : ht__rows_run(what, HT_KERNEL_TAKE, x->body, index,
                                                        index->at[0]->body->ndim, y->body);
    return status == HT_SUCCESS ? y : NULL;
}

/* ---- writing ------------------------------------------------------------------------------- */

/* Prepares indices for values that are put: all of them if x is not split, otherwise in the order
 * of the ranks. So the last of several rows for a place stays. */
static bool settle_order(const ht_body *x, ht_row_index *index, bool travels)
{
    for (int i = 0; i < index->axes && (x->split == HT_NONE || travels); i++) {
        index->at[i] = ht_resplit(index->at[i], travels ? 0 : HT_NONE);
        if (index->at[i] == NULL)
            return false;
    }
    return true;
}

/* Values in slabs that go with the indices'. Where nothing is split but x, each rank puts what it
 * has a place for. */
static ht_tensor *settle_values(const char *what, const ht_body *x, ht_row_index *index,
                                ht_tensor *values)
{
    const bool alike = values->body->split == HT_NONE && index->at[0]->body->split == HT_NONE;
    const bool travels = must_travel(x, index);
    ht_rows_shape shape;
    ht_body *like;

    if (!settle_order(x, index, travels && !alike) || !ht__rows_shape(what, x, index, &shape))
        return NULL;
    if (travels && alike)
        shape.split = HT_NONE;
    like = ht__body_metadata(values->body);
    like->split = shape.split;
    ht_release(like->bounds);
    like->bounds = ht_retain(shape.bounds);
    ht__body_settle(like);
    values = ht__match_slabs(what, values, like);
    ht_release(like);
    if (values != NULL && index->at[0]->body->ndim > 1)
        values = ht_contiguous(values);
    return values;
}

static ht_status put_others(const char *what, ht_kernel kernel, ht_tensor *x,
                            const ht_row_index *index, ht_tensor *values)
{
    ht_tensor *rows = NULL, *came = NULL;
    ht_row_route route;
    ht_row_index sorted;
    ht_status status = ht__row_route(what, x, index, &route);

    if (status == HT_SUCCESS) {
        sorted = along_rows(route.position);
        sorted.place = index->place;
        rows = new_rows(what, x->body, index, route.want[x->body->comm->size]);
        status = rows != NULL ? ht__rows_run(what, HT_KERNEL_PUT, rows->body, &sorted,
                                             index->at[0]->body->ndim, values->body)
                              : ht_error_get(NULL);
    }
    if (status == HT_SUCCESS)
        came = ht__comm_deal(x->body->comm, rows, route.want, route.serve, what);
    if (came != NULL) {
        route.asked.place = 0;
        status = ht__rows_run(what, kernel, x->body, &route.asked, 1, came->body);
    }
    ht__row_route_end(&route);
    return came != NULL ? status : ht_error_get(NULL);
}

/* y, or a copy of it where it lies in the memory that is written. */
static ht_tensor *without_overlap(const ht_tensor *x, ht_tensor *y)
{
    return y != NULL && x->body->storage == y->body->storage ? ht_copy(y) : y;
}

static ht_status put(const char *what, ht_kernel kernel, ht_tensor *x, ht_row_index *index,
                     ht_tensor *values)
{
    if (!settle_index(x->body, index))
        return ht_error_get(NULL);
    values = ht_astype(values, x->body->dtype);
    values = without_overlap(x,
                             values != NULL ? settle_values(what, x->body, index, values) : NULL);
    for (int i = 0; i < index->axes && values != NULL; i++) {
        index->at[i] = without_overlap(x, index->at[i]);
        if (index->at[i] == NULL)
            return ht_error_get(NULL);
    }
    if (values == NULL)
        return ht_error_get(NULL);
    if (must_travel(x->body, index) && index->at[0]->body->split != HT_NONE)
        return put_others(what, kernel, x, index, values);
    return ht__rows_run(what, kernel, x->body, index, index->at[0]->body->ndim, values->body);
}

/* ---- the graph ----------------------------------------------------------------------------- */

static void keep_index(ht_node *node, const ht_row_index *index, bool add)
{
    row_context *context = ht_node_context(node, sizeof *context);

    if (context == NULL)
        return;
    *context = (row_context){.index = *index, .add = add};
    for (int i = 0; i < index->axes; i++)
        ht_node_save(node, index->at[i]);
}

static ht_row_index kept_index(ht_node *node)
{
    ht_row_index index = ((row_context *)ht_node_context(node, 0))->index;

    for (int i = 0; i < index.axes; i++)
        index.at[i] = ht_node_saved(node, i);
    return index;
}

/* Work on local parts: a rank that fails ends it for all. */
static ht_tensor *take_locally(const char *what, ht_tensor *x, ht_row_index index)
{
    const bool was = ht_set_grad_enabled(false);
    ht_comm *outer = ht__together(x->body->comm);
    ht_tensor *y = take(what, x, &index);

    ht__together_end(outer);
    ht_set_grad_enabled(was);
    return y;
}

static ht_status put_locally(const char *what, ht_tensor *x, ht_row_index index, ht_tensor *values,
                             bool add)
{
    const bool was = ht_set_grad_enabled(false);
    ht_comm *outer = ht__together(x->body->comm);
    ht_status status = put(what, add ? HT_KERNEL_PUT_ADD : HT_KERNEL_PUT, x, &index, values);

    ht__together_end(outer);
    ht_set_grad_enabled(was);
    return status;
}

/* Zeros for the gradient of x, in the memory of its leaf if that may be written. */
static ht_tensor *zeros_for_x(ht_node *node, const ht_tensor *g)
{
    ht_tensor *grad = ht__grad_target(node, 0);

    if (grad == NULL)
        return ht__grad_zeros("ht_getitem", ht__node_input(node, 0), g);
    return ht_fill_(grad, 0) == HT_SUCCESS ? grad : NULL;
}

/* Each row's gradient is added to that of its place. */
static void take_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *whole = zeros_for_x(node, g);

    if (whole != NULL && put_locally("ht_getitem", whole, kept_index(node), g, true) == HT_SUCCESS)
        gin[0] = whole;
}

ht_tensor *ht__take_rows(const char *what, ht_tensor *x, const ht_row_index *index)
{
    ht_tensor *y = take_locally(what, x, *index);
    ht_node *node = y != NULL ? ht_node_new(what, take_backward, 1, &x) : NULL;

    if (node == NULL)
        return y;
    keep_index(node, index, false);
    return ht_node_set_output(node, y);
}

/* Each element's number, of its own on all ranks together. Not a gradient. */
static ht_tensor *numbered(const char *what, const ht_tensor *like)
{
    ht_tensor *y = ht__empty(what, like->body, HT_INT64);
    const int64_t first = like->body->split == HT_NONE ? 0 : (int64_t)like->body->comm->rank << 40;
    ht_tensor *numbers = ht_arange_ext(HT_NUM(first), HT_NUM(first + like->body->lsize), HT_NUM(1),
                                       HT_INT64, HT_NONE, like->body->storage->device,
                                       ht_comm_self());

    if (y == NULL || numbers == NULL ||
        ht_copy_(ht_tensor_local(y), ht_reshape(numbers, like->body->ndim, like->body->lshape)) !=
            HT_SUCCESS)
        return NULL;
    return y;
}

/* The gradient of the values: 0 for those that another value took the place of afterwards. All
 * values are numbered, and the final number at a place shows whose value it is. */
static ht_tensor *surviving(const char *what, const ht_body *x, ht_row_index index, ht_tensor *g)
{
    const bool was = ht_set_grad_enabled(false);
    ht_tensor *numbers = numbered(what, g);
    ht_tensor *last = ht_astype(ht__grad_zeros(what, x, g), HT_INT64), *found = NULL;

    if (numbers != NULL && last != NULL &&
        put_locally(what, last, index, numbers, false) == HT_SUCCESS)
        found = take_locally(what, last, index);
    g = found != NULL ? ht__grad_where(g, ht_eq(found, numbers)) : NULL;
    ht_set_grad_enabled(was);
    return g;
}

/* Inputs: x as it was, and the values, unless they are constant. */
static void put_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    static const char what[] = "ht_setitem_";
    const ht_row_index index = kept_index(node);
    ht_tensor *zero = ht__number_like(what, g, HT_NUM(0), g->body->dtype);
    bool add;

    g = ht__match_slabs(what, g, ht__node_input(node, 0));
    if (g == NULL)
        return;
    add = ((row_context *)ht_node_context(node, 0))->add;
    if (ht_node_needs(node, 1))
        gin[1] = take_locally(what, g, index);
    if (gin[1] != NULL && !add)
        gin[1] = surviving(what, ht__node_input(node, 0), index, gin[1]);
    if (!ht_node_needs(node, 0))
        return;
    gin[0] = g;
    if (add)
        return;
    g = ht_copy(g);
    gin[0] = g != NULL && zero != NULL && ht__put_rows(what, g, &index, zero, false) == HT_SUCCESS
                 ? g
                 : NULL;
}

ht_status ht__put_rows(const char *what, ht_tensor *x, const ht_row_index *index, ht_tensor *values,
                       bool add)
{
    ht_rows_shape shape;
    ht_status status;
    ht_node *node;

    if (!ht__rows_shape(what, x->body, index, &shape))
        return ht_error_get(NULL);
    values = ht__broadcast_to(what, "values", values, shape.ndim, shape.shape);
    if (values == NULL)
        return ht_error_get(NULL);
    if (ht__check_in_place(what, "x", x, values) != HT_SUCCESS ||
        (ht_is_grad_enabled() && !ht__is_current(values) && !ht__catch_up(what, "values", values)))
        return HT_ERR_STATE;
    node = ht_node_new(what, put_backward, 2, (ht_tensor *[]){x, values});
    if (node != NULL)
        keep_index(node, index, add);
    ht__storage_touch(x->body->storage);
    status = put_locally(what, x, *index, values, add);
    if (status == HT_SUCCESS)
        ht__written(what, x, node);
    else
        ht_release(node);
    return status;
}
