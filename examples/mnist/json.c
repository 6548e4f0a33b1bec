/* SPDX-License-Identifier: MIT
 *
 * The results as JSON, written to another name and renamed when complete. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report.h"

/* JSON has no infinity and no NaN. */
static void put_number(FILE *file, const char *name, double x)
{
    if (isfinite(x))
        fprintf(file, "\"%s\": %.9g", name, x);
    else
        fprintf(file, "\"%s\": null", name);
}

static void put_epoch(FILE *file, int64_t epoch, const struct epoch_result *result)
{
    fprintf(file, "    {\"epoch\": %" PRId64 ", ", epoch);
    put_number(file, "train_loss", result->train_loss);
    fputs(", ", file);
    put_number(file, "test_loss", result->test_loss);
    fputs(", ", file);
    put_number(file, "accuracy", result->accuracy);
    fputs(", ", file);
    put_number(file, "seconds", result->seconds);
    fputs(", ", file);
    put_number(file, "samples_per_s", (double)result->rows / result->seconds);
    fputs("}", file);
}

static const struct time {
    const char *name;
    size_t at;
} times[] = {
    {"wall_s", offsetof(ht_timeline_times, wall)},
    {"compute_s", offsetof(ht_timeline_times, compute)},
    {"forward_s", offsetof(ht_timeline_times, forward)},
    {"backward_s", offsetof(ht_timeline_times, backward)},
    {"update_s", offsetof(ht_timeline_times, update)},
    {"program_s", offsetof(ht_timeline_times, program)},
    {"exposed_s", offsetof(ht_timeline_times, exposed)},
    {"moving_s", offsetof(ht_timeline_times, moving)},
    {"communication_s", offsetof(ht_timeline_times, communication)},
    {"loader_s", offsetof(ht_timeline_times, loader)},
    {"in_flight_s", offsetof(ht_timeline_times, in_flight)},
    {"hidden_s", offsetof(ht_timeline_times, hidden)},
    {"exchanged_bytes", offsetof(ht_timeline_times, exchanged)},
    {"sent_bytes", offsetof(ht_timeline_times, sent)},
};

static double time_at(const ht_timeline_times *t, size_t offset)
{
    return *(const double *)(const void *)((const char *)t + offset);
}

/* Writes the profile of an epoch's training over the ranks. */
static void put_profile(FILE *file, const ht_timeline_summary *profile)
{
    fprintf(file, ",\n  \"profile\": {\n    \"steps\": %" PRId64, profile->steps);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        fprintf(file, ",\n    \"%s\": {", times[i].name);
        put_number(file, "mean", time_at(&profile->mean, times[i].at));
        fputs(", ", file);
        put_number(file, "least", time_at(&profile->least, times[i].at));
        fputs(", ", file);
        put_number(file, "most", time_at(&profile->most, times[i].at));
        fputs("}", file);
    }
    fputs("\n  }", file);
}

static void put_all(FILE *file, const struct report *report, const char *digest)
{
    const struct options *o = report->options;
    double seconds = 0, rows = 0;

    fprintf(file, "{\n  \"ranks\": %d,\n  \"net\": \"%s\",\n  \"optimizer\": \"%s\",\n",
            ht_comm_size(HT_COMM_WORLD), o->net, o->optimizer);
    fprintf(file, "  \"parallel\": \"%s\",\n  \"blocking\": %s,\n  \"batch_size\": %" PRId64 ",\n",
            o->parallel, o->blocking ? "true" : "false", o->batch_size);
    fprintf(file,
            "  \"train_rows\": %" PRId64 ",\n  \"test_rows\": %" PRId64 ",\n  \"epochs\": [\n",
            report->train_rows, report->test_rows);
    for (int64_t i = 0; i < report->count; i++) {
        put_epoch(file, i + 1, &report->epochs[i]);
        fputs(i + 1 < report->count ? ",\n" : "\n", file);
        seconds += report->epochs[i].seconds;
        rows += (double)report->epochs[i].rows;
    }
    fputs("  ],\n  ", file);
    put_number(file, "samples_per_s", rows / seconds);
    if (o->profile)
        put_profile(file, &report->profile);
    fprintf(file, ",\n  \"parameters_sha256\": \"%s\"\n}\n", digest);
}

/* A file that is there passes its permissions on. */
static FILE *create(const char *part, const char *path)
{
    FILE *file = fopen(part, "w");
    struct stat there;

    if (file != NULL && stat(path, &there) == 0)
        fchmod(fileno(file), there.st_mode & 0777);
    return file;
}

bool report_json(const struct report *report, const char *digest)
{
    const char *name = report->options->json;
    char path[PATH_MAX], part[PATH_MAX + 32];
    FILE *file;
    bool good;

    if (realpath(name, path) == NULL) /* what a link leads to is replaced, not the link */
        snprintf(path, sizeof path, "%s", name);
    snprintf(part, sizeof part, "%s.part-%ld", path, (long)getpid());
    file = create(part, path);
    if (file != NULL) {
        put_all(file, report, digest);
        good = ferror(file) == 0;
        good = fclose(file) == 0 && good;
        if (good && rename(part, path) == 0)
            return true;
    }
    fprintf(stderr, "mnist: cannot write %s: %s\n", name, strerror(errno));
    unlink(part);
    return false;
}
