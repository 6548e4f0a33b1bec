/* SPDX-License-Identifier: MIT
 *
 * Objects around a model in training: a schedule of the learning rate, a metric, a second wrapped
 * model, a communication hook. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/train/train.h"

static int knob(const struct training *t, enum knob which)
{
    return t->plan->knob[which];
}

static uint64_t draw(const struct training *t, int what, int rank)
{
    return hash_of(t->plan->seed + 77, (uint64_t)((t->step * 10 + what) * 10 + rank));
}

static bool is_alone(const struct training *t)
{
    return t->mode == MODE_ONE;
}

/* --- Schedules --- */

static ht_scheduler *schedule_new(const struct training *t, ht_optimizer *optimizer)
{
    ht_reduce_lr_on_plateau_options options = ht_reduce_lr_on_plateau_options_default();
    const int64_t milestones[] = {3, 1};

    switch (knob(t, KNOB_SCHEDULE)) {
    case 1:
        return ht_optim_step_lr(optimizer, 2, 0.5);
    case 2:
        return ht_optim_multi_step_lr(optimizer, 2, milestones, 0.5);
    case 3:
        return ht_optim_exponential_lr(optimizer, 0.8);
    case 4:
        return ht_optim_cosine_annealing_lr(optimizer, 4, 0.001);
    case 5:
        return ht_optim_linear_lr(optimizer, 0.25, 1, 3);
    case 6:
        options.patience = 1;
        options.factor = 0.5;
        return ht_optim_reduce_lr_on_plateau(optimizer, &options);
    default:
        return NULL;
    }
}

static void step_schedule(struct training *t)
{
    ht_scheduler *schedule = t->around.schedule;
    bool plateau = knob(t, KNOB_SCHEDULE) == 6;

    if (schedule == NULL)
        return;
    went(t, "ht_scheduler_step",
         plateau ? ht_scheduler_step_metric(schedule, (double)(draw(t, 0, 0) % 4))
                 : ht_scheduler_step(schedule));
    if (knob(t, KNOB_JOIN) < 3) {
        note(t, "lr", ht_optimizer_lr(t->optimizers[0]));
        note(t, "epoch", (double)ht_scheduler_epoch(schedule));
    }
}

/* --- Metrics --- */

enum { SCORES = 4 };

static ht_metric *metric_new(const struct training *t)
{
    ht_comm *comm = is_alone(t) ? HT_COMM_SELF : HT_COMM_WORLD;

    switch (knob(t, KNOB_METRIC)) {
    case 1:
        return ht_metric_mean(comm);
    case 2:
        return ht_metric_moments(comm);
    case 3:
        return ht_metric_accuracy(2, comm);
    case 4:
        return ht_metric_confusion_matrix(SCORES, comm);
    default:
        return NULL;
    }
}

static void add_rows(struct training *t, int rank)
{
    ht_metric *metric = t->around.metric;
    uint64_t seed = draw(t, 1, rank);
    int64_t shape[] = {(int64_t)(seed % 4), SCORES}, classes[4];
    double scores[4 * SCORES];
    ht_tensor *target;

    for (int i = 0; i < 4 * SCORES; i++)
        scores[i] = data_number(DATA_TIES, HT_FLOAT64, seed, (uint64_t)i).re;
    for (int i = 0; i < 4; i++)
        classes[i] = (int64_t)(hash_of(seed, 100 + (uint64_t)i) % SCORES);
    if (knob(t, KNOB_METRIC) == 1) {
        went(t, "ht_metric_add", ht_metric_add(metric, scores[0], (double)shape[0]));
        return;
    }
    target = knob(t, KNOB_METRIC) > 2 ? ht_array(classes, 1, shape, HT_INT64, HT_LOCAL) : NULL;
    went(t, "ht_metric_update",
         ht_metric_update(metric, ht_array(scores, 2, shape, HT_FLOAT64, HT_LOCAL), target));
}

static void add_to_metric(struct training *t)
{
    if (t->around.metric == NULL)
        return;
    for (int rank = 0; rank < t->plan->ranks; rank++) {
        if (is_alone(t) || rank == ht_comm_rank(HT_COMM_WORLD))
            add_rows(t, rank);
    }
}

static void note_metric(struct training *t)
{
    ht_value *results = ht_metric_compute(t->around.metric);

    went(t, "ht_metric_compute", results != NULL ? HT_SUCCESS : ht_error_get(NULL));
    for (int i = 0; i < ht_value_count(results); i++) {
        ht_value *value = ht_value_at(results, i);

        if (ht_value_as_tensor(value) != NULL)
            note_tensor(t, "a metric", ht_astype(ht_value_as_tensor(value), HT_FLOAT64));
        else
            note(t, "a metric", ht_value_as_number(value));
    }
}

/* --- A second model --- */

static ht_comm *half; /* owned; of all cases */

ht_comm *every_second_rank(void)
{
    if (half == NULL) {
        half = ht_comm_split(HT_COMM_WORLD, ht_comm_rank(HT_COMM_WORLD) % 2, 0);
        ht_comm_set_errhandler(half, HT_ERRORS_RETURN);
    }
    return half;
}

void every_second_rank_end(void)
{
    ht_release(half);
    half = NULL;
}

static bool in_side(const struct training *t, int rank)
{
    return knob(t, KNOB_SIDE) == 1 || (rank - ht_comm_rank(HT_COMM_WORLD)) % 2 == 0;
}

static bool has_side(const struct training *t)
{
    return knob(t, KNOB_SIDE) == 1 || knob(t, KNOB_SIDE) == 2;
}

static void begin_side(struct training *t)
{
    struct around *around = &t->around;
    ht_comm *comm = knob(t, KNOB_SIDE) == 1 ? HT_COMM_WORLD : every_second_rank();
    bool was = ht_set_grad_enabled(false);

    around->side = ht_nn_linear(2, 3);
    ht_module_to_dtype(around->side, HT_FLOAT64);
    ht_fill_(ht_module_find_parameter(around->side, "weight"), 0.5);
    ht_fill_(ht_module_find_parameter(around->side, "bias"), 0.25);
    ht_set_grad_enabled(was);
    around->side_optimizer = ht_optim_adam(ht_module_parameters(around->side), 0.1, NULL);
    around->side_model = is_alone(t)
                             ? ht_retain(around->side)
                             : ht_nn_data_parallel(around->side, comm, around->side_optimizer,
                                                   t->mode == MODE_BLOCKING);
    went(t, "a second wrapper", around->side_model != NULL ? HT_SUCCESS : ht_error_get(NULL));
}

static ht_tensor *side_loss(struct training *t, int rank, int64_t rows)
{
    int64_t shape[] = {rows, 2};
    double data[4 * 2];

    for (int i = 0; i < 4 * 2; i++)
        data[i] = data_number(DATA_NORMAL, HT_FLOAT64, draw(t, 2, rank), (uint64_t)i).re;
    ht_tensor *y = ht_forward(t->around.side_model, ht_array(data, 2, shape, HT_FLOAT64, HT_LOCAL));

    return ht_mean(ht_mul(y, y), HT_NONE);
}

void around_forward(struct training *t)
{
    double all = 0;

    t->around.side_loss = NULL;
    if (!has_side(t))
        return;
    for (int rank = 0; rank < t->plan->ranks; rank++) {
        int64_t rows = 1 + (int64_t)(draw(t, 3, rank) % 4);
        ht_tensor *loss;

        if (!in_side(t, rank) || (!is_alone(t) && rank != ht_comm_rank(HT_COMM_WORLD)))
            continue;
        loss = side_loss(t, rank, rows);
        if (is_alone(t))
            loss = ht_mul_scalar(loss, (double)rows);
        t->around.side_loss = t->around.side_loss == NULL ? loss
                                                          : ht_add(t->around.side_loss, loss);
        all += (double)rows;
    }
    if (is_alone(t))
        t->around.side_loss = ht_mul_scalar(t->around.side_loss, 1 / all);
}

void around_backward(struct training *t)
{
    if (!has_side(t))
        return;
    ht_optimizer_zero_grad(t->around.side_optimizer);
    went(t, "backward of the second model", ht_backward(t->around.side_loss));
    t->around.side_loss = NULL;
    if (t->step % 2 == 0)
        went(t, "step of the second model", ht_optimizer_step(t->around.side_optimizer));
}

static void note_side(const char *name, ht_tensor *parameter, void *user)
{
    (void)name;
    note_tensor(user, "a parameter of the second model", parameter);
}

/* --- Hooks --- */

static ht_status own_hook(ht_grad_bucket *bucket, int round, void *state)
{
    ht_tensor *x = ht_grad_bucket_buffer(bucket);

    (void)state;
    if (round > 0)
        return HT_SUCCESS;
    return ht_grad_bucket_sum(bucket, x, ht_grad_bucket_scale(bucket), ht_tensor_dtype(x));
}

static void register_hook(struct training *t)
{
    ht_power_sgd_options options = ht_power_sgd_options_default();
    const ht_comm_hook hooks[] = {
        NULL,     ht_comm_hook_allreduce, ht_comm_hook_bf16, ht_comm_hook_fp16,
        own_hook, ht_comm_hook_power_sgd};
    int which = knob(t, KNOB_HOOK) < 6 ? knob(t, KNOB_HOOK) : 0;

    if (which == 0 || is_alone(t))
        return;
    options.start_iter = 2;
    options.min_compression_rate = 1;
    if (which == 5)
        t->around.power = ht_power_sgd_new(&options);
    went(t, "ht_data_parallel_register_comm_hook",
         ht_data_parallel_register_comm_hook(t->model, hooks[which], t->around.power));
}

/* --- All of it --- */

void around_begin(struct training *t)
{
    t->around = (struct around){.schedule = schedule_new(t, t->optimizers[0]),
                                .metric = metric_new(t)};
    if (has_side(t))
        begin_side(t);
    register_hook(t);
}

void around_step(struct training *t)
{
    add_to_metric(t);
    step_schedule(t);
}

void around_save(struct training *t, ht_value *map)
{
    struct around *around = &t->around;

    if (around->schedule != NULL)
        ht_value_set(map, "schedule", ht_scheduler_state_dict(around->schedule));
    if (around->metric != NULL)
        ht_value_set(map, "metric", ht_metric_state_dict(around->metric));
    if (has_side(t)) {
        ht_value_set(map, "side", ht_module_state_dict(around->side));
        ht_value_set(map, "side optimizer", ht_optimizer_state_dict(around->side_optimizer));
    }
    if (knob(t, KNOB_DROPOUT) == 3)
        ht_value_set(map, "random", ht_nn_random_state_dict(t->net, HT_COMM_WORLD));
}

void around_load(struct training *t, const ht_value *map)
{
    struct around *around = &t->around;

    if (around->schedule != NULL)
        went(t, "schedule",
             ht_scheduler_load_state_dict(around->schedule, ht_value_get(map, "schedule")));
    if (around->metric != NULL)
        went(t, "metric", ht_metric_load_state_dict(around->metric, ht_value_get(map, "metric")));
    if (has_side(t)) {
        went(t, "side", ht_module_load_state_dict(around->side, ht_value_get(map, "side")));
        went(t, "side optimizer",
             ht_optimizer_load_state_dict(around->side_optimizer,
                                          ht_value_get(map, "side optimizer")));
    }
    if (knob(t, KNOB_DROPOUT) == 3)
        went(t, "random",
             ht_nn_random_load_state_dict(t->net, ht_value_get(map, "random"), HT_COMM_WORLD));
}

void around_note(struct training *t)
{
    if (t->around.metric != NULL && knob(t, KNOB_JOIN) < 3)
        note_metric(t);
    if (has_side(t))
        ht_module_named_parameters(t->around.side, note_side, t);
}

void around_end(struct training *t)
{
    struct around *around = &t->around;

    ht_release(around->schedule);
    ht_release(around->metric);
    ht_release(around->side_model);
    ht_release(around->side_optimizer);
    ht_release(around->side);
    if (around->power != NULL) { /* whose wrapper ends first */
        ht_release(t->model);
        t->model = NULL;
        ht_release(around->power);
    }
    *around = (struct around){0};
}
