/* SPDX-License-Identifier: MIT
 *
 * The unit of a gradient. Passes add up gradients weighted by samples, and the exchange divides the
 * sum: the unit is 1. Gradients that no exchange follows must be means when a pass ends, because
 * the program clips and uses them. The unit is then the samples that this rank has in them after
 * the pass. The seed is divided by it, and so is the part that is there already. */
#include "core/autograd/autograd.h"
#include "nn/parallel/data/reducer/reducer.h"

#include "ht/arithmetics.h"

/* The samples of an average that each rank takes as its own. The next sum over the ranks then counts
 * them once. */
static double share_of(const ht_reducer_param *param)
{
    return param->total / param->reducer->comm->size;
}

/* The samples of this rank in a gradient. */
static double samples_of(const ht_reducer_param *param)
{
    if (param->tensor->meta->zeroings != param->zeroings)
        return 0;
    return param->global && ht__reducer_has_grad(param) ? share_of(param) : param->weight;
}

double ht__reducer_unit(ht_reducer *reducer, double weight, bool sync)
{
    double most = 0;

    if (sync || !reducer->own_means)
        return 1;
    ht__reducer_drain(reducer); /* a failure stays, and the pass reports it */
    for (int i = 0; i < reducer->count; i++) {
        const double samples = samples_of(&reducer->params[i]);

        most = samples > most ? samples : most;
    }
    return most + weight > 0 ? most + weight : 1;
}

ht_status ht__reducer_set_unit(ht_reducer_param *param, double unit)
{
    const double factor = param->unit / unit;

    param->unit = unit;
    if (factor == 1 || !ht__reducer_has_grad(param))
        return HT_SUCCESS;
    return ht_mul_scalar_(param->tensor->meta->grad, factor);
}

void ht__reducer_keep_own(ht_reducer_param *param)
{
    if (param->global && ht__reducer_has_grad(param))
        param->weight = param->unit = share_of(param);
    param->global = false;
}
