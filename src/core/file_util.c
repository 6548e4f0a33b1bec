/* SPDX-License-Identifier: MIT */
#include "file_util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core.h"

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

ht_status ht__file_target(const char *what, const char *path, char target[HT_PATH_ROOM])
{
    enum { MOST = 40 }; /* links, as the system counts them */
    struct stat info;
    int links = 0;

    if (strlen(path) + 64 > HT_PATH_ROOM) /* names beside it are longer */
        return ht__error_set(HT_ERR_ARGUMENT, "%s: the name of the file is too long", what);
    snprintf(target, HT_PATH_ROOM, "%s", path);
    while (lstat(target, &info) == 0 && S_ISLNK(info.st_mode)) {
        if (++links > MOST || !follow(target) || strlen(target) + 64 > HT_PATH_ROOM)
            return ht__error_set(HT_ERR_IO, "%s: cannot write %s: it is a link that leads nowhere",
                                 what, path);
    }
    if (lstat(target, &info) == 0 && !S_ISREG(info.st_mode))
        return ht__error_set(HT_ERR_IO,
                             "%s: cannot write %s: it is there and no ordinary file but %s", what,
                             path, kind_of(info.st_mode));
    return HT_SUCCESS;
}

int ht__file_create(const char *part, const char *path, bool fresh)
{
    struct stat info;
    bool is_there = stat(path, &info) == 0;
    int flags = O_RDWR | O_CREAT | O_CLOEXEC | (fresh ? O_EXCL : 0);
    int file = open(part, flags, is_there ? 0600 : 0666), error;

    if (file >= 0 && is_there && fchmod(file, info.st_mode & 0777) != 0) {
        error = errno;
        close(file);
        errno = error;
        return -1;
    }
    return file;
}
