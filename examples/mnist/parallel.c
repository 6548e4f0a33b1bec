/* SPDX-License-Identifier: MIT
 *
 * The three ways to train together, each by the library's calls for it. */
#include "parallel.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "job.h"

enum { ASK_EVERY = 8 }; /* steps from one question to stop to its answer */

static bool is_way(const struct options *options, const char *way)
{
    return strcmp(options->parallel, way) == 0;
}

static void open_daso(struct parallel *parallel, ht_module *net, int64_t steps)
{
    const struct options *o = parallel->options;
    ht_daso_options how = ht_daso_options_default();

    how.warmup_epochs = o->daso_warmup;
    how.cooldown_epochs = o->daso_cooldown;
    how.max_global_skips = o->daso_max_skips;
    how.downcast_type = o->daso_wire;
    parallel->daso = ht_optim_daso(parallel->optimizer, o->epochs, HT_COMM_WORLD, &how);
    parallel->model = ht_nn_data_parallel_multi_gpu(net, parallel->daso, HT_COMM_WORLD);
    ht_daso_set_last_batch(parallel->daso, steps - 1);
}

static void open_hierarchical(struct parallel *parallel, ht_module *net)
{
    int node, ranks = ht_comm_size(HT_COMM_WORLD);

    /* Nets are made of one seed, or of one file: nodes start with the same parameters. */
    ht_comm_topology(HT_COMM_WORLD, NULL, &node, NULL, NULL);
    parallel->node = ht_comm_split(HT_COMM_WORLD, node, ht_comm_rank(HT_COMM_WORLD));
    parallel->model = ht_nn_data_parallel(net, parallel->node, parallel->optimizer, true);
    parallel->averager = ht_hierarchical_averager_new(HT_COMM_WORLD, 1,
                                                      &parallel->options->average_every, &ranks, 0);
}

void parallel_open(struct parallel *parallel, const struct options *options, ht_module *net,
                   ht_optimizer *optimizer, int64_t steps)
{
    *parallel = (struct parallel){
        .options = options, .optimizer = optimizer, .shown = {.epoch = -1}};
    if (is_way(options, "daso"))
        open_daso(parallel, net, steps);
    else if (is_way(options, "hierarchical"))
        open_hierarchical(parallel, net);
    else
        parallel->model = ht_nn_data_parallel(net, HT_COMM_WORLD, optimizer, options->blocking);
}

void parallel_close(struct parallel *parallel)
{
    ht_release(parallel->asking);
    ht_release(parallel->asked);
    ht_release(parallel->model);
    ht_release(parallel->daso);
    ht_release(parallel->averager);
    ht_release(parallel->node);
}

void parallel_step(struct parallel *parallel, ht_tensor *loss)
{
    ht_data_parallel_backward(parallel->model, loss);
    if (parallel->daso != NULL)
        ht_daso_step(parallel->daso);
    else
        ht_optimizer_step(parallel->optimizer);
    if (parallel->averager != NULL)
        ht_hierarchical_averager_average_parameters(parallel->averager,
                                                    ht_module_parameters(parallel->model));
}

/* The answer to the last question, and the next question: it travels while the program computes. */
static bool ask(struct parallel *parallel, bool wanted)
{
    double value = wanted;
    bool stops;

    if (++parallel->steps % ASK_EVERY != 0)
        return false;

    ht_scope *scope = ht_scope_open();

    stops = parallel->asking != NULL && ht_wait(&parallel->asking) == HT_SUCCESS &&
            ht_item(parallel->asked) != 0;
    ht_release(parallel->asked);
    parallel->asked = ht_retain(ht_array(&value, HT_SHAPE(1), HT_FLOAT64, HT_LOCAL));
    parallel->asking = ht_iallreduce(HT_COMM_WORLD, parallel->asked, parallel->asked, HT_OP_MAX);
    ht_scope_close(scope);
    return stops;
}

bool parallel_stops(struct parallel *parallel, bool wanted)
{
    if (parallel->averager != NULL)
        return false;
    if (parallel->daso != NULL)
        return ask(parallel, wanted);
    if (wanted)
        ht_data_parallel_request_stop(parallel->model);
    return ht_data_parallel_stop_requested(parallel->model);
}

bool parallel_stops_between_epochs(struct parallel *parallel, bool wanted)
{
    double value = wanted;

    if (parallel->averager == NULL)
        return false;
    sum_over_ranks(&value, 1, HT_OP_MAX);
    return value != 0;
}

/* Appends the tensors inside a value that have a mean to a list. */
static void collect(ht_value *value, ht_value *list)
{
    ht_tensor *tensor = ht_value_as_tensor(value);

    if (tensor != NULL && ht_dtype_is_floating(ht_tensor_dtype(tensor)))
        ht_value_append(list, value);
    for (int i = 0; i < ht_value_count(value); i++)
        collect(ht_value_at(value, i), list);
}

/* Models are the same on all ranks after an average; so that runs can be resumed from one of them,
 * the states of the optimizers are averaged, too. */
static void average_all(struct parallel *parallel)
{
    ht_scope *scope = ht_scope_open();
    ht_value *state = ht_optimizer_state_dict(parallel->optimizer), *tensors = ht_value_list();

    ht_average_parameters(ht_module_parameters(parallel->model), HT_COMM_WORLD);
    collect(state, tensors);
    if (ht_value_count(tensors) > 0) {
        ht_average_parameters(tensors, HT_COMM_WORLD);
        ht_optimizer_load_state_dict(parallel->optimizer, state);
    }
    ht_scope_close(scope);
}

void parallel_finish_steps(struct parallel *parallel)
{
    ht_data_parallel_drain(parallel->model);
    if (parallel->averager != NULL)
        average_all(parallel);
}

void parallel_end_epoch(struct parallel *parallel, double loss)
{
    if (parallel->daso != NULL)
        ht_daso_epoch_loss_logic(parallel->daso, loss, true);
}

void parallel_tell(struct parallel *parallel)
{
    ht_daso_report now = ht_daso_get_report(parallel->daso), *shown = &parallel->shown;

    if (parallel->daso == NULL ||
        (shown->epoch >= 0 && now.phase == shown->phase && now.global_skip == shown->global_skip &&
         now.local_skip == shown->local_skip && now.wait == shown->wait))
        return;
    *shown = now;
    if (ht_comm_rank(HT_COMM_WORLD) != 0)
        return;
    printf("epoch %" PRId64 "/%" PRId64 "  DASO, %s: ", now.epoch + 1, parallel->options->epochs,
           ht_daso_phase_name(now.phase));
    if (now.phase == HT_DASO_CYCLING)
        printf("global skip %" PRId64 ", local skip %" PRId64 ", wait %" PRId64 "\n",
               now.global_skip, now.local_skip, now.wait);
    else
        printf("all ranks average after each batch\n");
    fflush(stdout);
}

bool parallel_cools_down(const struct parallel *parallel)
{
    return parallel->daso != NULL && ht_daso_get_report(parallel->daso).phase == HT_DASO_COOLDOWN;
}

void parallel_save(struct parallel *parallel, ht_value *state)
{
    if (parallel->daso != NULL)
        ht_value_set(state, "daso", ht_daso_state_dict(parallel->daso));
    if (parallel->averager != NULL)
        ht_value_set(state, "averager", ht_hierarchical_averager_state_dict(parallel->averager));
}

const char *parallel_resume(struct parallel *parallel, const ht_value *state)
{
    const ht_value *daso = ht_value_get(state, "daso"), *averager = ht_value_get(state, "averager");

    if ((daso != NULL) != (parallel->daso != NULL) ||
        (averager != NULL) != (parallel->averager != NULL))
        return daso != NULL       ? "it is of a run with --parallel daso"
               : averager != NULL ? "it is of a run with --parallel hierarchical"
                                  : "it is of a run with --parallel dp";
    if (daso != NULL)
        ht_daso_load_state_dict(parallel->daso, daso);
    if (averager != NULL)
        ht_hierarchical_averager_load_state_dict(parallel->averager, averager);
    return NULL;
}
