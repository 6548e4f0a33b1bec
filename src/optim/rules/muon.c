/* SPDX-License-Identifier: MIT
 *
 * Muon: the momentum of a matrix, made nearly orthogonal by an iteration of Newton and Schulz. As in
 * PyTorch, the iteration works on bfloat16: sums are of float32, and each result is rounded once. */
#include "optim/rules/rule.h"

#include "ht/arithmetics.h"
#include "ht/factories.h"
#include "ht/linalg.h"
#include "ht/manipulations.h"
#include "ht/statistics.h"

/* x in float32, rounded to bfloat16. */
static ht_tensor *rounded(ht_tensor *x)
{
    return ht_astype(ht_astype(x, HT_BFLOAT16), HT_FLOAT32);
}

/* x' = a x + (b A + c A A) x with A = x x^T, as often as the settings say. The lesser side comes
 * first. */
static ht_tensor *orthogonal(ht_tensor *x, const ht_update_call *u)
{
    const bool tall = ht_tensor_shape(x)[0] > ht_tensor_shape(x)[1];
    ht_tensor *norm;

    x = rounded(tall ? ht_transpose(x, 0, 1) : x);
    norm = ht_maximum(rounded(ht_vector_norm(x, 2, HT_NONE, false)), ht_scalar(u->eps));
    x = rounded(ht_div(x, rounded(norm)));
    for (int i = 0; i < (int)u->count && x != NULL; i++) {
        ht_tensor *gram = rounded(ht_matmul(x, ht_transpose(x, 0, 1)));
        ht_tensor *both = rounded(ht_add(ht_mul_scalar(gram, u->beta2),
                                         ht_mul_scalar(ht_matmul(gram, gram), u->dampening)));

        x = rounded(ht_add(ht_mul_scalar(x, u->beta1), ht_matmul(both, x)));
    }
    return tall ? ht_transpose(x, 0, 1) : x;
}

/* The rate of a matrix of that shape. */
static double rate_of(const ht_update_call *u, const ht_tensor *x)
{
    const double rows = (double)ht_tensor_shape(x)[0], columns = (double)ht_tensor_shape(x)[1];

    switch ((ht_muon_adjust_lr)u->choice) {
    case HT_MUON_MATCH_RMS_ADAMW:
        return u->lr * 0.2 * sqrt(fmax(rows, columns));
    case HT_MUON_SPECTRAL_UNCLAMPED:
        return u->lr * sqrt(rows / columns);
    default:
        return u->lr * sqrt(fmax(1, rows / columns));
    }
}

static ht_status update(const ht_whole_step *step)
{
    const ht_update_call *u = step->settings;
    ht_tensor *momentum, *change;

    if (ht_tensor_size(step->parameter) == 0)
        return HT_SUCCESS;
    momentum = ht__optim_lerp(step->state[0], step->grad, 1 - u->momentum);
    change = u->nesterov ? ht__optim_lerp(step->grad, momentum, u->momentum) : momentum;
    if (change == NULL)
        return ht_error_get(NULL);
    change = ht_mul_scalar(ht_astype(orthogonal(change, u), ht_tensor_dtype(step->parameter)),
                           rate_of(u, step->parameter));
    return ht__optim_set(
        2, (ht_tensor *[]){step->state[0], step->parameter},
        (ht_tensor *[]){
            momentum, ht_sub(ht_mul_scalar(step->parameter, 1 - u->lr * u->weight_decay), change)});
}

static const ht_optimizer_type type = {
    .name = "Muon",
    .update = update,
    .ndim = 2,
    .state_names = {"momentum_buffer"},
    .settings = {HT_SETTING(ht_muon_options, weight_decay, weight_decay, INFINITY),
                 HT_SETTING(ht_muon_options, momentum, momentum, INFINITY),
                 HT_FLAG(ht_muon_options, nesterov, nesterov),
                 HT_SETTING_FROM(ht_muon_options, a, beta1, -DBL_MAX, INFINITY),
                 HT_SETTING_FROM(ht_muon_options, b, beta2, -DBL_MAX, INFINITY),
                 HT_SETTING_FROM(ht_muon_options, c, dampening, -DBL_MAX, INFINITY),
                 HT_SETTING(ht_muon_options, eps, eps, INFINITY),
                 HT_COUNT(ht_muon_options, ns_steps, count, 100),
                 HT_COUNT(ht_muon_options, adjust_lr, choice, HT_MUON_SPECTRAL_UNCLAMPED + 1)},
};

ht_muon_options ht_muon_options_default(void)
{
    return (ht_muon_options){.size = sizeof(ht_muon_options),
                             .weight_decay = 0.1,
                             .momentum = 0.95,
                             .nesterov = true,
                             .a = 3.4445,
                             .b = -4.7750,
                             .c = 2.0315,
                             .eps = 1e-7,
                             .ns_steps = 5};
}

HT_OPTIMIZER(muon, type)
