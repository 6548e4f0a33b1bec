/* SPDX-License-Identifier: MIT
 *
 * The reducer's engine: non-blocking sums over all ranks, in float32 or float64, of flat host
 * buffers.
 *
 * The tree of additions of an element depends only on the ranks and their nodes. It is
 * ((0+1)+(2+3))+… over the ranks of a node, after each rank beyond a power of two was added to a
 * neighbour. The same tree follows over the nodes. So a result has the same bits on every rank.
 * They do not depend on the length of a buffer, the place of an element in it, the segments it is
 * cut into, or the way it travels. Data travel by messages, or through shared memory inside a node.
 *
 * Every rank starts the same operations in the same order; they may finish in any order. One thread
 * calls the engine. HT_PROGRESS_THREAD=1 adds a thread that moves pending operations while the
 * program computes. */
#ifndef HT_CORE_EXCHANGE_EXCHANGE_H
#define HT_CORE_EXCHANGE_EXCHANGE_H
#include "core/tensor/tensor.h"

typedef struct ht_exchange ht_exchange;
typedef struct ht_exchange_op ht_exchange_op;

/* The engine of one (communicator, purpose); borrowed, lives as long as the communicator or a
 * storage in its memory is in use. Collective on the first call. NULL after an error.
 * HT_EXCHANGE=messages keeps it from using shared memory. */
ht_exchange *ht__exchange_get(ht_comm *comm, ht_purpose purpose);

/* Zeroed memory that the ranks of one node can read from each other: a buffer in it is exchanged
 * without being copied first. One operation at a time per piece of memory. Collective. Release it
 * when nothing uses it; the engine keeps it for the next request of about this size. */
void *ht__exchange_memory(ht_exchange *exchange, size_t bytes);
void ht__exchange_memory_release(ht_exchange *exchange, void *memory);

/* Such memory as a storage, which releases it. NULL: out of memory. */
ht_storage *ht__exchange_storage(ht_exchange *exchange, ht_device *device, size_t bytes);

/* data <- scale * (sum of data over the ranks), in place. Returns at once, whichever ranks have
 * come; the buffer is the engine's until the operation is done. Higher priority is served first.
 * Steady state allocates nothing. */
ht_exchange_op *ht__exchange_start(ht_exchange *exchange, void *data, int64_t n, ht_dtype dtype,
                                   double scale, int priority);

/* The same, but float32 data may travel between nodes as `wire`, bfloat16 or float16: half the
 * bytes. Sums stay float32. The tree is the same. Where it goes from node to node, both sides of an
 * addition are first rounded to nearest even, and so is the scaled result, which every rank gets.
 * Inside a node nothing is rounded, whichever way it takes: on one node `wire` changes nothing.
 * Numbers that float16 cannot hold (65520 and more, in a partial sum) become infinite. */
ht_exchange_op *ht__exchange_start_as(ht_exchange *exchange, void *data, int64_t n, ht_dtype dtype,
                                      ht_dtype wire, double scale, int priority);

/* The same for data that are still being made: nothing of it is read before ht__exchange_fill says
 * that the first `n` elements are there. n only grows; the operation can end once it is the
 * complete length. */
ht_exchange_op *ht__exchange_open(ht_exchange *exchange, void *data, int64_t n, ht_dtype dtype,
                                  ht_dtype wire, double scale, int priority);
void ht__exchange_fill(ht_exchange *exchange, ht_exchange_op *op, int64_t n);

/* The halves of a sum, for data of which each rank keeps a part: elements begin ... begin + count -
 * 1 are rank's. Equal parts of ceil(n / ranks) elements, the last ones shorter or empty. */
void ht__exchange_part(const ht_exchange *exchange, int64_t n, int rank, int64_t *begin,
                       int64_t *count);

/* This rank's part of data <- scale * (sum of data over the ranks), with the bits that
 * ht__exchange_start_as gives these elements. The other parts stay as they were. */
ht_exchange_op *ht__exchange_reduce_scatter(ht_exchange *exchange, void *data, int64_t n,
                                            ht_dtype dtype, ht_dtype wire, double scale,
                                            int priority);

/* All of data <- each rank's part of it, of any dtype, bits unchanged: to send less, gather
 * converted data.
 *
 * Both are operations as the sums are, in one order with them. All of data is the engine's until
 * one is done; waiting for a part of it waits for all. In sum they send the data of an all-reduce.
 * Nodes beyond a power of two get their parts of the sum once more: a twelfth of it at most, with
 * three nodes of one size. */
ht_exchange_op *ht__exchange_all_gather(ht_exchange *exchange, void *data, int64_t n,
                                        ht_dtype dtype, int priority);

/* The number of bytes that this rank has sent to other nodes so far. */
uint64_t ht__exchange_bytes_sent(const ht_exchange *exchange);

uint64_t ht__exchange_all_bytes_sent(void); /* by all engines */

/* On the timeline, once it is done; 0: it was not on it. */
uint64_t ht__exchange_finished_at(const ht_exchange_op *op);

/* Moves everything as far as it goes; never waits, and costs nothing when nothing is outstanding.
 * Returns whether anything moved. */
bool ht__exchange_progress(ht_exchange *exchange);

bool ht__exchange_progress_all(void); /* of every engine */

bool ht__exchange_done(const ht_exchange_op *op);

/* Waits politely; `what` names the operation in a timeout message. */
ht_status ht__exchange_wait(ht_exchange *exchange, ht_exchange_op *op, const char *what);

/* Waits for the first n elements of the sum. */
ht_status ht__exchange_wait_part(ht_exchange *exchange, ht_exchange_op *op, int64_t n,
                                 const char *what);

/* Waits politely for something that is made of several operations: until `done` answers true. It is
 * asked again and again, never waits, and says whether anything moved. _device waits for a device
 * of this rank, and its message at a deadline says so. */
ht_status ht__exchange_wait_for(ht_exchange *exchange, bool (*done)(void *user, bool *moved),
                                void *user, const char *what);
ht_status ht__exchange_wait_device(ht_exchange *exchange, bool (*done)(void *user, bool *moved),
                                   void *user, const char *what);

/* Gives an operation back; it is waited for first. */
void ht__exchange_release(ht_exchange *exchange, ht_exchange_op *op);

/* Length of a segment in bytes; the same on all ranks. For tests and tuning. */
void ht__exchange_set_segment(ht_exchange *exchange, size_t bytes);

/* Frees all engines; collective, for ht_finalize. */
void ht__exchange_stop(void); /* its thread alone; not collective */
void ht__exchange_end(void);

#endif
