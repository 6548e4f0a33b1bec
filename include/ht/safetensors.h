/* SPDX-License-Identifier: MIT
 *
 * Files in the safetensors format, which PyTorch programs share. Source: the library safetensors.
 *
 * A file holds any number of tensors, each under a name, and texts about them (its metadata). A
 * file is read in pieces, not mapped into memory. So if another program shortens it meanwhile, the
 * call returns an error and the process does not crash.
 *
 * dtypes: the format has all dtypes of libht except complex128 (HT_ERR_DTYPE). uint16 is read as
 *   int32 and uint32 as int64. uint64 is read as int64, and is HT_ERR_FORMAT if a value does not
 *   fit. Floats of 8 bits are HT_ERR_DTYPE.
 *
 * Every field of a header is checked. HT_ERR_FORMAT names the first fault: invalid JSON, a name
 * that comes twice, a shape of more than 8 axes. The ranges of bytes must fit their shapes, and
 * cover the file without overlaps and gaps.
 *
 * Loaders and savers *agree*, and do what ht/io.h says of loaders and savers. */
#ifndef HT_SAFETENSORS_H
#define HT_SAFETENSORS_H

#include "ht/io.h"
#include "ht/value.h"

HT_BEGIN_DECLS

/* Loads the tensor called `dataset` from the safetensors file path into a tensor of dtype and
 * split. Each rank reads only its slab.
 *
 * Collective, agrees.
 * Result: scoped.
 * Errors: those of the loaders of ht/io.h. HT_ERR_FORMAT if the file has no tensor of that name.
 * Source: safetensors.safe_open. */
HT_API ht_tensor *ht_load_safetensors(const char *path, const char *dataset, ht_dtype dtype,
                                      int split);

/* ht_load_safetensors on device and comm, with the same path, dataset, dtype and split. Collective
 * over comm, agrees. */
HT_API ht_tensor *ht_load_safetensors_ext(const char *path, const char *dataset, ht_dtype dtype,
                                          int split, ht_device *device, ht_comm *comm);

/* Writes x to the safetensors file path, as its only tensor with the name `dataset`.
 *
 * Each rank writes its slab.
 * Collective over the communicator of x, agrees.
 * Errors: HT_ERR_ARGUMENT if the name is "__metadata__" or not UTF-8. HT_ERR_DTYPE for complex128.
 * HT_ERR_IO if the write fails. */
HT_API ht_status ht_save_safetensors(ht_tensor *x, const char *path, const char *dataset);

/* Loads all tensors of the safetensors file path as a map from names to tensors.
 *
 * Every rank reads all elements and has all tensors. ht_load_safetensors reads one tensor in slabs.
 *
 * path: the same file on all ranks.
 * Collective over comm, agrees.
 * Result: scoped; process-local tensors on the current device, each with the dtype that
 * HT_DTYPE_OF_FILE gives, in the order of their bytes in the file. Empty for a file without
 * tensors.
 * Errors: those of the loaders of ht/io.h. HT_ERR_DTYPE for a dtype that libht lacks.
 * Source: safetensors.torch.load_file. */
HT_API ht_value *ht_safetensors_load(const char *path, ht_comm *comm);

/* Writes the tensors of a map to the safetensors file path, without metadata.
 *
 * tensors: maps names to tensors. A process-local tensor is the same on all ranks, and rank 0
 *   writes it. Each rank writes its slab of a tensor on comm.
 * Collective over comm, agrees.
 * Errors: HT_ERR_ARGUMENT if tensors is not a map of tensors, or a tensor is on another
 * communicator. HT_ERR_ARGUMENT if a name is "__metadata__" or not UTF-8, or the ranks differ in
 * names, shapes or dtypes. HT_ERR_DTYPE for complex128. HT_ERR_IO if the write fails.
 * Source: safetensors.torch.save_file. */
HT_API ht_status ht_safetensors_save(const ht_value *tensors, const char *path, ht_comm *comm);

/* A text of a file's metadata. */
typedef struct ht_safetensors_text {
    const char *key, *value; /* UTF-8 */
} ht_safetensors_text;

/* ht_safetensors_save of tensors to path on comm, with metadata.
 *
 * count: number of texts; with 0, metadata may be NULL.
 * metadata: the texts, the same on all ranks, each with a different key. PyTorch programs expect
 *   the value "pt" for the key "format".
 * Collective over comm, agrees.
 * Errors: also HT_ERR_ARGUMENT if count is below 0, if a text is NULL or not UTF-8, if a key comes
 * twice, or if the texts differ between ranks. */
HT_API ht_status ht_safetensors_save_ext(const ht_value *tensors, const char *path, int count,
                                         const ht_safetensors_text metadata[], ht_comm *comm);

/* A function that receives a text of a file's metadata. key and value are valid during the call;
 * user is that of ht_safetensors_metadata. */
typedef void ht_safetensors_visit_fn(const char *key, const char *value, void *user);

/* Calls visit with user, on every rank, for each text in the metadata of the safetensors file path,
 * in the order of the file.
 *
 * path: that of rank 0 counts.
 * Collective over comm, agrees.
 * Errors: HT_ERR_IO if the file is missing or cannot be read. HT_ERR_FORMAT if its header is
 * invalid. HT_ERR_ARGUMENT if path, visit or comm is NULL. */
HT_API ht_status ht_safetensors_metadata(const char *path, ht_safetensors_visit_fn *visit,
                                         void *user, ht_comm *comm);

HT_END_DECLS
#endif
