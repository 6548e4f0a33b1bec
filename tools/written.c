/* SPDX-License-Identifier: MIT
 *
 * A checkpoint names the job that wrote it in its first bytes. Where it names none (a launcher that
 * did not hand HT_JOB on, another program), a file counts if it was not there when the job began.
 */
#include "written.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/io/checkpoint/checkpoint_seal.h"

enum { AGES = 256 };

static char path[PATH_MAX]; /* "": none is known */
static char job[HT_SEAL_JOB];

/* The files that were there. */
static struct {
    ino_t number;
    int64_t time;
} before[AGES];

static void name_of(int age, char name[PATH_MAX + 16])
{
    char real[PATH_MAX];

    if (realpath(path, real) == NULL) /* earlier files are next to the target of a link */
        snprintf(real, sizeof real, "%s", path);
    if (age == 0)
        snprintf(name, PATH_MAX + 16, "%s", real);
    else
        snprintf(name, PATH_MAX + 16, "%s.%d", real, age);
}

static int64_t time_of(const struct stat *info)
{
    return (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
}

void written_begin(const char *checkpoint)
{
    char host[24] = "", name[PATH_MAX + 16];
    struct timespec now;
    struct stat info;

    gethostname(host, sizeof host - 1);
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(job, sizeof job, "%s-%ld-%lld%03ld", host, (long)getpid(), (long long)now.tv_sec,
             now.tv_nsec / 1000000);
    setenv("HT_JOB", job, 1);
    unsetenv("HT_RESUME_JOB");
    if (checkpoint == NULL || strlen(checkpoint) >= sizeof path)
        return;
    memcpy(path, checkpoint, strlen(checkpoint) + 1);
    for (int age = 0; age < AGES; age++) {
        name_of(age, name);
        if (stat(name, &info) != 0)
            continue;
        before[age].number = info.st_ino;
        before[age].time = time_of(&info);
    }
}

const char *written_job(void)
{
    return job;
}

/* Whether the file names a job, and in *ours whether it is this one. */
static bool names_a_job(const char *name, bool *ours)
{
    int file = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ht_seal seal;
    bool good = file >= 0 && read(file, &seal, sizeof seal) == sizeof seal &&
                memcmp(seal.magic, HT_SEAL_MAGIC, sizeof seal.magic) == 0 && seal.job[0] != '\0';

    if (file >= 0)
        close(file);
    *ours = good && strncmp(seal.job, job, sizeof job) == 0;
    return good;
}

static bool was_there(const struct stat *info)
{
    for (int i = 0; i < AGES; i++) {
        if (before[i].number == info->st_ino && before[i].time == time_of(info))
            return true;
    }
    return false;
}

int64_t written_last(void)
{
    char name[PATH_MAX + 16];
    int64_t last = 0;
    struct stat info;
    bool ours;

    for (int age = 0; path[0] != '\0' && age < AGES; age++) {
        name_of(age, name);
        if (stat(name, &info) != 0 || !S_ISREG(info.st_mode))
            continue;
        if (!names_a_job(name, &ours))
            ours = !was_there(&info);
        if (ours && time_of(&info) > last)
            last = time_of(&info);
    }
    return last;
}
