/* SPDX-License-Identifier: MIT
 *
 * Connectionist temporal classification: the probability of all paths through log_probs that spell
 * the target, in the log domain. A row is on one rank; nothing is sent but sums of losses. Kept for
 * backward: log_probs, and float64 of 2 S + 1 elements for each step of a row. */
#include "core/autograd/autograd.h"
#include "core/base/base.h"
#include "core/ops/ops.h"
#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/kernels/nn.h"
#include "ht/losses.h"
#include "ht/manipulations.h"
#include "ht/relational.h"
#include "ht/statistics.h"
#include "nn/functional/functional.h"
#include "nn/functional/losses/losses.h"

enum { LOG_PROBS, TARGETS, INPUT_LENGTHS, TARGET_LENGTHS, OPERANDS };
enum { KEPT_X, KEPT_TARGETS, KEPT_STARTS, KEPT_INPUT_LENGTHS, KEPT_TARGET_LENGTHS, KEPT_ALPHA };

static const ht_operand_rule rules[OPERANDS] = {
    {"log_probs", "TNC", HT_DTYPE_FLOATING, HT_SPLIT_ANY, HT_LAYOUT_ROWS, HT_CAST_HIGH,
     HT_REQUIRED},
    {"targets", NULL, HT_DTYPE_INTEGER, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_INDEX, HT_REQUIRED},
    {"input_lengths", "N", HT_DTYPE_INTEGER, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_INDEX,
     HT_REQUIRED},
    {"target_lengths", "N", HT_DTYPE_INTEGER, HT_SPLIT_ANY, HT_LAYOUT_ANY, HT_CAST_INDEX,
     HT_REQUIRED},
};

ht_ctc_options ht_ctc_options_default(void)
{
    return (ht_ctc_options){.size = sizeof(ht_ctc_options), .reduction = HT_MEAN};
}

/* Kept for backward, in addition to the tensors. */
typedef struct ctc {
    int64_t width, blank;
    bool zero_infinity;
} ctc;

static ht_ctc_call call_of(const ctc *c, const ht_tensor *x, const ht_tensor *targets,
                           const ht_tensor *starts, const ht_tensor *input_lengths,
                           const ht_tensor *target_lengths)
{
    return (ht_ctc_call){.call.operands = HT_CTC_OPERANDS,
                         .x = ht__operand_of(x->body, HT_READ),
                         .targets = ht__operand_of(targets->body, HT_READ),
                         .starts = ht__operand_if_any(starts, HT_READ),
                         .input_lengths = ht__operand_of(input_lengths->body, HT_READ),
                         .target_lengths = ht__operand_of(target_lengths->body, HT_READ),
                         .steps = x->body->shape[0],
                         .rows = x->body->lshape[1],
                         .classes = x->body->shape[2],
                         .width = c->width,
                         .blank = c->blank,
                         .zero_infinity = c->zero_infinity};
}

/* float64 on the device of x, of this rank alone. Scoped. */
static ht_tensor *new_numbers(const ht_tensor *x, int ndim, const int64_t shape[])
{
    return ht_empty_ext(ndim, shape, HT_FLOAT64, HT_NONE, x->body->storage->device, HT_COMM_SELF);
}

static void ctc_backward(ht_node *node, ht_tensor *g, ht_tensor *gin[])
{
    const ctc *c = ht_node_context(node, sizeof *c);
    ht_tensor *x = ht_node_saved(node, KEPT_X), *alpha = ht_node_saved(node, KEPT_ALPHA);
    ht_tensor *targets = ht_node_saved(node, KEPT_TARGETS), *dloss = ht_contiguous(g), *dx;
    ht_tensor *input_lengths = ht_node_saved(node, KEPT_INPUT_LENGTHS), *scratch;
    ht_tensor *target_lengths = ht_node_saved(node, KEPT_TARGET_LENGTHS);
    ht_ctc_call call;

    if (x == NULL || alpha == NULL || targets == NULL || input_lengths == NULL ||
        target_lengths == NULL || dloss == NULL)
        return;
    dx = ht__input_grad("ht_ctc_loss", node, 0, dloss);
    scratch = new_numbers(x, HT_SHAPE(4 * c->width + 2 + x->body->shape[2]));
    if (dx == NULL || scratch == NULL)
        return;
    call = call_of(c, x, targets, ht_node_saved(node, KEPT_STARTS), input_lengths, target_lengths);
    call.alpha = ht__operand_of(alpha->body, HT_READ);
    call.dloss = ht__operand_of(dloss->body, HT_READ);
    call.dx = ht__operand_of(dx->body, HT_WRITE);
    call.scratch = ht__operand_of(scratch->body, HT_WRITE);
    if (dx->body->lsize > 0 &&
        HT_RUN(dx, HT_KERNEL_CTC_BACKWARD, &call, "ht_ctc_loss") != HT_SUCCESS)
        return;
    gin[0] = dx;
}

static ht_tensor *losses_of(const ctc *c, ht_tensor *x, ht_tensor *targets, ht_tensor *starts,
                            ht_tensor *input_lengths, ht_tensor *target_lengths)
{
    const ht_body *body = x->body;
    ht_tensor *loss = ht__tensor_new(
        ht__body_new("ht_ctc_loss", body->comm, body->storage->device, body->dtype, 1,
                     &body->shape[1], body->split == HT_NONE ? HT_NONE : 0, body->bounds));
    ht_tensor *alpha = new_numbers(x, HT_SHAPE(body->lshape[1], body->shape[0], 2 * c->width + 1));
    ht_tensor *const kept[] = {x, targets, starts, input_lengths, target_lengths, alpha};
    ht_ctc_call call;
    ht_node *node;

    if (loss == NULL || alpha == NULL)
        return NULL;
    call = call_of(c, x, targets, starts, input_lengths, target_lengths);
    call.loss = ht__operand_of(loss->body, HT_WRITE);
    call.alpha = ht__operand_of(alpha->body, HT_WRITE);
    if (call.rows > 0 && HT_RUN(x, HT_KERNEL_CTC_FORWARD, &call, "ht_ctc_loss") != HT_SUCCESS)
        return NULL;
    node = ht_node_new("ht_ctc_loss", ctc_backward, HT_LIST(ht_tensor *, x));
    if (node == NULL)
        return loss;
    *(ctc *)ht_node_context(node, sizeof *c) = *c;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        ht_node_save(node, kept[i]);
    return ht_node_set_output(node, loss);
}

#define REFUSE(x, code, ...) (HT_FAIL((x)->body->comm, code, __VA_ARGS__), false)

static bool check_shapes(ht_tensor *const in[], const ht_ctc_options *o)
{
    const ht_body *x = in[LOG_PROBS]->body, *targets = in[TARGETS]->body;

    if (HT_CHECK_OPTIONS(x->comm, "ht_ctc_loss", o, ht_ctc_options) != HT_SUCCESS ||
        !ht__check_reduction("ht_ctc_loss", in[LOG_PROBS], o->reduction))
        return false;
    if (x->split != HT_NONE && x->split != 1)
        return REFUSE(in[LOG_PROBS], HT_ERR_ARGUMENT,
                      "ht_ctc_loss: log_probs is split along axis %d; only the batch axis (1) may "
                      "be split",
                      x->split);
    if (x->shape[2] < 1)
        return REFUSE(in[LOG_PROBS], HT_ERR_SHAPE,
                      "ht_ctc_loss: log_probs is %s, expected at least one class",
                      ht__shape_str(x->ndim, x->shape));
    if (o->blank < 0 || o->blank >= x->shape[2])
        return REFUSE(in[LOG_PROBS], HT_ERR_ARGUMENT,
                      "ht_ctc_loss: blank is %lld, expected 0 to %lld", (long long)o->blank,
                      (long long)x->shape[2] - 1);
    if (targets->ndim != 1 && (targets->ndim != 2 || targets->shape[0] != x->shape[1]))
        return REFUSE(in[LOG_PROBS], HT_ERR_SHAPE,
                      "ht_ctc_loss: targets is %s, expected (%lld, S), or one axis",
                      ht__shape_str(targets->ndim, targets->shape), (long long)x->shape[1]);
    return true;
}

/* The elements of x are from 0 to `most`; *largest becomes the largest. The same on all ranks. */
static bool check_range(ht_tensor *x, const char *name, int64_t most, double *largest)
{
    double least;

    *largest = 0;
    if (x == NULL || ht_tensor_size(x) == 0)
        return x != NULL;
    if (ht_tensor_item(ht_min(x, HT_NONE), &least) != HT_SUCCESS ||
        ht_tensor_item(ht_max(x, HT_NONE), largest) != HT_SUCCESS)
        return false;
    if (least < 0 || *largest > (double)most)
        return REFUSE(x, HT_ERR_ARGUMENT, "ht_ctc_loss: %s are %.0f to %.0f, expected 0 to %lld",
                      name, least, *largest, (long long)most);
    return true;
}

/* The targets, with 0 for the padding of rows. */
static ht_tensor *without_padding(ht_tensor *const in[])
{
    ht_tensor *targets = in[TARGETS], *places;

    if (targets->body->ndim == 1)
        return targets;
    places = ht_arange_ext(ht_number_integer(0), ht_number_integer(targets->body->shape[1]),
                           ht_number_integer(1), HT_INT64, HT_NONE, targets->body->storage->device,
                           targets->body->comm);
    return ht_where(ht_lt(ht_expand_dims(places, 0), ht_expand_dims(in[TARGET_LENGTHS], 1)),
                    targets, ht_scalar(0));
}

/* Where the targets begin in their list, (N); false after an error. */
static bool find_starts(ht_tensor *const in[], ht_tensor **starts)
{
    ht_tensor *targets = in[TARGETS], *lengths = in[TARGET_LENGTHS];
    ht_tensor *ends = ht_cumsum(lengths, 0);
    double total = 0;

    *starts = ht_sub(ends, lengths);
    if (*starts == NULL || (lengths->body->shape[0] > 0 &&
                            ht_tensor_item(ht_sum(lengths, HT_NONE), &total) != HT_SUCCESS))
        return false;
    if (total != (double)targets->body->shape[0])
        return REFUSE(targets, HT_ERR_ARGUMENT,
                      "ht_ctc_loss: target_lengths sum up to %.0f, expected %lld", total,
                      (long long)targets->body->shape[0]);
    return true;
}

/* x, of N rows, with the rows that log_probs has on this rank. */
static ht_tensor *rows_of(const ht_tensor *log_probs, ht_tensor *x)
{
    const ht_body *body = log_probs->body;
    ht_tensor *like;

    if (x == NULL)
        return NULL;
    like = ht__tensor_new(ht__body_new("ht_ctc_loss", body->comm, body->storage->device, HT_INT64,
                                       x->body->ndim, x->body->shape,
                                       body->split == HT_NONE ? HT_NONE : 0, body->bounds));
    return like != NULL ? ht_contiguous(ht__match_slabs("ht_ctc_loss", x, like->body)) : NULL;
}

static ht_tensor *ctc_loss(ht_tensor *log_probs, ht_tensor *targets, ht_tensor *input_lengths,
                           ht_tensor *target_lengths, ht_ctc_options o)
{
    ht_tensor *in[OPERANDS] = {log_probs, targets, input_lengths, target_lengths}, *starts = NULL;
    ctc c = {.blank = o.blank, .zero_infinity = o.zero_infinity};
    double longest, unused;
    ht_tensor *losses;
    bool listed;

    if (!HT_PREPARE("ht_ctc_loss", rules, in) || !check_shapes(in, &o) ||
        !ht__has_kernel("ht_ctc_loss", in[LOG_PROBS], HT_KERNEL_CTC_FORWARD))
        return NULL;
    listed = in[TARGETS]->body->ndim == 1;
    if (!check_range(in[INPUT_LENGTHS], "input_lengths", in[LOG_PROBS]->body->shape[0], &unused) ||
        !check_range(in[TARGET_LENGTHS], "target_lengths", in[TARGETS]->body->shape[listed ? 0 : 1],
                     &longest) ||
        !check_range(without_padding(in), "targets", in[LOG_PROBS]->body->shape[2] - 1, &unused) ||
        (listed && !find_starts(in, &starts)))
        return NULL;
    c.width = listed ? (int64_t)longest : in[TARGETS]->body->shape[1];
    in[TARGETS] = listed ? ht_contiguous(ht_resplit(in[TARGETS], HT_NONE))
                         : rows_of(in[LOG_PROBS], in[TARGETS]);
    in[INPUT_LENGTHS] = rows_of(in[LOG_PROBS], in[INPUT_LENGTHS]);
    in[TARGET_LENGTHS] = rows_of(in[LOG_PROBS], in[TARGET_LENGTHS]);
    starts = rows_of(in[LOG_PROBS], starts);
    if (in[TARGETS] == NULL || in[INPUT_LENGTHS] == NULL || in[TARGET_LENGTHS] == NULL ||
        (listed && starts == NULL))
        return NULL;
    losses = losses_of(&c, in[LOG_PROBS], in[TARGETS], starts, in[INPUT_LENGTHS],
                       in[TARGET_LENGTHS]);
    if (losses != NULL && o.reduction == HT_MEAN)
        losses = ht_div(
            losses, ht_astype(ht_maximum(in[TARGET_LENGTHS], ht_scalar(1)), losses->body->dtype));
    return ht__reduce_losses(losses, o.reduction);
}

ht_tensor *ht_ctc_loss_ext(ht_tensor *log_probs, ht_tensor *targets, ht_tensor *input_lengths,
                           ht_tensor *target_lengths, const ht_ctc_options *options)
{
    HT_NAMED("ht_ctc_loss_ext");

    return ctc_loss(log_probs, targets, input_lengths, target_lengths,
                    options != NULL ? *options : ht_ctc_options_default());
}

ht_tensor *ht_ctc_loss(ht_tensor *log_probs, ht_tensor *targets, ht_tensor *input_lengths,
                       ht_tensor *target_lengths, ht_reduction_mode reduction)
{
    ht_ctc_options options = ht_ctc_options_default();

    options.reduction = reduction;
    return ctc_loss(log_probs, targets, input_lengths, target_lengths, options);
}
