/* SPDX-License-Identifier: MIT
 *
 * Dropout: with probability p zero, else x / (1 - p). One byte an element is kept for backward. The
 * mask follows memory order, so a tensor of any dense layout is taken as it lies. */
#include "core/ops/ops.h"
#include "ht/arithmetics.h"
#include "ht/kernels/nn.h"

#include "nn/functional/dropout.h"
#include "nn/functional/functional.h"

static const ht_operand_rule rules[] = {
    {"x", NULL, HT_DTYPE_FLOATING, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_NONE, HT_REQUIRED},
};

bool ht__check_probability(const char *what, const ht_tensor *x, double p)
{
    if (p >= 0.0 && p <= 1.0)
        return true;
    HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: p is %g, expected 0 to 1", what, p);
    return false;
}

static bool same_layout(const ht_body *a, const ht_body *b)
{
    for (int i = 0; i < a->ndim; i++) {
        if (a->gstride[i] != b->gstride[i])
            return false;
    }
    return true;
}

/* `x` laid out as `like`, which is dense. */
static ht_tensor *laid_out_as(ht_tensor *x, const ht_body *like)
{
    ht_tensor *y;

    if (same_layout(x->body, like))
        return x;
    y = ht__empty("ht_dropout", like, x->body->dtype);
    if (y == NULL || ht__copy_local("ht_dropout", y->body, x->body) != HT_SUCCESS)
        return NULL;
    return y;
}

static void dropout_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    double p = *(double *)ht_node_context(node, sizeof p);
    ht_tensor *mask = ht_node_saved(node, 0), *dy, *dx;
    ht_dropout_call job;

    if (mask == NULL)
        return;
    dy = laid_out_as(g, mask->body);
    if (dy == NULL)
        return;
    dx = ht__may_overwrite(dy) ? dy : ht__empty("ht_dropout", mask->body, dy->body->dtype);
    if (dx == NULL)
        return;
    job = (ht_dropout_call){.call.operands = 3,
                            .x = ht__operand_of(dy->body, HT_READ),
                            .y = ht__operand_of(dx->body, HT_WRITE),
                            .mask = ht__operand_of(mask->body, HT_READ),
                            .draw = {.outer = 1, .inner = dx->body->lsize, .a = p}};
    if (dx->body->lsize > 0 &&
        HT_RUN(dx, HT_KERNEL_DROPOUT_BACKWARD, &job, "ht_dropout") != HT_SUCCESS)
        return;
    gin[0] = dx;
}

static ht_status draw_mask(ht_tensor *x, const ht_random_draw *draw, ht_tensor *y, ht_tensor *mask)
{
    ht_dropout_call job = {.call.operands = 3, .draw = *draw};

    if (x->body->lsize == 0)
        return HT_SUCCESS;
    ht__random_place(x->body, &job.draw);
    job.x = ht__operand_of(x->body, HT_READ);
    job.y = ht__operand_of(y->body, HT_WRITE);
    job.mask = ht__operand_of(mask->body, HT_WRITE);
    return HT_RUN(x, HT_KERNEL_DROPOUT_FORWARD, &job, "ht_dropout");
}

ht_tensor *ht_dropout(ht_tensor *x, double p, uint64_t seed, uint64_t draw)
{
    ht_tensor *y, *mask;
    ht_node *node;

    if (!HT_PREPARE("ht_dropout", rules, &x) || !ht__check_probability("ht_dropout", x, p))
        return NULL;
    if (p == 0.0)
        return x;
    if (!ht__has_kernel("ht_dropout", x, HT_KERNEL_DROPOUT_FORWARD))
        return NULL;
    /* A draw follows the order of memory; where the part of a split tensor begins in it is known of
     * row-major memory only. */
    x = ht__laid_out(x, x->body->split == HT_NONE ? HT_LAYOUT_DENSE : HT_LAYOUT_ROWS);
    if (x == NULL)
        return NULL;
    y = ht__empty("ht_dropout", x->body, x->body->dtype);
    mask = ht__empty("ht_dropout", x->body, HT_UINT8);
    if (y == NULL || mask == NULL)
        return NULL;

    if (draw_mask(x, &(ht_random_draw){.seed = seed, .draw = draw, .a = p}, y, mask) != HT_SUCCESS)
        return NULL;
    node = ht_node_new("ht_dropout", dropout_backward, HT_LIST(ht_tensor *, x));
    if (node == NULL)
        return y;
    *(double *)ht_node_context(node, sizeof p) = p;
    ht_node_save(node, mask);
    return ht_node_set_output(node, y);
}
