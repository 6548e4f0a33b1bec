/* SPDX-License-Identifier: MIT
 *
 * Shared parts of saving and loading checkpoints: a state as a flat list of entries, and the names
 * in a file that are not the user's. */
#ifndef HT_CORE_IO_CHECKPOINT_CHECKPOINT_H
#define HT_CORE_IO_CHECKPOINT_CHECKPOINT_H

#include "core/tensor/tensor.h"
#include "core/io/checkpoint/checkpoint_seal.h"
#include "core/io/hdf5/hdf5.h"
#include "ht/checkpoint.h"

enum { HT_CHECKPOINT_FORMAT = 2 }; /* 1: without a seal */

/* Maps and lists inside one another: the library goes through them by recursion. */
enum { HT_CHECKPOINT_DEPTH = 128 };
#define HT_CHECKPOINT_DEPTH_TEXT "128"

/* Attributes that are not the user's numbers begin with '@'. */
#define HT_CHECKPOINT_VERSION "@libht" /* of the root: the format */
#define HT_CHECKPOINT_LIST    "@list"  /* of a group: it is a list */
#define HT_CHECKPOINT_CRC     "@crc32" /* of a data set: of its elements, row-major */
#define HT_CHECKPOINT_DTYPE   "@dtype" /* the tensor's, as a name */
#define HT_CHECKPOINT_SPLIT   "@split" /* the tensor's, or HT_NONE */
#define HT_CHECKPOINT_LOCAL   "@local" /* 1: the tensor is process-local */

/* A file, and the function that uses it: for messages. */
typedef struct ht_target {
    const char *what; /* the public function; a literal */
    const char *path;
    ht_comm *comm;
} ht_target;

/* checkpoint_save.c, checkpoint_load.c: the public calls, for others that keep state in files.
 * `plain`: data sets without checksums are taken as they are, from any HDF5 file. NULL after
 * HT_FAIL. Scoped. Collective, agrees. */
ht_status ht__checkpoint_save(const ht_target *target, const ht_value *state, int keep);
ht_value *ht__checkpoint_load(const ht_target *target, bool plain);

/* Maps and lists precede their content: `count` entries, and the content of those. */
typedef struct ht_entry {
    char *path;       /* owned: "optimizer/state/0/exp_avg", "" for the root */
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
    int64_t stored; /* loading: the checksum in the file; -1: none, and none is wanted */
} ht_entry;

typedef struct ht_entries {
    ht_entry *items; /* owned */
    int count, capacity;
} ht_entries;

ht_entry *ht__entries_add(ht_entries *entries, const char *parent, const char *name);
void ht__entries_free(ht_entries *entries);

/* checkpoint_entries.c. Flattens a value; tensors in the form of the file. Collective, agrees on
 * the entries. */
ht_status ht__entries_collect(ht_entries *entries, const ht_value *state, const ht_target *target);

/* Builds the value again, tensors as they are in the program; NULL after an error, which is
 * recorded. Collective. Scoped. */
ht_value *ht__entries_value(const ht_entries *entries, const ht_target *target);

/* Fails on all ranks, naming the first that differs, unless all have the same entries. */
ht_status ht__entries_agree(const ht_entries *entries, const ht_target *target);

/* checkpoint_walk.c. The entries of a file, with this rank's part of each tensor. `sealed`: it has
 * a seal, which was examined. Not collective. */
ht_status ht__checkpoint_walk(const ht_target *target, bool plain, bool sealed,
                              ht_entries *entries);

/* checkpoint_crc.c. The checksum of every tensor's elements into `crc`, and `alike`. Collective. */
ht_status ht__entries_checksum(ht_entries *entries, const ht_target *target);

/* The dtype that represents one in a file: 16-bit floats are stored as float32, bool as uint8. */
static inline ht_dtype ht__file_dtype(ht_dtype dtype)
{
    if (dtype == HT_FLOAT16 || dtype == HT_BFLOAT16)
        return HT_FLOAT32;
    return dtype == HT_BOOL ? HT_UINT8 : dtype;
}

/* checkpoint_seal.c. A seal for a file that this process is about to write. */
void ht__seal_begin(ht_seal *seal);

/* The process of this machine, of another job, that writes `part` now; 0: none, or unknown; -1: it
 * is complete, and about to be renamed. */
int64_t ht__seal_writer(const char *part);

/* The facts in the seal about the bytes that follow it. */
typedef struct ht_seal_sum {
    int64_t length; /* of the file */
    uint32_t crc;
} ht_seal_sum;

/* Measures the file that all ranks have written and closed. Collective, agrees. */
ht_status ht__seal_measure(const ht_target *target, const char *part, ht_seal_sum *sum);

/* Seals it; `begun`: what this rank put in front of it. Rank 0's work: the error is recorded. */
ht_status ht__seal_close(const ht_target *target, const char *part, const ht_seal *begun,
                         const ht_seal_sum *sum);

/* Compares a file with its seal, before HDF5 sees any of it. A file without one passes if HDF5's
 * first bytes are its own: of format 1, or another program's. Collective, agrees. */
ht_status ht__seal_check(const ht_target *target, ht_seal *seal, bool *sealed);

/* checkpoint_place.c: files and their names. Rank 0 calls functions whose comments do not say that
 * they are collective; the error is recorded and its code returned. */
/* Seconds to wait for the end of a job that writes to the same file, and at most half of those for
 * which the other ranks wait. Tests make it small. */
extern double ht__place_patience;
char *ht__place_part(const char *path); /* owned: the file that is written until it is complete */
/* The final place of the file: ht__file_target of rank 0, on all ranks. Collective, agrees. */
ht_status ht__place_real(const ht_target *target, char real[HT_PATH_ROOM]);
/* Creates or replaces `part` with `size` bytes of `head`, in the space of `bytes`; a file left by a
 * job that has ended is removed. *mine: it was made, and is to be removed after an error. */
ht_status ht__place_create(const ht_target *target, const char *part, const void *head, size_t size,
                           int64_t bytes, bool *mine);
/* Gives it the space of `bytes`. */
ht_status ht__place_reserve(const ht_target *target, const char *part, int64_t bytes);
ht_status ht__place_flush(const ht_target *target, const char *part); /* one rank of every node */
ht_status ht__place_commit(const ht_target *target, const char *part, int keep);
void ht__place_earlier(char *name, size_t size, const char *path, int age); /* FILE.age */
/* The ages of the files that are there, FILE.1, FILE.2, ...: the first *count of at most `room`, in
 * order; others may be missing between them. Not collective. */
void ht__place_ages(const char *path, int ages[], int room, int *count);

#endif
