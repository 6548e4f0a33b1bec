/* SPDX-License-Identifier: MIT
 *
 * loss[i] = -log_probs[i][target[i]], its mean or its sum. The target is all that is kept. */
#include "nn/functional/losses/nll.h"

#include "core/ops/ops.h"
#include "ht/kernels/nn.h"
#include "nn/functional/functional.h"
#include "nn/functional/losses/losses.h"

enum { LOG_PROBS, TARGET, OPERANDS };

/* The target is laid out when it has come to the rows' ranks. */
static const ht_operand_rule nll_rules[OPERANDS] = {
    {"log_probs", "NC", HT_DTYPE_FLOATING, HT_SPLIT_BATCH, HT_LAYOUT_ROWS, HT_CAST_HIGH,
     HT_REQUIRED},
    {"target", "N", HT_DTYPE_INTEGER, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_INDEX, HT_REQUIRED},
};

static ht_rows_call rows_of(const ht_tensor *x, const ht_tensor *target, int64_t ignore)
{
    return (ht_rows_call){.call.operands = 4,
                          .target = ht__operand_of(target->body, HT_READ),
                          .rows = x->body->lshape[0],
                          .columns = x->body->lshape[1],
                          .ignore = ignore};
}

static void nll_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const int64_t ignore = *(int64_t *)ht_node_context(node, sizeof ignore);
    ht_tensor *target = ht_node_saved(node, 0), *dloss = ht_contiguous(g), *dx;

    if (target == NULL || dloss == NULL)
        return;
    dx = ht__input_grad("ht_nll_loss", node, 0, dloss);
    if (dx == NULL)
        return;

    ht_rows_call rows = rows_of(dx, target, ignore);
    rows.dy = ht__operand_of(dloss->body, HT_READ);
    rows.x = ht__operand_of(dx->body, HT_WRITE);
    if (dx->body->lsize > 0 &&
        HT_RUN(dx, HT_KERNEL_NLL_BACKWARD, &rows, "ht_nll_loss") != HT_SUCCESS)
        return;
    gin[0] = dx;
}

ht_tensor *ht__nll_of_rows(const char *what, ht_tensor *x, ht_tensor *target, int64_t ignore)
{
    ht_tensor *loss;
    ht_node *node;

    x = ht_contiguous(x);
    if (x == NULL || target == NULL)
        return NULL;

    if (!ht__has_kernel(what, x, HT_KERNEL_NLL_FORWARD))
        return NULL;
    loss = ht__batch_result(what, x, x->body->dtype, 1, x->body->shape);
    if (loss == NULL)
        return NULL;
    target = ht__match_slabs(what, target, loss->body);
    target = ht_contiguous(target);
    if (target == NULL)
        return NULL;

    ht_rows_call rows = rows_of(x, target, ignore);
    rows.x = ht__operand_of(x->body, HT_READ);
    rows.y = ht__operand_of(loss->body, HT_WRITE);
    if (rows.rows > 0 && HT_RUN(x, HT_KERNEL_NLL_FORWARD, &rows, what) != HT_SUCCESS)
        return NULL;
    node = ht_node_new("ht_nll_loss", nll_backward, HT_LIST(ht_tensor *, x));
    ht_node_save(node, target);
    if (node != NULL)
        *(int64_t *)ht_node_context(node, sizeof ignore) = ignore;
    return ht_node_set_output(node, loss);
}

ht_tensor *ht_nll_loss(ht_tensor *log_probs, ht_tensor *target, ht_reduction_mode reduction)
{
    ht_tensor *in[OPERANDS] = {log_probs, target};

    if (!HT_PREPARE("ht_nll_loss", nll_rules, in) ||
        !ht__check_reduction("ht_nll_loss", in[LOG_PROBS], reduction))
        return NULL;
    return ht__reduce_losses(
        ht__nll_of_rows("ht_nll_loss", in[LOG_PROBS], in[TARGET], HT_IGNORE_NOTHING), reduction);
}
