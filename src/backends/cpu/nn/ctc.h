/* SPDX-License-Identifier: MIT
 *
 * The sequences of connectionist temporal classification. For C, and for kernels of other devices. */
#ifndef HT_BACKENDS_CPU_NN_CTC_H
#define HT_BACKENDS_CPU_NN_CTC_H

#include <math.h>

#include "core/base/half.h" /* HT_INLINE */
#include "ht/kernels/nn.h"

/* One sequence: its target, and how many elements that has with blanks around each. */
typedef struct ht_sequence {
    const int64_t *target;
    int64_t steps, length, elements, blank;
} ht_sequence;

HT_INLINE ht_sequence ht__sequence_of(const ht_ctc_call *r, int64_t row)
{
    const int64_t *starts = (const int64_t *)r->starts.data;
    ht_sequence s;

    s.target = (const int64_t *)r->targets.data + (starts != NULL ? starts[row] : row * r->width);
    s.steps = ((const int64_t *)r->input_lengths.data)[row];
    s.length = ((const int64_t *)r->target_lengths.data)[row];
    s.elements = 2 * s.length + 1;
    s.blank = r->blank;
    return s;
}

HT_INLINE int64_t ht__class_of(const ht_sequence *s, int64_t element)
{
    return element % 2 == 0 ? s->blank : s->target[element / 2];
}

/* A path may go from `element` to the next but one, past a blank. */
HT_INLINE bool ht__may_skip(const ht_sequence *s, int64_t element)
{
    return element % 2 == 1 && element + 2 < s->elements &&
           s->target[element / 2] != s->target[element / 2 + 1];
}

/* log(exp(a) + exp(b) + exp(c)) */
HT_INLINE double ht__log_sum(double a, double b, double c)
{
    double most = a > b ? a : b;

    most = c > most ? c : most;
    most = most == -INFINITY ? 0 : most;
    return log(exp(a - most) + exp(b - most) + exp(c - most)) + most;
}

/* -log of the probability of all paths, by alpha (steps, stride). */
HT_INLINE double ht__ctc_loss(const ht_sequence *s, const double *alpha, int64_t stride)
{
    const double *last;

    if (s->steps == 0)
        return s->length == 0 ? 0 : INFINITY;
    last = alpha + (s->steps - 1) * stride;
    return -ht__log_sum(last[s->elements - 1], s->length > 0 ? last[s->elements - 2] : -INFINITY,
                        -INFINITY);
}

/* alpha of an element with log-probability `here`, from that of the step before; NULL: this is the
 * first one. */
HT_INLINE double ht__ctc_alpha(const ht_sequence *s, int64_t e, double here, const double *before)
{
    if (before == NULL)
        return e < 2 ? here : -INFINITY;
    return here + ht__log_sum(before[e], e > 0 ? before[e - 1] : -INFINITY,
                              e > 1 && ht__may_skip(s, e - 2) ? before[e - 2] : -INFINITY);
}

/* beta of an element, from that of the step after; NULL: this is the last one. */
HT_INLINE double ht__ctc_beta(const ht_sequence *s, int64_t e, double here, const double *after)
{
    if (after == NULL)
        return e >= s->elements - 2 ? here : -INFINITY;
    return here + ht__log_sum(after[e], e + 1 < s->elements ? after[e + 1] : -INFINITY,
                              ht__may_skip(s, e) ? after[e + 2] : -INFINITY);
}

/* The gradient of a log-probability; paths: log sum exp(alpha + beta) over the elements of its
 * class. */
HT_INLINE double ht__ctc_grad(double dloss, double log_p, double paths, double loss)
{
    return dloss * (exp(log_p) - exp(paths + loss - log_p));
}

#endif
