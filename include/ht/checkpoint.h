/* SPDX-License-Identifier: MIT
 *
 * Checkpoints: a state (a map of values) in one HDF5 file, which is complete or does not exist.
 *
 * Objects return their states as values (ht_optimizer_state_dict, ...), and the program puts them
 * together:
 *
 *     ht_value *state = ht_value_map();
 *     ht_value_set(state, "model", ht_module_state_dict(net));
 *     ht_value_set(state, "optimizer", ht_optimizer_state_dict(opt));
 *     ht_value_set(state, "loader", ht_dataloader_state_dict(loader));
 *     ht_checkpoint_save(state, "run.h5", HT_COMM_WORLD, NULL);
 *
 * Maps and lists become groups, numbers become attributes, tensors become data sets. The first 512
 * bytes of the file hold a checksum of all others. The file can be read on another number of ranks.
 * doc/checkpoints.md describes the format. */
#ifndef HT_CHECKPOINT_H
#define HT_CHECKPOINT_H

#include "ht/value.h"

HT_BEGIN_DECLS

typedef struct ht_checkpoint_options {
    size_t size;  /* of this struct; set by the default function */
    int keep;     /* 2: files to keep: the newest as FILE, older ones as FILE.1, FILE.2, ...; at
                     least 1. Only for saving */
    bool earlier; /* false; true: load the newest intact file of these, and log why newer ones are
                     refused. Only for loading */
} ht_checkpoint_options;

/* Returns the default options of a checkpoint: keep 2, earlier false. Not collective. */
HT_API ht_checkpoint_options ht_checkpoint_options_default(void);

/* Writes the map `state` to the file `path`.
 *
 * All ranks write a tensor that is split over `comm`, each its slab. They also share the work for a
 * tensor that is not split and has the same bytes on all ranks. If such a tensor differs between
 * ranks, rank 0's is saved, and so are rank 0's numbers. Every dtype is restored by
 * ht_checkpoint_load, 16-bit floats and bool included.
 *
 * Space is reserved before any data are written to `path`.part. The files get their names when all
 * data are on the disk. So the previous file stays intact if saving fails at any point. The new
 * file keeps the permissions of the file that it replaces. If `path` is a symbolic link, the file
 * that it leads to is replaced.
 *
 * state: a map with the same entries on all ranks; not changed. A key is not empty or ".", has no
 * '/' and does not begin with '@'. Maps and lists are nested at most 128 deep.
 * path: of the file; that of rank 0 counts.
 * comm: all ranks that save.
 * options: NULL takes the defaults.
 * Collective over `comm`, agrees.
 * Errors: HT_ERR_IO if the file cannot be written: the disk is full, or another job is writing it.
 * HT_ERR_ARGUMENT if state is not a map, has an invalid key, is nested too deep or differs between
 * ranks; the message names the entry. HT_ERR_ARGUMENT if path is NULL or empty, or keep is below 1.
 * HT_ERR_COMM for a tensor on another communicator. */
HT_API ht_status ht_checkpoint_save(const ht_value *state, const char *path, ht_comm *comm,
                                    const ht_checkpoint_options *options);

/* Reads a state from the file `path`, after comparing every byte of the file with its checksum.
 *
 * path: the same file on all ranks; each of them reads a part of it.
 * comm: all ranks that load.
 * options: NULL takes the defaults.
 * Collective over `comm`, agrees.
 * Result: a map; scoped; NULL after an error. Its tensors are on the CPU. Those that were
 * process-local are on HT_COMM_SELF; others are on `comm`, with their split. Maps keep their keys,
 * but not the order of insertion.
 * Errors: HT_ERR_IO if the file does not exist or cannot be read. HT_ERR_FORMAT if it is damaged,
 * of a newer format, or not a checkpoint. With `earlier`, the error of `path` itself if no file is
 * intact, and HT_ERR_STATE if another job than HT_RESUME_JOB wrote it. */
HT_API ht_value *ht_checkpoint_load(const char *path, ht_comm *comm,
                                    const ht_checkpoint_options *options);

HT_END_DECLS
#endif
