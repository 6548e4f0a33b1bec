/* SPDX-License-Identifier: MIT
 *
 * Reading and writing what a key names. A key becomes a view; what then has to travel does so by a
 * resplit (an integer where x is split) or a flip (a split axis in the other direction). */
#include <stddef.h>
#include <string.h>

#include "core/ops/key.h"
#include "ht/indexing.h"
#include "ht/manipulations.h"

typedef struct key_context {
    int count;
    ht_index key[HT_KEY_ITEMS];
} key_context;

/* Zeros with the gradient in the place that was looked at. */
static void getitem_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const key_context *context = ht_node_context(node, 0);
    ht_tensor *whole = ht__grad_zeros("ht_getitem", ht__node_input(node, 0), g);
    ht_selection selection;
    ht_tensor *part;

    if (whole == NULL ||
        !ht__key_select("ht_getitem", whole->body, context->count, context->key, &selection))
        return;
    part = ht__tensor_view(selection.view);
    if (ht_copy_(part, g) == HT_SUCCESS)
        gin[0] = whole;
}

/* What the key names as a view of x, as far as that goes without moving anything. */
static ht_tensor *select_view(const char *what, ht_tensor *x, int count, const ht_index key[],
                              ht_selection *selection)
{
    key_context context;

    if (HT_IS_NULL(x, what, "x") || (count != 0 && HT_IS_NULL(key, what, "the key")) ||
        !ht__key_select(what, x->body, count, key, selection))
        return NULL;
    context.count = count;
    if (count > 0)
        memcpy(context.key, key, (size_t)count * sizeof *key);
    return ht__record_view(what, getitem_backward, x, selection->view, &context,
                           offsetof(key_context, key) + (size_t)count * sizeof *key);
}

ht_tensor *ht__getitem(const char *what, ht_tensor *x, int count, const ht_index key[])
{
    ht_selection selection;
    ht_tensor *y = select_view(what, x, count, key, &selection);

    if (y != NULL && selection.held != HT_NONE)
        return ht_squeeze(y, selection.held);
    if (y != NULL && selection.mirrored != HT_NONE)
        return ht__flip_axis(what, y, selection.mirrored);
    return y;
}

ht_tensor *ht_getitem(ht_tensor *x, int count, const ht_index key[])
{
    return ht__getitem("ht_getitem", x, count, key);
}

/* The values' own axis that broadcasts to the place's `axis`; below 0 where there is none. */
static int own_axis(const ht_tensor *values, const ht_tensor *place, int axis)
{
    return axis - (ht_tensor_ndim(place) - ht_tensor_ndim(values));
}

/* The values have the axes of ht_getitem's result: what the place has besides them, or in another
 * direction, is made good. */
static ht_tensor *fit_values(const char *what, ht_tensor *values, const ht_tensor *place,
                             const ht_selection *selection)
{
    const int ndim = ht_tensor_ndim(place) - (selection->held != HT_NONE);
    int axis;

    while (values != NULL && values->body->ndim > ndim && values->body->shape[0] == 1)
        values = ht_squeeze(values, 0);
    if (values == NULL)
        return NULL;
    if (selection->held != HT_NONE) {
        axis = own_axis(values, place, selection->held) + 1;
        return axis > 0 ? ht_expand_dims(values, axis) : values;
    }
    if (selection->mirrored != HT_NONE) {
        axis = own_axis(values, place, selection->mirrored);
        return axis >= 0 ? ht__flip_axis(what, values, axis) : values;
    }
    return values;
}

static ht_status write_values(const char *what, ht_tensor *place, ht_tensor *values,
                              const ht_selection *selection)
{
    if (values->body->number != NULL)
        return ht__fill_into(what, place, *values->body->number);
    if (!ht__check_together_as(what, "x", place, "values", values))
        return ht_error_get(NULL);
    values = fit_values(what, values, place, selection);
    if (values == NULL)
        return ht_error_get(NULL);
    return ht__replace_values(
        what, place,
        ht__broadcast_to(what, "values", values, place->body->ndim, place->body->shape));
}

ht_status ht_setitem_(ht_tensor *x, int count, const ht_index key[], ht_tensor *values)
{
    static const char what[] = "ht_setitem_";
    ht_selection selection;
    ht_scope *scope;
    ht_tensor *place;
    ht_status status;

    if (HT_IS_NULL(values, what, "values"))
        return ht_error_get(NULL);
    scope = ht_scope_open();
    place = select_view(what, x, count, key, &selection);
    status = place != NULL ? write_values(what, place, values, &selection) : ht_error_get(NULL);
    ht_scope_close(scope);
    return status;
}
