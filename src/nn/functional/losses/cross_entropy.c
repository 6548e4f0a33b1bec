/* SPDX-License-Identifier: MIT
 *
 * Cross entropy of logits (N, C) and classes. Kept for backward: the logits, the target, and 2
 * numbers of float64 for each row. */
#include "core/ops/ops.h"
#include "ht/factories.h"
#include "ht/kernels/nn.h"
#include "nn/functional/functional.h"
#include "nn/functional/losses/losses.h"
#include "nn/functional/losses/nll.h"

enum { LOGITS, TARGET, OPERANDS };

/* The target is laid out when it has come to the rows' ranks. */
static const ht_operand_rule rules[OPERANDS] = {
    {"logits", "NC", HT_DTYPE_FLOATING, HT_SPLIT_BATCH, HT_LAYOUT_ROWS, HT_CAST_HIGH, HT_REQUIRED},
    {"target", "N", HT_DTYPE_INTEGER, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_INDEX, HT_REQUIRED},
};

static ht_cross_entropy_call call_of(const ht_tensor *x, const ht_tensor *target, int64_t ignore)
{
    return (ht_cross_entropy_call){.call.operands = HT_CROSS_ENTROPY_OPERANDS,
                                   .x = ht__operand_of(x->body, HT_READ),
                                   .target = ht__operand_of(target->body, HT_READ),
                                   .rows = x->body->lshape[0],
                                   .columns = x->body->lshape[1],
                                   .ignore = ignore};
}

static void cross_entropy_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const int64_t ignore = *(int64_t *)ht_node_context(node, sizeof ignore);
    ht_tensor *x = ht_node_saved(node, 0), *target = ht_node_saved(node, 1);
    ht_tensor *stats = ht_node_saved(node, 2), *dx;
    ht_tensor *dloss = x != NULL && target != NULL && stats != NULL ? ht_contiguous(g) : NULL;
    ht_cross_entropy_call call;

    if (dloss == NULL)
        return;
    dx = ht__input_grad("ht_cross_entropy", node, 0, dloss);
    if (dx == NULL)
        return;
    call = call_of(x, target, ignore);
    call.stats = ht__operand_of(stats->body, HT_READ);
    call.dloss = ht__operand_of(dloss->body, HT_READ);
    call.dx = ht__operand_of(dx->body, HT_WRITE);
    if (dx->body->lsize == 0 ||
        HT_RUN(x, HT_KERNEL_CROSS_ENTROPY_BACKWARD, &call, "ht_cross_entropy") == HT_SUCCESS)
        gin[0] = dx;
}

ht_tensor *ht__cross_entropy_of_rows(ht_tensor *x, ht_tensor *target, int64_t ignore)
{
    ht_tensor *loss, *stats;
    ht_cross_entropy_call call;
    ht_node *node;

    x = ht_contiguous(x);
    if (x == NULL || target == NULL ||
        !ht__has_kernel("ht_cross_entropy", x, HT_KERNEL_CROSS_ENTROPY_FORWARD))
        return NULL;
    loss = ht__batch_result("ht_cross_entropy", x, x->body->dtype, 1, x->body->shape);
    if (loss == NULL)
        return NULL;
    target = ht_contiguous(ht__match_slabs("ht_cross_entropy", target, loss->body));
    stats = ht_empty_ext(2, (int64_t[]){2, x->body->lshape[0]}, HT_FLOAT64, HT_NONE,
                         x->body->storage->device, HT_COMM_SELF);
    if (target == NULL || stats == NULL)
        return NULL;
    call = call_of(x, target, ignore);
    call.loss = ht__operand_of(loss->body, HT_WRITE);
    call.stats = ht__operand_of(stats->body, HT_WRITE);
    if (call.rows > 0 &&
        HT_RUN(x, HT_KERNEL_CROSS_ENTROPY_FORWARD, &call, "ht_cross_entropy") != HT_SUCCESS)
        return NULL;
    node = ht_node_new("ht_cross_entropy", cross_entropy_backward, HT_LIST(ht_tensor *, x));
    if (node != NULL)
        *(int64_t *)ht_node_context(node, sizeof ignore) = ignore;
    ht_node_save(node, x);
    ht_node_save(node, target);
    ht_node_save(node, stats);
    return ht_node_set_output(node, loss);
}

ht_tensor *ht_cross_entropy(ht_tensor *logits, ht_tensor *target, ht_reduction_mode reduction)
{
    ht_tensor *in[OPERANDS] = {logits, target};

    if (!HT_PREPARE("ht_cross_entropy", rules, in) ||
        !ht__check_reduction("ht_cross_entropy", in[LOGITS], reduction))
        return NULL;
    return ht__reduce_losses(ht__cross_entropy_of_rows(in[LOGITS], in[TARGET], HT_IGNORE_NOTHING),
                             reduction);
}
