/* SPDX-License-Identifier: MIT
 *
 * Tensors: attributes, element access, copies and moves.
 *
 * A tensor has a global shape and at most one split axis. With a split, each rank of its
 * communicator holds a contiguous slab along that axis (possibly empty); without, every rank holds
 * all of it. */
#ifndef HT_TENSOR_H
#define HT_TENSOR_H

#include "ht/communication.h"
#include "ht/devices.h"
#include "ht/number.h"
#include "ht/shape.h"

HT_BEGIN_DECLS

/* Attributes. Not collective. */
HT_API int ht_tensor_ndim(const ht_tensor *x);
HT_API const int64_t *ht_tensor_shape(const ht_tensor *x);  /* global; borrowed */
HT_API const int64_t *ht_tensor_lshape(const ht_tensor *x); /* this rank's part; borrowed */
HT_API const int64_t *ht_tensor_stride(const ht_tensor *x); /* of the local part, in elements */
HT_API int64_t ht_tensor_size(const ht_tensor *x);          /* elements, global */
HT_API int64_t ht_tensor_lsize(const ht_tensor *x);         /* elements, local */
HT_API int64_t ht_tensor_nbytes(const ht_tensor *x);        /* bytes of the local part */
HT_API int ht_tensor_split(const ht_tensor *x);             /* axis, or HT_NONE */
HT_API ht_dtype ht_tensor_dtype(const ht_tensor *x);
HT_API ht_device *ht_tensor_device(const ht_tensor *x);     /* borrowed */
HT_API ht_comm *ht_tensor_comm(const ht_tensor *x);         /* borrowed */
HT_API bool ht_tensor_is_balanced(const ht_tensor *x);      /* slabs as ht_comm_chunk gives them */
HT_API bool ht_tensor_is_contiguous(const ht_tensor *x);    /* row-major, on all ranks */
HT_API bool ht_tensor_is_channels_last(const ht_tensor *x); /* likewise */

/* First row of this rank's slab along the split axis; 0 without a split. Not collective. */
HT_API int64_t ht_tensor_offset(const ht_tensor *x);

/* Bytes of all elements. Not collective. */
HT_API int64_t ht_tensor_gnbytes(const ht_tensor *x);

/* The local shapes of all ranks of x's communicator, rank r's from map[r * ndim] on; and the
 * indices along the split axis that each rank holds, and where they begin (HT_ERR_ARGUMENT without
 * a split). The arrays are the caller's. Not collective. */
HT_API ht_status ht_tensor_lshape_map(const ht_tensor *x, int64_t map[]);
HT_API ht_status ht_tensor_counts_displs(const ht_tensor *x, int64_t counts[], int64_t displs[]);

/* Address of the first element of the local part, for reading. NULL when the part is empty or not
 * in host memory. Valid until the tensor is released or written in place. Not collective. */
HT_API const void *ht_tensor_data(const ht_tensor *x);

/* As ht_tensor_data, for writing: raises the storage's version, so that a backward pass that needs
 * the old values reports it. Not collective. */
HT_API void *ht_tensor_mutable_data(ht_tensor *x);

/* The one element of a tensor of size 1, on every rank: as a double, which rounds integers beyond
 * 2^53 and has no complex numbers (HT_ERR_DTYPE); in the long form as what it is. Collective if x
 * is split. */
HT_API ht_status ht_tensor_item(ht_tensor *x, double *value);
HT_API ht_status ht_tensor_item_ext(ht_tensor *x, ht_number *value);
HT_API double ht_item(ht_tensor *x);        /* as ht_tensor_item; NaN on failure */
HT_API ht_number ht_item_ext(ht_tensor *x); /* as ht_tensor_item_ext; a NaN on failure */

/* y = x converted; x itself when it has that dtype already. Logically collective; split as x.
 * Integers and bool have no gradient: the history of x ends there. A number with a fraction is cut
 * at the point for an integer dtype; one that it cannot hold becomes the nearest it can, NaN 0. An
 * integer keeps its low bits in a narrower one. A complex number loses its imaginary part. Bool is
 * x != 0. */
HT_API ht_tensor *ht_astype(ht_tensor *x, ht_dtype dtype);

/* A copy with memory of its own, row-major. Logically collective; split as x. */
HT_API ht_tensor *ht_copy(ht_tensor *x);

/* x itself when it is row-major contiguous, else a copy; on all ranks alike, whether or not the
 * part of one is dense by luck (one row is in any order). Split as x. */
HT_API ht_tensor *ht_contiguous(ht_tensor *x);

/* x itself when it is stored channels-last, else such a copy; x is (N, C, H, W). Split as x. */
HT_API ht_tensor *ht_channels_last(ht_tensor *x);

/* x on another device; x itself when it is there. Logically collective; split as x. */
HT_API ht_tensor *ht_to_device(ht_tensor *x, ht_device *device);

/* x <- y, converted and broadcast to x's shape, in place; they may overlap. Logically collective; y
 * is resplit as x. While gradients are recorded, what is written through a view is known to the
 * tensor that it is a view of, and to its other views; leaves that require gradients, and views of
 * them, are refused (ht_set_grad_enabled), and so are views that were cut off, by ht_detach or made
 * with gradients off, where y needs a gradient. What is filled has no history any more. */
HT_API ht_status ht_copy_(ht_tensor *x, ht_tensor *y);
HT_API ht_status ht_fill_(ht_tensor *x, double value); /* converted (ht/number.h) */
HT_API ht_status ht_fill_ext_(ht_tensor *x, ht_number value);

/* Makes x share y's body: shape, dtype, split, device and memory. Refused when x is a view or the
 * result of an operation in a graph, when y is a read-only view, for integers where x requires
 * gradients, and where a data-parallel wrapper updates x: unless the two agree in all but memory,
 * and no other parameter of a wrapper lies there. A gradient of x that does not fit the new body is
 * dropped, and a graph recorded before can give x no gradient any more. Logically collective. */
HT_API ht_status ht_tensor_set_(ht_tensor *x, ht_tensor *y);

/* The local part as a process-local tensor on HT_COMM_SELF, sharing memory but no history, as what
 * ht_detach returns. Not collective. */
HT_API ht_tensor *ht_tensor_local(ht_tensor *x);

HT_END_DECLS
#endif
