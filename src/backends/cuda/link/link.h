/* SPDX-License-Identifier: MIT
 *
 * Links: averages over the devices of several ranks. link.c has the interface, average.c the
 * algorithm, and sum.cu its kernels. */
#ifndef HT_BACKENDS_CUDA_LINK_LINK_H
#define HT_BACKENDS_CUDA_LINK_LINK_H

#include "backends/cuda/device.h"

HT_BEGIN_DECLS

enum { HT_CUDA_LEVELS = 2 }; /* at most */

typedef struct ht_cuda_link {
    ht_cuda_device *device;
    struct ht_cuda_link *next; /* of the device */
    int rank, size;
    int count;                            /* of levels */
    ht_link_level levels[HT_CUDA_LEVELS]; /* owned: their lists */
    void *comm;                           /* owned; NCCL's */
    void *stream;                         /* owned; the averages, one after the other */
    void *given;   /* owned; an event: the work that the device had before an average */
    void *scratch; /* owned; slices of the other ranks; NULL: none so far */
    size_t bytes;  /* of it */
    bool failed;   /* its communicator is to be aborted */
} ht_cuda_link;

/* x[to] += x[from] for the two slices of a step. */
typedef struct ht_cuda_addition {
    void *to;
    const void *from;
} ht_cuda_addition;

enum { HT_CUDA_ADDITIONS = 64 }; /* of one launch */

/* average.c: data <- the average, as work of the link's stream. 0, or 1 after services->fail.
 * bytes: of the scratch memory that it takes for `bytes` bytes of data. */
int ht_cuda_link_average(ht_cuda_link *link, ht_dtype dtype, void *data, int64_t n, double scale);
size_t ht_cuda_link_scratch(const ht_cuda_link *link, size_t bytes);

/* The first averages, on scratch memory, which the host waits for: they connect all pairs of ranks
 * and load the kernels, so that later ones wait for neither. bytes: what they reserve. */
int ht_cuda_link_try(ht_cuda_link *link);
size_t ht_cuda_link_trial_bytes(const ht_cuda_link *link);

/* 0, or 1 after services->fail with an error of NCCL. The link is of no use from then on. */
int ht_cuda_link_check(ht_cuda_link *link, int error);

/* sum.cu, for float32 and float64, of n elements each: additions that do not depend on each other;
 * and y <- scale * x, which is y <- x if scale is 1. 0 or an error of the runtime. */
int ht_cuda_link_add(const ht_cuda_device *device, void *stream, ht_dtype dtype,
                     const ht_cuda_addition *additions, int count, int64_t n);
int ht_cuda_link_scale(const ht_cuda_device *device, void *stream, ht_dtype dtype, void *y,
                       const void *x, int64_t n, double scale);

HT_END_DECLS
#endif
