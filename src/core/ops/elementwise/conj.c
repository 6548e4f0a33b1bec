/* SPDX-License-Identifier: MIT
 *
 * Rows of conjugates and real parts, which derivatives of others need. */
#include "core/ops/drivers/drivers.h"
#include "ht/complex_math.h"

#include "ht/kernels/elementwise.h"

static void conj_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    (void)node;
    gin[0] = ht__conj(g);
}

static const ht_unary_op conj_op = {
    .name = "ht_conj", .kernel = HT_KERNEL_CONJ, .backward = conj_backward};

ht_tensor *ht__conj(ht_tensor *x)
{
    return x != NULL && ht_dtype_is_complex(x->body->dtype) ? ht__unary(&conj_op, x) : x;
}

ht_tensor *ht_conj(ht_tensor *x)
{
    return HT_IS_NULL(x, "ht_conj", "x") ? NULL : ht__conj(x);
}

static void real_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = ht_astype(g, ht__node_input(node, 0)->dtype);
}

static const ht_unary_op real_op = {.name = "ht_real",
                                    .kernel = HT_KERNEL_REAL,
                                    .result = HT_RESULT_REAL,
                                    .backward = real_backward};

ht_tensor *ht_real(ht_tensor *x)
{
    if (HT_IS_NULL(x, "ht_real", "x"))
        return NULL;
    return ht_dtype_is_complex(x->body->dtype) ? ht__unary(&real_op, x) : x;
}
