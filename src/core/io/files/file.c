/* SPDX-License-Identifier: MIT */
#include "core/base/base.h"
#include "core/io/files/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a FIFO" : "a device or socket";
}

ht_status ht__file_check(const char *what, const char *path)
{
    struct stat info;
    int probe;

    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return ht__error_set(HT_ERR_IO, "%s: cannot open %s: it is %s, not a file", what, path,
                             kind_of(info.st_mode));
    probe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (probe < 0)
        return ht__error_set(HT_ERR_IO, "%s: cannot open %s: %s", what, path, strerror(errno));
    close(probe);
    return HT_SUCCESS;
}

/* One step: what the link at `target` says, seen from the folder that it is in. */
static bool follow(char target[HT_PATH_ROOM])
{
    char text[HT_PATH_ROOM], *slash = strrchr(target, '/');
    ssize_t length = readlink(target, text, sizeof text - 1);
    size_t folder = slash != NULL ? (size_t)(slash - target) + 1 : 0;

    if (length < 0)
        return false;
    text[length] = '\0';
    if (text[0] == '/')
        folder = 0;
    if (folder + (size_t)length >= HT_PATH_ROOM)
        return false;
    memcpy(target + folder, text, (size_t)length + 1);
    return true;
}

enum { ADDED = 64 }; /* the length of temporary names beyond that of the file */

bool ht__file_follow(const char *path, char target[HT_PATH_ROOM])
{
    enum { MOST = 40 }; /* links, as the system counts them */
    struct stat info;
    int links = 0;

    snprintf(target, HT_PATH_ROOM, "%s", path);
    while (lstat(target, &info) == 0 && S_ISLNK(info.st_mode)) {
        if (++links > MOST || !follow(target) || strlen(target) + ADDED > HT_PATH_ROOM)
            return false;
    }
    return true;
}

ht_status ht__file_target(const char *what, const char *path, char target[HT_PATH_ROOM])
{
    struct stat info;

    if (strlen(path) + ADDED > HT_PATH_ROOM)
        return ht__error_set(HT_ERR_ARGUMENT, "%s: the name of the file is too long", what);
    if (!ht__file_follow(path, target))
        return ht__error_set(HT_ERR_IO, "%s: cannot write %s: it is a link that leads nowhere",
                             what, path);
    if (lstat(target, &info) == 0 && !S_ISREG(info.st_mode))
        return ht__error_set(HT_ERR_IO, "%s: cannot write %s: it is %s, not a file", what, path,
                             kind_of(info.st_mode));
    return HT_SUCCESS;
}

int ht__file_create(const char *part, const char *path)
{
    struct stat info;
    bool is_there = stat(path, &info) == 0;
    int file = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, is_there ? 0600 : 0666), error;

    if (file >= 0 && is_there && fchmod(file, info.st_mode & 0777) != 0) {
        error = errno;
        close(file);
        errno = error;
        return -1;
    }
    return file;
}

int ht__file_reserve(int file, int64_t bytes)
{
    int error = posix_fallocate(file, 0, bytes);

    return error == EOPNOTSUPP || error == EINVAL ? 0 : error;
}

int ht__file_reserve_at(const char *path, int64_t bytes)
{
    int file = open(path, O_RDWR | O_CLOEXEC), error;

    if (file < 0)
        return errno;
    error = ht__file_reserve(file, bytes);
    close(file);
    return error;
}

static ht_status cannot_write(const ht_whole *file, const char *why)
{
    return ht__error_set(HT_ERR_IO, "%s: cannot write %s: %s", file->what, file->path, why);
}

ht_status ht__whole_begin(ht_whole *file, const char *what, const char *path, const char *suffix)
{
    ht_status status = ht__file_target(what, path, file->real);
    int made;

    if (status != HT_SUCCESS)
        return status;
    file->what = what;
    file->path = path;
    snprintf(file->part, sizeof file->part, "%s%s", file->real, suffix);
    if (unlink(file->part) != 0 && errno != ENOENT && errno != ENOTDIR)
        return ht__error_set(HT_ERR_IO, "%s: cannot write %s: cannot remove %s: %s", what, path,
                             file->part, strerror(errno));
    made = ht__file_create(file->part, file->real);
    if (made < 0)
        return cannot_write(file, strerror(errno));
    close(made);
    return HT_SUCCESS;
}

ht_status ht__whole_end(const ht_whole *file, ht_status status)
{
    if (status == HT_SUCCESS && rename(file->part, file->real) != 0)
        status = cannot_write(file, strerror(errno));
    if (status != HT_SUCCESS)
        unlink(file->part);
    return status;
}
