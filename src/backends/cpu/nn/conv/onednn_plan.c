/* SPDX-License-Identifier: MIT
 *
 * Plans of convolutions by oneDNN: the primitive, in layouts that onednn.c explains, the reorders
 * of its operands, and the places of their copies in scratch. */
#include "core/base/base.h"
#include "config.h"

#include <string.h>

#include "backends/cpu/nn/conv/onednn_plan.h"
#include "backends/cpu/scratch.h"

void ht__conv_plan_free(conv_plan *p)
{
    if (p == NULL)
        return;
    for (int i = 0; i < CONV_OPERANDS; i++) {
        conv_operand *o = &p->operands[i];

        if (o->reorder != NULL)
            dnnl_primitive_destroy(o->reorder);
        if (o->inner != NULL)
            dnnl_memory_destroy(o->inner);
        if (o->memory != NULL)
            dnnl_memory_destroy(o->memory);
        layout_free(&o->layout);
    }
    if (p->workspace != NULL)
        dnnl_memory_destroy(p->workspace);
    if (p->primitive != NULL)
        dnnl_primitive_destroy(p->primitive);
    ht__free(p);
}

/* An image of one channel has every layout: it takes the other image's. */
static void image_strides(const int64_t stride[4], int64_t c, const int64_t in[2], dnnl_dims_t to)
{
    memcpy(to, stride, 4 * sizeof *stride);
    if (c == 1) {
        to[1] = 1;
        to[2] = in[1];
        to[3] = 1;
    }
}

static bool is_channels_last(const int64_t stride[4], int64_t c)
{
    return stride[1] == 1 || c == 1;
}

/* The caller's layouts. Weights have an axis of groups in front where there are groups. */
static bool describe_operands(conv_plan *p, const ht_conv_call *v, bool bias)
{
    const int64_t cg = v->c / v->groups, window = v->kernel[0] * v->kernel[1];
    const dnnl_dims_t x = {v->n, v->c, v->in[0], v->in[1]};
    const dnnl_dims_t y = {v->n, v->o, v->out[0], v->out[1]};
    const dnnl_dims_t w = {v->groups, v->o / v->groups, cg, v->kernel[0], v->kernel[1]};
    const dnnl_dims_t w_stride = {v->o / v->groups * cg * window, cg * window, window, v->kernel[1],
                                  1};
    const dnnl_dims_t b = {v->o}, b_stride = {1};
    const int skip = v->groups == 1;
    dnnl_dims_t x_stride, y_stride;
    conv_operand *at = p->operands;

    image_strides(v->x_stride, v->c, v->in, x_stride);
    image_strides(v->y_stride, v->o, v->out, y_stride);
    return layout_strided(&at[CONV_X].layout, 4, x, x_stride) &&
           layout_strided(&at[CONV_WEIGHT].layout, 5 - skip, w + skip, w_stride + skip) &&
           (!bias || layout_strided(&at[CONV_BIAS].layout, 1, b, b_stride)) &&
           layout_strided(&at[CONV_Y].layout, 4, y, y_stride);
}

static conv_walk make_walk(const ht_conv_call *v)
{
    conv_walk walk;

    for (int i = 0; i < 2; i++) {
        const int64_t reach = v->dilation[i] * (v->kernel[i] - 1) + 1;

        walk.stride[i] = v->stride[i];
        walk.dilation[i] = v->dilation[i] - 1;
        walk.before[i] = v->padding[i];
        walk.after[i] = (v->out[i] - 1) * v->stride[i] + reach - v->in[i] - v->padding[i];
    }
    return walk;
}

/* The primitive with images in the caller's layouts, or in its own choice. The gradients need the
 * description of a forward one as a hint. NULL when there is none. */
static dnnl_primitive_desc_t describe(const conv_plan *p, const ht_conv_call *v, bool own_images,
                                      const_dnnl_primitive_attr_t attr)
{
    const conv_operand *at = p->operands;
    const conv_kind kind = (conv_kind)p->key.kind;
    const conv_walk walk = make_walk(v);
    const dnnl_engine_t engine = p->engine;
    const dnnl_alg_kind_t alg = dnnl_convolution_auto;
    const dnnl_dims_t dims[2] = {{v->n, v->c, v->in[0], v->in[1]},
                                 {v->n, v->o, v->out[0], v->out[1]}};
    const dnnl_dims_t w_dims = {v->groups, v->o / v->groups, v->c / v->groups, v->kernel[0],
                                v->kernel[1]};
    const int skip = v->groups == 1;
    dnnl_primitive_desc_t hint = NULL, pd = NULL;
    owned_layout any[3];
    layout x, w, y, b = p->key.bias ? borrow(&at[CONV_BIAS].layout) : NULL;

    if (!layout_any(&any[0], 4, dims[0]) || !layout_any(&any[1], 4, dims[1]) ||
        !layout_any(&any[2], 5 - skip, w_dims + skip))
        return NULL;
    x = own_images ? borrow(&any[0]) : borrow(&at[CONV_X].layout);
    y = own_images ? borrow(&any[1]) : borrow(&at[CONV_Y].layout);
    w = borrow(&any[2]);

    if (kind == CONV_FORWARD)
        conv_forward_desc(&pd, engine, alg, x, w, b, y, &walk, attr);
    else if (conv_forward_desc(&hint, engine, alg, x, w, NULL, y, &walk, NULL) != dnnl_success)
        pd = NULL;
    else if (kind == CONV_BACKWARD_DATA)
        conv_data_desc(&pd, engine, alg, x, w, y, &walk, attr, hint);
    else
        conv_weight_desc(&pd, engine, alg, x, w, b, y, &walk, attr, hint);

    if (hint != NULL)
        dnnl_primitive_desc_destroy(hint);
    for (int i = 0; i < 3; i++)
        layout_free(&any[i]);
    return pd;
}

static bool is_winograd(const_dnnl_primitive_desc_t pd)
{
    const char *name = NULL;

    return dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) == dnnl_success &&
           strstr(name, "wino") != NULL;
}

/* Blocked images by reorder, or the caller's: see the head of onednn.c. */
static dnnl_primitive_desc_t choose(const conv_plan *p, const ht_conv_call *v)
{
    const bool last = is_channels_last(v->x_stride, v->c) && is_channels_last(v->y_stride, v->o);
    const bool prefer_own = !last || (p->key.kind == CONV_BACKWARD_WEIGHT && v->c > 1);
    /* Winograd pads channels to 16; the direct data gradient of few is slower still. */
    const bool suits = v->c >= 16 || p->key.kind == CONV_BACKWARD_DATA;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_attr_t attr;

    if (dnnl_primitive_attr_create(&attr) != dnnl_success)
        return NULL;
    dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    pd = describe(p, v, true, attr);
    if (pd == NULL || (!prefer_own && !(suits && is_winograd(pd)))) {
        dnnl_primitive_desc_t callers = describe(p, v, false, attr);

        if (callers != NULL) {
            if (pd != NULL)
                dnnl_primitive_desc_destroy(pd);
            pd = callers;
        }
    }
    dnnl_primitive_attr_destroy(attr);
    return pd;
}

static size_t reserve(conv_plan *p, layout l)
{
    const size_t offset = p->scratch_bytes;

    p->scratch_bytes += ht__cpu_scratch_part(dnnl_memory_desc_get_size(l));
    return offset;
}

static bool make_reorder(dnnl_engine_t engine, conv_operand *o, layout outer, layout inner)
{
    dnnl_primitive_desc_t pd;
    layout from = o->output ? inner : outer, to = o->output ? outer : inner;
    bool made;

    if (dnnl_reorder_primitive_desc_create(&pd, from, engine, to, engine, NULL) != dnnl_success)
        return false;
    made = dnnl_primitive_create(&o->reorder, pd) == dnnl_success;
    dnnl_primitive_desc_destroy(pd);
    return made;
}

/* The caller's memory and, where the primitive wants another layout, the way there. */
static bool connect(conv_plan *p, conv_operand *o, layout inner)
{
    layout outer = borrow(&o->layout);

    if (dnnl_memory_create(&o->memory, outer, p->engine, DNNL_MEMORY_NONE) != dnnl_success)
        return false;
    if (dnnl_memory_desc_equal(outer, inner))
        return true;
    o->offset = reserve(p, inner);
    return dnnl_memory_create(&o->inner, inner, p->engine, DNNL_MEMORY_NONE) == dnnl_success &&
           make_reorder(p->engine, o, outer, inner);
}

static bool connect_operands(conv_plan *p, const_dnnl_primitive_desc_t pd)
{
    for (int i = 0; i < CONV_OPERANDS; i++) {
        conv_operand *o = &p->operands[i];

        if (o->arg != 0 &&
            !connect(p, o, dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, o->arg)))
            return false;
    }

    layout workspace = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    p->workspace_offset = reserve(p, workspace);
    return dnnl_memory_create(&p->workspace, workspace, p->engine, DNNL_MEMORY_NONE) ==
               dnnl_success &&
           dnnl_primitive_create(&p->primitive, pd) == dnnl_success;
}

static void set_args(conv_plan *p)
{
    static const int args[][CONV_OPERANDS] = {
        [CONV_FORWARD] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST},
        [CONV_BACKWARD_DATA] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, 0, DNNL_ARG_DIFF_DST},
        [CONV_BACKWARD_WEIGHT] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS,
                                  DNNL_ARG_DIFF_DST}};

    for (int i = 0; i < CONV_OPERANDS; i++)
        p->operands[i].arg = args[p->key.kind][i];
    if (!p->key.bias)
        p->operands[CONV_BIAS].arg = 0;
    p->operands[CONV_X].output = p->key.kind == CONV_BACKWARD_DATA;
    p->operands[CONV_WEIGHT].output = p->operands[CONV_BIAS].output = p->key.kind ==
                                                                      CONV_BACKWARD_WEIGHT;
    p->operands[CONV_Y].output = p->key.kind == CONV_FORWARD;
}

conv_plan *ht__conv_plan_new(dnnl_engine_t engine, const conv_plan_key *key, const ht_conv_call *v)
{
    conv_plan *p = ht__alloc(sizeof *p);
    dnnl_primitive_desc_t pd;

    p->engine = engine;
    p->key = *key;
    set_args(p);
    pd = describe_operands(p, v, key->bias) ? choose(p, v) : NULL;
    if (pd == NULL)
        return p;
    if (!connect_operands(p, pd) && p->primitive != NULL) {
        dnnl_primitive_destroy(p->primitive);
        p->primitive = NULL;
    }
    dnnl_primitive_desc_destroy(pd);
    return p;
}

conv_plan_key ht__conv_plan_key(conv_kind kind, const ht_conv_call *v, bool bias)
{
    conv_plan_key key = {.kind = kind, .bias = bias};

    memcpy(key.job, &v->n, JOB_BYTES);
    return key;
}
