/* SPDX-License-Identifier: MIT
 *
 * Storages, bodies and handles; checks of arguments; loops over local parts. */
#ifndef HT_CORE_TENSOR_TENSOR_H
#define HT_CORE_TENSOR_TENSOR_H

#include "core/comm/comm.h"
#include "core/device/device.h"
#include "ht/tensor.h"
#include "ht/value.h"

typedef struct ht_body ht_body;
typedef struct ht_grad_meta ht_grad_meta; /* graph.h */

/* The address and the version are storage.c's: code that asks for one of them gets it there, after
 * pending values have been written. */
typedef struct ht_storage {
    ht_object base;
    ht_device *device; /* not owned: devices live until ht_finalize */
    unsigned history;  /* writes in place that changed what a graph knows of tensors in it */
} ht_storage;

ht_storage *ht__storage_new(ht_device *device,
                            size_t bytes); /* NULL: out of memory, no error set */
/* Memory of another owner, which gets `user` back at the end; free NULL: keeps it all along. */
ht_storage *ht__storage_lend(ht_device *device, void *memory, void (*free)(void *user), void *user);
void ht__storage_touch(ht_storage *storage); /* an in-place write: raises the version */

/* The address without any wait, for code that made the storage and knows the state of its memory:
 * the exchange that sums a bucket, in a buffer that no other code has seen. */
void *ht__storage_raw(const ht_storage *storage);

/* A storage whose memory is given back to its device for a while: tensors, views and versions stay.
 * Pending writes to it are made first. Meanwhile an access to the address or the version of its
 * elements ends the job with HT_ERR_STATE, which names it (`name` is not copied). ht_tensor_data
 * returns NULL with that error. Brought back, its content is undefined. False: out of memory, no
 * error set, it stays away. Not for lent memory. */
void ht__storage_put_away(ht_storage *storage, const char *name);
bool ht__storage_bring_back(ht_storage *storage);
const char *ht__storage_away(const ht_storage *storage); /* its name; NULL: its memory is there */

/* A guard: these bytes of a storage are still to be written (by a due update, or an average on
 * its way). bring is called before any code gets their address or version, with the bytes begin ...
 * end - 1 that are asked for; in_parts: the rest may come later. It takes the guard away, or writes
 * through bodies that are `inside`. A storage's end takes its guards away. */
typedef struct ht_guard {
    void (*bring)(void *user, int64_t begin, int64_t end, bool in_parts);
    void *user;
    int64_t begin, end;
    ht_storage *storage; /* not owned; NULL: not set */
    struct ht_guard *next, *asked_before;
    bool asked; /* bring runs */
} ht_guard;

/* ---- tensors (tensor.c, body.c) -------------------------------------------------------------- */
/* Where the slabs of a split that is not the canonical one begin: rank r holds start[r] ...
 * start[r + 1]. The same on all ranks, so that no agreement is needed. */
typedef struct ht_bounds {
    ht_object base;
    int64_t start[]; /* size of the communicator + 1 */
} ht_bounds;

ht_bounds *ht__bounds_new(int ranks); /* owned; to be filled by the caller */

/* Why a tensor cannot be written, and its views with it. */
typedef enum ht_read_only {
    HT_WRITABLE,
    HT_BROADCAST_VIEW, /* elements share memory */
    HT_SCALAR_NUMBER,
    HT_BORROWED_MEMORY /* marked so by its owner, or with a stride of 0 */
} ht_read_only;

struct ht_body {
    ht_object base;
    ht_storage *storage; /* owned; NULL only in the metadata that nodes keep of their inputs */
    ht_comm *comm;       /* retained */
    ht_dtype dtype;
    int ndim;
    int split; /* axis or HT_NONE */
    ht_read_only read_only;
    bool inside;         /* its owner's, and views of it: no guard is asked */
    ht_number *number;   /* owned; of an operand that is a number (ht_scalar); NULL: a tensor */
    ht_bounds *bounds;   /* owned; NULL: no split, or the slabs of ht_comm_chunk */
    int64_t offset;      /* of the first element in the storage */
    int64_t lsize;       /* elements of the local part */
    int64_t split_start; /* first global index of this rank's slab */
    int64_t shape[HT_MAX_NDIM];
    int64_t lshape[HT_MAX_NDIM];
    int64_t stride[HT_MAX_NDIM]; /* of the local part */
    /* Those there would be if the parts of all ranks lay in one memory: the same on all ranks, and
     * all that a layout is decided by. A part may be dense by luck, as one row is in any order. */
    int64_t gstride[HT_MAX_NDIM];
};

struct ht_tensor {
    ht_object base;
    ht_body *body;      /* owned */
    ht_node *node;      /* owned; the operation that made it, NULL for leaves */
    ht_grad_meta *meta; /* owned; NULL while autograd knows nothing of it */
    bool view;          /* shares another tensor's storage */
    unsigned history;   /* of its storage, that the node belongs to (history.c) */
    ht_tensor *root;    /* owned; made while recording: what it is a view of, no view itself */
};

/* Whether a process can count and address the elements of such a result; otherwise HT_ERR_SHAPE or
 * HT_ERR_MEMORY, the same on all ranks. */
bool ht__check_size(const char *what, ht_comm *comm, ht_dtype dtype, int ndim,
                    const int64_t shape[], int split);

/* Bodies with new row-major memory; `what` names the public function. NULL after
 * HT_FAIL_HERE(HT_ERR_MEMORY). `bounds` is retained; NULL: canonical slabs. */
ht_body *ht__body_new(const char *what, ht_comm *comm, ht_device *device, ht_dtype dtype, int ndim,
                      const int64_t shape[], int split, ht_bounds *bounds);

/* Over memory that is there: takes the storage. The strides are row-major, to be edited. */
ht_body *ht__body_on(ht_storage *storage, ht_comm *comm, ht_dtype dtype, int ndim,
                     const int64_t shape[], int split, ht_bounds *bounds);

/* Shape, distribution and memory order of `like` (a dense one: else row-major), new memory. */
ht_body *ht__body_new_as(const char *what, const ht_body *like, ht_dtype dtype);

/* A copy of the metadata that shares the storage. It is edited before it is used (an edit of a
 * stride sets both strides), then settled: settle recomputes the local shape, size and slab from
 * shape, split, bounds and comm. */
ht_body *ht__body_view(const ht_body *of);
ht_body *ht__body_metadata(const ht_body *of); /* without the storage: keeps no memory alive */
void ht__body_settle(ht_body *body);
void ht__strides_row_major(int ndim, const int64_t shape[], int64_t stride[]);
/* Dense strides, local and global, of a body that has memory of its own. */
void ht__body_lay_row_major(ht_body *body);
void ht__body_lay_channels_last(ht_body *body); /* (N, C, H, W) */

/* Address of the first local element: of all, or for a caller that reads a dense body's elements in
 * order, of the first n. */
void *ht__body_data(const ht_body *body);
void *ht__body_first(const ht_body *body, int64_t n);
void ht__body_await(const ht_body *body);                 /* the guards, without the address */
unsigned ht__body_version(const ht_body *body);           /* of its storage */
void ht__guard_set(ht_guard *guard, const ht_body *body); /* over its elements; again: repeats it */
void ht__guard_clear(ht_guard *guard);
/* By the global strides, so on all ranks or on none; the local part is dense then, in this order.
 */
bool ht__body_is_contiguous(const ht_body *body);
bool ht__body_is_channels_last(const ht_body *body);
bool ht__body_same_slabs(const ht_body *a, const ht_body *b); /* equal splits and bounds */

/* The slots behind the last axis have no meaning: compare shapes only by these functions. */
bool ht__same_shape(int ndim, const int64_t shape[], int other_ndim, const int64_t other[]);
bool ht__body_same_shape(const ht_body *a, const ht_body *b);

/* The bytes of its storage that the elements lie in; at least one, for an empty tensor may be asked
 * for too. */
void ht__body_extent(const ht_body *body, int64_t *begin, int64_t *end);

/* Whether writing one element after another to a may change elements of b that are still to be
 * read: they share memory, and not element by element. May be wrong about strided ones that
 * interlock. */
bool ht__body_overlaps(const ht_body *a, const ht_body *b);

/* Whether the elements of both correspond one by one on every rank, which a gradient or a state
 * tensor and its parameter must do. Compares shape, dtype, device (where both have memory),
 * communicator and slabs. And what a message says of all that, in one of a few buffers of the
 * thread. */
bool ht__body_fits(const ht_body *a, const ht_body *b);
const char *ht__body_str(const ht_body *body);

/* The kind of a body that cannot be written, for a message. */
const char *ht__read_only_name(const ht_body *body);

int64_t ht__body_start(const ht_body *body,
                       int rank); /* first index of a rank's slab; size: the end */

static inline const ht_backend *ht__backend_of(const ht_tensor *x)
{
    return x->body->storage->device->backend;
}

/* HT_LAUNCH on the device of x, and of x's dtype. */
#define HT_RUN(x, kernel, arguments, what)                                                      \
    HT_LAUNCH((x)->body->comm, (x)->body->storage->device, kernel, (x)->body->dtype, arguments, \
              what)

ht_tensor *ht__tensor_new(ht_body *body);  /* takes the body; scoped; NULL stays NULL */
ht_tensor *ht__tensor_view(ht_body *body); /* as ht__tensor_new, marked as a view */
ht_tensor *ht__empty(const char *what, const ht_body *like,
                     ht_dtype dtype); /* scoped, layout too */

/* Same communicator, or both of one rank alone: operands may meet. */
bool ht__comm_compatible(const ht_comm *a, const ht_comm *b);

/* The same for calls that are collective only logically (collective/compare.c): a tensor
 * is made, or written in place. Between pause(1) and pause(-1) ranks need not do the same. */
void ht__compare_tensor(const ht_body *body, bool written);
void ht__compare_pause(int step);

/* Checks that arguments may meet in one operation: same device, compatible communicators. */
bool ht__check_together(const char *what, const ht_tensor *a, const ht_tensor *b);
bool ht__check_together_as(const char *what, const char *a_name, const ht_tensor *a,
                           const char *b_name, const ht_tensor *b);
bool ht__check_axis(const char *what, const ht_tensor *x, int *axis); /* wraps negative axes */
bool ht__check_axis_of(const char *what, const char *axis_name, const char *name,
                       const ht_tensor *x, int *axis);
/* Checks a length that a call gives: 0 to 2^59 - 1. */
bool ht__check_length(const char *what, ht_comm *comm, const char *name, int64_t length);
/* Checks a list that may be NULL, for a default: its count is 0 then. */
bool ht__check_list(const char *what, ht_comm *comm, const char *count_name, int count,
                    const char *name, const void *list);
bool ht__shape_counts(int ndim,
                      const int64_t shape[]); /* no negative length, fewer than 2^59 elements */
bool ht__check_shape(const char *what, ht_comm *comm, int ndim, const int64_t shape[], int *split);

/* Whether the kind is one that there is; false after an error that names the argument. */
bool ht__check_kind(const char *what, ht_comm *comm, const char *name, ht_number value);

/* The same, and whether an integer is in the range of a dtype of integers, where it would wrap around. */
bool ht__check_number(const char *what, ht_comm *comm, const char *name, ht_dtype dtype,
                      ht_number value);

/* Whether there is a kernel for x's device and dtype; false after that error. */
bool ht__has_kernel(const char *what, const ht_tensor *x, ht_kernel kernel);

/* The operand of a kernel: the local part of a body; of x, absent where x is NULL; and `count`
 * elements of a dense body from element `first` on. */
ht_kernel_operand ht__operand_of(const ht_body *body, ht_access access);
ht_kernel_operand ht__operand_if_any(const ht_tensor *x, ht_access access);
ht_kernel_operand ht__operand_part(const ht_body *body, int64_t first, int64_t count,
                                   ht_access access);

/* One operand of a loop: memory and strides along the axes of the output's local shape, or a
 * number, which is converted to the kernel's dtype, integers exactly. */
typedef struct ht_operand {
    void *data;
    const ht_number *number; /* NULL: there is memory */
    int64_t stride[HT_MAX_NDIM];
    ht_dtype dtype;
} ht_operand;

/* Fills `loop`: sorts axes by the strides of operand 0, drops those of length 1, merges neighbours.
 * The first of its call's operands is written. */
void ht__loop_fill(ht_loop *loop, int ndim, const int64_t lshape[], int count,
                   const ht_operand operands[]);
ht_operand ht__operand(const ht_body *body);

/* Then: which bytes the loop reaches. beyond: elements that the kernel reaches from each element of
 * the loop, for each operand; NULL: the element alone. Costs nothing on a device whose memory the
 * host reaches: there no code asks. */
void ht__loop_reach(ht_loop *loop, const ht_device *device, int count, const ht_operand operands[],
                    const ht_reach beyond[]);

/* Numbers among the operands of an elementwise operation: its kernel's parameters. */
typedef struct ht_params {
    double param[HT_LOOP_PARAMS];
} ht_params;

/* An elementwise kernel, for `dtype`, over y's local part. operands: `count`, y's first, in its
 * local shape. params: NULL for none. */
ht_status ht__elementwise(const char *what, ht_kernel kernel, ht_dtype dtype, const ht_body *y,
                          int count, const ht_operand operands[], const ht_params *params);

/* The same by one axis over all elements, for bodies, y's first, that lie as y; y is contiguous, or
 * channels-last. */
ht_status ht__elementwise_dense(const char *what, ht_kernel kernel, ht_dtype dtype, int count,
                                const ht_body *const bodies[], const ht_params *params);

/* Whether the local parts have one shape and one order in memory; not of a number. */
bool ht__lies_as(const ht_body *x, const ht_body *y);

/* y <- x converted, same local shapes, any strides, one device. */
ht_status ht__copy_local(const char *what, const ht_body *y, const ht_body *x);

/* The elements of a contiguous local part to host memory, or from it. */
ht_status ht__get_local(const char *what, const ht_body *x, void *to);
ht_status ht__set_local(const char *what, const ht_body *x, const void *from);

/* y <- value, converted to y's dtype. */
ht_status ht__fill_local(const char *what, const ht_body *y, ht_number value);
/* A number as an element of x's dtype, for an operand by value; `element` has room for any
 * dtype. */
ht_status ht__number_element(const char *what, const ht_body *x, ht_number value, ht_dtype dtype,
                             void *element);

const char *ht__value_kind_name(const ht_value *value); /* "a list"; of NULL "nothing" */

/* A count in a state: an integer from 0 on, below 1e15. Else *count is 0. */
bool ht__value_whole(const ht_value *value, int64_t *count);

/* A list or map, and NULL where one of its items, however deep, could not be made: without it a
 * state would be another one. Items are set first, and that is asked at the end. */
ht_value *ht__value_complete(ht_value *value);

#endif
