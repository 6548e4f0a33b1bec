/* SPDX-License-Identifier: MIT
 *
 * L-BFGS: steps along the gradient times an approximate inverse Hessian, which is made of the last
 * differences of gradients and parameters. The order of operations is that of torch.optim.LBFGS. */
#include "core/tensor/graph.h"
#include "optim/rules/lbfgs.h"
#include "optim/rules/rule.h"

#include <limits.h>

#include "ht/arithmetics.h"
#include "ht/autograd.h"
#include "ht/factories.h"
#include "ht/linalg.h"
#include "ht/manipulations.h"

/* A step(): the point that it has reached, and how it evaluates. */
typedef struct ht_lbfgs_run {
    ht_lbfgs_search search; /* first: the line search knows no more */
    ht_optimizer *optimizer;
    const ht_update_call *settings;
    ht_loss_fn *closure;
    void *user; /* of the closure */
    ht_value *parameters;
    ht_lbfgs *memory;
    ht_tensor *from;      /* where a line search starts */
    ht_lbfgs_point point; /* the last one accepted; its gradient is retained */
    int evaluations;
} ht_lbfgs_run;

/* All gradients as one vector; those that are not there count as zeros. NULL after an error. */
static ht_tensor *flat_gradient(const ht_lbfgs_run *run)
{
    ht_value *list = ht_value_list();
    ht_tensor *flat;

    for (int i = 0; i < run->optimizer->count; i++) {
        ht_tensor *parameter = run->optimizer->entries[i].parameter;
        ht_tensor *grad;

        if (ht__grad_get(parameter, &grad) != HT_SUCCESS)
            return NULL;
        ht_value_append(list, ht_value_tensor(grad != NULL ? grad : ht_zeros_like(parameter)));
    }
    flat = ht_parameters_to_vector(list);
    return run->settings->maximize ? ht_neg(flat) : flat;
}

/* Loss and gradient of the parameters as they are. `loss` is before the sign of maximize. */
static ht_status evaluate(ht_lbfgs_run *run, ht_lbfgs_point *point, double *loss)
{
    ht_status status = ht__optimizer_loss(run->closure, run->user, loss);

    run->evaluations++;
    run->memory->evaluations++;
    if (status != HT_SUCCESS)
        return status;
    point->loss = run->settings->maximize ? -*loss : *loss;
    point->grad = flat_gradient(run);
    return point->grad != NULL ? HT_SUCCESS : ht_error_get(NULL);
}

static double largest(const ht_lbfgs_run *run, ht_tensor *x)
{
    return ht__lbfgs_item(run->memory, ht_vector_norm(x, INFINITY, HT_NONE, false));
}

static bool is_optimal(const ht_lbfgs_run *run)
{
    return largest(run, run->point.grad) <= run->settings->eps;
}

static ht_status move(const ht_lbfgs_run *run, double t)
{
    ht_tensor *to = ht_add(run->from, ht_mul_scalar(run->memory->direction, t));

    return to != NULL ? ht_vector_to_parameters(to, run->parameters) : ht_error_get(NULL);
}

/* A point of the line search; the parameters are back at its start afterwards. */
static ht_status try_step(ht_lbfgs_search *search, double t, ht_lbfgs_point *point)
{
    ht_lbfgs_run *run = (ht_lbfgs_run *)(void *)search;
    ht_status status = move(run, t);
    double loss;

    if (status == HT_SUCCESS)
        status = evaluate(run, point, &loss);
    if (status != HT_SUCCESS)
        return status;
    point->t = t;
    point->slope = ht__lbfgs_dot(run->memory, point->grad, run->memory->direction);
    if (run->memory->failure != HT_SUCCESS)
        return run->memory->failure;
    return ht_vector_to_parameters(run->from, run->parameters);
}

/* The gradient times the inverse Hessian, by the two loops over the history. */
static ht_tensor *two_loops(ht_lbfgs *memory, ht_tensor *grad)
{
    double *alpha = ht__alloc(((size_t)memory->count + 1) * sizeof *alpha);
    ht_tensor *q = ht_neg(grad);

    for (int i = memory->count - 1; i >= 0; i--) {
        alpha[i] = ht__lbfgs_dot(memory, memory->steps[i], q) * memory->inverse[i];
        q = ht_sub(q, ht_mul_scalar(memory->grads[i], alpha[i]));
    }
    q = ht_mul_scalar(q, memory->diagonal);
    for (int i = 0; i < memory->count; i++) {
        const double beta = ht__lbfgs_dot(memory, memory->grads[i], q) * memory->inverse[i];

        q = ht_add(q, ht_mul_scalar(memory->steps[i], alpha[i] - beta));
    }
    ht__free(alpha);
    return memory->failure == HT_SUCCESS ? q : NULL;
}

static void replace(ht_tensor **kept, ht_tensor *value)
{
    ht_retain(value);
    ht_release(*kept);
    *kept = value;
}

/* The direction of the next iteration; the gradient and the loss are remembered for the one after. */
static ht_status choose_direction(ht_lbfgs_run *run)
{
    ht_lbfgs *memory = run->memory;
    ht_tensor *grad = run->point.grad, *direction;
    ht_status status = HT_SUCCESS;

    if (memory->iterations == 0)
        memory->diagonal = 1;
    else
        status = ht__lbfgs_remember(memory, ht_sub(grad, memory->grad),
                                    ht_mul_scalar(memory->direction, memory->t),
                                    (int)run->settings->beta1);
    direction = status == HT_SUCCESS ? two_loops(memory, grad) : NULL;
    if (direction == NULL)
        return memory->failure != HT_SUCCESS ? memory->failure : ht_error_get(NULL);
    memory->iterations++;
    replace(&memory->direction, direction);
    replace(&memory->grad, grad);
    memory->loss = run->point.loss;
    return HT_SUCCESS;
}

/* Moves by a length that the line search finds, or by t itself. The last iteration without a line
 * search does not evaluate again. */
static ht_status advance(ht_lbfgs_run *run, double t, double slope, bool last)
{
    ht_lbfgs_point start = run->point, next = start;
    ht_status status = HT_SUCCESS;
    double loss;

    run->from = ht_copy(ht_parameters_to_vector(run->parameters));
    if (run->from == NULL)
        return ht_error_get(NULL);
    start.t = 0;
    start.slope = slope;
    if (run->settings->nesterov) {
        run->search.most = (int)run->settings->choice - run->evaluations;
        run->search.longest = largest(run, run->memory->direction);
        status = run->memory->failure;
        if (status == HT_SUCCESS)
            status = ht__lbfgs_strong_wolfe(&run->search, &start, t, &next);
        t = next.t;
    }
    run->memory->t = t;
    if (status == HT_SUCCESS)
        status = move(run, t);
    if (status == HT_SUCCESS && !run->settings->nesterov && !last)
        status = evaluate(run, &next, &loss);
    if (status != HT_SUCCESS)
        return status;
    ht_retain(next.grad);
    ht_release(run->point.grad);
    run->point = next;
    return HT_SUCCESS;
}

/* One iteration; *more is false once the step has ended. */
static ht_status iterate(ht_lbfgs_run *run, int iteration, bool *more)
{
    const ht_update_call *u = run->settings;
    const bool last = iteration == (int)u->count;
    ht_lbfgs *memory = run->memory;
    ht_status status = choose_direction(run);
    double slope, t = u->lr;

    *more = false;
    if (status != HT_SUCCESS)
        return status;
    if (memory->iterations == 1)
        t *= fmin(1,
                  1 / ht__lbfgs_item(memory, ht_vector_norm(run->point.grad, 1, HT_NONE, false)));
    memory->t = t;
    slope = ht__lbfgs_dot(memory, run->point.grad, memory->direction);
    if (memory->failure != HT_SUCCESS)
        return memory->failure;
    if (slope > -u->beta2)
        return HT_SUCCESS;
    status = advance(run, t, slope, last);
    *more = status == HT_SUCCESS && !last && run->evaluations < (int)u->choice &&
            !is_optimal(run) && !(largest(run, memory->direction) * fabs(memory->t) <= u->beta2) &&
            !(fabs(run->point.loss - memory->loss) < u->beta2);
    return status == HT_SUCCESS ? memory->failure : status;
}

static ht_status begin(ht_lbfgs_run *run, double *loss, bool *more)
{
    ht_scope *scope = ht_scope_open();
    ht_status status = evaluate(run, &run->point, loss);

    if (status == HT_SUCCESS)
        ht_retain(run->point.grad);
    else
        run->point.grad = NULL;
    *more = status == HT_SUCCESS && ht_tensor_size(run->point.grad) > 0 && !is_optimal(run);
    ht_scope_close(scope);
    return status == HT_SUCCESS ? run->memory->failure : status;
}

static ht_status step(ht_optimizer *optimizer, ht_loss_fn *closure, void *user, double *loss)
{
    ht_update_call settings = optimizer->groups[0].settings;
    const bool was = ht_set_grad_enabled(false);
    ht_scope *scope = ht_scope_open();
    ht_lbfgs_run run = {.search.at = try_step,
                        .optimizer = optimizer,
                        .settings = &settings,
                        .closure = closure,
                        .user = user,
                        .parameters = ht_value_list(),
                        .memory = optimizer->memory};
    ht_status status;
    bool more;

    settings.lr = optimizer->groups[0].lr;
    if (settings.choice == 0)
        settings.choice = fmin(floor(settings.count * 5 / 4), INT_MAX);
    for (int i = 0; i < optimizer->count; i++)
        ht_value_append(run.parameters, ht_value_tensor(optimizer->entries[i].parameter));
    run.memory->failure = HT_SUCCESS;
    status = begin(&run, loss, &more);
    for (int i = 1; more && i <= (int)settings.count && status == HT_SUCCESS; i++) {
        ht_scope *inner = ht_scope_open();

        status = iterate(&run, i, &more);
        ht_scope_close(inner);
    }
    ht_release(run.point.grad);
    ht_scope_close(scope);
    ht_set_grad_enabled(was);
    return status;
}

static const ht_optimizer_type type = {
    .name = "LBFGS",
    .step_with = step,
    .memory_size = sizeof(ht_lbfgs),
    .memory_save = ht__lbfgs_save,
    .memory_check = ht__lbfgs_check,
    .memory_load = ht__lbfgs_load,
    .memory_clear = ht__lbfgs_clear,
    .settings = {HT_COUNT(ht_lbfgs_options, max_iter, count, INT_MAX),
                 HT_COUNT(ht_lbfgs_options, max_eval, choice, INT_MAX),
                 HT_SETTING(ht_lbfgs_options, tolerance_grad, eps, INFINITY),
                 HT_SETTING(ht_lbfgs_options, tolerance_change, beta2, INFINITY),
                 HT_COUNT(ht_lbfgs_options, history_size, beta1, INT_MAX),
                 HT_FLAG(ht_lbfgs_options, strong_wolfe, nesterov),
                 HT_FLAG(ht_lbfgs_options, maximize, maximize)},
};

ht_lbfgs_options ht_lbfgs_options_default(void)
{
    return (ht_lbfgs_options){.size = sizeof(ht_lbfgs_options),
                              .max_iter = 20,
                              .tolerance_grad = 1e-7,
                              .tolerance_change = 1e-9,
                              .history_size = 100};
}

HT_OPTIMIZER_OF_ONE_GROUP(lbfgs, type)
