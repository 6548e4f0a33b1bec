/* SPDX-License-Identifier: MIT
 *
 * How a checkpoint gets its name. It is written to FILE.part, in reserved space. When all of it is
 * on the disk, FILE becomes FILE.1 (FILE.1 becomes FILE.2, ...) and FILE.part becomes FILE. At any
 * moment FILE is a complete checkpoint, or FILE.1 if the file system does not support links. */
#include "core/comm/comm.h"
#include "core/io/checkpoint/checkpoint.h"
#include "ht/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ht_status fail(const ht_target *target, const char *verb, int error)
{
    return ht__error_set(HT_ERR_IO, "%s: cannot %s %s: %s", target->what, verb, target->path,
                         strerror(error));
}

char *ht__place_part(const char *path)
{
    size_t room = strlen(path) + sizeof ".part";
    char *part = ht__alloc(room);

    snprintf(part, room, "%s.part", path);
    return part;
}

void ht__place_earlier(char *name, size_t size, const char *path, int age)
{
    if (age == 0)
        snprintf(name, size, "%s", path);
    else
        snprintf(name, size, "%s.%d", path, age);
}

ht_status ht__place_real(const ht_target *target, char real[HT_PATH_ROOM])
{
    ht_comm *comm = target->comm;
    ht_status status = comm->rank == 0 ? ht__file_target(target->what, target->path, real)
                                       : HT_SUCCESS;

    status = ht__agree(target->what, comm, status);
    return status == HT_SUCCESS ? ht__comm_bcast_bytes(comm, real, HT_PATH_ROOM, 0, target->what)
                                : status;
}

double ht__place_patience = 5;

/* The other ranks wait meanwhile, and would end the job for want of this one. Their message says
 * what this rank does. */
static int64_t wait_for_writer(const char *part)
{
    enum { STEP = 100000 /* us */ };
    double limit = ht__wait_timeout(), patience = ht__place_patience;
    const char *outer = ht__watch_guard("waiting for another job that writes the same FILE.part");
    int64_t writer = ht__seal_writer(part);

    if (limit > 0 && patience > limit / 2)
        patience = limit / 2;
    for (double waited = 0; writer != 0 && waited < patience; waited += STEP * 1e-6) {
        usleep(STEP);
        writer = ht__seal_writer(part);
    }
    ht__watch_unguard(outer);
    return writer;
}

/* A job that was killed here has left it, or is about to end; one that lives is writing it. */
static ht_status remove_left(const ht_target *target, const char *part)
{
    int64_t writer = wait_for_writer(part);

    if (writer > 0)
        return ht__error_set(
            HT_ERR_IO,
            "%s: cannot write %s: process %lld is writing %s: two jobs save to one "
            "file",
            target->what, target->path, (long long)writer, part);
    if (unlink(part) == 0 || errno == ENOENT)
        return HT_SUCCESS;
    return ht__error_set(HT_ERR_IO, "%s: cannot write %s: cannot remove %s: %s", target->what,
                         target->path, part, strerror(errno));
}

static int write_head(int file, const void *head, size_t size)
{
    ssize_t written = pwrite(file, head, size, 0);

    if (written < 0)
        return errno;
    return (size_t)written == size ? 0 : ENOSPC;
}

/* Closes `file`; `error`: of the calls before. */
static ht_status reserve(const ht_target *target, int file, int error, int64_t bytes)
{
    if (error == 0)
        error = ht__file_reserve(file, bytes);
    close(file);
    if (error == 0)
        return HT_SUCCESS;
    return ht__error_set(HT_ERR_IO, "%s: cannot reserve %lld bytes for %s: %s", target->what,
                         (long long)bytes, target->path, strerror(error));
}

ht_status ht__place_create(const ht_target *target, const char *part, const void *head, size_t size,
                           int64_t bytes, bool *mine)
{
    int file = ht__file_create(part, target->path);

    if (file < 0 && errno == EEXIST) {
        ht_status status = remove_left(target, part);

        if (status != HT_SUCCESS)
            return status;
        file = ht__file_create(part, target->path);
    }
    if (file < 0)
        return fail(target, "create", errno);
    *mine = true;
    return reserve(target, file, write_head(file, head, size), bytes);
}

ht_status ht__place_reserve(const ht_target *target, const char *part, int64_t bytes)
{
    int file = open(part, O_RDWR | O_CLOEXEC);

    return file < 0 ? fail(target, "write", errno) : reserve(target, file, 0, bytes);
}

static int flush(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC);
    int error = fd < 0 || fsync(fd) != 0 ? errno : 0;

    if (fd >= 0)
        close(fd);
    return error;
}

ht_status ht__place_flush(const ht_target *target, const char *part)
{
    int error = flush(part, O_RDONLY);

    return error == 0 ? HT_SUCCESS : fail(target, "flush", error);
}

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t room = strlen(path) + 2;
    char *folder = ht__alloc(room);

    if (slash == NULL)
        snprintf(folder, room, ".");
    else
        snprintf(folder, room, "%.*s", (int)(slash - path) + 1, path);
    return folder;
}

/* The names last, too. */
static void flush_folder(const char *path)
{
    char *folder = folder_of(path);

    flush(folder, O_RDONLY | O_DIRECTORY);
    ht__free(folder);
}

/* 0: not the name of one before. */
static int age_of(const char *name, const char *base)
{
    size_t length = strlen(base);
    char *end;
    long age;

    if (strncmp(name, base, length) != 0 || name[length] != '.' || name[length + 1] < '1' ||
        name[length + 1] > '9')
        return 0;
    errno = 0;
    age = strtol(name + length + 1, &end, 10);
    return *end == '\0' && errno == 0 && age <= INT_MAX ? (int)age : 0;
}

void ht__place_ages(const char *path, int ages[], int room, int *count)
{
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    char *folder = folder_of(path);
    DIR *stream = opendir(folder);
    struct dirent *item;

    *count = 0;
    while (stream != NULL && (item = readdir(stream)) != NULL) {
        int age = age_of(item->d_name, base), at = *count;

        if (age == 0 || (at == room && age >= ages[at - 1]))
            continue;
        if (at == room)
            at--;
        else
            ++*count;
        for (; at > 0 && ages[at - 1] > age; at--)
            ages[at] = ages[at - 1];
        ages[at] = age;
    }
    if (stream != NULL)
        closedir(stream);
    ht__free(folder);
}

/* FILE gets a second name, so that it never lacks a name. The new file is worth more than the one
 * before: an object in the place of FILE.1 is not an error. */
static void keep_as_first(const ht_target *target, const char *first)
{
    unlink(first);
    if (link(target->path, first) != 0 && rename(target->path, first) != 0)
        ht_log_write(HT_LOG_WARN, "%s: cannot keep the previous %s as %s: %s", target->what,
                     target->path, first, strerror(errno));
}

/* Jobs that save to one file one after the other lose each what the other has written. */
static void notice_other(const ht_target *target, bool saved)
{
    static struct stat last;
    static char path[HT_PATH_ROOM];
    static bool noticed;
    struct stat now;
    bool is_there = stat(target->path, &now) == 0;

    if (!saved && !noticed && is_there && strcmp(path, target->path) == 0 &&
        (now.st_ino != last.st_ino || now.st_dev != last.st_dev)) {
        noticed = true; /* once is enough */
        ht_log_write(
            HT_LOG_WARN,
            "%s: %s is not the file that this job saved last; does another job save to it?",
            target->what, target->path);
    }
    if (saved && is_there) {
        last = now;
        snprintf(path, sizeof path, "%s", target->path);
    }
}

ht_status ht__place_commit(const ht_target *target, const char *part, int keep)
{
    const char *path = target->path;
    size_t room = strlen(path) + 16;
    char *from = ht__alloc(room), *to = ht__alloc(room);
    int error = 0;

    notice_other(target, false);
    for (int age = keep - 1; age > 1; age--) {
        ht__place_earlier(from, room, path, age - 1);
        ht__place_earlier(to, room, path, age);
        rename(from, to); /* one that is not there leaves its place as it was */
    }
    ht__place_earlier(to, room, path, 1);
    if (keep > 1 && access(path, F_OK) == 0)
        keep_as_first(target, to);
    if (rename(part, path) != 0)
        error = errno;
    flush_folder(path);
    notice_other(target, true);
    ht__free(from);
    ht__free(to);
    if (error == ENOENT)
        return ht__error_set(HT_ERR_IO,
                             "%s: cannot finish %s: %s was removed: two jobs save to one file",
                             target->what, path, part);
    return error == 0 ? HT_SUCCESS : fail(target, "finish", error);
}
