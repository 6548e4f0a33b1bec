/* SPDX-License-Identifier: MIT
 *
 * loss[i] = -log_probs[i][target[i]], its mean or its sum; and cross entropy, which is that of a
 * log_softmax. The target is all that is kept. */
#include "nn/functional/functional.h"

#define IGNORE_NOTHING INT64_MIN

static void nll_backward(ht_node *node, ht_tensor *grad, ht_tensor *grad_inputs[])
{
    ht_tensor *target = ht_node_saved(node, 0), *dloss = ht_contiguous(grad), *dx;

    if (target == NULL || dloss == NULL)
        return;
    dx = ht__input_grad("ht_nll_loss", node, 0, dloss);
    if (dx == NULL)
        return;

    ht_rows rows = {dx->body->dtype, dx->body->lshape[0], dx->body->lshape[1]};
    if (dx->body->lsize > 0 &&
        ht__backend_of(dloss)->kernels.nll_backward(
            ht__stream_of(dloss), &rows, ht__body_data(dloss->body), ht__body_data(target->body),
            IGNORE_NOTHING, ht__body_data(dx->body)) != 0) {
        ht__kernel_failed(dx->body->comm, "ht_nll_loss");
        return;
    }
    grad_inputs[0] = dx;
}

static bool check(ht_tensor *x, ht_tensor *target)
{
    const ht_body *a = x->body, *t = target->body;

    if (!ht__check_batch("ht_nll_loss", "log_probs", x, 2) ||
        !ht__check_together("ht_nll_loss", x, target))
        return false;
    if (!ht_dtype_is_integer(t->dtype)) {
        HT_FAIL(a->comm, HT_ERR_DTYPE,
                "ht_nll_loss: target is %s, class numbers of an integer dtype are needed",
                ht_dtype_name(t->dtype));
        return false;
    }
    if (t->ndim != 1 || t->shape[0] != a->shape[0]) {
        HT_FAIL(a->comm, HT_ERR_SHAPE,
                "ht_nll_loss: log_probs is %s, target is %s: (N, C) and (N) needed",
                ht__shape_str(a->ndim, a->shape), ht__shape_str(t->ndim, t->shape));
        return false;
    }
    return true;
}

/* The loss of each row, (N). */
static ht_tensor *row_losses(ht_tensor *x, ht_tensor *target)
{
    const ht_kernels *kernels = &ht__backend_of(x)->kernels;
    ht_tensor *loss;
    ht_node *node;

    if (kernels->nll_forward == NULL || kernels->nll_backward == NULL) {
        ht__kernel_missing("ht_nll_loss", x);
        return NULL;
    }
    x = ht_contiguous(x);
    if (x == NULL)
        return NULL;
    loss = ht__batch_result("ht_nll_loss", x, x->body->dtype, 1, x->body->shape);
    if (loss == NULL)
        return NULL;
    target = ht__match_slabs("ht_nll_loss", ht_astype(target, HT_INT64), loss->body);
    target = ht_contiguous(target);
    if (target == NULL)
        return NULL;

    ht_rows rows = {x->body->dtype, x->body->lshape[0], x->body->lshape[1]};
    if (rows.rows > 0 && kernels->nll_forward(ht__stream_of(x), &rows, ht__body_data(x->body),
                                              ht__body_data(target->body), IGNORE_NOTHING,
                                              ht__body_data(loss->body)) != 0) {
        ht__kernel_failed(x->body->comm, "ht_nll_loss");
        return NULL;
    }
    node = ht_node_new("ht_nll_loss", nll_backward, 1, (ht_tensor *[]){x});
    ht_node_save(node, target);
    return ht_node_set_output(node, loss);
}

ht_tensor *ht_nll_loss(ht_tensor *log_probs, ht_tensor *target, ht_reduction_mode reduction)
{
    ht_tensor *losses;

    if (HT_IS_NULL(log_probs, "ht_nll_loss", "log_probs") ||
        HT_IS_NULL(target, "ht_nll_loss", "target") ||
        !ht__check_reduction("ht_nll_loss", log_probs, reduction) || !check(log_probs, target))
        return NULL;
    losses = row_losses(log_probs, target);
    return ht__reduce_losses(losses, reduction);
}

ht_tensor *ht_cross_entropy(ht_tensor *logits, ht_tensor *target, ht_reduction_mode reduction)
{
    if (HT_IS_NULL(logits, "ht_cross_entropy", "logits") ||
        HT_IS_NULL(target, "ht_cross_entropy", "target"))
        return NULL;
    return ht_nll_loss(ht_log_softmax(logits, 1), target, reduction);
}
