/* SPDX-License-Identifier: MIT
 *
 * Data-parallel training on MNIST-format images: the CNN of Heat's examples/nn/mnist.py.
 *     mpirun -n 16 mnist --epochs 3 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "curves.h"
#include "digest.h"
#include "files.h"
#include "job.h"
#include "net.h"

static void train_step(struct job *job, const ht_batch *batch)
{
    ht_scope *scope = ht_scope_open();
    ht_tensor *loss = NULL;

    ht_optimizer_zero_grad(job->optimizer);
    if (batch->rows > 0) /* a rank whose rows have run out helps the others */
        loss = ht_nll_loss(ht_forward(job->parallel.model, batch->data), batch->target, HT_MEAN);
    parallel_step(&job->parallel, loss);

    double value = loss != NULL ? ht_item(loss) : 0;

    job->progress.step++;
    job->progress.loss += value * (double)batch->rows;
    job->progress.rows += (double)batch->rows;
    report_step(&job->report, job->progress.step, value);
    ht_scope_close(scope);
}

/* Does the tasks that are due only after some steps. */
static void between_steps(struct job *job, const ht_batch *batch, double start)
{
    const struct options *o = &job->options;
    double seconds = job->progress.seconds;

    if (o->log_rows != NULL)
        files_log_rows(job, batch);
    job->progress.total++;
    job->stopped = o->save != NULL && parallel_stops(&job->parallel, ht_stop_signal() != 0);
    if (!job->stopped && (o->save_every == 0 || job->progress.total % o->save_every != 0))
        return;
    job->progress.seconds += now() - start;
    job_save(job);
    job->progress.seconds = seconds;
}

/* Each epoch but those of DASO's cool-down, which exchange as no other did: the last one stays. */
static bool is_profiled(const struct job *job)
{
    return job->options.profile &&
           (job->report.profiled == 0 || !parallel_cools_down(&job->parallel));
}

/* The rest of an epoch, or of --steps of it. */
static void train(struct job *job, struct epoch_result *result)
{
    struct progress *progress = &job->progress;
    double start = now(), sums[2];
    int64_t steps = job->options.steps;
    ht_batch batch;
    bool profile = is_profiled(job);

    if (profile)
        ht_timeline_start();
    ht_module_train(job->parallel.model);
    while (!job->stopped && (steps == 0 || progress->step < steps) &&
           ht_dataloader_next(job->images.train, &batch)) {
        train_step(job, &batch);
        between_steps(job, &batch, start);
    }
    if (job->stopped)
        return;
    parallel_finish_steps(&job->parallel);
    result->seconds = progress->seconds + now() - start;
    if (profile) {
        ht_timeline_summarize(&job->report.profile);
        job->report.profiled = progress->epoch + 1;
    }
    sum_over_ranks(&result->seconds, 1, HT_OP_MAX);
    sums[0] = progress->loss;
    sums[1] = progress->rows;
    sum_over_ranks(sums, 2, HT_OP_SUM);
    result->train_loss = sums[0] / sums[1];
    result->rows = (int64_t)sums[1];
    parallel_end_epoch(&job->parallel, result->train_loss);
}

/* The whole test set, each rank its part of it. */
static void test(struct job *job, struct epoch_result *result)
{
    double sums[3] = {0}; /* loss, right answers, rows */
    bool grad = ht_set_grad_enabled(false);
    ht_batch batch;

    ht_module_eval(job->parallel.model);
    while (ht_dataloader_next(job->images.test, &batch)) {
        ht_scope *scope = ht_scope_open();

        if (batch.rows > 0) {
            ht_tensor *output = ht_forward(job->parallel.model, batch.data);
            ht_tensor *right = ht_eq(ht_argmax(output, 1), batch.target);

            sums[0] += ht_item(ht_nll_loss(output, batch.target, HT_SUM));
            sums[1] += ht_item(ht_sum(right, HT_NONE));
            sums[2] += (double)batch.rows;
        }
        ht_scope_close(scope);
    }
    ht_set_grad_enabled(grad);
    sum_over_ranks(sums, 3, HT_OP_SUM);
    result->test_loss = sums[0] / sums[2];
    result->accuracy = sums[1] / sums[2];
}

static ht_optimizer *make_optimizer(const struct options *options, ht_module *net)
{
    ht_value *parameters = ht_module_parameters(net);

    if (strcmp(options->optimizer, "sgd") == 0)
        return ht_optim_sgd(parameters, options->lr, NULL);
    if (strcmp(options->optimizer, "adam") == 0)
        return ht_optim_adam(parameters, options->lr, NULL);
    if (strcmp(options->optimizer, "adamw") == 0)
        return ht_optim_adamw(parameters, options->lr, NULL);
    if (strcmp(options->optimizer, "rmsprop") == 0)
        return ht_optim_rmsprop(parameters, options->lr, NULL);
    return ht_optim_adadelta(parameters, options->lr, NULL);
}

static void build(struct job *job)
{
    const struct options *options = &job->options;
    int64_t batches = ht_dataloader_batches(job->images.train);
    ht_scope *scope = ht_scope_open();

    ht_nn_seed(options->seed);
    job->net = strcmp(options->net, "mlp") == 0 ? net_mlp() : net_cnn(options->dropout);
    ht_module_to_dtype(job->net, options->dtype);
    ht_module_to_device(job->net, ht_device_get(options->device));
    if (options->load != NULL && options->resume == NULL)
        job_load_parameters(job);
    job->optimizer = make_optimizer(options, job->net);
    parallel_open(&job->parallel, options, job->net, job->optimizer,
                  options->steps > 0 && options->steps < batches ? options->steps : batches);
    job->scheduler = ht_optim_step_lr(job->optimizer, 1, options->gamma);
    ht_scope_close(scope);
}

static void stop_between_epochs(struct job *job)
{
    if (job->options.save == NULL || job->progress.epoch == job->options.epochs ||
        !parallel_stops_between_epochs(&job->parallel, ht_stop_signal() != 0))
        return;
    job->stopped = true;
    job_save(job);
}

static void run(struct job *job)
{
    struct progress *progress = &job->progress;
    ht_run_log *curves = curves_open(&job->options);

    while (progress->epoch < job->options.epochs && !job->stopped) {
        struct epoch_result result = {0};

        parallel_tell(&job->parallel);
        if (progress->step == 0)
            ht_dataloader_set_epoch(job->images.train, progress->epoch);
        train(job, &result);
        if (job->stopped)
            break;
        test(job, &result);
        ht_scheduler_step(job->scheduler);
        report_epoch(&job->report, &result);
        if (curves != NULL)
            curves_epoch(curves, progress->epoch + 1, &result);
        *progress = (struct progress){.epoch = progress->epoch + 1, .total = progress->total};
        stop_between_epochs(job);
    }
    if (!job->stopped)
        report_profile(&job->report);
    ht_release(curves);
}

/* Leaves the files that were asked for. Returns the exit status. */
static int finish(struct job *job)
{
    char digest[65];
    double failed = job->failed;

    sum_over_ranks(&failed, 1, HT_OP_MAX);
    if (job->stopped) {
        if (job->report.speaks)
            printf("stopped by a signal after %" PRId64 " epoch%s and %" PRId64 " step%s; "
                   "continue with --resume %s\n",
                   job->progress.epoch, plural(job->progress.epoch), job->progress.step,
                   plural(job->progress.step), job->options.save);
        return failed != 0;
    }
    if (!digest_parameters(job->net, digest)) {
        if (ht_comm_rank(HT_COMM_WORLD) == 0)
            fputs("mnist: the parameters differ between ranks\n", stderr);
        return 1;
    }
    if (job->options.save != NULL)
        job_save(job);
    if (job->options.json != NULL && ht_comm_rank(HT_COMM_WORLD) == 0)
        failed = !report_json(&job->report, digest) || failed != 0;
    sum_over_ranks(&failed, 1, HT_OP_MAX);
    return failed != 0;
}

/* Reports the fault on rank 0; every rank comes here. Returns the exit status. */
static int refuse(const char *wrong, bool usage)
{
    if (ht_comm_rank(HT_COMM_WORLD) == 0)
        fprintf(stderr, "mnist: %s%s\n", wrong, usage ? "; see mnist --help" : "");
    return usage ? 2 : 1;
}

/* Said by the first rank that sees it. */
static bool can_write(const struct options *options)
{
    int ranks = ht_comm_size(HT_COMM_WORLD), rank = ht_comm_rank(HT_COMM_WORLD);
    const char *wrong = files_check(options);
    double first = wrong != NULL ? rank : ranks;

    sum_over_ranks(&first, 1, HT_OP_MIN);
    if (first == rank)
        fprintf(stderr, "mnist: %s\n", wrong);
    return first == ranks;
}

static int work(struct job *job, const char *wrong)
{
    const struct options *options = &job->options;
    int status;

    if (wrong != NULL)
        return refuse(wrong, true);
    if (options->train_limit > 0 && options->train_limit < ht_comm_size(HT_COMM_WORLD))
        return refuse("--train-limit is less than the number of ranks", true);
    if (!can_write(options))
        return 1;

    wrong = images_open(&job->images, options);
    if (wrong != NULL) {
        images_close(&job->images);
        return refuse(wrong, true);
    }
    build(job);
    report_open(&job->report, &job->options, &job->images, job->net);
    if (options->resume != NULL)
        wrong = job_resume(job);
    if (options->save != NULL)
        ht_stop_signals_catch();
    if (wrong == NULL)
        run(job);
    status = wrong == NULL ? finish(job) : refuse(wrong, false);

    report_close(&job->report);
    ht_release(job->scheduler);
    parallel_close(&job->parallel);
    ht_release(job->optimizer);
    ht_release(job->net);
    images_close(&job->images);
    return status;
}

int main(int argc, char **argv)
{
    static struct job job;
    const char *wrong = options_parse(&job.options, argc, argv);
    char threads[32];
    int status = 0;

    if (job.options.threads > 0) {
        snprintf(threads, sizeof threads, "%d", (int)job.options.threads);
        setenv("OMP_NUM_THREADS", threads, 1);
    }
    if (ht_init(NULL, NULL) != HT_SUCCESS)
        return 1;
    if (!job.options.help)
        status = work(&job, wrong);
    else if (ht_comm_rank(HT_COMM_WORLD) == 0)
        fputs(options_help, stdout);
    if (ht_finalize() > 0 && status == 0)
        status = 1;
    if (fflush(stdout) != 0 || ferror(stdout)) { /* maybe long ago: the reason is gone */
        fputs("mnist: cannot write to the output\n", stderr);
        status = status != 0 ? status : 1;
    }
    return status;
}
