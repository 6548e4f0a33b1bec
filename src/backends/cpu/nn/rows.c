/* SPDX-License-Identifier: MIT
 *
 * Log-softmax and negative log likelihood as the table has them: by floating dtype to the templates
 * of rows.inc.c. */
#include "backends/cpu/level.h"
#include "backends/cpu/reduce/plan.h"

#define HT_TEMPLATE "backends/cpu/nn/rows.inc.c"
#include "backends/cpu/foreach_dtype.h"

static int log_softmax_forward(void *stream, const ht_rows *rows, const void *x, void *y)
{
    static void (*const forward[HT_DTYPE_COUNT])(const ht_rows *, const void *,
                                                 void *) = BY_FLOATING_DTYPE(log_softmax_forward);

    (void)stream;
    if (forward[rows->dtype] == NULL)
        return ht__kernel_bad_dtype("log_softmax", rows->dtype);
    forward[rows->dtype](rows, x, y);
    return 0;
}

static int log_softmax_backward(void *stream, const ht_rows *rows, const void *dy, const void *y,
                                void *dx)
{
    static void (*const backward[HT_DTYPE_COUNT])(const ht_rows *, const void *, const void *,
                                                  void *) = BY_FLOATING_DTYPE(log_softmax_backward);

    (void)stream;
    if (backward[rows->dtype] == NULL)
        return ht__kernel_bad_dtype("log_softmax", rows->dtype);
    backward[rows->dtype](rows, dy, y, dx);
    return 0;
}

static int nll_forward(void *stream, const ht_rows *rows, const void *x, const int64_t *target,
                       int64_t ignore, void *loss)
{
    static int (*const forward[HT_DTYPE_COUNT])(const ht_rows *, const void *, const int64_t *,
                                                int64_t, void *) = BY_FLOATING_DTYPE(nll_forward);

    (void)stream;
    if (forward[rows->dtype] == NULL)
        return ht__kernel_bad_dtype("nll_loss", rows->dtype);
    return forward[rows->dtype](rows, x, target, ignore, loss);
}

static int nll_backward(void *stream, const ht_rows *rows, const void *dloss, const int64_t *target,
                        int64_t ignore, void *dx)
{
    static void (*const backward[HT_DTYPE_COUNT])(const ht_rows *, const void *, const int64_t *,
                                                  int64_t,
                                                  void *) = BY_FLOATING_DTYPE(nll_backward);

    (void)stream;
    if (backward[rows->dtype] == NULL)
        return ht__kernel_bad_dtype("nll_loss", rows->dtype);
    backward[rows->dtype](rows, dloss, target, ignore, dx);
    return 0;
}

void HT_LEVEL_NAME(ht__fill_rows)(ht_kernels *k)
{
    k->log_softmax_forward = log_softmax_forward;
    k->log_softmax_backward = log_softmax_backward;
    k->nll_forward = nll_forward;
    k->nll_backward = nll_backward;
}
