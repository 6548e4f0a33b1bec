/* SPDX-License-Identifier: MIT
 *
 * A tensor in one file, or in parts along an axis in several files. Each rank reads from each file
 * the part in its slab, by itself, with no call that waits for others. A format is a row of two
 * functions. */
#ifndef HT_CORE_IO_FILES_PARTS_H
#define HT_CORE_IO_FILES_PARTS_H

#include "core/io/files/slab.h"
#include "core/ops/ops.h"

typedef struct ht_file_part {
    const char *path; /* not owned */
    ht_dtype dtype;   /* in memory */
    int ndim;
    bool fortran; /* the first axis is the innermost */
    int64_t shape[HT_MAX_NDIM];
    int64_t note[3]; /* the format's own */
} ht_file_part;

/* Both are of this rank alone; errors are recorded (ht__error_set) and start with `what`. */
typedef struct ht_part_format {
    const char *suffixes[3]; /* of its files; up to a NULL */
    const char *name;        /* for messages: "npy" */
    bool has_sets;           /* a file has several tensors, with names */
    ht_status (*describe)(const char *what, const char *dataset, ht_file_part *part);
    /* Row-major elements of the slab, whose axes are those of the file: outermost first. */
    ht_status (*read)(const char *what, const char *dataset, const ht_file_part *part,
                      const ht_slab *slab, void *memory);
} ht_part_format;

typedef struct ht_file_parts {
    const char *what; /* the public function; a literal */
    const ht_part_format *format;
    const char *path;    /* of the file, or of the folder; rank 0's counts for a folder */
    const char *dataset; /* NULL where the format has none */
    ht_dtype dtype;      /* of the result; HT_DTYPE_OF_FILE: what all parts promote to */
    ht_place place;
    bool is_folder;
    int axis; /* along which the parts of a folder follow each other */
} ht_file_parts;

/* The complete tensor; NULL after an error. Scoped. Collective, agrees. */
ht_tensor *ht__parts_load(ht_file_parts *job);

/* The regular files in a folder whose names end in one of the suffixes, sorted by their bytes, as
 * texts with their ends one after another; *count of them. Owned. NULL after an error: of no
 * folder, or one without such a file. Rank 0 looks, all get the list. Collective, agrees. */
char *ht__folder_list(const char *what, ht_comm *comm, const char *folder,
                      const char *const suffixes[], int *count);

#endif
