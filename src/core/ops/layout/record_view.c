/* SPDX-License-Identifier: MIT
 *
 * Views in the graph. */
#include <string.h>

#include "core/ops/ops.h"

ht_tensor *ht__record_view(const char *what, ht_backward_fn *backward, ht_tensor *x, ht_body *body,
                           const void *context, size_t bytes)
{
    ht_tensor *y = ht__tensor_view(body);
    ht_node *node = ht_node_new(what, backward, 1, &x);

    ht__set_base(y, x);
    if (node == NULL)
        return y;
    if (bytes > 0)
        memcpy(ht_node_context(node, bytes), context, bytes);
    return ht_node_set_output(node, y);
}
