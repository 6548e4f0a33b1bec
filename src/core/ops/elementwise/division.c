/* SPDX-License-Identifier: MIT
 *
 * Rows of integer quotients, their remainders and common divisors, and their derivatives. */
#include "core/ops/drivers/drivers.h"
#include "ht/arithmetics.h"

#include "ht/kernels/elementwise.h"
#include "ht/rounding.h"

/* a - b floor(a / b), of the exact quotient. */
static void remainder_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    gin[0] = g;
    if (ht_node_needs(node, 1))
        gin[1] = ht_neg(ht_mul(g, ht_floordiv(ht_node_saved(node, 0), ht_node_saved(node, 1))));
}

/* a - b trunc(a / b), where a / b may be rounded away from 0: the subtracted number is nearly a
 * multiple of b. */
static void fmod_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    ht_tensor *a = ht_node_saved(node, 0), *b = ht_node_saved(node, 1);

    gin[0] = g;
    if (ht_node_needs(node, 1))
        gin[1] = ht_neg(ht_mul(g, ht_round(ht_div(ht_sub(a, ht_fmod(a, b)), b))));
}

/* clang-format off */
HT_BINARY(floordiv, .kernel = HT_KERNEL_FLOORDIV)
HT_BINARY(remainder, .kernel = HT_KERNEL_REMAINDER, .save_operands = true,
          .backward = remainder_backward)
HT_BINARY(fmod, .kernel = HT_KERNEL_FMOD, .save_operands = true, .backward = fmod_backward)
HT_BINARY(gcd, .kernel = HT_KERNEL_GCD)
HT_BINARY(lcm, .kernel = HT_KERNEL_LCM)
/* clang-format on */

ht_status ht_divmod(ht_tensor *a, ht_tensor *b, ht_tensor **quotient, ht_tensor **rest)
{
    ht_broadcast_op floor = floordiv_op, remainder = remainder_op;
    ht_tensor *q, *r;

    floor.name = remainder.name = "ht_divmod";
    if (HT_IS_NULL(a, "ht_divmod", "a") || HT_IS_NULL(b, "ht_divmod", "b") ||
        HT_IS_NULL_ON(a->body->comm, quotient, "ht_divmod", "quotient") ||
        HT_IS_NULL_ON(a->body->comm, rest, "ht_divmod", "rest"))
        return ht_error_get(NULL);
    q = ht__binary(&floor, a, b);
    r = q != NULL ? ht__binary(&remainder, a, b) : NULL;
    if (r == NULL)
        return ht_error_get(NULL);
    *quotient = q;
    *rest = r;
    return HT_SUCCESS;
}
