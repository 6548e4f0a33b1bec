/* SPDX-License-Identifier: MIT
 *
 * The summary of a timeline: the times of each rank, their mean and extremes, and a page with
 * these. */
#include "core/comm/comm.h"
#include "core/start/start.h"
#include "core/timeline/impl.h"

#include <inttypes.h>
#include <stddef.h>

enum { COUNT = sizeof(ht_timeline_times) / sizeof(double) };

static ht_timeline_times times_of(const timeline_totals *totals)
{
    const double *s = totals->seconds;
    ht_timeline_times t = {
        .wall = totals->wall,
        .forward = s[HT_SPAN_FORWARD],
        .backward = s[HT_SPAN_BACKWARD],
        .update = s[HT_SPAN_UPDATE],
        .program = s[HT_SPAN_PROGRAM],
        .exposed = s[HT_SPAN_EXPOSED],
        .moving = s[HT_SPAN_MOVING],
        .communication = s[HT_SPAN_WAIT],
        .loader = s[HT_SPAN_LOADER] + s[HT_SPAN_FILE],
        .in_flight = totals->in_flight,
        .exchanged = totals->exchanged,
        .sent = (double)ht__timeline_sent(),
    };

    t.compute = t.forward + t.backward + t.update + t.program;
    /* A wait notices the end of its operation a little late. */
    t.hidden = t.in_flight > t.exposed ? t.in_flight - t.exposed : 0;
    return t;
}

/* Mean and extremes over the ranks; each row of `all` is one rank's. */
static void combine(ht_timeline_summary *summary, const double *all, int ranks)
{
    double *mean = (double *)&summary->mean, *least = (double *)&summary->least,
           *most = (double *)&summary->most;

    for (int i = 0; i < COUNT; i++) {
        double sum = 0;

        least[i] = most[i] = all[i];
        for (int r = 0; r < ranks; r++) {
            double x = all[r * COUNT + i];

            sum += x;
            least[i] = x < least[i] ? x : least[i];
            most[i] = x > most[i] ? x : most[i];
        }
        mean[i] = sum / ranks;
    }
}

static bool asked; /* for a summary, by the program */

ht_status ht_timeline_summarize(ht_timeline_summary *summary)
{
    static const char what[] = "ht_timeline_summarize";
    ht_timeline_summary all = {0};

    if (HT_IS_NULL(summary, what, "summary"))
        return ht_error_get(NULL);
    if (!ht__timeline_is_on())
        return HT_FAIL(NULL, HT_ERR_STATE, "%s: call ht_timeline_start first", what);

    ht_comm *world = ht_comm_world();
    timeline_totals totals = ht__timeline_totals();
    double *each = ht__alloc((size_t)world->size * COUNT * sizeof *each);
    ht_status status;

    asked = true;
    all.ranks = world->size;
    all.mine = times_of(&totals);
    all.steps = totals.steps;
    status = ht__comm_allgather_f64(world, (const double *)&all.mine, COUNT, each, what);
    if (status == HT_SUCCESS)
        status = ht__comm_allreduce_i64(world, &all.steps, 1, HT_OP_MAX, what);
    if (status == HT_SUCCESS) {
        combine(&all, each, world->size);
        *summary = all;
    }
    ht__free(each);
    return status;
}

static const struct row {
    const char *label;
    size_t at;
} rows[] = {
    {"compute", offsetof(ht_timeline_times, compute)},
    {"  forward", offsetof(ht_timeline_times, forward)},
    {"  backward", offsetof(ht_timeline_times, backward)},
    {"  update", offsetof(ht_timeline_times, update)},
    {"  the program, losses", offsetof(ht_timeline_times, program)},
    {"exchange, exposed", offsetof(ht_timeline_times, exposed)},
    {"exchange, moved by hand", offsetof(ht_timeline_times, moving)},
    {"other communication", offsetof(ht_timeline_times, communication)},
    {"loader and files", offsetof(ht_timeline_times, loader)},
    {"wall", offsetof(ht_timeline_times, wall)},
    {"exchange in flight", offsetof(ht_timeline_times, in_flight)},
    {"  of that hidden", offsetof(ht_timeline_times, hidden)},
};

static double at(const ht_timeline_times *times, size_t offset)
{
    return *(const double *)(const void *)((const char *)times + offset);
}

static void print_rows(FILE *stream, const ht_timeline_summary *s, double scale)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t o = rows[i].at;

        fprintf(stream, "  %-24s %10.3f  (%.3f ... %.3f)  %3.0f %%\n", rows[i].label,
                scale * at(&s->mean, o), scale * at(&s->least, o), scale * at(&s->most, o),
                s->mean.wall > 0 ? 100 * at(&s->mean, o) / s->mean.wall : 0);
    }
}

void ht_timeline_print(const ht_timeline_summary *s, FILE *stream)
{
    const ht_timeline_times *mean;
    double steps;

    if (HT_IS_NULL(s, "ht_timeline_print", "summary") ||
        HT_IS_NULL(stream, "ht_timeline_print", "stream"))
        return;
    mean = &s->mean;
    steps = s->steps > 0 ? (double)s->steps : 1;
    fprintf(stream, "timeline: %d rank%s, %" PRId64 " steps in %.3f s\n", s->ranks,
            s->ranks > 1 ? "s" : "", s->steps, mean->wall);
    fprintf(stream, "  %-24s %10s  (least ... most rank)  of the wall time\n",
            s->steps > 0 ? "milliseconds a step" : "milliseconds", "mean");
    print_rows(stream, s, 1e3 / steps);
    fprintf(stream, "  imbalance of compute: the slowest rank takes %.1f %% more than the mean\n",
            mean->compute > 0 ? 100 * (s->most.compute / mean->compute - 1) : 0);
    fprintf(stream, "  gradients: %.3f MB a step and rank, %.3f MB sent to other nodes\n",
            1e-6 * mean->exchanged / steps, 1e-6 * mean->sent / steps);
    fflush(stream);
}

void ht__timeline_report(void)
{
    ht_timeline_summary summary;

    if (ht__timeline_has_file() && ht__timeline_is_on() && !asked &&
        ht_timeline_summarize(&summary) == HT_SUCCESS && ht__process.rank == 0)
        ht_timeline_print(&summary, stderr);
    asked = false;
}
