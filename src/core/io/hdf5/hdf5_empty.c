/* SPDX-License-Identifier: MIT
 *
 * Empty HDF5 files, made in memory, because H5Fcreate on a full disk leaves a file that cannot be
 * closed. */
#include "core/base/base.h"
#include "core/io/hdf5/hdf5.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* HDF5's image in memory of the file that is made there; under its lock. */
static struct {
    void *bytes;
    size_t size;
} image;

static void *image_resize(void *bytes, size_t size, H5FD_file_image_op_t why, void *user)
{
    (void)why;
    (void)user;
    image.size = size;
    return ht__realloc(bytes, size);
}

static herr_t image_keep(void *bytes, H5FD_file_image_op_t why, void *user)
{
    (void)why;
    (void)user;
    image.bytes = bytes;
    return 0;
}

/* The file is kept when it has been closed: H5Fget_file_image of an open one gives a wrong checksum
 * (1.10). */
void *ht__hdf5_empty(size_t front, bool newest, size_t *size)
{
    H5FD_file_image_callbacks_t calls = {.image_realloc = image_resize, .image_free = image_keep};
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), form = H5Pcreate(H5P_FILE_CREATE), file;

    image.bytes = NULL;
    H5Pset_userblock(form, front);
    if (newest)
        H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    H5Pset_fapl_core(access, 4096, false); /* nothing is written under any name */
    H5Pset_file_image_callbacks(access, &calls);
    file = H5Fcreate("empty", H5F_ACC_TRUNC, form, access);
    if (file >= 0)
        H5Fclose(file);
    H5Pclose(form);
    H5Pclose(access);
    *size = image.size;
    return image.bytes;
}

int ht__hdf5_write_empty(const char *path)
{
    size_t size = 0;
    void *bytes = ht__hdf5_empty(0, false, &size);
    int file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), error = 0;
    ssize_t written;

    if (bytes == NULL || file < 0) {
        error = file < 0 ? errno : EIO;
    } else {
        written = write(file, bytes, size);
        if (written != (ssize_t)size)
            error = written < 0 ? errno : ENOSPC;
    }
    if (file >= 0 && close(file) != 0 && error == 0)
        error = errno;
    ht__free(bytes);
    return error;
}
