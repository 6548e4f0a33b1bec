/* SPDX-License-Identifier: MIT
 *
 * One collective call, for files of this folder: its arguments, buffers and request. */
#ifndef HT_CORE_COLLECTIVE_CALL_H
#define HT_CORE_COLLECTIVE_CALL_H

#include "core/collective/collective.h"
#include "core/comm/mpi.h"

/* ---- buffers (collective/buffer.c) ----------------------------------------------------------- */
typedef struct ht_buffer {
    ht_tensor *tensor; /* retained */
    ht_body *packed;   /* owned; NULL: the tensor's own memory is contiguous */
    ht_storage *host;  /* owned; NULL: the device's memory is the host's */
    void *data;        /* what MPI is given */
    int64_t count;
    ht_dtype dtype;
    bool write; /* copied back by close */
    bool truth; /* integers that are not 0 become 1 then */
} ht_buffer;
ht_status ht__buffer_open(const char *what, ht_buffer *buffer, ht_tensor *tensor, bool read,
                          bool write);
/* For reading, as a copy in any case. */
ht_status ht__buffer_open_copy(const char *what, ht_buffer *buffer, ht_tensor *tensor);

/* Makes it a copy where its memory overlaps that of `other`, which MPI does not allow. */
ht_status ht__buffer_detach(const char *what, ht_buffer *buffer, const ht_buffer *other);

/* Whether two tensors are the same elements of the same memory. */
bool ht__buffer_same(const ht_tensor *a, const ht_tensor *b);
ht_status ht__buffer_close(const char *what, ht_buffer *buffer, bool copy_back);

/* ---- requests (collective/request.c) --------------------------------------------------------- */
struct ht_request {
    ht_object base;
    ht_comm *comm;    /* retained */
    ht_comm *outer;   /* of ht__together before it, while it is being posted */
    const char *what; /* not owned: a literal */
    MPI_Comm wire;    /* where it communicates */
    ht_buffer send, recv;
    ht_buffer *blocks; /* owned; one for each rank that is sent something, then of those received */
    int block_count;
    MPI_Request *mpi; /* owned; `count` of them */
    int count;
    MPI_Datatype *types; /* owned, with the types in it: `type_count` of them */
    int type_count;
    void *arrays;             /* owned; counts and displacements that MPI reads until the end */
    struct ht_posted *posted; /* owned; NULL: what it began with was agreed on before */
    bool done;
    ht_status status;
};
ht_request *ht__request_new(ht_comm *comm, const char *what);
MPI_Request *ht__request_slots(ht_request *request, int count); /* all MPI_REQUEST_NULL */
/* Frees `type` at the end of the request. Open MPI 4 never releases a type that is freed while a
 * message of it is pending. */
void ht__request_keep_type(ht_request *request, MPI_Datatype type);
/* As ht__message; the request keeps its type. */
ht_message ht__request_message(ht_request *request, int64_t count, ht_dtype dtype);

/* The request, or NULL (and its end) when posting it failed. */
ht_request *ht__request_posted(ht_request *request, ht_status status);
ht_status ht__request_run(ht_request *request); /* waits and releases; NULL: the last error */

/* ---- arguments (collective/check.c) -------------------------------------------------------------
 * What a rank brings to a call, and how the others come to know that it is wrong. */
typedef enum ht_manner {
    HT_AGREED, /* a collective call of the program's: the ranks ask each other before it begins */
    HT_ALIKE,  /* one of the library's, with tensors of its own making; point to point */
    HT_POSTED  /* cannot ask the other ranks: they get the result in the wait */
} ht_manner;

typedef struct ht_check {
    const char *what;
    ht_comm *comm;
    ht_manner manner;
} ht_check;

/* false after the error was recorded; if not HT_AGREED, it was reported too. */

bool ht__check_operand(const ht_check *check, const char *name, const ht_tensor *tensor);
bool ht__check_writable(const ht_check *check, const ht_tensor *tensor);
bool ht__check_root(const ht_check *check, int root);
bool ht__check_operation(const ht_check *check, ht_reduce_op op, ht_dtype dtype);
bool ht__check_pair(const ht_check *check, const ht_tensor *send, const ht_tensor *recv);
bool ht__check_same_local(const ht_check *check, const ht_tensor *send, const ht_tensor *recv);
bool ht__check_rows(const ht_check *check, const ht_tensor *part, const ht_tensor *whole);
ht_status ht__check_failed(const ht_check *check, ht_status code, const char *format, ...)
    HT_PRINTF(3, 4);

/* Opens the buffers of a request and posts the MPI operation of them on its wire. */
typedef ht_status ht_start_fn(ht_request *request, const ht_call *call, ht_tensor *send,
                              ht_tensor *recv);

/* Whether the call begins, the same on all ranks; not of HT_POSTED. */
bool ht__call_begins(const ht_check *check, const ht_call *call, bool valid);

/* After the checks, before anything is sent: the request, or NULL where the call does not begin.
 * With HT_AGREED one small message between all ranks reports failed checks and compares the fields
 * of `call`. So the call begins on all ranks or on none. */
ht_request *ht__call_start(const ht_check *check, const ht_call *call, bool valid,
                           ht_start_fn *start, ht_tensor *send, ht_tensor *recv);

/* ---- non-blocking collective calls (collective/post.c, posted.c) ----------------------------- */
/* The request of a call whose arguments were checked, with faults recorded; NULL after the error
 * was raised, where there are no others to tell. */
ht_request *ht__post(const ht_check *check, const ht_call *call, bool valid, ht_start_fn *start,
                     ht_tensor *send, ht_tensor *recv);

/* Whether the others get the fault of this rank from their wait; otherwise it ends the job. */
bool ht__posted_tells(const ht_comm *comm);

/* Moves the part of a request that comes before its MPI operation ends; never waits. True when it
 * is over: only the operation is left to wait for. */
/* Sends the header, and begins the operation unless an earlier one has to come first. */
ht_status ht__posted_begin(ht_request *request, const ht_call *call, bool valid, ht_start_fn *start,
                           ht_tensor *send, ht_tensor *recv);
bool ht__posted_ready(ht_request *request);
ht_status ht__posted_end(ht_request *request, ht_status status); /* frees; tells the error */

void ht__posted_start(void);

/* ---- sends that are over at once (collective/bsend.c) ---------------------------------------- */
ht_status ht__bsend(const char *what, ht_comm *comm, ht_tensor *buffer, int dest, int tag);

/* ---- blocks between all ranks (collective/alltoall.c) ---------------------------------------- */
/* Posts one MPI_Ialltoallw of contiguous blocks, given in elements; for what int cannot count. NULL
 * counts: nothing on that side. */
ht_status ht__post_blocks(ht_request *request, ht_dtype dtype, const void *send,
                          const int64_t *send_counts, const int64_t *send_starts, void *recv,
                          const int64_t *recv_counts, const int64_t *recv_starts);

/* The same of tensors, one of each side for each rank, NULL for none. */
ht_status ht__post_tensors(ht_request *request, ht_tensor *send[], ht_tensor *recv[]);

#endif
