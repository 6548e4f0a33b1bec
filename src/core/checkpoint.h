/* SPDX-License-Identifier: MIT
 *
 * What saving and loading checkpoints share: a state as a flat list of entries, and the names of
 * what stands in a file beside the user's. */
#ifndef HT_CHECKPOINT_IMPL_H
#define HT_CHECKPOINT_IMPL_H

#include "core.h"
#include "hdf5_util.h"
#include "ht/checkpoint.h"

enum { HT_CHECKPOINT_FORMAT = 1 };

/* Attributes that are no numbers of the user's begin with '@'. */
#define HT_CHECKPOINT_VERSION "@libht" /* of the root: the format */
#define HT_CHECKPOINT_LIST    "@list"  /* of a group: it is a list */
#define HT_CHECKPOINT_CRC     "@crc32" /* of a data set: of its elements, row-major */
#define HT_CHECKPOINT_DTYPE   "@dtype" /* the tensor's, as a name */
#define HT_CHECKPOINT_SPLIT   "@split" /* the tensor's, or HT_NONE */
#define HT_CHECKPOINT_LOCAL   "@local" /* 1: the tensor is process-local */

/* A file, and who wants it: for messages. */
typedef struct ht__target {
    const char *what; /* the public function; a literal */
    const char *path;
    ht_comm *comm;
} ht__target;

/* checkpoint_save.c, checkpoint_load.c: the public calls, for others that keep state in files.
 * `plain`: data sets without checksums are taken as they are, from any HDF5 file. NULL after
 * HT_FAIL. Scoped. Collective, agrees. */
ht_status ht__checkpoint_save(const ht__target *target, const ht_value *state, int keep);
ht_value *ht__checkpoint_load(const ht__target *target, bool plain);

/* Maps and lists come before what is in them: `count` entries, and what is in those. */
typedef struct ht__entry {
    char *path;       /* owned: "optimizer/state/0/exp_avg", "" for the whole */
    const char *name; /* the last part of it */
    ht_value_kind kind;
    int count;
    double number;
    ht_tensor *x; /* scoped; as it stands in the file: split along axis 0 or not at all */
    ht_dtype dtype;
    int split;  /* as it is in the program */
    bool local; /* process-local */
    bool alike; /* not split, and the same on all ranks */
    uint32_t crc;
} ht__entry;

typedef struct ht__entries {
    ht__entry *items; /* owned */
    int count, capacity;
} ht__entries;

ht__entry *ht__entries_add(ht__entries *entries, const char *parent, const char *name);
void ht__entries_free(ht__entries *entries);

/* checkpoint_entries.c. Flattens a value; tensors in the form of the file. Collective, agrees on
 * the entries. */
ht_status ht__entries_collect(ht__entries *entries, const ht_value *state,
                              const ht__target *target);

/* Builds the value again, tensors as they are in the program. Collective. Scoped. */
ht_value *ht__entries_value(const ht__entries *entries);

/* Fails alike on all ranks, naming the first that differs, unless all have the same entries. */
ht_status ht__entries_agree(const ht__entries *entries, const ht__target *target);

/* checkpoint_crc.c. The checksum of every tensor's elements into `crc`, and `alike`. Collective. */
ht_status ht__entries_checksum(ht__entries *entries, const ht__target *target);

/* The dtype that stands for one in a file: 16-bit floats travel as float32, bool as uint8. */
static inline ht_dtype ht__file_dtype(ht_dtype dtype)
{
    if (dtype == HT_FLOAT16 || dtype == HT_BFLOAT16)
        return HT_FLOAT32;
    return dtype == HT_BOOL ? HT_UINT8 : dtype;
}

/* checkpoint_place.c: files and their names. All but `reserve` are rank 0's work; the error is
 * recorded and its code returned. */
char *ht__place_part(const char *path); /* owned: what is written until it is whole */
/* Refuses a path that is there and no ordinary file, which would be moved out of the way. */
ht_status ht__place_check(const ht__target *target);
/* Makes `part`, or makes it longer, with the space of `bytes`; begins with `size` bytes of `head`.
 */
ht_status ht__place_reserve(const ht__target *target, const char *part, const void *head,
                            size_t size, int64_t bytes);
ht_status ht__place_flush(const ht__target *target, const char *part); /* one rank of every node */
ht_status ht__place_commit(const ht__target *target, const char *part, int keep);
void ht__place_earlier(char *name, size_t size, const char *path, int age); /* FILE.age */

#endif
