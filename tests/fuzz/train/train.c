/* SPDX-License-Identifier: MIT
 *
 * Trains one way: on one rank with all rows, or on these ranks, blocking, flowing (non-blocking),
 * or flowing with an interruption. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/train/train.h"

static int knob(const struct training *t, enum knob which)
{
    return t->plan->knob[which];
}

static ht_optimizer *optimizer_new(const struct training *t, ht_value *parameters)
{
    const enum optimizer_kind kind = (enum optimizer_kind)knob(t, KNOB_OPTIMIZER);
    ht_sgd_options sgd = ht_sgd_options_default();

    if (kind != SGD)
        return optimizer_of(kind, parameters);
    sgd.momentum = t->plan->seed % 2 ? 0.9 : 0;
    sgd.weight_decay = t->plan->seed % 3 ? 0 : 0.01;
    return ht_optim_sgd(parameters, 0.1, &sgd);
}

/* All parameters, or every second one from `first` on. */
static ht_value *part_of(ht_value *parameters, bool parts, int first)
{
    ht_value *list = ht_value_list();

    for (int i = 0; i < ht_value_count(parameters); i++) {
        if (!parts || i % 2 == first)
            ht_value_append(list, ht_value_at(parameters, i));
    }
    return list;
}

static ht_module *wrap(struct training *t)
{
    ht_data_parallel_options options = ht_data_parallel_options_default();
    ht_optimizer *first = knob(t, KNOB_SECOND) == 3 ? NULL : t->optimizers[0];

    options.blocking = t->mode == MODE_BLOCKING;
    options.averaging = knob(t, KNOB_AVERAGING) == 1   ? HT_AVERAGE_MEAN
                        : knob(t, KNOB_AVERAGING) == 2 ? HT_AVERAGE_SUM
                                                       : HT_AVERAGE_WEIGHTED;
    options.optimizer_count = t->optimizer_count - 1;
    options.optimizers = t->optimizers + 1;
    if (knob(t, KNOB_WAY) == 1)
        options.accumulation_steps = knob(t, KNOB_PASSES) + 1;
    if (knob(t, KNOB_BUCKETS) == 1)
        options.bucket_cap_mb = options.first_bucket_mb = 1e-5;
    options.gradient_as_bucket_view = knob(t, KNOB_BUCKETS) != 2;
    return ht_nn_data_parallel_ext(t->net, HT_COMM_WORLD, first, &options);
}

/* A view of an element of a parameter, cut off from the graph. */
static ht_tensor *view_of(ht_module *net)
{
    bool was = ht_set_grad_enabled(false);
    ht_tensor *view = ht_retain(ht_narrow(ht_module_find_parameter(net, "last.bias"), 0, 0, 1));

    ht_set_grad_enabled(was);
    return view;
}

static ht_optim_wrapper *optim_wrapper_new(const struct training *t)
{
    ht_optim_wrapper_options options = ht_optim_wrapper_options_default();

    options.accumulative_counts = knob(t, KNOB_PASSES) + 1;
    options.clip_norm = knob(t, KNOB_CLIP) == 1 ? 0.05 : 0;
    options.clip_value = knob(t, KNOB_CLIP) == 2 ? 0.02 : 0;
    options.loss_scaling = (ht_loss_scaling)knob(t, KNOB_SCALING);
    options.scale = 1024;
    options.growth_interval = 2;
    return ht_optim_wrapper_new(t->optimizers[0], &options);
}

static void begin(struct training *t, uint64_t seed)
{
    bool parts = knob(t, KNOB_SECOND) == 1 || knob(t, KNOB_SECOND) == 2;

    t->net = net_new(t->plan, t->mode, seed);
    ht_nn_seed(t->plan->seed);
    t->parameters = ht_retain(ht_module_parameters(t->net));
    t->state = ht_retain(ht_module_state_dict(t->net));
    t->view = view_of(t->net);
    t->optimizer_count = knob(t, KNOB_SECOND) == 1 ? 2 : 1;
    for (int i = 0; i < t->optimizer_count; i++)
        t->optimizers[i] = optimizer_new(t, part_of(t->parameters, parts, i));
    t->model = t->mode == MODE_ONE ? ht_retain(t->net) : wrap(t);
    went(t, "ht_nn_data_parallel_ext", t->model != NULL ? HT_SUCCESS : ht_error_get(NULL));
    if (knob(t, KNOB_WAY) == 3 && t->mode != MODE_ONE)
        t->wrapper = optim_wrapper_new(t);
    around_begin(t);
}

static void end(struct training *t)
{
    around_end(t);
    ht_release(t->wrapper);
    ht_release(t->view);
    ht_release(t->state);
    ht_release(t->parameters);
    ht_release(t->model);
    for (int i = 0; i < t->optimizer_count; i++)
        ht_release(t->optimizers[i]);
    ht_release(t->net);
    t->wrapper = NULL;
}

/* --- One step --- */

static void zero(struct training *t, bool before)
{
    int how = knob(t, KNOB_ZEROING);

    if ((how == 1) != before)
        return;
    for (int i = 0; i < 2; i++) {
        if (how == 3 || (i < t->optimizer_count && !(how == 2 && i == 1 && t->step % 2 == 0)))
            t->gathered[i] = 0;
    }
    if (how == 3) {
        went(t, "ht_module_zero_grad", ht_module_zero_grad(t->net));
        return;
    }
    for (int i = 0; i < t->optimizer_count; i++) {
        if (!(how == 2 && i == 1 && t->step % 2 == 0))
            went(t, "zero_grad", ht_optimizer_zero_grad(t->optimizers[i]));
    }
}

static void clip(struct training *t, bool noted)
{
    double norm;

    if (knob(t, KNOB_CLIP) == 1) {
        norm = ht_clip_grad_norm_(t->parameters, 0.05, 2, false);
        if (noted && knob(t, KNOB_JOIN) < 3)
            note(t, "norm", norm);
    }
    if (knob(t, KNOB_CLIP) == 2)
        went(t, "ht_clip_grad_value_", ht_clip_grad_value_(t->parameters, 0.02));
}

static void update(struct training *t, bool last, bool skipped)
{
    clip(t, last && knob(t, KNOB_WAY) != 3);
    for (int i = 0; i < t->optimizer_count && !skipped; i++)
        went(t, "ht_optimizer_step", ht_optimizer_step(t->optimizers[i]));
    if (knob(t, KNOB_WAY) == 3) /* which forgets gradients at once */
        zero(t, false);
    if (last && t->step == knob(t, KNOB_READ_STEP)) {
        read_somehow(t);
        write_somehow(t);
    }
    zero(t, false);
}

/* All ranks' batches, each with its weight, as one loss; one batch norm sees them all. */
static ht_tensor *loss_of_all(struct training *t, int pass)
{
    ht_tensor *sum = NULL;

    if (knob(t, KNOB_NORM) == 3)
        return loss_of_all_rows(t, pass);
    for (int rank = 0; rank < t->plan->ranks; rank++) {
        int64_t rows;
        ht_tensor *loss = batch_loss(t, pass, rank, &rows);

        if (loss == NULL)
            continue;
        loss = ht_mul_scalar(loss, coefficient(t->plan, t->step, pass, rank));
        sum = sum == NULL ? loss : ht_add(sum, loss);
    }
    return sum;
}

/* Weighted averages are means over all rows since a gradient was zeroed: sums before the backward
 * passes of a step, means after them. */
static void scale_gradients(struct training *t, bool to_means)
{
    bool parts = knob(t, KNOB_SECOND) == 1 || knob(t, KNOB_SECOND) == 2;

    if (knob(t, KNOB_AVERAGING) % 3 != 0)
        return;
    for (int k = 0; to_means && k < 2; k++) {
        for (int i = 0; i < passes_of(t->plan) * t->plan->ranks; i++)
            t->gathered[k] += (double)rows_of(t->plan, t->step, i / t->plan->ranks,
                                              i % t->plan->ranks);
    }
    for (int i = 0; i < ht_value_count(t->parameters); i++) {
        ht_tensor *grad = ht_tensor_grad(ht_value_as_tensor(ht_value_at(t->parameters, i)));
        double rows = t->gathered[parts ? i % 2 : 0];

        if (grad != NULL && rows > 0)
            went(t, "ht_mul_scalar_", ht_mul_scalar_(grad, to_means ? 1 / rows : rows));
    }
}

static void step_on_one(struct training *t)
{
    bool skipped = overflows_somewhere(t->plan, t->step);

    zero(t, true);
    scale_gradients(t, false);
    for (int pass = 0; pass < passes_of(t->plan); pass++) {
        ht_tensor *loss;

        if (pass == 0)
            around_forward(t);
        loss = loss_of_all(t, pass);
        if (loss != NULL && !skipped)
            went(t, "ht_backward", ht_backward(loss));
        if (pass == 0)
            around_backward(t);
    }
    scale_gradients(t, true);
    update(t, true, skipped);
}

static void backward(struct training *t, int pass)
{
    int rank = ht_comm_rank(HT_COMM_WORLD);
    int64_t rows;
    ht_tensor *loss = batch_loss(t, pass, rank, &rows);

    if (loss == NULL && rows > 0)
        went(t, "forward", ht_error_get(NULL));
    else if (loss == NULL || rows % 2 == 0)
        went(t, "ht_data_parallel_backward", ht_data_parallel_backward(t->model, loss));
    else
        went(t, "ht_backward", ht_backward(loss));
}

static void by_wrapper(struct training *t, int pass)
{
    int64_t rows;
    ht_tensor *loss;
    bool skips = overflows_somewhere(t->plan, t->step);

    went(t, "begin", ht_optim_wrapper_begin(t->wrapper, t->model));
    loss = batch_loss(t, pass, ht_comm_rank(HT_COMM_WORLD), &rows);
    went(t, "update_params", ht_optim_wrapper_update_params(t->wrapper, loss));
    if (pass == passes_of(t->plan) - 1 && ht_optim_wrapper_last(t->wrapper).skipped != skips)
        went(t, "an update was skipped, or not, against what its gradients are", HT_ERR_STATE);
}

static void step_on_all(struct training *t)
{
    int count = passes_of(t->plan);

    for (int pass = 0; pass < count; pass++) {
        bool last = pass == count - 1;

        if (pass == 0)
            around_forward(t);
        if (knob(t, KNOB_WAY) == 3) {
            by_wrapper(t, pass);
            if (pass == 0)
                around_backward(t);
            continue;
        }
        if (knob(t, KNOB_WAY) == 1 || pass == 0)
            zero(t, true);
        if (knob(t, KNOB_WAY) == 2 && !last)
            ht_data_parallel_no_sync_begin(t->model);
        backward(t, pass);
        if (knob(t, KNOB_WAY) == 2 && !last)
            ht_data_parallel_no_sync_end(t->model);
        if (pass == 0)
            around_backward(t);
        if (knob(t, KNOB_WAY) == 1 || last)
            update(t, last, false);
    }
    if (knob(t, KNOB_WAY) == 3 && t->step == knob(t, KNOB_READ_STEP)) {
        read_somehow(t);
        write_somehow(t);
    }
}

/* --- Interruption --- */

static void interrupt(struct training *t)
{
    ht_value *map = ht_value_map(), *loaded;
    char path[512];
    int count = t->optimizer_count;

    snprintf(path, sizeof path, "%s/train-resume.h5", fuzz_folder);
    ht_value_set(map, "model", ht_module_state_dict(t->net));
    for (int i = 0; i < count; i++)
        ht_value_set(map, i == 0 ? "first" : "second", ht_optimizer_state_dict(t->optimizers[i]));
    if (t->wrapper != NULL)
        ht_value_set(map, "wrapper", ht_optim_wrapper_state_dict(t->wrapper));
    around_save(t, map);
    if (!went(t, "ht_checkpoint_save", ht_checkpoint_save(map, path, HT_COMM_WORLD, NULL)))
        return;
    end(t);
    begin(t, 4711);
    loaded = ht_checkpoint_load(path, HT_COMM_WORLD, NULL);
    if (!went(t, "ht_checkpoint_load", loaded != NULL ? HT_SUCCESS : ht_error_get(NULL)))
        return;
    went(t, "model", ht_module_load_state_dict(t->net, ht_value_get(loaded, "model")));
    if (t->wrapper != NULL)
        went(t, "wrapper",
             ht_optim_wrapper_load_state_dict(t->wrapper, ht_value_get(loaded, "wrapper")));
    for (int i = 0; i < count && t->wrapper == NULL; i++)
        went(t, "optimizer",
             ht_optimizer_load_state_dict(t->optimizers[i],
                                          ht_value_get(loaded, i == 0 ? "first" : "second")));
    around_load(t, loaded);
    ht_barrier(HT_COMM_WORLD);
    if (ht_comm_rank(HT_COMM_WORLD) == 0)
        unlink(path);
}

static void note_final(const char *name, ht_tensor *parameter, void *user)
{
    (void)name;
    note_tensor(user, "a parameter in the end", parameter);
}

static void join(struct training *t, bool begins)
{
    ht_join_options options = ht_join_options_default();

    if (knob(t, KNOB_JOIN) < 3 || t->mode == MODE_ONE)
        return;
    options.divide_by_initial_world_size = knob(t, KNOB_JOIN) == 3;
    if (begins)
        went(t, "join", ht_data_parallel_join_begin(t->model, &options));
    else
        went(t, "the end of the join", ht_data_parallel_join_end(t->model));
}

static void run_step(struct training *t)
{
    ht_scope *scope = ht_scope_open();

    if (t->mode == MODE_ONE)
        step_on_one(t);
    else
        step_on_all(t);
    around_step(t);
    if (t->mode == MODE_RESUMED && t->step + 1 == knob(t, KNOB_STOP))
        interrupt(t);
    ht_scope_close(scope);
    t->step++;
}

void train(const struct plan *plan, enum mode mode, struct notes *notes)
{
    struct training t = {.plan = plan, .mode = mode, .notes = notes};
    int rank = ht_comm_rank(HT_COMM_WORLD);
    ht_scope *scope = ht_scope_open();

    notes->count = 0;
    notes->trouble[0] = '\0';
    begin(&t, plan->seed);
    join(&t, true);
    while (notes->trouble[0] == '\0' &&
           (mode == MODE_ONE ? t.step < plan->knob[KNOB_STEPS] + 2 : has_data(plan, t.step, rank)))
        run_step(&t);
    join(&t, false);
    if (t.model != NULL && notes->trouble[0] == '\0') {
        ht_module_eval(t.model);
        ht_module_named_parameters(t.net, note_final, &t);
        if (plan->knob[KNOB_NORM] != 2) /* there each rank has its own, rank 0's are saved */
            ht_module_named_buffers(t.net, note_final, &t);
        around_note(&t);
    }
    end(&t);
    ht_scope_close(scope);
}
