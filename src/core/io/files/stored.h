/* SPDX-License-Identifier: MIT
 *
 * An array in a plain file: its elements follow one another from an offset on. */
#ifndef HT_CORE_IO_FILES_STORED_H
#define HT_CORE_IO_FILES_STORED_H

#include "core/io/files/joint.h"
#include "core/io/files/parts.h"

/* The elements' type in a file. */
typedef struct ht_stored_type {
    char kind;      /* NumPy's letter: b, u, i, f, c */
    int bytes;      /* of one element */
    ht_dtype dtype; /* in memory, without loss */
    int swapped_by; /* bytes of what has an order: half of a complex number */
} ht_stored_type;

typedef struct ht_stored {
    const ht_stored_type *type;
    bool swapped;   /* the order of bytes is not the machine's */
    int64_t offset; /* of the first element */
} ht_stored;

/* Whether elements of this order of bytes are swapped on this machine. */
bool ht__stored_swapped(bool little);

/* Opens a regular file for reading. This rank acts alone, and records errors. */
ht_status ht__stored_open(const char *what, const char *path, int *file);

/* Reads the slab of a part into row-major memory. This rank acts alone, and records errors. */
ht_status ht__stored_read(const char *what, const ht_file_part *part, const ht_stored *stored,
                          const ht_slab *slab, void *memory);

/* x in slabs of long runs, row-major, on the host. Collective. */
ht_tensor *ht__stored_form(ht_tensor *x);

/* Writes this rank's share of a tensor in that form to the file, whose elements begin at `offset`.
 * Rank 0 writes a tensor that is process-local if the file has several ranks. */
ht_status ht__stored_write(ht_joint *file, const ht_body *body, int64_t offset);

#endif
