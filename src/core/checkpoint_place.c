/* SPDX-License-Identifier: MIT
 *
 * How a checkpoint gets its name. It is written as FILE.part, in space that was reserved; when all
 * of it is on the disk, FILE becomes FILE.1 (FILE.1 becomes FILE.2, ...) and FILE.part FILE. At any
 * moment FILE, or FILE.1 where the file system knows no links, is a whole checkpoint. */
#include "checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static ht_status fail(const ht__target *target, const char *verb, int error)
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

ht_status ht__place_check(const ht__target *target)
{
    struct stat there;

    if (stat(target->path, &there) != 0 || S_ISREG(there.st_mode))
        return HT_SUCCESS;
    return ht__error_set(HT_ERR_IO, "%s: cannot write %s: it is there and no ordinary file",
                         target->what, target->path);
}

static int write_head(int fd, const void *head, size_t size)
{
    ssize_t written = size > 0 ? pwrite(fd, head, size, 0) : 0;

    if (written < 0)
        return errno;
    return (size_t)written == size ? 0 : ENOSPC;
}

ht_status ht__place_reserve(const ht__target *target, const char *part, const void *head,
                            size_t size, int64_t bytes)
{
    int fd = open(part, O_RDWR | O_CREAT | O_CLOEXEC, 0666), error;

    if (fd < 0)
        return fail(target, "create", errno);
    error = write_head(fd, head, size);
    if (error == 0)
        error = posix_fallocate(fd, 0, bytes);
    close(fd);
    /* Some file systems cannot reserve. */
    if (error == 0 || error == EOPNOTSUPP || error == EINVAL)
        return HT_SUCCESS;
    return ht__error_set(HT_ERR_IO, "%s: cannot reserve %lld bytes for %s: %s", target->what,
                         (long long)bytes, target->path, strerror(error));
}

static int flush(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC);
    int error = fd < 0 || fsync(fd) != 0 ? errno : 0;

    if (fd >= 0)
        close(fd);
    return error;
}

ht_status ht__place_flush(const ht__target *target, const char *part)
{
    int error = flush(part, O_RDONLY);

    return error == 0 ? HT_SUCCESS : fail(target, "flush", error);
}

/* The names last, too. */
static void flush_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t room = strlen(path) + 2;
    char *folder = ht__alloc(room);

    if (slash == NULL)
        snprintf(folder, room, ".");
    else
        snprintf(folder, room, "%.*s", (int)(slash - path) + 1, path);
    flush(folder, O_RDONLY | O_DIRECTORY);
    ht__free(folder);
}

/* FILE gets a second name, so that there is never a moment without it. */
static void keep_as_first(const char *path, const char *first)
{
    unlink(first);
    if (link(path, first) != 0)
        rename(path, first);
}

ht_status ht__place_commit(const ht__target *target, const char *part, int keep)
{
    const char *path = target->path;
    size_t room = strlen(path) + 16;
    char *from = ht__alloc(room), *to = ht__alloc(room);
    int error = 0;

    for (int age = keep - 1; age > 1; age--) {
        ht__place_earlier(from, room, path, age - 1);
        ht__place_earlier(to, room, path, age);
        rename(from, to); /* one that is not there leaves its place as it was */
    }
    ht__place_earlier(to, room, path, 1);
    if (keep > 1 && access(path, F_OK) == 0)
        keep_as_first(path, to);
    if (rename(part, path) != 0)
        error = errno;
    flush_folder(path);
    ht__free(from);
    ht__free(to);
    return error == 0 ? HT_SUCCESS : fail(target, "put in place", error);
}
