/* SPDX-License-Identifier: MIT
 *
 * A rank's slab of the tensor in a file. */
#ifndef HT_CORE_IO_FILES_SLAB_H
#define HT_CORE_IO_FILES_SLAB_H

#include "core/tensor/tensor.h"

/* Shorter runs of a file are short. Tests make it 0. */
extern int64_t ht__io_run_bytes;

typedef struct ht_slab {
    int ndim;
    int64_t start[HT_MAX_NDIM]; /* in the data set */
    int64_t count[HT_MAX_NDIM];
    size_t element; /* bytes */
} ht_slab;

/* The local part of a tensor's body. */
ht_slab ht__slab_of(const ht_body *body);

/* The axis along which a tensor of this split is transferred. That is one further out if its slab
 * would be many short runs of the file, which take much longer than another split. The same on all
 * ranks. */
int ht__slab_axis(const ht_comm *comm, int ndim, const int64_t shape[], size_t element, int split);

/* The elements of a tensor that this rank writes: its slab, or an equal part of axis 0 of a
 * replicated tensor. *data: where they begin. */
ht_slab ht__slab_share(ht_comm *comm, const ht_body *body, const char **data);

#endif
