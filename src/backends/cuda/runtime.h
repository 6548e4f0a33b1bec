/* SPDX-License-Identifier: MIT
 *
 * The calls of CUDA's runtime that the module makes, all of them: runtime.c hands them on, and
 * tests link a runtime of their own, which needs no GPU. Each call returns 0 or an error of CUDA,
 * which ht_cuda_text() puts into words. Streams and events are those of the thread's device. */
#ifndef HT_BACKENDS_CUDA_RUNTIME_H
#define HT_BACKENDS_CUDA_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ht/types.h"

HT_BEGIN_DECLS

typedef struct ht_cuda_properties {
    size_t memory; /* bytes */
    int cores, major, minor;
    bool pools; /* memory may be allocated in the order of a stream */
} ht_cuda_properties;

/* Bytes: of the device, and of those that this process has of it. */
typedef struct ht_cuda_memory {
    size_t total, available, used, peak;
} ht_cuda_memory;

/* c_i = alpha op(a_i) op(b_i) + beta c_i for i < batch, as cuBLAS has it: column-major matrices
 * a (m, k), b (k, n) and c (m, n), of a floating dtype. 16-bit products are summed in float32, and
 * float32's are not cut to fewer digits. */
typedef struct ht_cuda_product {
    ht_dtype dtype;
    bool trans_a, trans_b;
    int64_t m, n, k, lda, ldb, ldc, batch, a_step, b_step, c_step;
    const void *a, *b;
    void *c;
    double alpha, beta;
} ht_cuda_product;

const char *ht_cuda_text(int error);
bool ht_cuda_is_out_of_memory(int error);
bool ht_cuda_is_not_ready(int error);

int ht_cuda_count(int *count);
int ht_cuda_versions(int *driver, int *runtime); /* 13000 is 13.0; driver is 0 without one */
int ht_cuda_use(int index);                      /* the device of the thread */
int ht_cuda_get_properties(int index, ht_cuda_properties *properties);
int ht_cuda_get_memory(int index, ht_cuda_memory *memory);
int ht_cuda_launched(void); /* the error of the launch before, which is cleared */
int ht_cuda_peek(void);     /* the same error, which stays */

int ht_cuda_stream_new(void **stream);
int ht_cuda_stream_free(void *stream);
int ht_cuda_stream_wait(void *stream);               /* the host waits */
int ht_cuda_stream_query(void *stream);              /* 0: all work is done */
int ht_cuda_stream_after(void *stream, void *event); /* the stream waits */
/* In the stream's turn, on some thread. `run` calls nothing of CUDA. */
int ht_cuda_host_call(void *stream, void (*run)(void *user), void *user);

int ht_cuda_event_new(void **event);
int ht_cuda_event_free(void *event);
int ht_cuda_event_record(void *event, void *stream);
int ht_cuda_event_query(void *event);
int ht_cuda_event_wait(void *event);

/* At least so much freed memory stays with a device when it is waited for. The program may have asked
 * for more. */
int ht_cuda_keep_memory(int index, uint64_t bytes);

/* In the order of the stream; the memory is aligned to at least 256 bytes. */
int ht_cuda_malloc(void **memory, size_t bytes, void *stream);
int ht_cuda_free(void *memory, void *stream);
int ht_cuda_trim(
    void *stream); /* waits, and gives back what the pool of the thread's device keeps */
int ht_cuda_copy(void *to, const void *from, size_t bytes, void *stream);
int ht_cuda_copy_peer(void *to, int to_index, const void *from, int from_index, size_t bytes,
                      void *stream);

/* Copies of device `other` may reach the memory of `index`, if there is a link; else this does nothing.
 */
int ht_cuda_share(int index, int other);

/* The place of a device in its host, which names it in all processes there. */
enum { HT_CUDA_BUS_ROOM = 32 };
int ht_cuda_get_bus(int index, char text[HT_CUDA_BUS_ROOM]);

/* cuBLAS for a stream: as ht_cuda_make_handle (library/handle.h). */
int ht_cuda_blas_new(void **blas, void *stream, char *missing);
void ht_cuda_blas_free(void *blas);
int ht_cuda_blas_multiply(void *blas, const ht_cuda_product *product);

/* Pinned memory of the host. is_pinned: also memory that others have pinned. */
int ht_cuda_host_malloc(void **memory, size_t bytes);
int ht_cuda_host_free(void *memory);
bool ht_cuda_is_pinned(const void *memory);

HT_END_DECLS
#endif
