/* SPDX-License-Identifier: MIT
 *
 * The images, from an HDF5 file. A folder of IDX files is converted first, once per node, to a
 * temporary file that loses its name as soon as the loaders of the node have it open: it is gone
 * when the job ends, however it ends. */
#include "images.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_ROOM = 4096 };

static bool is_hdf5(const char *path)
{
    struct stat info;

    /* A path that is not there is left to the converter, or to HDF5, to complain about. */
    if (stat(path, &info) == 0)
        return !S_ISDIR(info.st_mode);
    return strstr(path, ".h5") != NULL || strstr(path, ".hdf5") != NULL;
}

static char temporary[PATH_ROOM]; /* this rank made it; "" otherwise */

static void remove_temporary(void)
{
    char part[PATH_ROOM + 32];
    char *slash = strrchr(temporary, '/');

    if (slash == NULL)
        return;
    snprintf(part, sizeof part, "%s.part-%ld", temporary, (long)getpid());
    unlink(part);
    unlink(temporary);
    *slash = '\0';
    rmdir(temporary);
    temporary[0] = '\0';
}

/* The child of a child, in a session of its own: waits until this process is gone, whatever ends
 * it, and tidies up. It holds none of the job's files open. */
static void leave_a_cleaner(void)
{
    char part[PATH_ROOM + 32], folder[PATH_ROOM];
    int ends[2];
    char byte;
    pid_t child;

    snprintf(part, sizeof part, "%s.part-%ld", temporary, (long)getpid());
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(temporary, '/') - temporary), temporary);
    if (pipe(ends) != 0)
        return;
    child = fork();
    if (child != 0) {
        close(ends[0]);
        waitpid(child, NULL, 0);
        return;
    }
    if (fork() != 0)
        _exit(0);
    setsid();
    for (int fd = 0; fd < sysconf(_SC_OPEN_MAX) && fd < 65536; fd++) {
        if (fd != ends[0])
            close(fd);
    }
    while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
        continue;
    unlink(part);
    unlink(temporary);
    rmdir(folder);
    _exit(0);
}

/* In a folder that only this user can write to. */
static void make_temporary(void)
{
    const char *folder = getenv("TMPDIR");

    snprintf(temporary, sizeof temporary - sizeof "/images.h5", "%s/ht-mnist-XXXXXX",
             folder != NULL ? folder : "/tmp");
    if (mkdtemp(temporary) == NULL) {
        fprintf(stderr, "mnist: cannot make a folder in %s: %s\n", folder != NULL ? folder : "/tmp",
                strerror(errno));
        exit(1);
    }
    strcat(temporary, "/images.h5");
    leave_a_cleaner();
}

/* The name of the node's temporary file, chosen by its first rank. */
static void share_path(ht_comm *node, char path[PATH_ROOM])
{
    ht_scope *scope = ht_scope_open();

    if (ht_comm_rank(node) == 0)
        make_temporary();
    memcpy(path, temporary, PATH_ROOM);
    ht_tensor *name = ht_array(path, HT_SHAPE(PATH_ROOM), HT_UINT8, HT_LOCAL);

    ht_bcast(node, name, 0);
    memcpy(path, ht_tensor_data(name), PATH_ROOM);
    ht_scope_close(scope);
}

/* Converts the folder on the first rank of each node; `path` is the node's file. */
static ht_comm *convert(const char *folder, char path[PATH_ROOM])
{
    int place;

    ht_comm_topology(HT_COMM_WORLD, NULL, &place, NULL, NULL);
    ht_comm *node = ht_comm_split(HT_COMM_WORLD, place, ht_comm_rank(HT_COMM_WORLD));

    share_path(node, path);
    if (ht_comm_rank(node) == 0)
        ht_idx_to_hdf5(folder, path);
    ht_barrier(node);
    return node;
}

static ht_dataset *open_set(const char *path, const char *images, const char *labels)
{
    return ht_dataset_hdf5(path, 2, (const char *const[]){images, labels}, HT_COMM_WORLD);
}

/* Both networks are made for images of this size. */
static const char *check_images(const char *name, const ht_dataset *set)
{
    static char wrong[256];
    int ndim = 0;
    const int64_t *shape = ht_dataset_shape(set, 0, &ndim);

    if (ndim == 3 && shape[1] == 28 && shape[2] == 28)
        return NULL;
    snprintf(wrong, sizeof wrong,
             "%s has %d axes, the last ones %" PRId64 " x %" PRId64 "; expected (N, 28, 28)", name,
             ndim, ndim > 1 ? shape[ndim - 2] : 0, ndim > 0 ? shape[ndim - 1] : 0);
    return wrong;
}

static const char *check_sizes(const struct images *images, const struct options *options)
{
    static char wrong[256];
    int64_t ranks = ht_comm_size(HT_COMM_WORLD), rows = ht_dataset_rows(images->train_set);
    int64_t limit = options->train_limit > 0 ? options->train_limit : rows;

    if (limit > rows)
        snprintf(wrong, sizeof wrong,
                 "--train-limit is %" PRId64 ", but the data have %" PRId64 " rows", limit, rows);
    else if (limit < ranks)
        snprintf(wrong, sizeof wrong, "%" PRId64 " training rows are too few for %" PRId64 " ranks",
                 limit, ranks);
    else if (options->batch_size > limit / ranks)
        snprintf(wrong, sizeof wrong,
                 "--batch-size is %" PRId64 ", but a rank has only %" PRId64 " training rows",
                 options->batch_size, limit / ranks);
    else
        return NULL;
    return wrong;
}

static ht_dataloader *open_loader(struct images *images, ht_dataset *set, int64_t batch_size,
                                  bool shuffle, const struct options *options)
{
    ht_dataloader_options how = ht_dataloader_options_default();

    how.batch_size = batch_size;
    how.shuffle = shuffle;
    how.seed = options->seed;
    how.transform = ht_transform_normalize;
    how.user = &images->normalize;
    how.device = images->device;
    return ht_dataloader_new(set, &how);
}

static const char *open_all(struct images *images, const char *file, const struct options *options)
{
    const char *wrong;

    images->train_set = open_set(file, "train/images", "train/labels");
    images->test_set = open_set(file, "test/images", "test/labels");
    wrong = check_images("train/images", images->train_set);
    if (wrong == NULL)
        wrong = check_images("test/images", images->test_set);
    if (wrong == NULL)
        wrong = check_sizes(images, options);
    if (wrong != NULL)
        return wrong;
    if (options->train_limit > 0)
        ht_dataset_limit(images->train_set, options->train_limit);
    images->train = open_loader(images, images->train_set, options->batch_size, true, options);
    images->test = open_loader(images, images->test_set, options->test_batch_size, false, options);
    return NULL;
}

const char *images_open(struct images *images, const struct options *options)
{
    char path[PATH_ROOM] = "";
    const char *wrong;

    *images = (struct images){
        .device = ht_device_get(options->device), /* before anything is left to tidy up */
        .normalize = {.scale = 255,
                      .mean = 0.1307,
                      .std = 0.3081,
                      .dtype = options->dtype,
                      .add_channel = true},
    };
    if (is_hdf5(options->data))
        return open_all(images, options->data, options);

    ht_comm *node = convert(options->data, path);

    wrong = open_all(images, path, options);
    ht_barrier(node);
    remove_temporary();
    ht_release(node);
    return wrong;
}

void images_close(struct images *images)
{
    ht_release(images->test);
    ht_release(images->train);
    ht_release(images->test_set);
    ht_release(images->train_set);
}
