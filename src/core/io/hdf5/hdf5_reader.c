/* SPDX-License-Identifier: MIT
 *
 * A driver of HDF5 for files that are read: each read gives all its bytes, or is an error. HDF5's
 * own default driver reads bytes behind the end of a file as zeros. It also keeps metadata in an
 * accumulator, and an undefined address in a damaged file makes it read out of bounds there. */
#include "core/base/base.h"
#include "core/io/hdf5/hdf5.h"
#include "core/io/files/runs.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

typedef struct reader {
    H5FD_t base;
    int file;
    dev_t device;
    ino_t inode;
    haddr_t eoa, eof;  /* the end of what HDF5 uses, and that of the file */
    ht_chunks *chunks; /* of the data set that is being read; not owned; NULL: none */
} reader;

static void say(const char *why)
{
    H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_IO, H5E_READERROR, "%s",
             why);
}

static H5FD_t *open_file(const char *name, unsigned flags, hid_t access, haddr_t most)
{
    reader *new;
    struct stat info;
    int file;

    (void)access;
    (void)most;
    file = (flags & H5F_ACC_RDWR) == 0 ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0 || fstat(file, &info) != 0) {
        say(strerror(errno));
        if (file >= 0)
            close(file);
        return NULL;
    }
    new = ht__alloc(sizeof *new);
    new->file = file;
    new->device = info.st_dev;
    new->inode = info.st_ino;
    new->eof = (haddr_t)info.st_size;
    return &new->base;
}

static herr_t close_file(H5FD_t *base)
{
    reader *of = (reader *)base;

    close(of->file);
    ht__free(of);
    return 0;
}

static int compare(const H5FD_t *a, const H5FD_t *b)
{
    const reader *of = (const reader *)a, *other = (const reader *)b;

    if (of->device != other->device)
        return of->device < other->device ? -1 : 1;
    return of->inode == other->inode ? 0 : of->inode < other->inode ? -1 : 1;
}

/* No sieve, which leaves out what lies behind the end that a damaged superblock tells. */
static herr_t query(const H5FD_t *base, unsigned long *flags)
{
    (void)base;
    *flags = 0;
    return 0;
}

static haddr_t get_eoa(const H5FD_t *base, H5FD_mem_t type)
{
    (void)type;
    return ((const reader *)base)->eoa;
}

static herr_t set_eoa(H5FD_t *base, H5FD_mem_t type, haddr_t eoa)
{
    (void)type;
    ((reader *)base)->eoa = eoa;
    return 0;
}

static haddr_t get_eof(const H5FD_t *base, H5FD_mem_t type)
{
    (void)type;
    return ((const reader *)base)->eof;
}

/* As HDF5's default driver has it: a pointer to the descriptor. */
static herr_t get_handle(H5FD_t *base, hid_t access, void **handle)
{
    (void)access;
    *handle = &((reader *)base)->file;
    return 0;
}

/* The length in a local heap's header is near 2^64: HDF5 1.10 adds to it, and takes the memory that
 * the sum asks for. */
static bool is_bad_heap(const unsigned char *head, size_t bytes)
{
    enum { AT = 8, LONGEST = 8 };
    int i = LONGEST - 1;

    if (bytes < AT + LONGEST || memcmp(head, "HEAP", 4) != 0)
        return false;
    while (i > 1 && head[AT + i] == 0xff)
        i--;
    return i == 1;
}

/* A global heap: "GCOL", 4 bytes, its size, and objects of index (2), count (2), 4 bytes and size,
 * padded to 8. Index 0 is the free space. HDF5 1.10 stays at an object of 0 bytes for ever. */
static bool is_bad_collection(const unsigned char *heap, size_t bytes)
{
    enum { HEAD = 16, OBJECT = 16 };
    uint64_t size, end = 0;
    uint16_t index;

    if (bytes < HEAD || memcmp(heap, "GCOL", 4) != 0)
        return false;
    memcpy(&end, heap + 8, sizeof end);
    for (uint64_t at = HEAD; end <= bytes && at + OBJECT <= end; at += size) {
        memcpy(&index, heap + at, sizeof index);
        memcpy(&size, heap + at + 8, sizeof size);
        if (size > end)
            return true;
        if (index != 0)
            size = OBJECT + (size + 7) / 8 * 8;
        if (size < OBJECT || size > end - at)
            return true;
    }
    return false;
}

/* Why bytes that were read would lead HDF5 astray; NULL: they do not. */
static const char *fault(const reader *of, H5FD_mem_t type, const void *memory, size_t bytes)
{
    if (type == H5FD_MEM_LHEAP && is_bad_heap(memory, bytes))
        return "the file is damaged: a local heap is longer than any file";
    if (of->chunks == NULL) { /* HDF5 reads global heaps, which it needs first, as raw data */
        const bool is_bad = type == H5FD_MEM_DRAW && is_bad_collection(memory, bytes);

        return is_bad ? "the file is damaged: objects of a global heap do not fill it" : NULL;
    }
    return type == H5FD_MEM_BTREE  ? ht__chunks_check_node(of->chunks, memory, bytes)
           : type == H5FD_MEM_DRAW ? ht__chunks_check_stored(of->chunks, memory, bytes)
                                   : NULL;
}

static herr_t read_bytes(H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t bytes,
                         void *memory)
{
    const reader *of = (const reader *)base;
    const char *why;
    int error;

    (void)transfer;
    if (at > INT64_MAX || bytes > (uint64_t)INT64_MAX - at) {
        say("the file is damaged: an address is undefined or too large");
        return -1;
    }
    error = ht__read_at(of->file, memory, (int64_t)bytes, (int64_t)at);
    if (error != 0)
        say(error < 0 ? "the file is damaged: it ends before the bytes to read" : strerror(error));
    else if ((why = fault(of, type, memory, bytes)) != NULL)
        say(why);
    else
        return 0;
    return -1;
}

static herr_t write_bytes(H5FD_t *base, H5FD_mem_t type, hid_t transfer, haddr_t at, size_t bytes,
                          const void *memory)
{
    (void)base;
    (void)type;
    (void)transfer;
    (void)at;
    (void)bytes;
    (void)memory;
    return -1;
}

/* HDF5 asks for it unless HDF5_USE_FILE_LOCKING is FALSE. Not all file systems have locks. */
static herr_t lock_file(H5FD_t *base, hbool_t for_writing)
{
    (void)for_writing;
    if (flock(((reader *)base)->file, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return 0;
    say("the file is open for writing elsewhere");
    return -1;
}

static herr_t unlock_file(H5FD_t *base)
{
    flock(((reader *)base)->file, LOCK_UN);
    return 0;
}

static const H5FD_class_t driver_class = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value = (H5FD_class_value_t)600, /* of those that are not registered with the HDF Group */
#endif
    .name = "ht_reader",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_WEAK,
    .open = open_file,
    .close = close_file,
    .cmp = compare,
    .query = query,
    .get_eoa = get_eoa,
    .set_eoa = set_eoa,
    .get_eof = get_eof,
    .get_handle = get_handle,
    .read = read_bytes,
    .write = write_bytes,
    .lock = lock_file,
    .unlock = unlock_file,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

static hid_t driver = H5I_INVALID_HID;

hid_t ht__hdf5_reader(void)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);

    if (H5Iget_type(driver) != H5I_VFL) /* not yet, or the program has called H5close */
        driver = H5FDregister(&driver_class);
    if (access >= 0)
        H5Pset_driver(access, driver, NULL);
    return access;
}

/* The driver's part of the file that holds a data set. */
static reader *reader_of(hid_t set)
{
    hid_t file = H5Iget_file_id(set), access = H5Fget_access_plist(file);
    void *handle = NULL;

    if (H5Pget_driver(access) == driver)
        H5Fget_vfd_handle(file, H5P_DEFAULT, &handle);
    H5Pclose(access);
    H5Fclose(file);
    return handle != NULL ? (reader *)((char *)handle - offsetof(reader, file)) : NULL;
}

herr_t ht__hdf5_read(hid_t set, ht_chunks *chunks, hid_t type, hid_t here, hid_t there,
                     void *memory)
{
    reader *of = reader_of(set);
    herr_t result;

    if (of != NULL)
        of->chunks = chunks;
    result = H5Dread(set, type, here, there, H5P_DEFAULT, memory);
    if (of != NULL)
        of->chunks = NULL;
    return result;
}
