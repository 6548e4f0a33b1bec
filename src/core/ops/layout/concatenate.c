/* SPDX-License-Identifier: MIT
 *
 * Concatenation: each operand is copied to its place in the result. Along the split axis, one
 * exchange of each operand with the slabs of the result's narrowed view moves its elements. All
 * exchanges run at once. */
#include <stdio.h>

#include <string.h>

#include "core/ops/ops.h"
#include "ht/factories.h"
#include "ht/manipulations.h"

static void concatenate_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    int axis = *(int *)ht_node_context(node, 0), count = *((int *)ht_node_context(node, 0) + 1);
    int64_t start = 0;

    for (int i = 0; i < count; i++) {
        int64_t length = ht__node_input(node, i)->shape[axis];

        if (ht_node_needs(node, i))
            gin[i] = ht_narrow(g, axis, start, start + length);
        start += length;
    }
}

static bool fits(const char *what, ht_tensor *first, ht_tensor *x, int index, int axis)
{
    const ht_body *a = first->body, *b = x->body;
    bool same = a->ndim == b->ndim;
    char name[32];

    for (int i = 0; same && i < a->ndim; i++)
        same = i == axis || a->shape[i] == b->shape[i];
    if (!same)
        HT_FAIL(a->comm, HT_ERR_SHAPE,
                "%s: operand 0 is %s, operand %d is %s: only axis %d may differ", what,
                ht__shape_str(a->ndim, a->shape), index, ht__shape_str(b->ndim, b->shape), axis);
    snprintf(name, sizeof name, "operand %d", index);
    return same && ht__check_together_as(what, "operand 0", first, name, x);
}

static ht_tensor *new_result(const char *what, int count, ht_tensor *const xs[], int axis)
{
    const ht_body *first = xs[0]->body;
    int64_t shape[HT_MAX_NDIM], length = 0;
    ht_dtype dtype = first->dtype;
    int split = HT_NONE;

    for (int i = 0; i < count; i++) {
        if (!fits(what, xs[0], xs[i], i, axis))
            return NULL;
        if (__builtin_add_overflow(length, xs[i]->body->shape[axis], &length))
            length = INT64_MAX;
        dtype = ht_promote_types(dtype, xs[i]->body->dtype);
        split = split == HT_NONE ? xs[i]->body->split : split;
    }
    memcpy(shape, first->shape, sizeof shape);
    shape[axis] = length;
    return ht__tensor_new(ht__body_new(what, first->comm, first->storage->device, dtype,
                                       first->ndim, shape, split, NULL));
}

/* Whether elements go to other ranks: they are received where they belong. */
static bool moves(const ht_body *from, const ht_body *to)
{
    return to->split != HT_NONE && from->split == to->split && from->dtype == to->dtype &&
           from->comm == to->comm && !ht__body_same_slabs(from, to);
}

/* All that travels is under way before anyone waits. */
static ht_status copy_parts(ht_tensor *y, int count, ht_tensor *const xs[], int axis)
{
    ht_request **requests = ht__alloc((size_t)count * sizeof *requests);
    ht_status status = HT_SUCCESS;
    int64_t start = 0;

    for (int i = 0; i < count && status == HT_SUCCESS; i++) {
        int64_t stop = start + xs[i]->body->shape[axis];
        ht_tensor *place = ht_narrow(y, axis, start, stop);

        if (!moves(xs[i]->body, place->body)) {
            status = ht_copy_(place, xs[i]);
        } else {
            requests[i] = ht__post_slabs("ht_concatenate", xs[i], place);
            status = requests[i] != NULL ? HT_SUCCESS : ht_error_get(NULL);
        }
        start = stop;
    }
    for (int i = 0; i < count; i++) {
        ht_status part = requests[i] != NULL ? ht_wait(&requests[i]) : HT_SUCCESS;

        status = status != HT_SUCCESS ? status : part;
    }
    ht__free(requests);
    return status;
}

bool ht__check_operands(const char *what, int count, ht_tensor *const xs[])
{
    char name[32];

    if (count < 1) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: count is %d, expected at least 1", what, count);
        return false;
    }
    if (HT_IS_NULL(xs, what, "xs"))
        return false;
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "xs[%d]", i);
        if (HT_IS_NULL(xs[i], what, name))
            return false;
    }
    return true;
}

ht_tensor *ht__concatenate(const char *what, int count, ht_tensor *const xs[], int axis)
{
    ht_tensor *y;
    ht_node *node;
    ht_status status;
    bool was;

    if (!ht__check_operands(what, count, xs) ||
        !ht__check_axis_of(what, "axis", "xs[0]", xs[0], &axis))
        return NULL;
    y = new_result(what, count, xs, axis);
    if (y == NULL)
        return NULL;
    was = ht_set_grad_enabled(false);
    status = copy_parts(y, count, xs, axis);
    ht_set_grad_enabled(was);
    if (status != HT_SUCCESS)
        return NULL;
    node = ht_node_new(what, concatenate_backward, count, xs);
    if (node == NULL)
        return y;
    int *context = ht_node_context(node, 2 * sizeof(int));
    context[0] = axis;
    context[1] = count;
    return ht_node_set_output(node, y);
}

ht_tensor *ht_concatenate(int count, ht_tensor *const xs[], int axis)
{
    return ht__concatenate("ht_concatenate", count, xs, axis);
}
