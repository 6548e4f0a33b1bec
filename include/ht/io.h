/* SPDX-License-Identifier: MIT
 *
 * Files. Source: heat.io. */
#ifndef HT_IO_H
#define HT_IO_H

#include "ht/tensor.h"

HT_BEGIN_DECLS

/* The data set `dataset` of an HDF5 file as a tensor of `dtype`, each rank reading its slab along
 * `split` in the file's own type; split, and the long form, as in ht/factories.h. An enumeration is
 * a bool if it is {FALSE = 0, TRUE = 1}, and an error otherwise. `path` must be a regular file.
 * Collective, agrees. Errors name file and data set: HT_ERR_IO, HT_ERR_FORMAT. */
HT_API ht_tensor *ht_load_hdf5(const char *path, const char *dataset, ht_dtype dtype, int split);
HT_API ht_tensor *ht_load_hdf5_ext(const char *path, const char *dataset, ht_dtype dtype, int split,
                                   ht_device *device, ht_comm *comm);

/* Writes x as `dataset`, each rank its slab (it is split along an outer axis meanwhile where
 * slabs of its own split would be many short runs of the file), in x's dtype (bool as uint8;
 * float16 and bfloat16 as float32; complex as a compound {r, i}). mode "w" makes the file anew, "a"
 * adds to it or replaces the data set. Space is reserved first, so that a full disk is HT_ERR_IO on
 * all ranks; what could not be finished is removed, and a file that was to be replaced or added to
 * is as it was. Permissions of a file that is replaced stay; what a symbolic link leads to is
 * replaced.
 *
 * A process-local tensor is saved by its rank alone. Where ranks that each save one name the same
 * file with "w", the file is that of the last one, whole; give each rank a file of its own, save on
 * one rank, or save one tensor of all ranks (ht_array_from_local). "a" to one file is for one rank
 * at a time, with a barrier in between. Rank 0's path counts. Collective over x's communicator,
 * agrees. */
HT_API ht_status ht_save_hdf5(ht_tensor *x, const char *path, const char *dataset,
                              const char *mode);

/* HDF5 is not thread-safe and the library reads on threads of its own: a program that calls HDF5
 * itself while loaders are alive holds this lock around its calls. Not collective. */
HT_API void ht_hdf5_lock(void);
HT_API void ht_hdf5_unlock(void);

HT_END_DECLS
#endif
