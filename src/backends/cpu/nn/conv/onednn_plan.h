/* SPDX-License-Identifier: MIT
 *
 * A plan: a primitive of oneDNN for one job, with the reorders of its operands. */
#ifndef HT_BACKENDS_CPU_NN_CONV_ONEDNN_PLAN_H
#define HT_BACKENDS_CPU_NN_CONV_ONEDNN_PLAN_H

#include <stddef.h>

#include "backends/cpu/nn/conv/onednn_version.h"
#include "ht/kernels/nn.h"

typedef enum conv_kind { CONV_FORWARD, CONV_BACKWARD_DATA, CONV_BACKWARD_WEIGHT } conv_kind;

/* The description of a job: all fields after its call, its operands and the number of axes. */
#define JOB_BYTES (sizeof(ht_conv_call) - offsetof(ht_conv_call, n))

/* The key of a plan; without padding bytes, to be compared as memory. */
typedef struct conv_plan_key {
    int64_t kind, bias;
    int64_t job[JOB_BYTES / sizeof(int64_t)];
} conv_plan_key;

/* The roles of operands: x or dx, weight or its gradient, bias or its gradient, y or dy. */
enum { CONV_X, CONV_WEIGHT, CONV_BIAS, CONV_Y, CONV_OPERANDS };

typedef struct conv_operand {
    int arg; /* of the primitive */
    bool output;
    owned_layout layout;      /* the caller's */
    dnnl_memory_t memory;     /* the caller's */
    dnnl_memory_t inner;      /* in the primitive's layout, in scratch; NULL: the caller's is it */
    dnnl_primitive_t reorder; /* between the two */
    size_t offset;            /* of inner in scratch */
} conv_operand;

typedef struct conv_plan {
    dnnl_engine_t engine; /* not owned */
    conv_plan_key key;
    dnnl_primitive_t primitive; /* NULL: oneDNN has none */
    conv_operand operands[CONV_OPERANDS];
    dnnl_memory_t workspace;
    size_t workspace_offset, scratch_bytes;
} conv_plan;

/* Without padding bytes, to be compared as memory. */
conv_plan_key ht__conv_plan_key(conv_kind kind, const ht_conv_call *job, bool bias);

/* Never NULL: a plan without a primitive remembers that oneDNN has none. */
conv_plan *ht__conv_plan_new(dnnl_engine_t engine, const conv_plan_key *key,
                             const ht_conv_call *job);
void ht__conv_plan_free(conv_plan *p); /* NULL: nothing */

#endif
