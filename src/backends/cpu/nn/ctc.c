/* SPDX-License-Identifier: MIT
 *
 * Connectionist temporal classification. */
#include <math.h>

#include "backends/cpu/level.h"
#include "ht/kernels/nn.h"

/* One sequence: its target, and how many elements that has with blanks around each. */
typedef struct sequence {
    const int64_t *target;
    int64_t steps, length, elements, blank;
} sequence;

static sequence sequence_of(const ht_ctc_call *r, int64_t row)
{
    const int64_t *starts = r->starts.data;
    sequence s = {.steps = ((const int64_t *)r->input_lengths.data)[row],
                  .length = ((const int64_t *)r->target_lengths.data)[row],
                  .blank = r->blank};

    s.target = (const int64_t *)r->targets.data + (starts != NULL ? starts[row] : row * r->width);
    s.elements = 2 * s.length + 1;
    return s;
}

static int64_t class_of(const sequence *s, int64_t element)
{
    return element % 2 == 0 ? s->blank : s->target[element / 2];
}

/* A path may go from `element` to the next but one, past a blank. */
static bool may_skip(const sequence *s, int64_t element)
{
    return element % 2 == 1 && element + 2 < s->elements &&
           s->target[element / 2] != s->target[element / 2 + 1];
}

/* log(exp(a) + exp(b) + exp(c)) */
static double log_sum(double a, double b, double c)
{
    double most = a > b ? a : b;

    most = c > most ? c : most;
    most = most == -INFINITY ? 0 : most;
    return log(exp(a - most) + exp(b - most) + exp(c - most)) + most;
}

/* -log of the probability of all paths, by alpha (steps, stride). */
static double loss_of(const sequence *s, const double *alpha, int64_t stride)
{
    const double *last;

    if (s->steps == 0)
        return s->length == 0 ? 0 : INFINITY;
    last = alpha + (s->steps - 1) * stride;
    return -log_sum(last[s->elements - 1], s->length > 0 ? last[s->elements - 2] : -INFINITY,
                    -INFINITY);
}

#define HT_TEMPLATE "backends/cpu/nn/ctc.inc.c"
#include "backends/cpu/foreach_dtype.h"

void HT_LEVEL_NAME(ht__fill_ctc)(ht_kernel_table *k)
{
#define FILL(dtype)                                            \
    k->at[HT_KERNEL_CTC_FORWARD][dtype] = ctc_forward_##dtype; \
    k->at[HT_KERNEL_CTC_BACKWARD][dtype] = ctc_backward_##dtype;
    HT_FLOATING_LIST(FILL)
}
