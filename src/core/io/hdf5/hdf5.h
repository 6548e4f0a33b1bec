/* SPDX-License-Identifier: MIT
 *
 * Shared parts of all files that call HDF5: the lock, errors as text, and element types. */
#ifndef HT_CORE_IO_HDF5_HDF5_H
#define HT_CORE_IO_HDF5_HDF5_H

#include <hdf5.h>

#include "core/io/files/file.h"
#include "core/io/hdf5/chunks.h"
#include "ht/io.h"
#include "ht/types.h"

/* Around each run of HDF5 calls: takes ht_hdf5_lock and silences HDF5's own error printing; end
 * gives both back. May be nested. */
void ht__hdf5_begin(void);
void ht__hdf5_end(void);

/* The innermost message of HDF5's error stack, before the next HDF5 call; text of the thread. */
const char *ht__hdf5_error(void);

/* From here on nothing of a file of the default driver reaches the disk, after an error: closing
 * cannot fail, and HDF5 tries nothing again when the program ends. The file is left unfinished. */
void ht__hdf5_abandon(hid_t file);

/* An HDF5 file with nothing in it behind `front` bytes (0, or a power of two from 512 on), `size`
 * bytes; owned, NULL after an error of HDF5. `newest`: of its newest format. */
void *ht__hdf5_empty(size_t front, bool newest, size_t *size);

/* Puts one into the file of this name, which is there. Returns 0 or the system's error. */
int ht__hdf5_write_empty(const char *path);

/* A descriptor of a file that is in memory alone and goes with it; -1: there is none. */
int ht__hdf5_memory_file(void);

/* The dtype that holds elements of this file type without loss, or HT_DTYPE_COUNT; uint16 is read
 * as int32, uint32 as int64, half precision as float32. */
ht_dtype ht__hdf5_dtype_of(hid_t file_type);

/* The type of such elements in memory; to be closed with H5Tclose. Negative for float16 and
 * bfloat16, which HDF5 does not know. */
hid_t ht__hdf5_type(ht_dtype dtype);

/* File access by libht's own driver for reading, to be closed with H5Pclose. */
hid_t ht__hdf5_reader(void);

/* Opens a file for reading by that driver. Negative after ht__error_set, which starts
 * with `what`. */
hid_t ht__hdf5_open(const char *what, const char *path);

/* The form of a data set. */
typedef struct ht_hdf5_info {
    ht_dtype dtype;
    int ndim;
    int64_t shape[HT_MAX_NDIM];
    int64_t chunk[HT_MAX_NDIM]; /* all 0: not chunked */
    bool elsewhere;             /* its elements are in other files */
    bool is_uint64;             /* in the file, and int64 in `dtype` */
    ht_chunks chunks;           /* for ht__hdf5_read */
} ht_hdf5_info;

/* Opens data set `name` and describes it. Negative after ht__error_set. */
hid_t ht__hdf5_open_dataset(const char *what, hid_t file, const char *path, const char *name,
                            hid_t access, ht_hdf5_info *info);

/* The same of one that may have elements of uint64, for readers that check their values. */
hid_t ht__hdf5_open_any(const char *what, hid_t file, const char *path, const char *name,
                        hid_t access, ht_hdf5_info *info);

/* H5Dread of a data set of a file that ht__hdf5_open has opened. Checks what the file says of its
 * chunks, and keeps in `chunks` which checks are done. */
herr_t ht__hdf5_read(hid_t set, ht_chunks *chunks, hid_t type, hid_t here, hid_t there,
                     void *memory);

#endif
