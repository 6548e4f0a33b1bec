/* SPDX-License-Identifier: MIT
 *
 * Operands and options of convolutions, checked in one place. */
#include <string.h>

#include "nn/functional/window/conv.h"

#define RULES(x_axes, weight_axes, bias_axes)                                                      \
    {                                                                                              \
        {"x", x_axes, HT_DTYPE_FLOATING, HT_SPLIT_BATCH, HT_LAYOUT_ANY, HT_CAST_LOW, HT_REQUIRED}, \
            {"weight",      weight_axes, HT_DTYPE_SAME, HT_SPLIT_NONE,                             \
             HT_LAYOUT_ANY, HT_CAST_LOW, HT_REQUIRED},                                             \
        {                                                                                          \
            "bias", bias_axes, HT_DTYPE_SAME, HT_SPLIT_NONE, HT_LAYOUT_ANY, HT_CAST_LOW,           \
                HT_OPTIONAL                                                                        \
        }                                                                                          \
    }

static const ht_operand_rule plain[3][HT_CONV_OPERANDS] = {
    RULES("NCL", "Ogw", "O"), RULES("NCHW", "Oghw", "O"), RULES("NCDHW", "Ogdhw", "O")};
/* The bias has as many channels as the groups together, which is checked below. */
static const ht_operand_rule transposed_rules[3][HT_CONV_OPERANDS] = {
    RULES("NCL", "Cpw", "O"), RULES("NCHW", "Cphw", "O"), RULES("NCDHW", "Cpdhw", "O")};

ht_conv_options ht_conv_options_default(void)
{
    return (ht_conv_options){
        .size = sizeof(ht_conv_options), .stride = {1, 1, 1}, .dilation = {1, 1, 1}, .groups = 1};
}

static bool check_groups(const char *what, ht_tensor *const in[], int64_t groups)
{
    const ht_body *x = in[HT_CONV_X]->body, *w = in[HT_CONV_WEIGHT]->body;
    const char *xs = ht__shape_str(x->ndim, x->shape), *ws = ht__shape_str(w->ndim, w->shape);

    if (groups < 1 || groups > (w->shape[0] > 0 ? w->shape[0] : 1) || x->shape[1] % groups != 0 ||
        w->shape[0] % groups != 0) {
        HT_FAIL(x->comm, HT_ERR_SHAPE,
                "%s: x is %s, weight is %s: %lld groups do not divide the channels", what, xs, ws,
                (long long)groups);
        return false;
    }
    return true;
}

/* The channels of x, or of the bias of the transposed form. */
static bool check_channels(const char *what, bool transposed, ht_tensor *const in[], int64_t groups)
{
    const ht_body *other = in[transposed ? HT_CONV_BIAS : HT_CONV_X] != NULL
                               ? in[transposed ? HT_CONV_BIAS : HT_CONV_X]->body
                               : NULL;
    const ht_body *w = in[HT_CONV_WEIGHT]->body;

    if (other == NULL || other->shape[transposed ? 0 : 1] == w->shape[1] * groups)
        return true;
    HT_FAIL(other->comm, HT_ERR_SHAPE, "%s: %s is %s, weight is %s: channels %lld and %lld differ",
            what, transposed ? "bias" : "x", ht__shape_str(other->ndim, other->shape),
            ht__shape_str(w->ndim, w->shape), (long long)other->shape[transposed ? 0 : 1],
            (long long)(w->shape[1] * groups));
    return false;
}

static bool check_options(const char *what, int spatial, bool transposed, const ht_tensor *x,
                          const ht_conv_options *o)
{
    const char *wrong = NULL;

    if ((unsigned)o->padding_mode > HT_PAD_CIRCULAR)
        wrong = "padding_mode is invalid, expected an ht_pad_mode";
    else if (transposed && (o->same || o->padding_mode != HT_PAD_CONSTANT))
        wrong = "same or padding_mode is set, expected neither in a transposed convolution";
    for (int i = 0; i < spatial && wrong == NULL; i++) {
        if (o->stride[i] < 1 || o->dilation[i] < 1 || o->padding[i] < 0)
            wrong = "stride, dilation or padding is too small, expected at least 1, 1 and 0";
        else if (o->same && o->stride[i] != 1)
            wrong = "stride is not 1, expected 1 with options.same";
        else if (o->output_padding[i] < 0 || (!transposed && o->output_padding[i] != 0))
            wrong = "output_padding is invalid, expected at least 0, and 0 unless transposed";
        else if (o->output_padding[i] > 0 && o->output_padding[i] >= o->stride[i] &&
                 o->output_padding[i] >= o->dilation[i])
            wrong = "output_padding is too large, expected less than stride or dilation";
    }
    if (wrong == NULL)
        return true;
    HT_FAIL(x->body->comm, HT_ERR_ARGUMENT, "%s: %s", what, wrong);
    return false;
}

bool ht__conv_prepare(const char *what, int spatial, bool transposed,
                      ht_tensor *in[HT_CONV_OPERANDS], const ht_conv_options *options)
{
    const ht_operand_rule *rules = (transposed ? transposed_rules : plain)[spatial - 1];

    return ht__prepare(what, rules, HT_CONV_OPERANDS, in) &&
           HT_CHECK_OPTIONS(in[HT_CONV_X]->body->comm, what, options, ht_conv_options) ==
               HT_SUCCESS &&
           check_options(what, spatial, transposed, in[HT_CONV_X], options) &&
           check_groups(what, in, options->groups) &&
           check_channels(what, transposed, in, options->groups);
}
