/* SPDX-License-Identifier: MIT
 *
 * NumPy's format of one array in a file: a magic, a version, the length of a text, that text (a
 * Python dictionary of descr, fortran_order and shape), and the elements. */
#ifndef HT_CORE_IO_NPY_NPY_H
#define HT_CORE_IO_NPY_NPY_H

#include <stddef.h>

#include "core/io/files/stored.h"

extern const ht_stored_type ht__npy_types[];

/* How a dtype is written; NULL: it is not. */
const ht_stored_type *ht__npy_type_for(ht_dtype dtype);

/* Reads a header of this rank's open file; a part's notes are what follows. */
/* HT_NPY_TYPE: a place in ht__npy_types. */
enum { HT_NPY_OFFSET, HT_NPY_TYPE, HT_NPY_SWAPPED };
ht_status ht__npy_read_header(const char *what, int file, ht_file_part *part);

/* The header of version 1.0 for a row-major array, padded as NumPy does; returns its bytes. */
enum { HT_NPY_HEADER_ROOM = 512 };
size_t ht__npy_make_header(char header[HT_NPY_HEADER_ROOM], const ht_stored_type *type, int ndim,
                           const int64_t shape[]);

#endif
