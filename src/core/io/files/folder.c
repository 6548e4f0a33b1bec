/* SPDX-License-Identifier: MIT
 *
 * The files of a folder: rank 0 lists them, so that all ranks have the same list. */
#include "core/comm/comm.h"
#include "core/io/files/parts.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

typedef struct list {
    char **paths; /* owned, as each of them */
    int count, room;
    size_t bytes; /* of all, with their ends */
} list;

static bool ends_in(const char *name, const char *const suffixes[])
{
    size_t length = strlen(name);

    for (int i = 0; suffixes[i] != NULL; i++) {
        size_t end = strlen(suffixes[i]);

        if (length > end && strcasecmp(name + length - end, suffixes[i]) == 0)
            return true;
    }
    return false;
}

static void add(list *files, const char *folder, const char *name)
{
    size_t bytes = strlen(folder) + strlen(name) + 2;
    char *path = ht__alloc(bytes);
    struct stat info;

    snprintf(path, bytes, "%s/%s", folder, name);
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) {
        ht__free(path);
        return;
    }
    if (files->count == files->room) {
        files->room = 2 * files->room + 16;
        files->paths = ht__realloc(files->paths, (size_t)files->room * sizeof *files->paths);
    }
    files->paths[files->count++] = path;
    files->bytes += bytes;
}

static int in_order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Rank 0's work. */
static ht_status look(const char *what, const char *folder, const char *const suffixes[],
                      list *files)
{
    const struct dirent *entry;
    DIR *open;

    if (HT_IS_NULL(folder, what, "path"))
        return ht_error_get(NULL);
    open = opendir(folder);
    if (open == NULL)
        return ht__error_set(HT_ERR_IO, "%s: cannot open the folder %s: %s", what, folder,
                             strerror(errno));
    while ((entry = readdir(open)) != NULL) {
        if (ends_in(entry->d_name, suffixes))
            add(files, folder, entry->d_name);
    }
    closedir(open);
    if (files->count == 0)
        return ht__error_set(HT_ERR_IO, "%s: the folder %s has no %s file", what, folder,
                             suffixes[0]);
    qsort(files->paths, (size_t)files->count, sizeof *files->paths, in_order);
    return HT_SUCCESS;
}

/* One text behind the other; what they were goes. */
static char *join(list *files)
{
    char *all = ht__alloc(files->bytes + 1), *end = all;

    for (int i = 0; i < files->count; i++) {
        size_t bytes = strlen(files->paths[i]) + 1;

        memcpy(end, files->paths[i], bytes);
        end += bytes;
        ht__free(files->paths[i]);
    }
    ht__free(files->paths);
    return all;
}

char *ht__folder_list(const char *what, ht_comm *comm, const char *folder,
                      const char *const suffixes[], int *count)
{
    bool begun = ht__agree_begin();
    list files = {0};
    ht_status status = comm->rank == 0 ? look(what, folder, suffixes, &files) : HT_SUCCESS;
    int64_t sizes[2] = {files.count, (int64_t)files.bytes};
    char *all;

    if (ht__agree_end(what, comm, begun, status) != HT_SUCCESS ||
        ht__comm_bcast_bytes(comm, sizes, sizeof sizes, 0, what) != HT_SUCCESS) {
        ht__free(join(&files));
        return NULL;
    }
    all = join(&files);
    if (comm->rank != 0)
        all = ht__realloc(all, (size_t)sizes[1] + 1);
    *count = (int)sizes[0];
    if (ht__comm_bcast_bytes(comm, all, (size_t)sizes[1], 0, what) == HT_SUCCESS)
        return all;
    ht__free(all);
    return NULL;
}
