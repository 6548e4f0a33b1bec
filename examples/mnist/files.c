/* SPDX-License-Identifier: MIT */
#include "files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char wrong[4200];

static const char *check_target(const char *path)
{
    char folder[4096];
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    struct stat there;

    if (path == NULL)
        return NULL;
    if (path[0] == '\0')
        return "the name of a file to write is empty";
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) {
        snprintf(wrong, sizeof wrong, "cannot write %s: it is not an ordinary file", path);
        return wrong;
    }
    snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1,
             slash != NULL ? path : ".");
    if (access(folder, W_OK) == 0)
        return NULL;
    snprintf(wrong, sizeof wrong, "cannot write %s: %s", path, strerror(errno));
    return wrong;
}

/* Each rank has a file of its own. */
static const char *check_rows(const char *path)
{
    char name[4200];

    if (path == NULL)
        return NULL;
    snprintf(name, sizeof name, "%s.%d", path, ht_comm_rank(HT_COMM_WORLD));
    return check_target(name);
}

const char *files_check(const struct options *options)
{
    const char *first = check_rows(options->log_rows);

    if (first != NULL || ht_comm_rank(HT_COMM_WORLD) != 0)
        return first;
    first = check_target(options->json);
    return first != NULL ? first : check_target(options->save);
}

static bool append(const char *name, const struct job *job, const ht_batch *batch)
{
    FILE *file = fopen(name, "a");
    bool good;

    if (file == NULL)
        return false;
    fprintf(file, "%" PRId64 " %" PRId64, job->progress.epoch, job->progress.step);
    for (int64_t i = 0; i < batch->rows; i++)
        fprintf(file, " %" PRId64, batch->row_ids[i]);
    fputc('\n', file);
    good = !ferror(file);
    return fclose(file) == 0 && good;
}

void files_log_rows(struct job *job, const ht_batch *batch)
{
    char name[4200];

    snprintf(name, sizeof name, "%s.%d", job->options.log_rows, ht_comm_rank(HT_COMM_WORLD));
    if (append(name, job, batch))
        return;
    if (!job->failed)
        fprintf(stderr, "mnist: cannot write %s: %s\n", name, strerror(errno));
    job->failed = true;
}
