/* SPDX-License-Identifier: MIT
 *
 * Start and end of the library, communicators, and communication of tensors.
 *
 * Buffers are tensors: contiguous or not, of any dtype and device, with counts above 2^31. Each
 * call works on the *local* part of its tensors. Non-blocking calls return a request that keeps its
 * tensors alive; ht_wait finishes it. Waiting is polite (test, then back off) and gives up after
 * HT_TIMEOUT seconds (default 600, 0 = never) with a message that names the operation.
 * HT_DEBUG_COLLECTIVE=1 compares what the ranks pass to each collective call (doc/diagnosis.md). */
#ifndef HT_COMMUNICATION_H
#define HT_COMMUNICATION_H

/* The C++ bindings of old MPI libraries do not compile as C++17, and nothing here needs them. */
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include "ht/error.h"

HT_BEGIN_DECLS

/* Starts the library, and MPI (asking for MPI_THREAD_MULTIPLE) unless the program has started it.
 * argc and argv may be NULL. A second call is counted and does nothing. Collective over the
 * world. */
HT_API ht_status ht_init(int *argc, char ***argv);

/* As ht_init with `world` as HT_COMM_WORLD, for programs that run libht on a part of the ranks.
 * MPI must be initialised, at any thread level; `world` is duplicated. Collective over `world`. */
HT_API ht_status ht_init_comm(MPI_Comm world);

/* Ends the library: frees its communicators, and finalises MPI if ht_init initialised it. Handles
 * are to be released before: none may be used after it. Returns the number of leaked objects of
 * this rank, at most 255 as an exit status is, 0 when all is well, for a program to return from
 * main; their kinds are named in a warning (an error with HT_LEAK_CHECK=1 and in debug builds).
 * A program's MPI_Finalize ends the library, too, without a look at what is left; then this returns
 * 0. Collective over the world. */
HT_API int ht_finalize(void);

HT_API bool ht_is_initialized(void);

/* Compute threads of this rank: OMP_NUM_THREADS, or cores of the node / ranks on it. Not
 * collective. */
HT_API int ht_get_num_threads(void);

#define HT_COMM_WORLD (ht_comm_world())
#define HT_COMM_SELF  (ht_comm_self())
HT_API ht_comm *ht_comm_world(void); /* borrowed */
HT_API ht_comm *ht_comm_self(void);  /* borrowed */

/* The communicator new tensors live on; HT_COMM_WORLD at first. Source: heat.get_comm, use_comm. */
HT_API ht_comm *ht_get_comm(void);
HT_API ht_status ht_use_comm(ht_comm *comm);

/* A communicator over a duplicate of `comm`; owned. Collective over `comm`. */
HT_API ht_comm *ht_comm_from_mpi(MPI_Comm comm);

/* Ranks of the same color form a new communicator, ordered by key; owned; NULL without an error on
 * ranks that pass a negative color. Collective. Source: MPI_Comm_split. */
HT_API ht_comm *ht_comm_split(ht_comm *comm, int color, int key);

HT_API int ht_comm_rank(const ht_comm *comm);
HT_API int ht_comm_size(const ht_comm *comm);
HT_API MPI_Comm ht_comm_mpi(const ht_comm *comm); /* borrowed; do not communicate on it unmatched */

/* Node topology: number of nodes, this rank's node, ranks on this node and place among them. From
 * MPI_Comm_split_type, or blocks of HT_RANKS_PER_NODE consecutive ranks. NULL = not wanted. */
HT_API ht_status ht_comm_topology(const ht_comm *comm, int *nodes, int *node, int *local_rank,
                                  int *local_size);

/* The canonical slab of `rank`: the first length % size ranks hold one row more. Not collective.
 * Source: heat MPICommunication.chunk. */
HT_API void ht_comm_chunk(const ht_comm *comm, int64_t length, int rank, int64_t *start,
                          int64_t *count);

/* How an axis of a tensor of `shape` is divided: the length of each rank's slab, where it begins,
 * and the shape of what this rank would receive if all ranks sent it as many as it has; `size`
 * numbers, `size` numbers and ndim, each NULL where it is not wanted. axis may be negative. Not
 * collective. Source: heat MPICommunication.counts_displs_shape. */
HT_API ht_status ht_comm_counts_displs_shape(ht_comm *comm, int ndim, const int64_t shape[],
                                             int axis, int64_t counts[], int64_t displs[],
                                             int64_t output_shape[]);

HT_API ht_status ht_barrier(ht_comm *comm);

typedef enum ht_reduce_op {
    HT_OP_SUM,
    HT_OP_PROD,
    HT_OP_MIN,
    HT_OP_MAX,
    HT_OP_AND,
    HT_OP_OR
} ht_reduce_op;

/* Requests. Owned by the caller; released by ht_wait (which sets *request to NULL) or, unfinished,
 * by ht_release, which waits first. A NULL request is one that could not be posted: waiting for it
 * gives the thread's last error. Where one rank alone has nothing that it could bring to a
 * collective call (NULL, a result that cannot be written), its request and those of the others give
 * its error when they are waited for; what was to be received is unspecified then. */
HT_API ht_status ht_wait(ht_request **request);
HT_API ht_status ht_test(ht_request *request, bool *done); /* true: ht_wait returns at once */
HT_API ht_status ht_wait_all(int count, ht_request *requests[]);

/* Point to point. Not collective; both sides must match in bytes and tag (0 ... 32767).
 * - ssend ends when its receive has begun.
 * - bsend ends at once: what travels is a copy. Copies are the library's own, not in the buffer of
 *   MPI_Buffer_attach, as many as there is memory for; ht_finalize waits for those nobody has
 *   received, under HT_TIMEOUT.
 * - rsend is right only where its receive has begun before; else what happens is undefined. */
HT_API ht_status ht_send(ht_comm *comm, ht_tensor *buffer, int dest, int tag);
HT_API ht_status ht_ssend(ht_comm *comm, ht_tensor *buffer, int dest, int tag);
HT_API ht_status ht_bsend(ht_comm *comm, ht_tensor *buffer, int dest, int tag);
HT_API ht_status ht_rsend(ht_comm *comm, ht_tensor *buffer, int dest, int tag);
HT_API ht_status ht_recv(ht_comm *comm, ht_tensor *buffer, int source, int tag);
HT_API ht_request *ht_isend(ht_comm *comm, ht_tensor *buffer, int dest, int tag);
HT_API ht_request *ht_issend(ht_comm *comm, ht_tensor *buffer, int dest, int tag);
HT_API ht_request *ht_ibsend(ht_comm *comm, ht_tensor *buffer, int dest, int tag);
HT_API ht_request *ht_irsend(ht_comm *comm, ht_tensor *buffer, int dest, int tag);
HT_API ht_request *ht_irecv(ht_comm *comm, ht_tensor *buffer, int source, int tag);

/* Collectives over local parts. Blocking ones begin with one small message between all ranks: where
 * a rank passes something wrong, or the ranks differ in the root, the reduction, the dtype or a
 * length that must be the same, the call fails on all of them with one message, and nothing was
 * sent. What only the root looks at may be NULL elsewhere. send and recv may overlap: the same
 * elements by the same or two handles mean in place, else what is sent is a copy.
 * - Reductions: the same local shape everywhere. AND and OR are logical and for bool and integers;
 *   bool has no SUM and PROD. float16 and bfloat16 add in float32. An exscan leaves recv of rank 0
 *   as it was.
 * - gather, allgather, scatter: parts are pieces along dimension 0 in rank order and may differ in
 *   their length there; the whole is the concatenation. Those that do not wait do not ask the
 * others either: with counts, the rows of each rank's part, the same on all ranks; without, the
 * parts of ht_iallgather are those of ht_comm_chunk, and of ht_igather and ht_iscatter equal ones.
 * - reduce_scatter: the same local shape of send everywhere; recv is this rank's part of the
 *   reduction, parts as above.
 * - alltoall: local parts of one size, taken as that many equal blocks as there are ranks.
 * - alltoallv: send_counts[r] rows (indices along dimension 0) go to rank r and recv_counts[r] come
 *   from it, in the order of the ranks; they are all rows of send and recv.
 * - alltoallw: send[r] goes to rank r and recv[r] comes from it, each a tensor or view of any
 * shape, strides and device, of as many elements and the dtype as on the other side; NULL: nothing.
 * Without the counts that it takes (NULL, negative ones) a rank could not take part in a call that
 * does not wait at all: that ends the job. */
HT_API ht_status ht_bcast(ht_comm *comm, ht_tensor *buffer, int root);
HT_API ht_status ht_reduce(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op,
                           int root);
HT_API ht_status ht_allreduce(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op);
HT_API ht_status ht_exscan(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op);
HT_API ht_status ht_scan(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op);
HT_API ht_status ht_allgather(ht_comm *comm, ht_tensor *send, ht_tensor *recv);
HT_API ht_status ht_gather(ht_comm *comm, ht_tensor *send, ht_tensor *recv, int root);
HT_API ht_status ht_scatter(ht_comm *comm, ht_tensor *send, ht_tensor *recv, int root);
HT_API ht_status ht_reduce_scatter(ht_comm *comm, ht_tensor *send, ht_tensor *recv,
                                   ht_reduce_op op);
HT_API ht_status ht_alltoall(ht_comm *comm, ht_tensor *send, ht_tensor *recv);
HT_API ht_status ht_alltoallv(ht_comm *comm, ht_tensor *send, const int64_t send_counts[],
                              ht_tensor *recv, const int64_t recv_counts[]);
HT_API ht_status ht_alltoallw(ht_comm *comm, ht_tensor *send[], ht_tensor *recv[]);
HT_API ht_request *ht_ibcast(ht_comm *comm, ht_tensor *buffer, int root);
HT_API ht_request *ht_iallreduce(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op);
HT_API ht_request *ht_ireduce(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op,
                              int root);
HT_API ht_request *ht_iscan(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op);
HT_API ht_request *ht_iexscan(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op);
HT_API ht_request *ht_iallgather(ht_comm *comm, ht_tensor *send, ht_tensor *recv);
HT_API ht_request *ht_iallgatherv(ht_comm *comm, ht_tensor *send, ht_tensor *recv,
                                  const int64_t counts[]);
HT_API ht_request *ht_igather(ht_comm *comm, ht_tensor *send, ht_tensor *recv, int root);
HT_API ht_request *ht_igatherv(ht_comm *comm, ht_tensor *send, ht_tensor *recv,
                               const int64_t counts[], int root);
HT_API ht_request *ht_iscatter(ht_comm *comm, ht_tensor *send, ht_tensor *recv, int root);
HT_API ht_request *ht_iscatterv(ht_comm *comm, ht_tensor *send, ht_tensor *recv,
                                const int64_t counts[], int root);
HT_API ht_request *ht_ialltoall(ht_comm *comm, ht_tensor *send, ht_tensor *recv);
HT_API ht_request *ht_ialltoallv(ht_comm *comm, ht_tensor *send, const int64_t send_counts[],
                                 ht_tensor *recv, const int64_t recv_counts[]);

HT_END_DECLS
#endif
