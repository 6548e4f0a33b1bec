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

#include "backends/cpu/nn/conv/onednn.h"
#include "backends/cpu/nn/conv/onednn_plan.h"
#include "backends/cpu/scratch.h"

#define PLANS  256 /* kept by a thread */
#define PROBES 8

static dnnl_engine_t engine;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;

static _Thread_local dnnl_stream_t stream;
static _Thread_local conv_plan *
    *plans; /* PLANS; a plan is in one of PROBES places from its hash on */
static _Thread_local int next_victim;
static _Thread_local int64_t calls;

static void release_thread(void *memory)
{
    conv_plan **all = memory;

    for (int i = 0; i < PLANS; i++)
        ht__conv_plan_free(all[i]);
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

static size_t hash(const conv_plan_key *key)
{
    const int64_t *words = (const int64_t *)key;
    uint64_t h = 0;

    for (size_t i = 0; i < sizeof *key / sizeof *words; i++)
        h = (h ^ (uint64_t)words[i]) * 0x9e3779b97f4a7c15u;
    return (size_t)(h >> 40);
}

static conv_plan *find_plan(conv_kind kind, const ht_conv_call *v, bool bias)
{
    const conv_plan_key key = ht__conv_plan_key(kind, v, bias);
    const size_t first = hash(&key);
    conv_plan **place = NULL;

    for (size_t i = 0; i < PROBES && place == NULL; i++) {
        conv_plan **at = &plans[(first + i) % PLANS];

        if (*at == NULL)
            place = at;
        else if (memcmp(&(*at)->key, &key, sizeof key) == 0)
            return *at;
    }
    if (place == NULL) {
        place = &plans[(first + (size_t)next_victim++ % PROBES) % PLANS];
        ht__conv_plan_free(*place);
    }
    *place = ht__conv_plan_new(engine, &key, v);
    return *place;
}

static bool reorder(const conv_operand *o)
{
    const dnnl_exec_arg_t args[2] = {{DNNL_ARG_FROM, o->output ? o->inner : o->memory},
                                     {DNNL_ARG_TO, o->output ? o->memory : o->inner}};

    return o->reorder == NULL ||
           dnnl_primitive_execute(o->reorder, stream, 2, args) == dnnl_success;
}

static bool execute(conv_plan *p, char *scratch)
{
    dnnl_exec_arg_t args[CONV_OPERANDS + 1];
    bool done = true;
    int count = 0;

    dnnl_memory_set_data_handle(p->workspace, scratch + p->workspace_offset);
    args[count++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, p->workspace};
    for (int i = 0; i < CONV_OPERANDS; i++) {
        conv_operand *o = &p->operands[i];

        if (o->arg == 0)
            continue;
        if (o->inner != NULL)
            dnnl_memory_set_data_handle(o->inner, scratch + o->offset);
        args[count++] = (dnnl_exec_arg_t){o->arg, o->inner != NULL ? o->inner : o->memory};
        done = done && (o->output || reorder(o));
    }
    done = done && dnnl_primitive_execute(p->primitive, stream, count, args) == dnnl_success;
    for (int i = 0; i < CONV_OPERANDS; i++)
        done = done &&
               (!p->operands[i].output || p->operands[i].arg == 0 || reorder(&p->operands[i]));
    return done && dnnl_stream_wait(stream) == dnnl_success;
}

/* oneDNN writes only through the operands of the kind that are its outputs. */
static ht_onednn_answer run(conv_kind kind, const ht_conv_call *v,
                            const float *const data[CONV_OPERANDS])
{
    conv_plan *p;
    char *scratch;

    if (v->n == 0 || !set_up_thread())
        return HT_ONEDNN_NONE;
    p = find_plan(kind, v, data[CONV_BIAS] != NULL);
    if (p->primitive == NULL)
        return HT_ONEDNN_NONE;
    scratch = ht__cpu_scratch(p->scratch_bytes);
    if (scratch == NULL)
        return HT_ONEDNN_FAILED;
    for (int i = 0; i < CONV_OPERANDS; i++)
        if (p->operands[i].arg != 0)
            dnnl_memory_set_data_handle(p->operands[i].memory, (void *)data[i]);
    if (!execute(p, scratch)) {
        ht__error_set(HT_ERR_DEVICE, "oneDNN failed to compute a convolution");
        return HT_ONEDNN_FAILED;
    }
    calls++;
    return HT_ONEDNN_DONE;
}

ht_onednn_answer ht__cpu_onednn_conv_forward(const ht_conv_call *conv, const float *x,
                                             const float *weight, const float *bias, float *y)
{
    return run(CONV_FORWARD, conv, (const float *[]){x, weight, bias, y});
}

ht_onednn_answer ht__cpu_onednn_conv_backward_data(const ht_conv_call *conv, const float *dy,
                                                   const float *weight, float *dx)
{
    return run(CONV_BACKWARD_DATA, conv, (const float *[]){dx, weight, NULL, dy});
}

ht_onednn_answer ht__cpu_onednn_conv_backward_weight(const ht_conv_call *conv, const float *x,
                                                     const float *dy, float *dweight, float *dbias)
{
    return run(CONV_BACKWARD_WEIGHT, conv, (const float *[]){x, dweight, dbias, dy});
}

int64_t ht__cpu_onednn_calls(void)
{
    return calls;
}
