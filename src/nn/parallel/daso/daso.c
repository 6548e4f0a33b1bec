/* SPDX-License-Identifier: MIT
 *
 * DASO: the order of actions in a step and at the end of an epoch. */
#include "nn/parallel/daso/average_parameters.h"
#include "nn/parallel/daso/daso.h"
#include "nn/parallel/data/data_parallel.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "ht/autograd.h"
#include "ht/factories.h"
#include "ht/log.h"

static void destroy(void *object)
{
    ht_daso *daso = object;

    ht__daso_drop_model(daso);
    ht__daso_groups_fini(&daso->groups);
    ht_release(daso->schedule.detector);
    ht_release(daso->options.scheduler);
    ht_release(daso->scaler);
    ht_release(daso->optimizer);
    ht_release(daso->comm);
    ht__object_fini(daso);
    ht__free(daso);
}

static ht_kind kind = {.name = "DASO", .destroy = destroy};

static ht_plateau_detector *new_detector(const ht_daso_options *o)
{
    ht_plateau_detector_options options = ht_plateau_detector_options_default();

    options.patience = 2;
    options.threshold = o->stability_level;
    return ht_plateau_detector_new(&options);
}

typedef char phase_text[160];

/* "epoch 5 of 20: cycling, global skip 4, ..." */
static void write_phase(phase_text text, const ht_daso_schedule *s)
{
    int used = snprintf(text, sizeof(phase_text), "epoch %" PRId64 " of %" PRId64 ": %s, ",
                        s->epoch, s->total_epochs, ht_daso_phase_name(s->phase));

    if (s->global_skip == 0)
        snprintf(text + used, sizeof(phase_text) - (size_t)used, "blocking");
    else
        snprintf(text + used, sizeof(phase_text) - (size_t)used,
                 "global skip %" PRId64 ", local skip %" PRId64 ", wait %" PRId64, s->global_skip,
                 s->local_skip, s->wait);
}

/* Decisions of all ranks, said by rank 0. */
void ht__daso_tell(const ht_daso *daso)
{
    phase_text text;

    write_phase(text, &daso->schedule);
    ht_log_write0(daso->options.verbose ? HT_LOG_WARN : HT_LOG_INFO, "DASO: %s", text);
}

/* The groups that exchange, and warnings about settings that may be mistakes. */
static void tell_plan(const ht_daso *daso)
{
    const ht_daso_schedule *s = &daso->schedule;

    if (daso->groups.nodes == 1)
        ht_log_write0(HT_LOG_INFO, "DASO: on one node it has no advantage over data parallelism "
                                   "(ht_nn_data_parallel)");
    else
        ht_log_write0(
            HT_LOG_INFO, "DASO: %d ranks on %d nodes: %s of %d ranks, one of each node, %s",
            daso->comm->size, daso->groups.nodes, daso->groups.count > 1 ? "groups" : "a group",
            daso->groups.nodes, daso->groups.count > 1 ? "exchange in turns" : "exchanges");
    if (s->warmup_epochs == s->total_epochs - s->cooldown_epochs)
        ht_log_write0(HT_LOG_WARN,
                      "DASO: %" PRId64 " epochs of warm-up and %" PRId64
                      " of cool-down fill the run: no epoch is left to cycle, and each batch "
                      "blocks",
                      s->warmup_epochs, s->cooldown_epochs);
}

ht_daso *ht_optim_daso(ht_optimizer *local_optimizer, int64_t total_epochs, ht_comm *comm,
                       const ht_daso_options *options)
{
    static const char what[] = "ht_optim_daso";
    ht_daso_options o = options != NULL ? *options : ht_daso_options_default();
    ht_daso *daso;

    if (ht__daso_check_options(what, local_optimizer, comm, &o, total_epochs) != HT_SUCCESS)
        return NULL;
    daso = ht__alloc(sizeof *daso);
    ht__object_init(daso, &kind);
    daso->optimizer = ht_retain(local_optimizer);
    daso->comm = ht_retain(comm);
    daso->options = o;
    ht_retain(o.scheduler);
    daso->schedule = (ht_daso_schedule){.total_epochs = total_epochs,
                                        .warmup_epochs = o.warmup_epochs,
                                        .cooldown_epochs = o.cooldown_epochs,
                                        .max_global_skips = o.max_global_skips,
                                        .skip_reduction_factor = o.skip_reduction_factor,
                                        .local_skip_factor = o.local_skip_factor,
                                        .detector = new_detector(&o)};
    daso->report = (ht_daso_report){.sent = -1, .staleness = -1};
    daso->stepped = -1;
    daso->everyone = ht__exchange_get(comm, HT_PURPOSE_AVERAGES);
    if (daso->everyone == NULL || !ht__daso_groups_init(&daso->groups, comm)) {
        ht_release(daso);
        return NULL;
    }
    ht__daso_schedule_reset(&daso->schedule);
    tell_plan(daso);
    ht__daso_tell(daso);
    return daso;
}

static ht_status check_step(const char *what, const ht_daso *daso)
{
    if (daso->model == NULL)
        return HT_FAIL(daso->comm, HT_ERR_STATE,
                       "%s: the model is missing; wrap it in ht_nn_data_parallel_multi_gpu", what);
    if (daso->batches == 0)
        return HT_FAIL(daso->comm, HT_ERR_STATE,
                       "%s: call ht_daso_set_last_batch or ht_daso_set_loader first", what);
    if (daso->batch == daso->batches)
        return HT_FAIL(daso->comm, HT_ERR_STATE,
                       "%s: all %" PRId64 " batches of epoch %" PRId64 " are done; begin the "
                       "next epoch with ht_daso_epoch_loss_logic",
                       what, daso->batches, daso->schedule.epoch);
    return HT_SUCCESS;
}

static ht_status check_scaler(const char *what, const ht_daso *daso)
{
    if (daso->scaler != NULL && ht_optim_wrapper_last(daso->scaler).count == daso->scaled)
        return HT_FAIL(daso->comm, HT_ERR_STATE,
                       "%s: call ht_optim_wrapper_update_params of the scaler first", what);
    return HT_SUCCESS;
}

/* A loop that was ported from data parallelism may have kept its own step. A loaded state does not
 * give one more update twice in a row. */
static void watch_updates(ht_daso *daso)
{
    bool more = daso->stepped >= 0 && daso->optimizer->steps == daso->stepped + 1;

    if (more && daso->extra == 1)
        ht_log_write0(HT_LOG_WARN,
                      "DASO: the program calls ht_optimizer_step too, so each batch makes two "
                      "updates; ht_daso_step makes them");
    daso->extra = more || daso->extra > 1 ? daso->extra + 1 : 0;
}

/* The part of a step without an exchange between nodes. */
static ht_status update(const char *what, ht_daso *daso)
{
    ht_status status = HT_SUCCESS;

    if (daso->scaler != NULL) {
        daso->scaled = ht_optim_wrapper_last(daso->scaler).count;
        return HT_SUCCESS;
    }
    watch_updates(daso);
    if (daso->wrapper != NULL)
        status = ht__dp_average_own(ht__dp_of(daso->wrapper));
    if (status == HT_SUCCESS)
        status = ht__optimizer_step(what, daso->optimizer);
    daso->stepped = daso->optimizer->steps;
    return status;
}

ht_status ht_daso_step(ht_daso *daso)
{
    static const char what[] = "ht_daso_step";
    ht_status status;
    int64_t loss; /* the number of this batch's */

    if (HT_IS_NULL(daso, what, "daso") || check_step(what, daso) != HT_SUCCESS)
        return ht_error_get(NULL);
    loss = daso->scaled;
    ht__daso_answer(daso);
    status = ht__daso_check_pass(daso, false);
    if (status == HT_SUCCESS && check_scaler(what, daso) != HT_SUCCESS)
        return ht_error_get(NULL);
    daso->report = (ht_daso_report){
        .sent = -1,
        .staleness = -1,
        .local_sync = ht__daso_averages(daso, ht_optim_wrapper_last(daso->scaler).count - 1)};
    if (status == HT_SUCCESS)
        status = update(what, daso);
    if (status == HT_SUCCESS)
        status = ht__daso_check_pass(daso, true);
    daso->updates++;
    status = status == HT_SUCCESS ? ht__daso_exchange(daso) : ht__daso_fail(daso, loss);
    daso->batch++;
    return status == HT_SUCCESS ? ht__daso_prepare(daso) : status;
}

ht_status ht_daso_zero_grad(ht_daso *daso)
{
    if (HT_IS_NULL(daso, "ht_daso_zero_grad", "daso"))
        return ht_error_get(NULL);
    return ht_optimizer_zero_grad(daso->optimizer);
}

/* The mean over ranks; or the same number everywhere, as was promised. */
static ht_status average_loss(const char *what, ht_daso *daso, double *loss, bool averaged)
{
    int size = daso->comm->size;
    double *all = ht__alloc((size_t)size * sizeof *all), sum = 0;
    ht_status status = ht__comm_allgather_f64(daso->comm, loss, 1, all, what);

    for (int r = 0; r < size && status == HT_SUCCESS; r++) {
        sum += all[r];
        if (averaged && all[r] != all[0] && !(isnan(all[r]) && isnan(all[0])))
            status = HT_FAIL(daso->comm, HT_ERR_ARGUMENT,
                             "%s: the averaged loss is %g on rank 0 and %g on rank %d, expected "
                             "the same on all ranks",
                             what, all[0], all[r], r);
    }
    if (!averaged)
        *loss = sum / size;
    ht__free(all);
    return status;
}

ht_status ht_daso_epoch_loss_logic(ht_daso *daso, double loss, bool loss_globally_averaged)
{
    static const char what[] = "ht_daso_epoch_loss_logic";
    ht_daso_schedule was;
    ht_status status;

    if (HT_IS_NULL(daso, "ht_daso_epoch_loss_logic", "daso"))
        return ht_error_get(NULL);
    if (daso->batches == 0 || daso->batch < daso->batches)
        return HT_FAIL(daso->comm, HT_ERR_STATE,
                       "%s: %" PRId64 " of %" PRId64 " batches of the epoch are done, expected all",
                       what, daso->batch, daso->batches);
    status = average_loss(what, daso, &loss, loss_globally_averaged);
    if (status != HT_SUCCESS)
        return status;
    was = daso->schedule;
    ht__daso_schedule_epoch(&daso->schedule, loss);
    daso->batch = 0;
    if (was.phase != daso->schedule.phase || was.global_skip != daso->schedule.global_skip ||
        was.local_skip != daso->schedule.local_skip || was.wait != daso->schedule.wait)
        ht__daso_tell(daso);
    if (daso->options.scheduler != NULL)
        status = ht_scheduler_step_metric(daso->options.scheduler, loss);
    return status == HT_SUCCESS ? ht__daso_prepare(daso) : status;
}

/* The same on all ranks, for any progress of the abandoned epoch. */
static ht_status unite(const char *what, ht_daso *daso)
{
    ht_status status = ht__daso_receive(daso);

    if (status == HT_SUCCESS)
        status = ht__daso_renew_states(what, daso, true);
    if (status == HT_SUCCESS)
        status = ht__average(what, daso->flat, daso->comm);
    if (status == HT_SUCCESS && daso->outer != NULL)
        status = ht_fill_(daso->outer, 0);
    return status == HT_SUCCESS && daso->agreed != NULL
               ? ht__flat_gather(what, daso->agreed, daso->shared, NULL, NULL)
               : status;
}

ht_status ht_daso_reset(ht_daso *daso)
{
    static const char what[] = "ht_daso_reset";
    ht_status status = HT_SUCCESS;
    ht_scope *scope;
    bool was;

    if (HT_IS_NULL(daso, what, "daso"))
        return ht_error_get(NULL);
    scope = ht_scope_open();
    was = ht_set_grad_enabled(false);
    if (daso->model != NULL)
        status = unite(what, daso);
    ht_set_grad_enabled(was);
    ht_scope_close(scope);
    daso->batch = daso->sends = 0;
    ht__daso_schedule_reset(&daso->schedule);
    return status == HT_SUCCESS ? ht__daso_prepare(daso) : status;
}

ht_daso_report ht_daso_get_report(const ht_daso *daso)
{
    ht_daso_report report = {.sent = -1, .staleness = -1};

    if (daso == NULL)
        return report;
    report = daso->report;
    report.phase = daso->schedule.phase;
    report.epoch = daso->schedule.epoch;
    report.batch = daso->batch;
    report.global_skip = daso->schedule.global_skip;
    report.local_skip = daso->schedule.local_skip;
    report.wait = daso->schedule.wait;
    return report;
}

void ht_daso_print(const ht_daso *daso, FILE *stream)
{
    phase_text text;

    if (daso == NULL || HT_IS_NULL(stream, "ht_daso_print", "stream"))
        return;
    write_phase(text, &daso->schedule);
    fprintf(stream, "DASO, %d nodes, %d ranks in %d groups, %s\n", daso->comm->nodes,
            daso->comm->size, daso->groups.count, text);
}
