/* ranks 1 2 3 4 */
/* SPDX-License-Identifier: MIT */
/* Every functional refuses each of its operands that is invalid, on all ranks and with its own name
 * in the message. It takes all operands that it claims to take. */
#include <stdio.h>
#include <string.h>

#include "nn/functional/refusals_attention.h"
#include "nn/functional/refusals_embedding.h"
#include "nn/functional/refusals_norm.h"
#include "nn/functional/refusals_recurrent.h"
#include "nn/functional/refusals_shape.h"
#include "nn/functional/refusals_window.h"
#include "nn/functionals.h"
#include "nn/nn_test.h"
#include "tensor_check.h"

enum fault {
    NONE,
    OTHER_DTYPE,
    ONE_MORE, /* an axis of length 1 behind the others */
    LONGER,   /* the first axis, by one */
    SPLIT,    /* along the last axis */
    ABSENT,
    DEVICE, /* another than the first operand's */
    RANKS,  /* process-local, with operands that are not */
    FAULTS
};

static const ht_status codes[FAULTS] = {
    [OTHER_DTYPE] = HT_ERR_DTYPE, [ONE_MORE] = HT_ERR_SHAPE,  [LONGER] = HT_ERR_SHAPE,
    [SPLIT] = HT_ERR_ARGUMENT,    [ABSENT] = HT_ERR_ARGUMENT, [DEVICE] = HT_ERR_DEVICE,
    [RANKS] = HT_ERR_COMM};

/* clang-format off */
#define LOSS_OF_ONE_SHAPE(name) \
    {name, "x", ONE_MORE, "x is (4, 3, 1), target is (4, 3), expected the same shape"}, \
    {name, "x", LONGER, "x is (5, 3), target is (4, 3), expected the same shape"}, \
    {name, "target", ONE_MORE, "x is (4, 3), target is (4, 3, 1), expected the same shape"}, \
    {name, "target", LONGER, "x is (4, 3), target is (5, 3), expected the same shape"}
/* clang-format on */

/* Faults that are refused, in addition to those that all functionals refuse (the last three) and
 * those that is_floating lists; all others are taken. */
static const struct refusal {
    const char *functional, *operand;
    enum fault fault;
    const char *said;
} refusals[] = {
    {"ht_leaky_relu", "x", OTHER_DTYPE, "not defined for int64"},
    {"ht_linear", "x", ONE_MORE,
     "x is (4, 3, 1), weight is (2, 3), expected (..., in) and (out, in)"},
    {"ht_linear", "x", SPLIT, "x is split along axis 1; only the batch axis (0) may be split"},
    {"ht_linear", "weight", OTHER_DTYPE, "x is float64, weight is float32"},
    {"ht_linear", "weight", ONE_MORE, "weight is (2, 3, 1), expected (out, in)"},
    {"ht_linear", "weight", LONGER, "weight is (3, 3), bias is (2,), expected (out, in) and (out)"},
    {"ht_linear", "weight", SPLIT, "weight is split along axis 1, expected a replicated tensor"},
    {"ht_linear", "bias", OTHER_DTYPE, "x is float64, bias is float32"},
    {"ht_linear", "bias", ONE_MORE, "bias is (2, 1), expected (out)"},
    {"ht_linear", "bias", LONGER, "weight is (2, 3), bias is (3,), expected (out, in) and (out)"},
    {"ht_linear", "bias", SPLIT, "bias is split along axis 0, expected a replicated tensor"},
    {"ht_conv2d", "x", ONE_MORE, "x is (4, 3, 5, 5, 1), expected (N, C, H, W)"},
    {"ht_conv2d", "x", SPLIT, "x is split along axis 3; only the batch axis (0) may be split"},
    {"ht_conv2d", "weight", OTHER_DTYPE, "x is float64, weight is float32"},
    {"ht_conv2d", "weight", ONE_MORE,
     "weight is (2, 3, 1, 2, 1), expected (O, C / groups, kh, kw)"},
    {"ht_conv2d", "weight", LONGER,
     "weight is (3, 3, 1, 2), bias is (2,), expected (O, C / groups, kh, kw) and (O)"},
    {"ht_conv2d", "weight", SPLIT, "weight is split along axis 3, expected a replicated tensor"},
    {"ht_conv2d", "bias", OTHER_DTYPE, "x is float64, bias is float32"},
    {"ht_conv2d", "bias", ONE_MORE, "bias is (2, 1), expected (O)"},
    {"ht_conv2d", "bias", LONGER,
     "weight is (2, 3, 1, 2), bias is (3,), expected (O, C / groups, kh, kw) and (O)"},
    {"ht_conv2d", "bias", SPLIT, "bias is split along axis 0, expected a replicated tensor"},
    {"ht_max_pool2d", "x", ONE_MORE, "x is (4, 3, 5, 5, 1), expected (N, C, H, W)"},
    {"ht_max_pool2d", "x", SPLIT, "x is split along axis 3; only the batch axis (0) may be split"},
    {"ht_dropout2d", "x", SPLIT, "x is split along axis 2; only the batch axis (0) may be split"},
    {"ht_batch_norm", "x", SPLIT, "x is split along axis 2; only the batch axis (0) may be split"},
    {"ht_batch_norm", "running_mean", OTHER_DTYPE, "x is float64, running_mean is float32"},
    {"ht_batch_norm", "running_mean", ONE_MORE, "running_mean is (3, 1), expected (C)"},
    {"ht_batch_norm", "running_mean", LONGER,
     "x is (4, 3, 2), running_mean is (4,), expected (N, C, ...) and (C)"},
    {"ht_batch_norm", "running_mean", SPLIT,
     "running_mean is split along axis 0, expected a replicated tensor"},
    {"ht_batch_norm", "running_var", OTHER_DTYPE, "x is float64, running_var is float32"},
    {"ht_batch_norm", "running_var", ONE_MORE, "running_var is (3, 1), expected (C)"},
    {"ht_batch_norm", "running_var", LONGER,
     "x is (4, 3, 2), running_var is (4,), expected (N, C, ...) and (C)"},
    {"ht_batch_norm", "running_var", SPLIT,
     "running_var is split along axis 0, expected a replicated tensor"},
    {"ht_batch_norm", "weight", OTHER_DTYPE, "x is float64, weight is float32"},
    {"ht_batch_norm", "weight", ONE_MORE, "weight is (3, 1), expected (C)"},
    {"ht_batch_norm", "weight", LONGER,
     "x is (4, 3, 2), weight is (4,), expected (N, C, ...) and (C)"},
    {"ht_batch_norm", "weight", SPLIT,
     "weight is split along axis 0, expected a replicated tensor"},
    {"ht_batch_norm", "bias", OTHER_DTYPE, "x is float64, bias is float32"},
    {"ht_batch_norm", "bias", ONE_MORE, "bias is (3, 1), expected (C)"},
    {"ht_batch_norm", "bias", LONGER, "x is (4, 3, 2), bias is (4,), expected (N, C, ...) and (C)"},
    {"ht_batch_norm", "bias", SPLIT, "bias is split along axis 0, expected a replicated tensor"},
    NORM_REFUSALS,
    ATTENTION_REFUSALS,
    EMBEDDING_REFUSALS,
    RECURRENT_REFUSALS,
    SHAPE_REFUSALS,
    WINDOW_REFUSALS,
    {"ht_nll_loss", "log_probs", ONE_MORE, "log_probs is (4, 3, 1), expected (N, C)"},
    {"ht_nll_loss", "log_probs", LONGER,
     "log_probs is (5, 3), target is (4,), expected (N, C) and (N)"},
    {"ht_nll_loss", "log_probs", SPLIT,
     "log_probs is split along axis 1; only the batch axis (0) may be split"},
    {"ht_nll_loss", "target", OTHER_DTYPE, "target is float32, expected an integer dtype"},
    {"ht_nll_loss", "target", ONE_MORE, "target is (4, 1), expected (N)"},
    {"ht_nll_loss", "target", LONGER,
     "log_probs is (4, 3), target is (5,), expected (N, C) and (N)"},
    {"ht_cross_entropy", "logits", ONE_MORE, "logits is (4, 3, 1), expected (N, C)"},
    {"ht_cross_entropy", "logits", LONGER,
     "logits is (5, 3), target is (4,), expected (N, C) and (N)"},
    {"ht_cross_entropy", "logits", SPLIT,
     "logits is split along axis 1; only the batch axis (0) may be split"},
    {"ht_cross_entropy", "target", OTHER_DTYPE, "target is float32, expected an integer dtype"},
    {"ht_cross_entropy", "target", ONE_MORE, "target is (4, 1), expected (N)"},
    {"ht_cross_entropy", "target", LONGER,
     "logits is (4, 3), target is (5,), expected (N, C) and (N)"},
    {"ht_gelu", "x", OTHER_DTYPE, "not defined for int64"},
    {"ht_silu", "x", OTHER_DTYPE, "not defined for int64"},
    {"ht_elu", "x", OTHER_DTYPE, "not defined for int64"},
    {"ht_celu", "x", OTHER_DTYPE, "not defined for int64"},
    {"ht_selu", "x", OTHER_DTYPE, "not defined for int64"},
    {"ht_softplus", "x", OTHER_DTYPE, "not defined for int64"},
    {"ht_mish", "x", OTHER_DTYPE, "not defined for int64"},
    {"ht_sigmoid", "x", OTHER_DTYPE, "not defined for int64"},
    {"ht_prelu", "weight", OTHER_DTYPE, "x is float64, weight is float32"},
    {"ht_prelu", "weight", ONE_MORE, "weight is (3, 1), expected (C)"},
    {"ht_prelu", "weight", LONGER,
     "weight has 4 elements, expected 1 or 3, the channels of x (4, 3)"},
    {"ht_prelu", "weight", SPLIT, "weight is split along axis 0, expected a replicated tensor"},
    {"ht_dropout1d", "x", ONE_MORE, "x is (4, 3, 2, 1), expected (N, C, L) or (C, L)"},
    {"ht_dropout1d", "x", SPLIT,
     "x is split along axis 2, expected a split of batches or channels"},
    {"ht_dropout3d", "x", SPLIT,
     "x is split along axis 3, expected a split of batches or channels"},
    {"ht_feature_alpha_dropout", "x", SPLIT,
     "x is split along axis 2; only the batch axis (0) may be split"},
    LOSS_OF_ONE_SHAPE("ht_mse_loss"),
    LOSS_OF_ONE_SHAPE("ht_l1_loss"),
    LOSS_OF_ONE_SHAPE("ht_smooth_l1_loss"),
    LOSS_OF_ONE_SHAPE("ht_huber_loss"),
    LOSS_OF_ONE_SHAPE("ht_poisson_nll_loss"),
    LOSS_OF_ONE_SHAPE("ht_kl_div"),
    LOSS_OF_ONE_SHAPE("ht_soft_margin_loss"),
    LOSS_OF_ONE_SHAPE("ht_hinge_embedding_loss"),
    {"ht_nll_loss_ext", "log_probs", ONE_MORE,
     "log_probs is (4, 3, 1), target is (4,), expected (N, C, ...) and (N, ...)"},
    {"ht_nll_loss_ext", "log_probs", LONGER,
     "log_probs is (5, 3), target is (4,), expected (N, C, ...) and (N, ...)"},
    {"ht_nll_loss_ext", "log_probs", SPLIT,
     "log_probs is (4, 3), split 1, expected (C) or (N, C, ...)"},
    {"ht_nll_loss_ext", "target", OTHER_DTYPE, "target is float32, expected an integer dtype"},
    {"ht_nll_loss_ext", "target", ONE_MORE,
     "log_probs is (4, 3), target is (4, 1), expected (N, C, ...) and (N, ...)"},
    {"ht_nll_loss_ext", "target", LONGER,
     "log_probs is (4, 3), target is (5,), expected (N, C, ...) and (N, ...)"},
    {"ht_nll_loss_ext", "weight", OTHER_DTYPE, "log_probs is float64, weight is float32"},
    {"ht_nll_loss_ext", "weight", ONE_MORE, "weight is (3, 1), expected (C)"},
    {"ht_nll_loss_ext", "weight", LONGER,
     "weight has 4 elements, expected 3, a factor for each class"},
    {"ht_nll_loss_ext", "weight", SPLIT,
     "weight is split along axis 0, expected a replicated tensor"},
};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

/* Functionals whose first operand has any dtype; that of all others is floating. */
static const char *const any_dtype[] = {
    "ht_relu",          "ht_relu_",           "ht_pad_ext",
    "ht_pixel_shuffle", "ht_pixel_unshuffle", "ht_channel_shuffle",
    "ht_mse_loss",      "ht_l1_loss"};

static bool is_floating(const nn_functional *f)
{
    for (size_t i = 0; i < sizeof any_dtype / sizeof *any_dtype; i++)
        if (strcmp(any_dtype[i], f->name) == 0)
            return false;
    return f->operands[0].dtype == HT_FLOAT64;
}

/* Floating for class numbers, integer for first operands, another precision for the others. */
static ht_dtype other_dtype(ht_dtype dtype, bool first)
{
    return dtype == HT_FLOAT64 && first ? HT_INT64 : HT_FLOAT32;
}

static ht_tensor *make(const nn_operand *operand, bool first, enum fault fault)
{
    const ht_dtype dtype = operand->dtype;
    int64_t shape[6] = {0};
    ht_tensor *x;

    if (fault == ABSENT)
        return NULL;
    memcpy(shape, operand->shape, sizeof operand->shape);
    shape[operand->ndim] = 1;
    shape[0] += fault == LONGER ? 1 : 0;
    x = ht_ones(operand->ndim + (fault == ONE_MORE ? 1 : 0), shape,
                fault == OTHER_DTYPE ? other_dtype(dtype, first) : dtype,
                fault == SPLIT ? operand->ndim - 1 : HT_NONE);
    if (fault == DEVICE)
        x = ht_to_device(x, ht_device_get("cpu:1"));
    return fault == RANKS ? ht_tensor_local(x) : x;
}

/* The message about operand i with this fault; false: none. */
static bool expected(const nn_functional *f, int i, enum fault fault, char text[256])
{
    const char *first = f->operands[0].name, *name = f->operands[i].name;

    if (fault == ABSENT)
        snprintf(text, 256, "%s: %s is NULL", f->name, name);
    if (fault == DEVICE)
        snprintf(text, 256, "%s: %s is on %s, %s is on cpu:1", f->name, first,
                 ht_device_name(ht_get_device()), name);
    if (fault == RANKS)
        snprintf(text, 256, "%s: %s is on %d ranks, %s on 1; pass ht_tensor_local(%s)", f->name,
                 first, ht_test_size, name, first);
    if (fault >= ABSENT)
        return fault != ABSENT || i < f->required;
    for (int r = 0; r < REFUSALS; r++) {
        if (strcmp(refusals[r].functional, f->name) != 0 || refusals[r].fault != fault ||
            strcmp(refusals[r].operand, name) != 0)
            continue;
        snprintf(text, 256, "%s: %s", f->name, refusals[r].said);
        return true;
    }
    snprintf(text, 256, "%s: %s is int64, expected a floating dtype", f->name, first);
    return fault == OTHER_DTYPE && i == 0 && is_floating(f);
}

/* Operand i of a call with a fault, and all others good. */
static void check(const nn_functional *f, int i, enum fault fault)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *in[NN_OPERANDS];
    char text[256];

    for (int j = 0; j < f->count; j++)
        in[j] = make(&f->operands[j], j == 0, j == i ? fault : NONE);
    if (expected(f, i, fault, text))
        HT_TEST_EXPECT_ERROR(assert_null(f->call(in, f)), codes[fault], text);
    else if (f->call(in, f) == NULL)
        fail_msg("%s refuses %s with fault %d", f->name, f->operands[i].name, (int)fault);
    ht_scope_close(scope);
}

static void test_bad_operands(void **state)
{
    (void)state;
    for (const nn_functional *f = nn_functionals; f->name != NULL; f++) {
        for (int i = 0; i < f->count && !f->variant; i++) {
            for (enum fault fault = NONE; fault < FAULTS; fault++) {
                if ((i == 0 && fault >= DEVICE) || (fault == RANKS && ht_test_size == 1))
                    continue; /* there is no other operand */
                check(f, i, fault);
            }
        }
    }
}

HT_TEST_SUITE(test_operands, cmocka_unit_test(test_bad_operands));
