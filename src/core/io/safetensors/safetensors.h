/* SPDX-License-Identifier: MIT
 *
 * The safetensors format: the length of a header as 8 bytes, the header as JSON, and the elements
 * of the tensors, row-major, little-endian. The header maps the name of each tensor to its dtype,
 * shape and range of bytes after the header; the ranges cover all of these bytes, without overlaps.
 * Its member __metadata__ maps strings to strings. */
#ifndef HT_CORE_IO_SAFETENSORS_SAFETENSORS_H
#define HT_CORE_IO_SAFETENSORS_SAFETENSORS_H

#include "core/io/files/stored.h"
#include "ht/safetensors.h"

#define HT_SAFETENSORS_METADATA "__metadata__"
enum { HT_SAFETENSORS_FRONT = 8 }; /* bytes before the header */

/* Rows of the dtypes that the format has. */
typedef struct ht_safetensors_type {
    const char *name;
    ht_stored_type stored; /* of HT_DTYPE_COUNT: no dtype of ours can hold its elements */
} ht_safetensors_type;

extern const ht_safetensors_type ht__safetensors_types[];
const ht_safetensors_type *ht__safetensors_type_for(ht_dtype dtype); /* NULL: none */

typedef struct ht_safetensors_entry {
    char *name; /* owned */
    int type;   /* the row; of ours */
    int ndim;
    int64_t shape[HT_MAX_NDIM];
    int64_t begin, end; /* bytes after the header */
} ht_safetensors_entry;

typedef struct ht_safetensors_pair {
    char *key, *value; /* owned */
} ht_safetensors_pair;

typedef struct ht_safetensors {
    ht_safetensors_entry *entries; /* owned; in the order of their bytes */
    int count, capacity;
    ht_safetensors_pair *metadata; /* owned; in the order of the file */
    int metadata_count, metadata_capacity;
    int64_t start; /* of the first byte after the header */
} ht_safetensors;

/* The header of a file as it stands there. */
typedef struct ht_safetensors_raw {
    char *text;     /* owned */
    int64_t length; /* bytes */
    int64_t left;   /* bytes of the file after it */
} ht_safetensors_raw;

/* read_header.c. This rank acts alone, and records errors. */
ht_status ht__safetensors_read(const char *what, const char *path, ht_safetensors_raw *text);

/* Rank 0's, on all ranks. Collective, agrees. */
ht_status ht__safetensors_share(const char *what, ht_comm *comm, const char *path,
                                ht_safetensors_raw *text);

/* header.c. Splits a header into entries and checks all of it; `header` is zeroed first, and must
 * always be freed. This rank acts alone, and records errors. */
ht_status ht__safetensors_parse(const char *what, const char *path, const ht_safetensors_raw *text,
                                ht_safetensors *header);
void ht__safetensors_free(ht_safetensors *header);

const ht_safetensors_entry *ht__safetensors_find(const ht_safetensors *header, const char *name);

/* load_safetensors.c. ht_safetensors_load for others; the path is there. Collective, agrees. */
ht_value *ht__safetensors_load(const char *what, const char *path, ht_comm *comm);

/* save_safetensors.c. ht_safetensors_save_ext for others. Collective, agrees. */
ht_status ht__safetensors_save(const char *what, const ht_value *tensors, const char *path,
                               int count, const ht_safetensors_text metadata[], ht_comm *comm);

/* make_header.c. The first bytes of a file, up to the first element. Owned. */
char *ht__safetensors_make(const ht_safetensors *header, int count,
                           const ht_safetensors_text metadata[], int64_t *bytes);

/* Whether a text is UTF-8. */
bool ht__utf8_check(const char *text);

#endif
