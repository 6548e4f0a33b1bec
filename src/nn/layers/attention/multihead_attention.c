/* SPDX-License-Identifier: MIT
 *
 * MultiheadAttention: its settings, parameters and inputs. */
#include <math.h>

#include "ht/arithmetics.h"
#include "ht/autograd.h"
#include "ht/nn.h"
#include "nn/layers/attention/multihead.h"
#include "nn/module/init.h"
#include "nn/module/inputs.h"

#define WHAT "ht_nn_multihead_attention"

static const char *const input_names[] = {"query",
                                          "key",
                                          "value",
                                          "key_padding_mask",
                                          "attn_mask",
                                          "need_weights",
                                          "average_attn_weights",
                                          "is_causal"};
static const ht_input_names inputs_of = {5, 1, 3, input_names};

static ht_value *forward(ht_module *self, ht_value *inputs)
{
    const bool alone = ht_value_get_kind(inputs) == HT_VALUE_TENSOR;
    double numbers[3] = {!alone, true, false};
    ht_tensor *in[5], *y, *weights = NULL, *both[2];

    if (!ht__named_inputs(WHAT, &inputs_of, inputs, in, numbers)) {
        ht__module_missed(self);
        return NULL;
    }
    in[1] = in[1] != NULL ? in[1] : in[0];
    in[2] = in[2] != NULL ? in[2] : in[1];
    y = ht__multihead_forward(self,
                              &(ht_multihead_inputs){.query = in[0],
                                                     .key = in[1],
                                                     .value = in[2],
                                                     .key_padding_mask = in[3],
                                                     .attn_mask = in[4],
                                                     .need_weights = numbers[0] != 0,
                                                     .average_attn_weights = numbers[1] != 0,
                                                     .is_causal = numbers[2] != 0},
                              &weights);
    if (y == NULL || numbers[0] == 0)
        return ht__output(y);
    both[0] = y;
    both[1] = weights;
    return ht_value_tensors(2, both);
}

static uint64_t *counter(ht_module *self)
{
    return &((ht_multihead *)ht_module_data(self))->count;
}

#define AT(field, kind) offsetof(ht_multihead, field), HT_SETTING_##kind
static const ht_module_setting settings[] = {
    {"embed_dim", AT(embed_dim, INT64), .low = 1, .high = INFINITY, .print = HT_PRINT_VALUE},
    {"num_heads", AT(num_heads, INT), .low = 1, .high = INFINITY, .print = HT_PRINT_VALUE},
    {"dropout", AT(dropout, DOUBLE), .usual = 0, .low = 0, .high = 1},
    {"bias", AT(bias, BOOL), .usual = true},
    {"add_bias_kv", AT(add_bias_kv, BOOL), .usual = false},
    {"add_zero_attn", AT(add_zero_attn, BOOL), .usual = false},
    {"kdim", AT(kdim, INT64), .low = 1, .high = INFINITY, .print = HT_PRINT_ALWAYS},
    {"vdim", AT(vdim, INT64), .low = 1, .high = INFINITY, .print = HT_PRINT_ALWAYS},
    {"batch_first", AT(batch_first, BOOL), .usual = false},
    {.name = NULL}};

static const ht_module_type type = {.name = "MultiheadAttention",
                                    .forward_value = forward,
                                    .counter = counter,
                                    .settings = settings};

ht_multihead_attention_options ht_multihead_attention_options_default(void)
{
    return (ht_multihead_attention_options){.size = sizeof(ht_multihead_attention_options),
                                            .bias = true};
}

static ht_status add_weight(ht_module *module, const char *name, ht_tensor **slot, int64_t rows,
                            int64_t columns)
{
    const double bound = sqrt(6.0 / (double)(rows + columns));

    return ht_module_add_parameter(module, name, slot,
                                   ht__nn_parameter(HT_SHAPE(rows, columns), bound));
}

static ht_status add_weights(ht_module *module, ht_multihead *m)
{
    const int64_t e = m->embed_dim;
    ht_status status;

    if (m->kdim == e && m->vdim == e)
        return add_weight(module, "in_proj_weight", &m->in_proj_weight, 3 * e, e);
    status = add_weight(module, "q_proj_weight", &m->q_weight, e, e);
    if (status == HT_SUCCESS)
        status = add_weight(module, "k_proj_weight", &m->k_weight, e, m->kdim);
    if (status == HT_SUCCESS)
        status = add_weight(module, "v_proj_weight", &m->v_weight, e, m->vdim);
    return status;
}

static ht_status add_out_proj(ht_module *module, ht_multihead *m)
{
    const ht_status status = ht_module_add(module, "out_proj", &m->out_proj,
                                           ht_nn_linear_ext(m->embed_dim, m->embed_dim, m->bias));

    if (status != HT_SUCCESS || !m->bias)
        return status;
    return ht_fill_(ht_detach(ht_module_find_parameter(m->out_proj, "bias")), 0.0);
}

/* Xavier's normal distribution for a row of one channel. */
static ht_status add_bias(ht_module *module, const char *name, ht_tensor **slot, int64_t e)
{
    const bool was = ht_set_grad_enabled(false);
    ht_tensor *bias = ht_mul_scalar(ht__nn_normal(HT_SHAPE(1, 1, e)), 1 / sqrt((double)e));

    ht_set_grad_enabled(was);
    return ht_module_add_parameter(module, name, slot, bias);
}

static ht_status add_all(ht_module *module, ht_multihead *m)
{
    const int64_t e = m->embed_dim;
    ht_status status = add_weights(module, m);

    if (status == HT_SUCCESS && m->bias)
        status = ht_module_add_parameter(module, "in_proj_bias", &m->in_proj_bias,
                                         ht__nn_filled(HT_SHAPE(3 * e), 0));
    if (status == HT_SUCCESS && m->add_bias_kv)
        status = add_bias(module, "bias_k", &m->bias_k, e);
    if (status == HT_SUCCESS && m->add_bias_kv)
        status = add_bias(module, "bias_v", &m->bias_v, e);
    return status == HT_SUCCESS ? add_out_proj(module, m) : status;
}

ht_module *ht_nn_multihead_attention_ext(int64_t embed_dim, int num_heads,
                                         const ht_multihead_attention_options *options)
{
    static const char what[] = "ht_nn_multihead_attention_ext";
    const ht_multihead_attention_options defaults = ht_multihead_attention_options_default();
    ht_multihead made = {.embed_dim = embed_dim, .num_heads = num_heads};
    ht_module *module;
    ht_scope *scope;
    ht_status status;

    options = options != NULL ? options : &defaults;
    if (HT_CHECK_OPTIONS(NULL, what, options, ht_multihead_attention_options) != HT_SUCCESS)
        return NULL;
    made.dropout = options->dropout;
    made.bias = options->bias;
    made.add_bias_kv = options->add_bias_kv;
    made.add_zero_attn = options->add_zero_attn;
    made.batch_first = options->batch_first;
    made.kdim = options->kdim != 0 ? options->kdim : embed_dim;
    made.vdim = options->vdim != 0 ? options->vdim : embed_dim;
    if (!ht__nn_check_size(what, "embed_dim", embed_dim) ||
        !ht__nn_check_size(what, "kdim", made.kdim) || !ht__nn_check_size(what, "vdim", made.vdim))
        return NULL;
    module = ht_module_new_ext(what, &type, sizeof made, &made);
    if (module == NULL)
        return NULL;
    if (embed_dim % num_heads != 0) {
        HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: embed_dim is %lld, expected a multiple of num_heads %d",
                what, (long long)embed_dim, num_heads);
        ht_release(module);
        return NULL;
    }
    scope = ht_scope_open();
    status = add_all(module, ht_module_data(module));
    ht_scope_close(scope);
    if (status == HT_SUCCESS)
        return module;
    ht_release(module);
    return NULL;
}

ht_module *ht_nn_multihead_attention(int64_t embed_dim, int num_heads)
{
    HT_NAMED(WHAT);

    return ht_nn_multihead_attention_ext(embed_dim, num_heads, NULL);
}
