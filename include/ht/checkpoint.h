/* SPDX-License-Identifier: MIT
 *
 * Checkpoints: a state, as a map of values, in one HDF5 file that is whole or not there. What has a
 * state gives it as a value (ht_optimizer_state_dict, ...), a program puts them together:
 *
 *     ht_value *state = ht_value_map();
 *     ht_value_set(state, "model", ht_module_state_dict(net));
 *     ht_value_set(state, "optimizer", ht_optimizer_state_dict(opt));
 *     ht_value_set(state, "loader", ht_dataloader_state_dict(loader));
 *     ht_checkpoint_save(state, "run.h5", HT_COMM_WORLD, NULL);
 *
 * Maps and lists become groups, numbers attributes, tensors data sets. In front of it all is a
 * checksum of the whole file. Files can be read on another number of ranks. doc/checkpoints.md
 * describes the format. */
#ifndef HT_CHECKPOINT_H
#define HT_CHECKPOINT_H

#include "ht/value.h"

HT_BEGIN_DECLS

typedef struct ht_checkpoint_options {
    size_t size;  /* of this struct; set by the default function */
    int keep;     /* 2: files to keep, the newest as FILE, those before as FILE.1, FILE.2, ... */
    bool earlier; /* false; loading: take the newest that is good, and log why others are not */
} ht_checkpoint_options;

HT_API ht_checkpoint_options ht_checkpoint_options_default(void);

/* Writes the map `state` to `path`. All ranks bring the same entries. A tensor split over `comm` is
 * written by all ranks, each its slab; so is a process-local one that all ranks have alike, and of
 * others, and of numbers, rank 0's are taken. Space is reserved before anything is written to
 * `path`.part, and the files get their names when all of it is on the disk: whatever happens on the
 * way, the file before stays whole. A file that is replaced passes its permissions on; what a
 * symbolic link leads to is replaced. 16-bit floats and bool come back as what they were. Keys must
 * not be empty or ".", hold '/' or begin with '@'; at most 128 maps are inside one another. NULL
 * options: defaults. Collective over `comm`, agrees. Errors: HT_ERR_IO (a full disk),
 * HT_ERR_ARGUMENT (naming the entry). */
HT_API ht_status ht_checkpoint_save(const ht_value *state, const char *path, ht_comm *comm,
                                    const ht_checkpoint_options *options);

/* Reads a state back, after every byte of the file was compared with its checksum. Tensors are on
 * the CPU: those that were process-local on HT_COMM_SELF, others on `comm` with their split. Maps
 * keep their keys, not the order of them. NULL options: defaults. Scoped. Collective over `comm`,
 * agrees. Errors: HT_ERR_IO (no such file), HT_ERR_FORMAT (damaged, of a newer format, or no
 * checkpoint). */
HT_API ht_value *ht_checkpoint_load(const char *path, ht_comm *comm,
                                    const ht_checkpoint_options *options);

HT_END_DECLS
#endif
