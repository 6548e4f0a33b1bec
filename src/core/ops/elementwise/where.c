/* SPDX-License-Identifier: MIT
 *
 * Elements chosen by a mask. */
#include "core/ops/drivers/drivers.h"
#include "ht/indexing.h"

#include "ht/factories.h"
#include "ht/kernels/elementwise.h"

static void where_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *mask = ht_node_saved(node, 0), *zero = ht_scalar(0);

    if (ht_node_needs(node, 1))
        gin[1] = ht_where(mask, g, zero);
    if (ht_node_needs(node, 2))
        gin[2] = ht_where(mask, zero, g);
}

static const ht_broadcast_op where_op = {.name = "ht_where",
                                         .kernel = HT_KERNEL_WHERE,
                                         .masked = true,
                                         .save_operands = true,
                                         .backward = where_backward};

ht_tensor *ht_where(ht_tensor *mask, ht_tensor *a, ht_tensor *b)
{
    ht_tensor *const in[3] = {mask, a, b};

    return ht__broadcast(&where_op, 3, in, NULL);
}
