/* SPDX-License-Identifier: MIT
 *
 * The job's state in a checkpoint, and back: the same parameters as if it had never stopped on as
 * many ranks; on another number, every row of the interrupted epoch still exactly once. */
#include "job.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void sum_over_ranks(double values[], int64_t count, ht_reduce_op op)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *x = ht_array(values, 1, &count, HT_FLOAT64, HT_LOCAL);

    ht_allreduce(HT_COMM_WORLD, x, x, op);
    memcpy(values, ht_tensor_data(x), (size_t)count * sizeof *values);
    ht_scope_close(scope);
}

static void set_number(ht_value *map, const char *key, double number)
{
    ht_value_set(map, key, ht_value_number(number));
}

static double number(const ht_value *map, const char *key)
{
    return ht_value_as_number(ht_value_get(map, key));
}

static ht_value *progress_state(const struct progress *progress)
{
    double sums[] = {progress->loss, progress->rows};
    ht_value *map = ht_value_map();

    sum_over_ranks(sums, 2, HT_OP_SUM);
    set_number(map, "epoch", (double)progress->epoch);
    set_number(map, "step", (double)progress->step);
    set_number(map, "total", (double)progress->total);
    set_number(map, "loss", sums[0]);
    set_number(map, "rows", sums[1]);
    set_number(map, "seconds", progress->seconds);
    return map;
}

static ht_value *results_state(const struct report *report)
{
    ht_value *list = ht_value_list();

    for (int64_t i = 0; i < report->count; i++) {
        const struct epoch_result *result = &report->epochs[i];
        ht_value *map = ht_value_map();

        set_number(map, "train_loss", result->train_loss);
        set_number(map, "test_loss", result->test_loss);
        set_number(map, "accuracy", result->accuracy);
        set_number(map, "seconds", result->seconds);
        set_number(map, "rows", (double)result->rows);
        ht_value_append(list, map);
    }
    return list;
}

void job_save(struct job *job)
{
    ht_checkpoint_options how = ht_checkpoint_options_default();
    ht_scope *scope = ht_scope_open();
    ht_value *state = ht_value_map();

    how.keep = job->options.save_every > 0 ? (int)job->options.keep : 1;
    ht_value_set(state, "model", ht_module_state_dict(job->parallel.model));
    ht_value_set(state, "optimizer", ht_optimizer_state_dict(job->optimizer));
    ht_value_set(state, "schedule", ht_scheduler_state_dict(job->scheduler));
    ht_value_set(state, "loader", ht_dataloader_state_dict(job->images.train));
    ht_value_set(state, "random", ht_nn_random_state_dict(job->parallel.model, HT_COMM_WORLD));
    parallel_save(&job->parallel, state);
    ht_value_set(state, "progress", progress_state(&job->progress));
    ht_value_set(state, "results", results_state(&job->report));
    ht_checkpoint_save(state, job->options.save, HT_COMM_WORLD, &how);
    ht_scope_close(scope);
}

static void restore_progress(struct job *job, const ht_value *state)
{
    const ht_value *results = ht_value_get(state, "results"), *map;
    bool first = ht_comm_rank(HT_COMM_WORLD) == 0;

    map = ht_value_get(state, "progress");
    job->progress = (struct progress){
        .epoch = (int64_t)number(map, "epoch"),
        .step = (int64_t)number(map, "step"),
        .total = (int64_t)number(map, "total"),
        .loss = first ? number(map, "loss") : 0,
        .rows = first ? number(map, "rows") : 0,
        .seconds = number(map, "seconds"),
    };
    for (int i = 0; i < ht_value_count(results); i++) {
        map = ht_value_at(results, i);
        report_add(&job->report, &(struct epoch_result){
                                     .train_loss = number(map, "train_loss"),
                                     .test_loss = number(map, "test_loss"),
                                     .accuracy = number(map, "accuracy"),
                                     .seconds = number(map, "seconds"),
                                     .rows = (int64_t)number(map, "rows"),
                                 });
    }
}

/* Model and optimizer are there already. */
static const char *restore_parallel(struct job *job, const ht_value *state)
{
    static char wrong[4200];
    const char *why = parallel_resume(&job->parallel, state);

    if (why == NULL)
        return NULL;
    snprintf(wrong, sizeof wrong, "cannot resume from %s: %s", job->options.resume, why);
    return wrong;
}

static const char *const parts[] = {"model",  "optimizer", "schedule", "loader",
                                    "random", "progress",  "results"};

const char *job_resume(struct job *job)
{
    static char wrong[4200];
    const char *other;
    ht_checkpoint_options how = ht_checkpoint_options_default();
    ht_scope *scope = ht_scope_open();
    ht_value *state;

    how.earlier = job->options.or_earlier;
    state = ht_checkpoint_load(job->options.resume, HT_COMM_WORLD, &how);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (ht_value_get(state, parts[i]) == NULL) {
            snprintf(wrong, sizeof wrong,
                     "%s has no \"%s\": it is not a checkpoint of this program",
                     job->options.resume, parts[i]);
            ht_scope_close(scope);
            return wrong;
        }
    }
    ht_module_load_state_dict(job->parallel.model, ht_value_get(state, "model"));
    ht_optimizer_load_state_dict(job->optimizer, ht_value_get(state, "optimizer"));
    other = restore_parallel(job, state);
    if (other != NULL) {
        ht_scope_close(scope);
        return other;
    }
    ht_scheduler_load_state_dict(job->scheduler, ht_value_get(state, "schedule"));
    ht_dataloader_load_state_dict(job->images.train, ht_value_get(state, "loader"));
    ht_nn_random_load_state_dict(job->parallel.model, ht_value_get(state, "random"), HT_COMM_WORLD);
    restore_progress(job, state);
    ht_scope_close(scope);
    if (job->report.speaks) {
        printf("resumed from %s after %" PRId64 " epoch%s and %" PRId64 " step%s\n",
               job->options.resume, job->progress.epoch, plural(job->progress.epoch),
               job->progress.step, plural(job->progress.step));
        fflush(stdout);
    }
    return NULL;
}

void job_load_parameters(struct job *job)
{
    ht_scope *scope = ht_scope_open();
    ht_value *state = ht_checkpoint_load(job->options.load, HT_COMM_WORLD, NULL);

    ht_module_load_state_dict(job->net, ht_value_get(state, "model"));
    ht_scope_close(scope);
}
