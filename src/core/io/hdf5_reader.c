/* SPDX-License-Identifier: MIT
 *
 * A driver of HDF5 for files that are only read. HDF5's own drivers give zeros, and success, for
 * bytes beyond the end of a file, which a damaged address may ask for; here that is an error. It
 * also does without HDF5's accumulator of metadata, which crashes on undefined addresses (1.10). */
#include "core/base/base.h"
#include "core/io/hdf5.h"
#include "core/io/runs.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct reader {
    H5FD_t base; /* HDF5's part */
    int file;
    haddr_t end, allocated; /* bytes of the file; where HDF5 thinks that it ends */
    dev_t device;
    ino_t inode;
} reader;

static void fail(const char *why, haddr_t at, size_t size)
{
    H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_IO, H5E_READERROR,
             "%s (%llu bytes at %llu)", why, (unsigned long long)size, (unsigned long long)at);
}

static H5FD_t *reader_open(const char *path, unsigned flags, hid_t access, haddr_t most)
{
    int file = flags & H5F_ACC_RDWR ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    struct stat info;
    reader *r;

    (void)access;
    (void)most;
    if (file < 0 || fstat(file, &info) != 0) {
        fail("the file cannot be opened", 0, 0);
        if (file >= 0)
            close(file);
        return NULL;
    }
    r = ht__alloc(sizeof *r);
    *r = (reader){
        .file = file, .end = (haddr_t)info.st_size, .device = info.st_dev, .inode = info.st_ino};
    return &r->base;
}

static herr_t reader_close(H5FD_t *base)
{
    reader *r = (reader *)base;
    const int result = close(r->file);

    ht__free(r);
    return result;
}

/* HDF5 asks whether two are the same file, and for an order of those that are not. */
static int reader_compare(const H5FD_t *a, const H5FD_t *b)
{
    const reader *x = (const reader *)a, *y = (const reader *)b;

    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->inode < y->inode ? -1 : x->inode > y->inode;
}

static herr_t reader_query(const H5FD_t *base, unsigned long *flags)
{
    (void)base;
    *flags = 0; /* no sieve, which leaves out what lies beyond a damaged end of the file */
    return 0;
}

static haddr_t reader_get_eoa(const H5FD_t *base, H5FD_mem_t type)
{
    (void)type;
    return ((const reader *)base)->allocated;
}

static herr_t reader_set_eoa(H5FD_t *base, H5FD_mem_t type, haddr_t end)
{
    (void)type;
    ((reader *)base)->allocated = end;
    return 0;
}

static haddr_t reader_get_eof(const H5FD_t *base, H5FD_mem_t type)
{
    (void)type;
    return ((const reader *)base)->end;
}

/* The descriptor. */
static herr_t reader_get_handle(H5FD_t *base, hid_t access, void **handle)
{
    (void)access;
    *handle = &((reader *)base)->file;
    return 0;
}

static herr_t reader_read(H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t size,
                          void *memory)
{
    const reader *r = (const reader *)base;
    int error;

    (void)type;
    (void)transfer;
    if (at > r->end || size > r->end - at) {
        fail("the file is damaged: it points behind its end", at, size);
        return -1;
    }
    error = ht__read_at(r->file, memory, (int64_t)size, (int64_t)at);
    if (error != 0)
        fail(error < 0 ? "the file became shorter" : strerror(error), at, size);
    return error == 0 ? 0 : -1;
}

static herr_t reader_write(H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t size,
                           const void *memory)
{
    (void)base;
    (void)type;
    (void)transfer;
    (void)memory;
    fail("the file is open for reading only", at, size);
    return -1;
}

static const H5FD_class_t reader_class = {
#if H5_VERSION_GE(1, 13, 2)
    .version = H5FD_CLASS_VERSION,
    .value = H5FD_RESERVED + 76, /* from the range for drivers that are not registered */
#endif
    .name = "ht reader",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_WEAK,
    .open = reader_open,
    .close = reader_close,
    .cmp = reader_compare,
    .query = reader_query,
    .get_eoa = reader_get_eoa,
    .set_eoa = reader_set_eoa,
    .get_eof = reader_get_eof,
    .get_handle = reader_get_handle,
    .read = reader_read,
    .write = reader_write,
    .fl_map = H5FD_FLMAP_SINGLE,
};

/* Registered until HDF5 ends: closing the last file of a driver that is not uses it once more. */
hid_t ht__hdf5_reader(void)
{
    static hid_t driver = H5I_INVALID_HID; /* under HDF5's lock */
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);

    if (H5Iis_valid(driver) <= 0)
        driver = H5FDregister(&reader_class);
    H5Pset_driver(access, driver, NULL);
    return access;
}
