/* SPDX-License-Identifier: MIT
 *
 * Convolutions by oneDNN. A thread creates a primitive once for each job and keeps it, together
 * with the reorders between the caller's layout and the primitive's. The primitive's working memory
 * lies in the thread's scratch during a call. Weights change with every step and are reordered each
 * time.
 *
 * Blocked layouts are used because they are faster, on one core and for 32 -> 64 channels on 26 x
 * 26: Winograd takes a third of the direct forward time, and a weight gradient half of the
 * channels-last one. The reorders cost a twentieth. */
#include "core/base/base.h"
#include "config.h"

#include <pthread.h>
#include <string.h>

#include "backends/cpu/nn/onednn.h"
#include "backends/cpu/nn/onednn_version.h"
#include "backends/cpu/scratch.h"

#define PLANS    256 /* kept by a thread */
#define PROBES   8
#define OPERANDS 4

typedef enum conv_kind { FORWARD, BACKWARD_DATA, BACKWARD_WEIGHT } conv_kind;

/* The description of a job: all fields after its call, its operands and the number of axes. */
#define JOB_BYTES (sizeof(ht_conv_call) - offsetof(ht_conv_call, n))

/* The key of a plan; without padding bytes, to be compared as memory. */
typedef struct plan_key {
    int64_t kind, bias;
    int64_t job[JOB_BYTES / sizeof(int64_t)];
} plan_key;

/* The roles of operands: x or dx, weight or its gradient, bias or its gradient, y or dy. */
enum { X, WEIGHT, BIAS, Y };

typedef struct operand {
    int arg; /* of the primitive */
    bool output;
    owned_layout layout;      /* the caller's */
    dnnl_memory_t memory;     /* the caller's */
    dnnl_memory_t inner;      /* in the primitive's layout, in scratch; NULL: the caller's is it */
    dnnl_primitive_t reorder; /* between the two */
    size_t offset;            /* of inner in scratch */
} operand;

typedef struct plan {
    plan_key key;
    dnnl_primitive_t primitive; /* NULL: oneDNN has none */
    operand operands[OPERANDS];
    dnnl_memory_t workspace;
    size_t workspace_offset, scratch_bytes;
} plan;

static dnnl_engine_t engine;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;

static _Thread_local dnnl_stream_t stream;
static _Thread_local plan **plans; /* PLANS; a plan is in one of PROBES places from its hash on */
static _Thread_local int next_victim;
static _Thread_local int64_t calls;

static void plan_free(plan *p)
{
    if (p == NULL)
        return;
    for (int i = 0; i < OPERANDS; i++) {
        operand *o = &p->operands[i];

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

static void release_thread(void *memory)
{
    plan **all = memory;

    for (int i = 0; i < PLANS; i++)
        plan_free(all[i]);
    ht__free(all);
    dnnl_stream_destroy(stream);
}

static void set_up(void)
{
    if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success)
        engine = NULL;
    pthread_key_create(&thread_key, release_thread);
}

static bool set_up_thread(void)
{
    if (plans != NULL)
        return true;
    pthread_once(&once, set_up);
    if (engine == NULL || dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) != 0)
        return false;
    plans = ht__alloc(PLANS * sizeof *plans);
    pthread_setspecific(thread_key, plans);
    return true;
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
static bool describe_operands(plan *p, const ht_conv_call *v, bool bias)
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
    operand *at = p->operands;

    image_strides(v->x_stride, v->c, v->in, x_stride);
    image_strides(v->y_stride, v->o, v->out, y_stride);
    return layout_strided(&at[X].layout, 4, x, x_stride) &&
           layout_strided(&at[WEIGHT].layout, 5 - skip, w + skip, w_stride + skip) &&
           (!bias || layout_strided(&at[BIAS].layout, 1, b, b_stride)) &&
           layout_strided(&at[Y].layout, 4, y, y_stride);
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
static dnnl_primitive_desc_t describe(const plan *p, const ht_conv_call *v, bool own_images,
                                      const_dnnl_primitive_attr_t attr)
{
    const operand *at = p->operands;
    const conv_kind kind = (conv_kind)p->key.kind;
    const conv_walk walk = make_walk(v);
    const dnnl_alg_kind_t alg = dnnl_convolution_auto;
    const dnnl_dims_t dims[2] = {{v->n, v->c, v->in[0], v->in[1]},
                                 {v->n, v->o, v->out[0], v->out[1]}};
    const dnnl_dims_t w_dims = {v->groups, v->o / v->groups, v->c / v->groups, v->kernel[0],
                                v->kernel[1]};
    const int skip = v->groups == 1;
    dnnl_primitive_desc_t hint = NULL, pd = NULL;
    owned_layout any[3];
    layout x, w, y, b = p->key.bias ? borrow(&at[BIAS].layout) : NULL;

    if (!layout_any(&any[0], 4, dims[0]) || !layout_any(&any[1], 4, dims[1]) ||
        !layout_any(&any[2], 5 - skip, w_dims + skip))
        return NULL;
    x = own_images ? borrow(&any[0]) : borrow(&at[X].layout);
    y = own_images ? borrow(&any[1]) : borrow(&at[Y].layout);
    w = borrow(&any[2]);

    if (kind == FORWARD)
        conv_forward_desc(&pd, engine, alg, x, w, b, y, &walk, attr);
    else if (conv_forward_desc(&hint, engine, alg, x, w, NULL, y, &walk, NULL) != dnnl_success)
        pd = NULL;
    else if (kind == BACKWARD_DATA)
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

/* Blocked images by reorder, or the caller's: see the head of this file. */
static dnnl_primitive_desc_t choose(const plan *p, const ht_conv_call *v)
{
    const bool last = is_channels_last(v->x_stride, v->c) && is_channels_last(v->y_stride, v->o);
    const bool prefer_own = !last || (p->key.kind == BACKWARD_WEIGHT && v->c > 1);
    /* Winograd pads channels to 16; the direct data gradient of few is slower still. */
    const bool suits = v->c >= 16 || p->key.kind == BACKWARD_DATA;
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

static size_t reserve(plan *p, layout l)
{
    const size_t offset = p->scratch_bytes;

    p->scratch_bytes += ht__cpu_scratch_part(dnnl_memory_desc_get_size(l));
    return offset;
}

static bool make_reorder(operand *o, layout outer, layout inner)
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
static bool connect(plan *p, operand *o, layout inner)
{
    layout outer = borrow(&o->layout);

    if (dnnl_memory_create(&o->memory, outer, engine, DNNL_MEMORY_NONE) != dnnl_success)
        return false;
    if (dnnl_memory_desc_equal(outer, inner))
        return true;
    o->offset = reserve(p, inner);
    return dnnl_memory_create(&o->inner, inner, engine, DNNL_MEMORY_NONE) == dnnl_success &&
           make_reorder(o, outer, inner);
}

static bool connect_operands(plan *p, const_dnnl_primitive_desc_t pd)
{
    for (int i = 0; i < OPERANDS; i++) {
        operand *o = &p->operands[i];

        if (o->arg != 0 &&
            !connect(p, o, dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, o->arg)))
            return false;
    }

    layout workspace = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    p->workspace_offset = reserve(p, workspace);
    return dnnl_memory_create(&p->workspace, workspace, engine, DNNL_MEMORY_NONE) == dnnl_success &&
           dnnl_primitive_create(&p->primitive, pd) == dnnl_success;
}

static void set_args(plan *p)
{
    static const int args[][OPERANDS] = {
        [FORWARD] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST},
        [BACKWARD_DATA] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, 0, DNNL_ARG_DIFF_DST},
        [BACKWARD_WEIGHT] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS,
                             DNNL_ARG_DIFF_DST}};

    for (int i = 0; i < OPERANDS; i++)
        p->operands[i].arg = args[p->key.kind][i];
    if (!p->key.bias)
        p->operands[BIAS].arg = 0;
    p->operands[X].output = p->key.kind == BACKWARD_DATA;
    p->operands[WEIGHT].output = p->operands[BIAS].output = p->key.kind == BACKWARD_WEIGHT;
    p->operands[Y].output = p->key.kind == FORWARD;
}

/* A plan without a primitive remembers that oneDNN has none. */
static plan *plan_new(const plan_key *key, const ht_conv_call *v)
{
    plan *p = ht__alloc(sizeof *p);
    dnnl_primitive_desc_t pd;

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

static plan_key make_key(conv_kind kind, const ht_conv_call *v, bool bias)
{
    plan_key key = {.kind = kind, .bias = bias};

    memcpy(key.job, &v->n, JOB_BYTES);
    return key;
}

static size_t hash(const plan_key *key)
{
    const int64_t *words = (const int64_t *)key;
    uint64_t h = 0;

    for (size_t i = 0; i < sizeof *key / sizeof *words; i++)
        h = (h ^ (uint64_t)words[i]) * 0x9e3779b97f4a7c15u;
    return (size_t)(h >> 40);
}

static plan *find_plan(conv_kind kind, const ht_conv_call *v, bool bias)
{
    const plan_key key = make_key(kind, v, bias);
    const size_t first = hash(&key);
    plan **place = NULL;

    for (size_t i = 0; i < PROBES && place == NULL; i++) {
        plan **at = &plans[(first + i) % PLANS];

        if (*at == NULL)
            place = at;
        else if (memcmp(&(*at)->key, &key, sizeof key) == 0)
            return *at;
    }
    if (place == NULL) {
        place = &plans[(first + (size_t)next_victim++ % PROBES) % PLANS];
        plan_free(*place);
    }
    *place = plan_new(&key, v);
    return *place;
}

static bool reorder(const operand *o)
{
    const dnnl_exec_arg_t args[2] = {{DNNL_ARG_FROM, o->output ? o->inner : o->memory},
                                     {DNNL_ARG_TO, o->output ? o->memory : o->inner}};

    return o->reorder == NULL ||
           dnnl_primitive_execute(o->reorder, stream, 2, args) == dnnl_success;
}

static bool execute(plan *p, char *scratch)
{
    dnnl_exec_arg_t args[OPERANDS + 1];
    bool done = true;
    int count = 0;

    dnnl_memory_set_data_handle(p->workspace, scratch + p->workspace_offset);
    args[count++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, p->workspace};
    for (int i = 0; i < OPERANDS; i++) {
        operand *o = &p->operands[i];

        if (o->arg == 0)
            continue;
        if (o->inner != NULL)
            dnnl_memory_set_data_handle(o->inner, scratch + o->offset);
        args[count++] = (dnnl_exec_arg_t){o->arg, o->inner != NULL ? o->inner : o->memory};
        done = done && (o->output || reorder(o));
    }
    done = done && dnnl_primitive_execute(p->primitive, stream, count, args) == dnnl_success;
    for (int i = 0; i < OPERANDS; i++)
        done = done &&
               (!p->operands[i].output || p->operands[i].arg == 0 || reorder(&p->operands[i]));
    return done && dnnl_stream_wait(stream) == dnnl_success;
}

/* oneDNN writes only through the operands of the kind that are its outputs. */
static ht__onednn_answer run(conv_kind kind, const ht_conv_call *v,
                             const float *const data[OPERANDS])
{
    plan *p;
    char *scratch;

    if (v->n == 0 || !set_up_thread())
        return HT_ONEDNN_NONE;
    p = find_plan(kind, v, data[BIAS] != NULL);
    if (p->primitive == NULL)
        return HT_ONEDNN_NONE;
    scratch = ht__cpu_scratch(p->scratch_bytes);
    if (scratch == NULL)
        return HT_ONEDNN_FAILED;
    for (int i = 0; i < OPERANDS; i++)
        if (p->operands[i].arg != 0)
            dnnl_memory_set_data_handle(p->operands[i].memory, (void *)data[i]);
    if (!execute(p, scratch)) {
        ht__error_set(HT_ERR_DEVICE, "oneDNN gave up on a convolution");
        return HT_ONEDNN_FAILED;
    }
    calls++;
    return HT_ONEDNN_DONE;
}

ht__onednn_answer ht__cpu_onednn_conv_forward(const ht_conv_call *conv, const float *x,
                                              const float *weight, const float *bias, float *y)
{
    return run(FORWARD, conv, (const float *[]){x, weight, bias, y});
}

ht__onednn_answer ht__cpu_onednn_conv_backward_data(const ht_conv_call *conv, const float *dy,
                                                    const float *weight, float *dx)
{
    return run(BACKWARD_DATA, conv, (const float *[]){dx, weight, NULL, dy});
}

ht__onednn_answer ht__cpu_onednn_conv_backward_weight(const ht_conv_call *conv, const float *x,
                                                      const float *dy, float *dweight, float *dbias)
{
    return run(BACKWARD_WEIGHT, conv, (const float *[]){x, dweight, dbias, dy});
}

int64_t ht__cpu_onednn_calls(void)
{
    return calls;
}
