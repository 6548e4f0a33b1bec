/* SPDX-License-Identifier: MIT
 *
 * Refusals of test_operands.c: attention. */
#ifndef HT_NN_FUNCTIONAL_REFUSALS_ATTENTION_H
#define HT_NN_FUNCTIONAL_REFUSALS_ATTENTION_H

/* clang-format off */
#define REFUSED_ATTENTION "ht_scaled_dot_product_attention_ext"
#define ATTENTION_REFUSALS \
    {REFUSED_ATTENTION, "query", ONE_MORE, "query is (4, 3, 2, 1), key is (4, 5, 2), expected (..., L, E) and (..., S, E)"}, \
    {REFUSED_ATTENTION, "query", LONGER, "query is (5, 3, 2), key is (4, 5, 2): the leading axes do not broadcast"}, \
    {REFUSED_ATTENTION, "query", SPLIT, "query is split along axis 2; only the batch axis (0) may be split"}, \
    {REFUSED_ATTENTION, "key", OTHER_DTYPE, "query is float64, key is float32"}, \
    {REFUSED_ATTENTION, "key", ONE_MORE, "query is (4, 3, 2), key is (4, 5, 2, 1), expected (..., L, E) and (..., S, E)"}, \
    {REFUSED_ATTENTION, "key", LONGER, "query is (4, 3, 2), key is (5, 5, 2): the leading axes do not broadcast"}, \
    {REFUSED_ATTENTION, "key", SPLIT, "key is split along axis 2; only the batch axis (0) may be split"}, \
    {REFUSED_ATTENTION, "value", OTHER_DTYPE, "query is float64, value is float32"}, \
    {REFUSED_ATTENTION, "value", ONE_MORE, "key is (4, 5, 2), value is (4, 5, 3, 1), expected (..., S, E) and (..., S, Ev)"}, \
    {REFUSED_ATTENTION, "value", LONGER, "query is (4, 3, 2), value is (5, 5, 3): the leading axes do not broadcast"}, \
    {REFUSED_ATTENTION, "value", SPLIT, "value is split along axis 2; only the batch axis (0) may be split"}, \
    {REFUSED_ATTENTION, "attn_mask", ONE_MORE, "query is (4, 3, 2), attn_mask is (3, 5, 1): it does not broadcast to (..., L, S)"}, \
    {REFUSED_ATTENTION, "attn_mask", LONGER, "query is (4, 3, 2), attn_mask is (4, 5): it does not broadcast to (..., L, S)"}, \
    {REFUSED_ATTENTION, "attn_mask", SPLIT, "attn_mask is split along axis 1; only the batch axis (0) may be split"}
/* clang-format on */

#endif
