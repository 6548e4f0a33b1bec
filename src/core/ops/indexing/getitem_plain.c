/* SPDX-License-Identifier: MIT
 *
 * The elements that a key without tensors selects: a view, and then the moves that it needs. These
 * are a resplit for an integer on the split axis, and a flip for a negative step there. */
#include <stddef.h>
#include <string.h>

#include "core/ops/indexing/key.h"
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

ht_tensor *ht__key_view(const char *what, ht_tensor *x, int count, const ht_index key[],
                        ht_selection *selection)
{
    key_context context;

    if (HT_IS_NULL(x, what, "x") || (count != 0 && HT_IS_NULL(key, what, "key")) ||
        !ht__key_select(what, x->body, count, key, selection))
        return NULL;
    context.count = count;
    if (count > 0)
        memcpy(context.key, key, (size_t)count * sizeof *key);
    return ht__record_view(what, getitem_backward, x, selection->view, &context,
                           offsetof(key_context, key) + (size_t)count * sizeof *key);
}

ht_tensor *ht__getitem_plain(const char *what, ht_tensor *x, int count, const ht_index key[])
{
    ht_selection selection;
    ht_tensor *y = ht__key_view(what, x, count, key, &selection);

    if (y == NULL || (selection.held == HT_NONE && selection.mirrored == HT_NONE))
        return y;
    HT_NAMED(what);
    return selection.held != HT_NONE ? ht_squeeze(y, selection.held)
                                     : ht__flip_axis(what, y, selection.mirrored);
}
