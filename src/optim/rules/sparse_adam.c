/* SPDX-License-Identifier: MIT
 *
 * SparseAdam: Adam in the rows whose gradient is not zero. The other rows keep their values and
 * their moments. */
#include "optim/rules/rule.h"

#include "ht/arithmetics.h"
#include "ht/exponential.h"
#include "ht/factories.h"
#include "ht/indexing.h"
#include "ht/logical.h"
#include "ht/relational.h"

/* Whether a row has an element that is not 0; of a vector, each element is a row. */
static ht_tensor *rows_with_gradient(ht_tensor *grad)
{
    ht_tensor *mask = ht_ne(grad, ht_scalar(0));

    for (int axis = 1; axis < ht_tensor_ndim(grad) && mask != NULL; axis++) {
        ht_reduce_options options = ht_reduce_options_default();

        options.axes = &axis;
        options.count = 1;
        options.keepdims = true;
        mask = ht_any_ext(mask, &options);
    }
    return mask;
}

static ht_status update(const ht_whole_step *step)
{
    const ht_update_call *u = step->settings;
    ht_tensor *rows = rows_with_gradient(step->grad);
    ht_tensor *m = ht__optim_lerp(step->state[0], step->grad, 1 - u->beta1);
    ht_tensor *v = ht__optim_lerp(step->state[1], ht_square(step->grad), 1 - u->beta2);
    const double size = u->lr * sqrt(1 - pow(u->beta2, step->number)) /
                        (1 - pow(u->beta1, step->number));
    ht_tensor *moved = ht_sub(step->parameter,
                              ht_mul_scalar(ht_div(m, ht_add_scalar(ht_sqrt(v), u->eps)), size));

    return ht__optim_set(3, (ht_tensor *[]){step->state[0], step->state[1], step->parameter},
                         (ht_tensor *[]){ht_where(rows, m, step->state[0]),
                                         ht_where(rows, v, step->state[1]),
                                         ht_where(rows, moved, step->parameter)});
}

static ht_status check(const char *what, const ht_update_call *settings, bool scheduled)
{
    (void)scheduled;
    if (settings->eps > 0)
        return HT_SUCCESS;
    return HT_FAIL(NULL, HT_ERR_ARGUMENT, "%s: eps is 0, expected a number above 0", what);
}

static const ht_optimizer_type type = {
    .name = "SparseAdam",
    .update = update,
    .check = check,
    .state_names = {"exp_avg", "exp_avg_sq"},
    .settings = {HT_SETTING(ht_sparse_adam_options, beta1, beta1, 1),
                 HT_SETTING(ht_sparse_adam_options, beta2, beta2, 1),
                 HT_SETTING(ht_sparse_adam_options, eps, eps, INFINITY),
                 HT_FLAG(ht_sparse_adam_options, maximize, maximize)},
};

ht_sparse_adam_options ht_sparse_adam_options_default(void)
{
    return (ht_sparse_adam_options){
        .size = sizeof(ht_sparse_adam_options), .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
}

HT_OPTIMIZER(sparse_adam, type)
