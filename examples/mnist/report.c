/* SPDX-License-Identifier: MIT
 *
 * The header, a progress bar on a terminal (lines elsewhere), and the result of each epoch. */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REFRESH 0.1 /* seconds between two drawings of the bar */
#define BAR     30  /* characters */

double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* Open MPI gives every rank a terminal of its own and passes the output on, so the launcher's own
 * output decides. */
static bool writes_to_terminal(void)
{
    char link[64], target[64] = "";
    ssize_t length;

    if (getenv("OMPI_COMM_WORLD_SIZE") == NULL)
        return isatty(STDOUT_FILENO);
    snprintf(link, sizeof link, "/proc/%d/fd/1", (int)getppid());
    length = readlink(link, target, sizeof target - 1);
    return length > 0 &&
           (strncmp(target, "/dev/pts/", 9) == 0 || strncmp(target, "/dev/tty", 8) == 0);
}

static void print_header(const struct report *report, ht_module *net)
{
    const struct options *o = report->options;
    int nodes, ranks = ht_comm_size(HT_COMM_WORLD);

    ht_comm_topology(HT_COMM_WORLD, &nodes, NULL, NULL, NULL);
    printf("%d rank%s on %d node%s, %d thread%s each, %s\n", ranks, plural(ranks), nodes,
           plural(nodes), ht_get_num_threads(), plural(ht_get_num_threads()), o->device);
    printf("%s, %" PRId64 " parameters, %s; %s, lr %g, gamma %g, %s\n", o->net,
           ht_module_parameter_count(net), ht_dtype_name(o->dtype), o->optimizer, o->lr, o->gamma,
           strcmp(o->parallel, "dp") != 0 ? o->parallel
           : o->blocking                  ? "blocking"
                                          : "non-blocking");
    printf("%" PRId64 " training rows in batches of %" PRId64 " x %" PRId64 ", %" PRId64
           " test rows, %" PRId64 " epoch%s\n",
           report->train_rows, (int64_t)ranks, o->batch_size, report->test_rows, o->epochs,
           plural(o->epochs));
    fflush(stdout);
}

void report_open(struct report *report, const struct options *options, const struct images *images,
                 ht_module *net)
{
    *report = (struct report){
        .options = options,
        .train_rows = ht_dataset_rows(images->train_set),
        .test_rows = ht_dataset_rows(images->test_set),
        .batches = ht_dataloader_batches(images->train),
        .speaks = ht_comm_rank(HT_COMM_WORLD) == 0,
        .terminal = writes_to_terminal(),
        .started = now(),
    };
    if (options->steps > 0 && options->steps < report->batches)
        report->batches = options->steps;
    if (report->speaks)
        print_header(report, net);
}

static void print_bar(const struct report *report, int64_t step, double loss, double rate,
                      double left)
{
    char bar[BAR + 1];

    for (int i = 0; i < BAR; i++)
        bar[i] = i * report->batches < step * BAR ? '#' : '.';
    bar[BAR] = '\0';
    printf("\repoch %" PRId64 "/%" PRId64 " [%s] loss %.4f  %.0f samples/s  %.0f s left \033[K",
           report->count + 1, report->options->epochs, bar, loss, rate, left);
    fflush(stdout);
}

void report_step(struct report *report, int64_t step, double loss)
{
    const struct options *o = report->options;
    double time = now(), elapsed = time - report->started;
    int64_t done = ++report->steps;

    if (!report->speaks || !o->progress)
        return;
    /* Every rank has as many rows in a step, but for the last one of an epoch. */
    double rate = (double)(done * o->batch_size * ht_comm_size(HT_COMM_WORLD)) / elapsed;
    int64_t to_do = report->batches * (o->epochs - report->count) - step;
    double left = elapsed / (double)done * (double)to_do;

    if (report->terminal && time - report->shown > REFRESH) {
        report->shown = time;
        print_bar(report, step, loss, rate, left);
    } else if (!report->terminal && step % o->log_interval == 0) {
        printf("epoch %" PRId64 "/%" PRId64 "  step %" PRId64 "/%" PRId64
               "  loss %.4f  %.0f samples/s  %.0f s left\n",
               report->count + 1, o->epochs, step, report->batches, loss, rate, left);
        fflush(stdout);
    }
}

void report_add(struct report *report, const struct epoch_result *result)
{
    report->epochs = realloc(report->epochs, ((size_t)report->count + 1) * sizeof *result);
    if (report->epochs == NULL)
        abort();
    report->epochs[report->count++] = *result;
}

void report_epoch(struct report *report, const struct epoch_result *result)
{
    report_add(report, result);
    if (!report->speaks)
        return;
    printf("%sepoch %" PRId64 "/%" PRId64 "  training loss %.4f  test loss %.4f  accuracy %.4f  "
           "%.1f s  %.0f samples/s\n",
           report->terminal && report->options->progress ? "\r\033[K" : "", report->count,
           report->options->epochs, result->train_loss, result->test_loss, result->accuracy,
           result->seconds, (double)result->rows / result->seconds);
    fflush(stdout);
}

void report_profile(const struct report *report)
{
    if (!report->speaks || report->profiled == 0)
        return;
    if (report->profiled < report->count)
        printf("the training of epoch %" PRId64 ":\n", report->profiled);
    ht_timeline_print(&report->profile, stdout);
}

void report_close(struct report *report)
{
    free(report->epochs);
}
