/* SPDX-License-Identifier: MIT
 *
 * The softmax family: s = exp x / sum exp x along one axis, and log s. The output is all that is
 * kept for the gradients, s (dy - sum(dy s)) and dy - s sum dy.
 *
 * A kernel works on rows: another axis than the last is brought to the end first. Along the split
 * axis they are composed. The maximum along the axis is subtracted first: a constant, which changes
 * neither values nor gradients. */
#include "ht/activations.h"
#include "ht/arithmetics.h"
#include "ht/exponential.h"
#include "ht/kernels/nn.h"
#include "ht/manipulations.h"
#include "ht/statistics.h"

#include "nn/functional/functional.h"

typedef struct softmax_kind {
    const char *what;
    ht_kernel forward, backward;
    ht_tensor *(*composed)(ht_tensor *x, const ht_reduce_options *along);
} softmax_kind;

static const ht_operand_rule rules[] = {
    {"x", NULL, HT_DTYPE_FLOATING, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_HIGH, HT_REQUIRED},
};

static ht_rows_call rows_of(const ht_body *body)
{
    int64_t columns = body->lshape[body->ndim - 1];

    return (ht_rows_call){
        .call.operands = 4, .rows = columns > 0 ? body->lsize / columns : 0, .columns = columns};
}

static void softmax_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const softmax_kind *const *kind = ht_node_context(node, sizeof *kind);
    ht_tensor *y = ht_node_saved(node, 0), *dy = ht_contiguous(g), *dx;

    if (y == NULL || dy == NULL)
        return;
    dx = ht__empty((*kind)->what, y->body, y->body->dtype);
    if (dx == NULL)
        return;

    ht_rows_call rows = rows_of(y->body);
    rows.dy = ht__operand_of(dy->body, HT_READ);
    rows.y = ht__operand_of(y->body, HT_READ);
    rows.x = ht__operand_of(dx->body, HT_WRITE);
    if (rows.rows > 0 && HT_RUN(y, (*kind)->backward, &rows, (*kind)->what) != HT_SUCCESS)
        return;
    gin[0] = dx;
}

static ht_tensor *along_last(const softmax_kind *kind, ht_tensor *x)
{
    const softmax_kind **kept;
    ht_tensor *y;
    ht_node *node;

    x = ht_contiguous(x);
    if (x == NULL || !ht__has_kernel(kind->what, x, kind->forward))
        return NULL;
    y = ht__empty(kind->what, x->body, x->body->dtype);
    if (y == NULL)
        return NULL;

    ht_rows_call rows = rows_of(x->body);
    rows.x = ht__operand_of(x->body, HT_READ);
    rows.y = ht__operand_of(y->body, HT_WRITE);
    if (rows.rows > 0 && HT_RUN(x, kind->forward, &rows, kind->what) != HT_SUCCESS)
        return NULL;
    node = ht_node_new(kind->what, softmax_backward, HT_LIST(ht_tensor *, x));
    kept = ht_node_context(node, sizeof *kept);
    if (kept != NULL)
        *kept = kind;
    ht_node_save(node, y);
    return ht_node_set_output(node, y);
}

/* --- Along the split axis ------------------------------------------------------------------------ */

static ht_tensor *shifted(ht_tensor *x, const ht_reduce_options *along)
{
    return ht_sub(x, ht_max_ext(ht_detach(x), along));
}

static ht_tensor *softmax_composed(ht_tensor *x, const ht_reduce_options *along)
{
    ht_tensor *exponentials = ht_exp(shifted(x, along));

    return ht_div(exponentials, ht_sum_ext(exponentials, along));
}

static ht_tensor *log_softmax_composed(ht_tensor *x, const ht_reduce_options *along)
{
    ht_tensor *z = shifted(x, along);

    return ht_sub(z, ht_log(ht_sum_ext(ht_exp(z), along)));
}

/* Sums have more digits than 16 bits. */
static ht_tensor *composed(const softmax_kind *kind, ht_tensor *x, int axis)
{
    const ht_dtype dtype = x->body->dtype;
    ht_reduce_options along = ht_reduce_options_default();
    ht_tensor *y;

    if (ht_tensor_size(x) == 0)
        return ht_mul_scalar(x, 1);
    along.axes = &axis;
    along.count = 1;
    along.keepdims = true;
    y = kind->composed(ht__wide(x), &along);
    return y == NULL || y->body->dtype == dtype ? y : ht_astype(y, dtype);
}

/* --- The functions ------------------------------------------------------------------------------- */

static ht_tensor *softmax(const softmax_kind *kind, ht_tensor *x, int axis, bool negative)
{
    if (!HT_PREPARE(kind->what, rules, &x))
        return NULL;
    if (x->body->ndim == 0)
        return ht_squeeze(softmax(kind, ht_expand_dims(x, 0), axis, negative), 0);
    if (!ht__check_axis(kind->what, x, &axis))
        return NULL;
    if (negative)
        x = ht_mul_scalar(x, -1);
    if (x == NULL)
        return NULL;
    if (axis == x->body->split)
        return composed(kind, x, axis);
    if (axis == x->body->ndim - 1)
        return along_last(kind, x);
    return ht_transpose(along_last(kind, ht_transpose(x, axis, -1)), axis, -1);
}

ht_tensor *ht_softmax(ht_tensor *x, int axis)
{
    static const softmax_kind kind = {"ht_softmax", HT_KERNEL_SOFTMAX_FORWARD,
                                      HT_KERNEL_SOFTMAX_BACKWARD, softmax_composed};

    return softmax(&kind, x, axis, false);
}

ht_tensor *ht_softmin(ht_tensor *x, int axis)
{
    static const softmax_kind kind = {"ht_softmin", HT_KERNEL_SOFTMAX_FORWARD,
                                      HT_KERNEL_SOFTMAX_BACKWARD, softmax_composed};

    return softmax(&kind, x, axis, true);
}

ht_tensor *ht_log_softmax(ht_tensor *x, int axis)
{
    static const softmax_kind kind = {"ht_log_softmax", HT_KERNEL_LOG_SOFTMAX_FORWARD,
                                      HT_KERNEL_LOG_SOFTMAX_BACKWARD, log_softmax_composed};

    return softmax(&kind, x, axis, false);
}
