/* SPDX-License-Identifier: MIT
 *
 * Start and end of the library, communicators, and communication of tensors.
 *
 * Comments of all headers say which ranks make a call (doc/collectives.md):
 * - Collective: all ranks of the communicator, in the same order. The call may communicate.
 * - Logically collective: all ranks, with the same arguments. The call does not communicate.
 * - Not collective: any rank may make the call alone.
 * - Agrees: the ranks of a collective call exchange a status, so that it fails on all or on none.
 * A call that is collective in one case only ("if x is split") is logically collective in the
 * other cases.
 *
 * Buffers are tensors: contiguous or not, of any dtype and device, with counts above 2^31. Each
 * call works on the local part of its tensors. They may live on another communicator than comm,
 * and on different devices. No call is recorded for gradients.
 *
 * Waiting: a rank that waits tests, then backs off. It gives up after HT_TIMEOUT seconds (default
 * 600, 0 = never) with a message that names the operation.
 *
 * Debugging: HT_DEBUG_COLLECTIVE=1 compares the ranks' arguments of each collective call
 * (doc/diagnosis.md).
 *
 * Point to point, ht_send to ht_irecv: not collective. Both sides must match in bytes and in tag,
 * 0 ... 32767. Shapes and dtypes are not compared. A message that is longer than its receiver's
 * buffer ends the job; a shorter one fills the beginning of the buffer.
 *
 * Collective calls on tensors, ht_bcast to ht_ialltoallv: collective over comm.
 * - Ranks must pass the same root and the same reduction.
 * - send and recv have one dtype, which is the same on all ranks (except in ht_alltoallw).
 * - A tensor that only the root reads or writes may be NULL on the other ranks.
 * - send and recv may overlap. The same elements, in one handle or two, mean in place. If they
 *   overlap otherwise, a copy of send is sent.
 * - A blocking call begins with one small message between all ranks. If an argument is wrong on one
 *   rank, the call fails on all ranks with one message, and nothing is sent. It fails likewise if
 *   ranks differ in the root or the reduction (HT_ERR_ARGUMENT), the dtype (HT_ERR_DTYPE), or a
 *   length that must be the same (HT_ERR_SHAPE). A NULL comm is an error of that rank alone, and
 *   the other ranks wait for it.
 *
 * Parts, in gather, allgather, scatter and reduce_scatter, are pieces along axis 0, in rank
 * order. The tensor that they make up is their concatenation. In blocking calls, parts may differ
 * in their length along axis 0. A scalar is not a part (HT_ERR_SHAPE).
 *
 * Non-blocking calls return a request, which the caller owns. It keeps its tensors alive. Arrays of
 * counts are read before the call returns.
 * - ht_wait finishes a request and releases it. ht_release of an unfinished one waits first.
 * - NULL means that nothing was posted. Its wait gives the thread's last error. A NULL comm gives
 *   NULL. So does any wrong argument of a point-to-point call, or on a communicator of one rank.
 * - A non-blocking collective call does not ask the other ranks. A rank may have nothing to bring
 *   (a NULL tensor, a root out of range, a result that cannot be written, a reduction that the
 *   dtype lacks). The same holds if its own tensors and counts do not fit together. It gets a
 *   request, too. Then the waits of all ranks give its error, and the content of the received
 *   tensors is unspecified.
 * - Arguments that are right on each rank but do not fit together end the job in the wait.
 * - Counts that are NULL or negative end the job, because that rank could not take part.
 *
 * Errors: calls on tensors have these.
 * - HT_ERR_ARGUMENT for a NULL, and for a rank or a tag out of range.
 * - HT_ERR_ARGUMENT if the tensor that is received is read-only: a broadcast view, ht_scalar, or
 *   memory that DLPack marks so. The buffer of ht_bcast is not received on the root.
 * - HT_ERR_SHAPE or HT_ERR_DTYPE if tensors do not fit together, on one rank or between ranks.
 * - HT_ERR_DTYPE if the reduction is not defined for the dtype; HT_ERR_ARGUMENT if it is not an
 *   ht_reduce_op.
 * - HT_ERR_STATE if gradients are recorded and the tensor that is received has a history: a
 *   recorded operation made it, or the tensor that it is a view of. A leaf has none, so a parameter
 *   can be received. */
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

/* Starts the library, and MPI unless the program has started it.
 *
 * MPI is asked for MPI_THREAD_MULTIPLE. A call while the library is started, by this function or by
 * ht_init_comm, is counted and does nothing; it needs a matching ht_finalize.
 *
 * argc, argv: those of main; may be NULL.
 * Collective over the world.
 * Errors: HT_ERR_STATE if MPI is finalised; HT_ERR_COMM if MPI does not start; HT_ERR_MEMORY if the
 * address space is too small. Each of them ends the process (ht/error.h). */
HT_API ht_status ht_init(int *argc, char ***argv);

/* ht_init with world as HT_COMM_WORLD, for programs that run libht on a part of the ranks.
 *
 * MPI must be initialised, at any thread level. A second call is counted as by ht_init, and its
 * world ignored.
 *
 * world: duplicated; stays the caller's.
 * Collective over world.
 * Errors: HT_ERR_STATE if MPI is not initialised, or finalised; HT_ERR_ARGUMENT for MPI_COMM_NULL.
 * Each of them, and HT_ERR_MEMORY as for ht_init, ends the process (ht/error.h). */
HT_API ht_status ht_init_comm(MPI_Comm world);

/* Ends the library: frees its communicators, and finalises MPI if ht_init initialised it.
 *
 * Only the call that matches the first ht_init does so; one before it, or too many, returns 0.
 * The program must release its handles before this call and use none after it. A warning names the
 * kinds of leaked objects; it is an error with HT_LEAK_CHECK=1 and in debug builds.
 * The program's own MPI_Finalize ends the library too, without counting leaked objects. After that,
 * this function returns 0.
 *
 * Collective over the world.
 * Result: the number of leaked objects of this rank, for the program to return from main; at most
 * 255, the greatest exit status. */
HT_API int ht_finalize(void);

/* Whether the library is started and not yet ended. Not collective. */
HT_API bool ht_is_initialized(void);

/* The number of compute threads of this rank: OMP_NUM_THREADS, or the cores of the node divided by
 * the ranks on it; 1 before ht_init. Not collective. */
HT_API int ht_get_num_threads(void);

#define HT_COMM_WORLD (ht_comm_world())
#define HT_COMM_SELF  (ht_comm_self())

/* HT_COMM_WORLD, the communicator of all ranks; borrowed. Not collective.
 *
 * Errors: HT_ERR_STATE unless the library is started, which ends the process (ht/error.h). */
HT_API ht_comm *ht_comm_world(void);

/* HT_COMM_SELF, the communicator of this rank alone; borrowed. Not collective.
 *
 * Errors: as of ht_comm_world. */
HT_API ht_comm *ht_comm_self(void);

/* The communicator in use, on which new tensors are made; borrowed. At first HT_COMM_WORLD.
 *
 * Not collective.
 * Errors: as of ht_comm_world.
 * Source: heat.get_comm. */
HT_API ht_comm *ht_get_comm(void);

/* Makes comm the communicator in use, on which new tensors are made, for all threads of the
 * process.
 *
 * comm: retained until another one is in use.
 * Not collective.
 * Errors: HT_ERR_ARGUMENT if comm is NULL.
 * Source: heat.use_comm. */
HT_API ht_status ht_use_comm(ht_comm *comm);

/* Makes a communicator over a duplicate of comm.
 *
 * comm: stays the caller's.
 * Collective over comm.
 * Result: owned, with HT_ERRORS_ABORT as its error handler.
 * Errors: as of ht_comm_world; HT_ERR_ARGUMENT for MPI_COMM_NULL. */
HT_API ht_comm *ht_comm_from_mpi(MPI_Comm comm);

/* Makes a communicator of the ranks that pass the same color.
 *
 * It first frees the communicators that it has made of comm earlier and that all ranks have
 * released.
 *
 * comm: its ranks are divided; its error handler is that of the new communicator.
 * color: negative to join no communicator.
 * key: the new communicator orders its ranks by key, and equal keys by their rank in comm.
 * Collective over comm.
 * Result: owned; NULL without an error if color is negative.
 * Errors: HT_ERR_ARGUMENT if comm is NULL.
 * Source: MPI_Comm_split. */
HT_API ht_comm *ht_comm_split(ht_comm *comm, int color, int key);

/* The rank of this process in comm. Not collective.
 *
 * Errors: HT_ERR_ARGUMENT and -1 for NULL. */
HT_API int ht_comm_rank(const ht_comm *comm);

/* The number of ranks of comm. Not collective.
 *
 * Errors: HT_ERR_ARGUMENT and 0 for NULL. */
HT_API int ht_comm_size(const ht_comm *comm);

/* The MPI communicator of comm, borrowed: valid as long as comm is.
 *
 * A program must not leave messages on it unmatched, because the library uses it too.
 *
 * Not collective.
 * Errors: HT_ERR_ARGUMENT and MPI_COMM_NULL for NULL. */
HT_API MPI_Comm ht_comm_mpi(const ht_comm *comm);

/* The nodes on which the ranks of comm run.
 *
 * Nodes are those of MPI_Comm_split_type, or blocks of HT_RANKS_PER_NODE consecutive ranks of the
 * world. Each pointer may be NULL if its number is not wanted.
 *
 * nodes: the number of nodes.
 * node: the node of this rank, from 0.
 * local_rank: the index of this rank among the ranks on its node, from 0.
 * local_size: the number of ranks on this rank's node.
 * Not collective.
 * Errors: HT_ERR_ARGUMENT if comm is NULL. */
HT_API ht_status ht_comm_topology(const ht_comm *comm, int *nodes, int *node, int *local_rank,
                                  int *local_size);

/* Computes the canonical slab of a rank, in an axis that is divided over comm.
 *
 * The first length % size ranks hold one row more than the others.
 *
 * length: the length of the axis, at least 0.
 * rank: any rank of comm.
 * start: *start is set to the slab's first row; may be NULL.
 * count: *count is set to the slab's number of rows; may be NULL.
 * Not collective.
 * Errors: HT_ERR_ARGUMENT (ht_error_get) if comm is NULL, or for another length or rank; nothing is
 * set then.
 * Source: heat MPICommunication.chunk. */
HT_API void ht_comm_chunk(const ht_comm *comm, int64_t length, int rank, int64_t *start,
                          int64_t *count);

/* Computes how an axis of a tensor is divided over comm.
 *
 * Each of the three arrays may be NULL if it is not wanted.
 *
 * ndim, shape: the shape of the tensor, with 1 ... HT_MAX_NDIM axes.
 * axis: negative from the end.
 * counts: size numbers, the length of each rank's slab.
 * displs: size numbers, the first row of each rank's slab.
 * output_shape: ndim numbers, the shape of the tensor that this rank would receive if all ranks
 * sent it a slab as long as its own.
 * Not collective.
 * Errors: HT_ERR_ARGUMENT for comm, ndim, shape or axis; HT_ERR_SHAPE for a negative length.
 * Source: heat MPICommunication.counts_displs_shape. */
HT_API ht_status ht_comm_counts_displs_shape(ht_comm *comm, int ndim, const int64_t shape[],
                                             int axis, int64_t counts[], int64_t displs[],
                                             int64_t output_shape[]);

/* Waits until all ranks of comm have called it. Collective over comm.
 *
 * Errors: HT_ERR_ARGUMENT if comm is NULL. */
HT_API ht_status ht_barrier(ht_comm *comm);

/* Reductions. AND and OR are logical, for bool and integers. bool has no SUM and no PROD. Complex
 * numbers have SUM and PROD only. float16 and bfloat16 are combined in float32. */
typedef enum ht_reduce_op {
    HT_OP_SUM,
    HT_OP_PROD,
    HT_OP_MIN,
    HT_OP_MAX,
    HT_OP_AND,
    HT_OP_OR
} ht_reduce_op;

/* Finishes a request: waits for its end, releases it, and sets *request to NULL.
 *
 * A collective one ends after all ranks have made their calls.
 *
 * request: *request may be NULL; this gives the thread's last error, HT_SUCCESS without one.
 * Result: the status of the operation.
 * Errors: HT_ERR_ARGUMENT if request is NULL. */
HT_API ht_status ht_wait(ht_request **request);

/* Tests without waiting whether a request is done; ht_wait then returns at once.
 *
 * request: stays the caller's, to be finished by ht_wait. NULL counts as done and gives the
 * thread's last error.
 * done: *done is set to the answer, also true if the operation has failed.
 * Result: the status of the operation if it is done, else HT_SUCCESS.
 * Errors: HT_ERR_ARGUMENT if done is NULL. */
HT_API ht_status ht_test(ht_request *request, bool *done);

/* Finishes several requests by ht_wait, in the order of the list.
 *
 * count: the number of requests; below 1, nothing is done.
 * requests: each is set to NULL, also after an error. The list is not NULL unless count is 0.
 * Result: the first error, or HT_SUCCESS. */
HT_API ht_status ht_wait_all(int count, ht_request *requests[]);

/* Sends the local part of buffer to rank dest of comm, with tag.
 *
 * It ends when buffer may be written again. That may be before the receive has begun, or not until
 * then: a long message to the calling rank itself needs ht_isend or ht_irecv.
 * Source: MPI_Send. */
HT_API ht_status ht_send(ht_comm *comm, ht_tensor *buffer, int dest, int tag);

/* ht_send of buffer to dest of comm, with tag, that ends when its receive has begun. */
HT_API ht_status ht_ssend(ht_comm *comm, ht_tensor *buffer, int dest, int tag);

/* ht_send of buffer to dest of comm, with tag, that ends at once, because it sends a copy.
 *
 * The library makes the copies, not in the buffer of MPI_Buffer_attach. Memory alone limits their
 * number. ht_finalize waits for copies that are not yet received, under HT_TIMEOUT. */
HT_API ht_status ht_bsend(ht_comm *comm, ht_tensor *buffer, int dest, int tag);

/* ht_send of buffer to dest of comm, with tag, after its receive has begun.
 *
 * If the receive has not begun, the behaviour is undefined. */
HT_API ht_status ht_rsend(ht_comm *comm, ht_tensor *buffer, int dest, int tag);

/* Receives the local part of buffer from rank source of comm, with tag.
 *
 * source, tag: those of the send; there are no wildcards. */
HT_API ht_status ht_recv(ht_comm *comm, ht_tensor *buffer, int source, int tag);

/* Non-blocking ht_send of buffer to dest of comm, with tag. */
HT_API ht_request *ht_isend(ht_comm *comm, ht_tensor *buffer, int dest, int tag);

/* Non-blocking ht_ssend of buffer to dest of comm, with tag. */
HT_API ht_request *ht_issend(ht_comm *comm, ht_tensor *buffer, int dest, int tag);

/* Non-blocking ht_bsend of buffer to dest of comm, with tag. Its request is done at once. */
HT_API ht_request *ht_ibsend(ht_comm *comm, ht_tensor *buffer, int dest, int tag);

/* Non-blocking ht_rsend of buffer to dest of comm, with tag. */
HT_API ht_request *ht_irsend(ht_comm *comm, ht_tensor *buffer, int dest, int tag);

/* Non-blocking ht_recv of buffer from source of comm, with tag. */
HT_API ht_request *ht_irecv(ht_comm *comm, ht_tensor *buffer, int source, int tag);

/* Copies the root's local part to all ranks of comm.
 *
 * buffer: read on the root, written on the others; the same number of elements on all ranks. A
 * graph that saved it is out of date on the root, too.
 * root: the rank that sends. */
HT_API ht_status ht_bcast(ht_comm *comm, ht_tensor *buffer, int root);

/* recv = the reduction of send over all ranks of comm, on the root.
 *
 * send: the same local shape on all ranks.
 * recv: the local shape of send; used on the root only.
 * op: the reduction.
 * root: the rank that receives. */
HT_API ht_status ht_reduce(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op,
                           int root);

/* recv = the reduction of send over all ranks of comm, on every rank.
 *
 * send: the same local shape on all ranks.
 * recv: the local shape of send.
 * op: the reduction. */
HT_API ht_status ht_allreduce(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op);

/* recv = the reduction of send over the ranks of comm before this one.
 *
 * send: the same local shape on all ranks.
 * recv: the local shape of send. It stays as it was on rank 0.
 * op: the reduction. */
HT_API ht_status ht_exscan(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op);

/* recv = the reduction of send over the ranks of comm up to and including this one.
 *
 * send: the same local shape on all ranks.
 * recv: the local shape of send.
 * op: the reduction. */
HT_API ht_status ht_scan(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op);

/* recv = the concatenation of the parts of all ranks of comm, on every rank.
 *
 * send: this rank's part.
 * recv: the concatenation. */
HT_API ht_status ht_allgather(ht_comm *comm, ht_tensor *send, ht_tensor *recv);

/* recv = the concatenation of the parts of all ranks of comm, on the root.
 *
 * send: this rank's part.
 * recv: the concatenation; used on the root only.
 * root: the rank that receives. */
HT_API ht_status ht_gather(ht_comm *comm, ht_tensor *send, ht_tensor *recv, int root);

/* recv = this rank's part of the root's send.
 *
 * comm: its ranks receive the parts, in rank order.
 * send: the concatenation of the parts; used on the root only.
 * recv: this rank's part.
 * root: the rank that sends. */
HT_API ht_status ht_scatter(ht_comm *comm, ht_tensor *send, ht_tensor *recv, int root);

/* recv = this rank's part of the reduction of send over all ranks of comm.
 *
 * send: the same local shape on all ranks.
 * recv: this rank's part.
 * op: the reduction. */
HT_API ht_status ht_reduce_scatter(ht_comm *comm, ht_tensor *send, ht_tensor *recv,
                                   ht_reduce_op op);

/* Exchanges equal blocks: block r of send goes to rank r of comm, block r of recv comes from it.
 *
 * send, recv: local parts of one size on all ranks, a multiple of the size of comm. The blocks are
 *   runs of elements in row-major order; shapes do not matter. */
HT_API ht_status ht_alltoall(ht_comm *comm, ht_tensor *send, ht_tensor *recv);

/* Exchanges rows (indices along axis 0) between all ranks of comm, in rank order.
 *
 * send: its local part has sum(send_counts) rows.
 * send_counts: send_counts[r] rows go to rank r; at least 0.
 * recv: its local part has sum(recv_counts) rows.
 * recv_counts: recv_counts[r] rows come from rank r. Rank r sends as many, else HT_ERR_SHAPE. */
HT_API ht_status ht_alltoallv(ht_comm *comm, ht_tensor *send, const int64_t send_counts[],
                              ht_tensor *recv, const int64_t recv_counts[]);

/* Exchanges one tensor between each two ranks of comm.
 *
 * The tensors and views may have any shape, strides and device. Both sides must have the same
 * number of elements and the same dtype.
 *
 * send: send[r] goes to rank r; NULL sends nothing, like a tensor without elements.
 * recv: recv[r] comes from rank r; NULL receives nothing. */
HT_API ht_status ht_alltoallw(ht_comm *comm, ht_tensor *send[], ht_tensor *recv[]);

/* Non-blocking ht_bcast of buffer from root over comm. */
HT_API ht_request *ht_ibcast(ht_comm *comm, ht_tensor *buffer, int root);

/* Non-blocking ht_allreduce over comm of send to recv by op. */
HT_API ht_request *ht_iallreduce(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op);

/* Non-blocking ht_reduce over comm of send to recv at root by op. */
HT_API ht_request *ht_ireduce(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op,
                              int root);

/* Non-blocking ht_scan over comm of send to recv by op. */
HT_API ht_request *ht_iscan(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op);

/* Non-blocking ht_exscan over comm of send to recv by op. */
HT_API ht_request *ht_iexscan(ht_comm *comm, ht_tensor *send, ht_tensor *recv, ht_reduce_op op);

/* Non-blocking ht_allgather over comm of send to recv.
 *
 * The parts must be those of ht_comm_chunk. */
HT_API ht_request *ht_iallgather(ht_comm *comm, ht_tensor *send, ht_tensor *recv);

/* ht_iallgather over comm of parts of any length: send and recv as in ht_allgather.
 *
 * counts: the rows of each rank's part; the same on all ranks. */
HT_API ht_request *ht_iallgatherv(ht_comm *comm, ht_tensor *send, ht_tensor *recv,
                                  const int64_t counts[]);

/* Non-blocking ht_gather over comm of send to recv at root. Parts have equal length. */
HT_API ht_request *ht_igather(ht_comm *comm, ht_tensor *send, ht_tensor *recv, int root);

/* ht_igather over comm of parts of any length: send, recv and root as in ht_gather.
 *
 * counts: the rows of each rank's part; the same on all ranks. */
HT_API ht_request *ht_igatherv(ht_comm *comm, ht_tensor *send, ht_tensor *recv,
                               const int64_t counts[], int root);

/* Non-blocking ht_scatter over comm of send at root to recv. Parts have equal length. */
HT_API ht_request *ht_iscatter(ht_comm *comm, ht_tensor *send, ht_tensor *recv, int root);

/* ht_iscatter over comm of parts of any length: send, recv and root as in ht_scatter.
 *
 * counts: the rows of each rank's part; the same on all ranks. */
HT_API ht_request *ht_iscatterv(ht_comm *comm, ht_tensor *send, ht_tensor *recv,
                                const int64_t counts[], int root);

/* Non-blocking ht_alltoall over comm of send to recv. */
HT_API ht_request *ht_ialltoall(ht_comm *comm, ht_tensor *send, ht_tensor *recv);

/* Non-blocking ht_alltoallv over comm; send, send_counts, recv and recv_counts as in ht_alltoallv.
 *
 * The counts of two ranks are not compared. */
HT_API ht_request *ht_ialltoallv(ht_comm *comm, ht_tensor *send, const int64_t send_counts[],
                                 ht_tensor *recv, const int64_t recv_counts[]);

HT_END_DECLS
#endif
